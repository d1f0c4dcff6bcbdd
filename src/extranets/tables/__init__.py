"""Tables as people have them: files of mixed columns, and regressors that take them.

Needs pandas and pyarrow: ``pip install ".[tables]"`` in a checkout. From a file to predictions: :func:`open_table` gives data frames
whose rows are numbered, :func:`take_target` splits off the column to predict, :class:`Schema` learns what the columns are,
:func:`column_transformer` turns them into numbers, and :class:`TableRegressor` does the last two and hands the numbers to any
regressor. Categories of columns with many of them become numbers that only :class:`TableRegressor` can learn, from the target.
What the command line does with these is here, too: :func:`fit_table`, :func:`load_table_model`, :func:`prediction_blocks`.
"""

# ruff: noqa: E402  what is missing is named before the modules that import it

from extranets._extras import require

require("extranets.tables", "tables", "pandas", "pyarrow")

from extranets.tables.by_blocks import LabelledBlocks, fit_labelled_blocks
from extranets.tables.conformal import ConformalRow, conformal_rows
from extranets.tables.encoding import column_transformer
from extranets.tables.errors import TableError, TableWarning
from extranets.tables.fitting import Listener, cross_validate_table, fit_table, fit_tuned, forget_this_run
from extranets.tables.folders import FilePredictions, predictions_of_folder
from extranets.tables.labelled import Labelled, read_labelled
from extranets.tables.model_files import TableModel, load_table_model
from extranets.tables.notes import Notes
from extranets.tables.order import check_parting, column_groups, column_times
from extranets.tables.predicting import NameTakenError, prediction_blocks
from extranets.tables.predictions import naming_rows
from extranets.tables.reading import TableReader, open_table
from extranets.tables.regressor import TableRegressor
from extranets.tables.schema import Schema
from extranets.tables.sources import FolderBlocks, TableBlocks, table_blocks
from extranets.tables.target import take_target, target_style
from extranets.tables.updating import Followed, update_in_order
from extranets.tables.writing import TableWriter, open_writer

__all__ = [
    "ConformalRow",
    "FilePredictions",
    "FolderBlocks",
    "Followed",
    "Labelled",
    "LabelledBlocks",
    "Listener",
    "NameTakenError",
    "Notes",
    "Schema",
    "TableBlocks",
    "TableError",
    "TableModel",
    "TableReader",
    "TableRegressor",
    "TableWarning",
    "TableWriter",
    "check_parting",
    "column_groups",
    "column_times",
    "column_transformer",
    "conformal_rows",
    "cross_validate_table",
    "fit_labelled_blocks",
    "fit_table",
    "fit_tuned",
    "forget_this_run",
    "load_table_model",
    "naming_rows",
    "open_table",
    "open_writer",
    "prediction_blocks",
    "predictions_of_folder",
    "read_labelled",
    "table_blocks",
    "take_target",
    "target_style",
    "update_in_order",
]
