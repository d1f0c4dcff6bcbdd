"""Tables as people have them: files of mixed columns, and regressors that take them.

Needs pandas and pyarrow: ``pip install "extranets[tables]"``. From a file to predictions: :func:`open_table` gives data frames
whose rows are numbered, :func:`take_target` splits off what is to be predicted, :class:`Schema` learns what the columns are,
:func:`column_transformer` turns them into numbers, and :class:`TableRegressor` does the last two and hands on to any regressor.
"""

from extranets.tables.encoding import column_transformer
from extranets.tables.errors import TableError, TableWarning
from extranets.tables.fitting import Listener, cross_validate_table, fit_table, fit_tuned
from extranets.tables.notes import Notes
from extranets.tables.predictions import naming_rows
from extranets.tables.reading import TableReader, open_table
from extranets.tables.regressor import TableRegressor
from extranets.tables.schema import Schema
from extranets.tables.target import take_target, target_style
from extranets.tables.writing import TableWriter, open_writer

__all__ = [
    "Listener",
    "Notes",
    "Schema",
    "TableError",
    "TableReader",
    "TableRegressor",
    "TableWarning",
    "TableWriter",
    "column_transformer",
    "cross_validate_table",
    "fit_table",
    "fit_tuned",
    "naming_rows",
    "open_table",
    "open_writer",
    "take_target",
    "target_style",
]
