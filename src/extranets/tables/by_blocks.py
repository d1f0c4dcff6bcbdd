"""The fit of a table's model to a table that memory cannot hold.

A first pass surveys the columns and draws rows at random (`surveying.py`); from both the schema is learned, and from the drawn rows what
categories of columns with many of them tell about the target. A second pass encodes the rows, block by block, for the regressor's own fit by
blocks (`extranets.estimators.by_blocks`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas
from sklearn.base import clone

from extranets._arrays import Array
from extranets.blocks import Budget, Drawn, as_rows, is_lazy
from extranets.estimators.base import NetsRegressor
from extranets.estimators.by_blocks import check_fits_blocks, fit_blocks, refuse_beside
from extranets.tables.encoded import encode, learn_encoding
from extranets.tables.errors import Source
from extranets.tables.learning import IGNORE
from extranets.tables.notes import Notes
from extranets.tables.schema import Schema
from extranets.tables.sources import HeldBlocks, TableBlocks, table_blocks
from extranets.tables.surveying import Survey, learn_schema, survey_block
from extranets.tables.target import take_target, target_style

if TYPE_CHECKING:
    from extranets.tables.regressor import TableRegressor

BLOCK_VALUES = 1 << 19  # of a table that are worked on at a time
MOST_BLOCK_ROWS = 65_536

Labelled = tuple[pandas.DataFrame, Array]


def is_read_by_blocks(X: Any) -> bool:
    """Whether a table is somewhere else, so that ``max_memory`` need not be given."""
    return is_lazy(X) or isinstance(X, str | os.PathLike) or type(X).__module__.startswith("pyarrow._dataset")


@dataclass
class LabelledBlocks:
    """Blocks of features and targets, as often as needed. ``y`` is the name of a column, or an array beside a table in memory."""

    table: TableBlocks
    y: Any
    features: Sequence[str] | None = None  # None: all columns but the target
    style: str | None = None  # how the target is written, if it is text; None: as the first block says
    na_values: Sequence[str] = ()
    drop_missing: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.y, str):
            first = next(self.table.blocks(1000), pandas.DataFrame(columns=self.table.columns))
            self.style = self.style or target_style(first, self.y, na_values=self.na_values)
        elif not isinstance(self.table, HeldBlocks):
            raise TypeError(
                f"y must name a column of {self.table.name}, whose rows are not in memory; got {type(self.y).__name__}."
            )
        elif len(self.y) != self.table.n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: [{self.table.n_rows}, {len(self.y)}]"
            )

    @property
    def columns(self) -> list[str]:
        """Of the features."""
        if self.features is not None:
            return list(self.features)
        return [name for name in self.table.columns if not isinstance(self.y, str) or name != self.y]

    def blocks(self, n_encoded: int = 1) -> Iterator[Labelled]:
        """Fewer rows where they are encoded as many numbers. Shape: ``(n, k)``, ``(n,)`` or ``(n, n_outputs)``."""
        n_rows = max(1, min(MOST_BLOCK_ROWS, BLOCK_VALUES // max(n_encoded, len(self.table.columns))))
        place = 0
        for frame in self.table.blocks(n_rows):
            features, y = self._split(frame, place)
            place += len(frame)
            if len(y):
                yield features[self.columns], y

    def _split(self, frame: pandas.DataFrame, place: int) -> Labelled:
        if not isinstance(self.y, str):
            return frame, np.asarray(self.y)[place : place + len(frame)]
        how: dict[str, Any] = {"style": self.style, "na_values": self.na_values, "drop_missing": self.drop_missing}
        return take_target(frame, self.y, **how, allow_constant=True)


def fit_table_by_blocks(
    model: TableRegressor,
    X: Any,
    y: Any,
    max_memory: int | str | None,
    scratch: str | os.PathLike[str] | None,
    beside: Mapping[str, Any],
) -> None:
    """The fit of a `TableRegressor`. ``beside`` holds the arguments that only other fits have."""
    refuse_beside(beside)
    rows = LabelledBlocks(table_blocks(X, na_values=model.na_values), y, na_values=model.na_values)
    fit_labelled_blocks(model, rows, max_memory, scratch)


def fit_labelled_blocks(
    model: TableRegressor,
    rows: LabelledBlocks,
    max_memory: int | str | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> TableRegressor:
    """Fit to features and targets that come in blocks."""
    model.check_parameters()
    regressor = clone(model._unfitted())
    check_fits_blocks(regressor)
    budget = Budget.of(max_memory)
    budget.window_bytes(len(rows.columns) + 1)  # a budget that is too small is refused at once
    model._forget()
    with regressor._watch("Looking at the columns", minor=True):
        drawn = _survey(model, rows, budget)
    if len(drawn.places) == drawn.n_rows:
        model.fit(drawn.frame, drawn.y)
    else:
        _fit(model, regressor, rows, drawn, replace(budget, most_kept=len(drawn.places)), scratch)
    model.n_features_in_ = len(rows.columns)
    if rows.table.named:
        model.feature_names_in_ = np.array(rows.columns, dtype=object)
    else:
        model.__dict__.pop("feature_names_in_", None)
    return model


@dataclass(frozen=True)
class Surveyed:
    """What the first pass has found. Shapes: places ``(n_drawn,)``, frame ``(n_drawn, k)``, y ``(n_drawn[, n_outputs])``."""

    columns: dict[str, Survey]
    n_rows: int
    places: npt.NDArray[np.intp]
    frame: pandas.DataFrame
    y: Array


def _survey(model: TableRegressor, rows: LabelledBlocks, budget: Budget) -> Surveyed:
    kinds = model.kinds or {}
    used = [name for name in rows.columns if kinds.get(name) != IGNORE]
    columns = {name: Survey(name, kinds.get(name) == "category") for name in used}
    drawn: Drawn[Labelled] = Drawn(budget.n_kept(len(rows.columns) + 1), partial(_take, rows.table.name), _join)
    n_rows = 0
    noted: dict[Any, Any] = {}
    for frame, y in rows.blocks():
        noted = noted or frame.attrs
        survey_block(columns, frame, model.na_values)
        drawn.add(n_rows, len(y), (frame, y))
        n_rows += len(y)
    if not n_rows:
        raise Source(rows.table.name).error("it has no rows with a target.")
    places, (frame, y) = drawn.result()
    frame.attrs.update({**noted, "file": rows.table.name})
    return Surveyed(columns, n_rows, places, frame, y)


def _take(table: str, labelled: Labelled, some: npt.NDArray[np.intp]) -> Labelled:
    """Rows whose names tell the file, where the table has several."""
    frame, y = labelled
    part, file = frame.iloc[some], frame.attrs.get("file", table)
    if file != table:
        part = part.set_axis(pandas.MultiIndex.from_product([[file], part.index]), axis=0)
    part.attrs.clear()
    return part, y[some]


def _join(parts: list[Labelled]) -> Labelled:
    return pandas.concat([frame for frame, _ in parts]), np.concatenate([y for _, y in parts])


def _fit(
    model: TableRegressor,
    regressor: NetsRegressor,
    rows: LabelledBlocks,
    drawn: Surveyed,
    budget: Budget,
    scratch: str | os.PathLike[str] | None,
) -> None:
    frame = drawn.frame
    schema = learn_schema(drawn.columns, frame, model.kinds, model.max_categories, model.na_values)
    levels, transformer, encoded = learn_encoding(schema, frame, drawn.y, None, None)
    fit_blocks(regressor, EncodedBlocks(rows, schema, transformer, drawn, encoded.to_numpy()), budget, scratch)
    if levels:  # new rows have numbers that all drawn rows have a part in
        regressor.compare_with(encode(schema, transformer, frame, Notes(), strict=False))
    model._settle(schema, levels, transformer, regressor, frame, None)


class EncodedBlocks:
    """Blocks of the numbers that a regressor takes. Drawn rows have those that were learned from other rows.

    Shape: encoded ``(n_drawn, n_columns)``.
    """

    def __init__(self, rows: LabelledBlocks, schema: Schema, transformer: Any, drawn: Surveyed, encoded: Array) -> None:
        self._rows, self._schema, self._transformer = rows, schema, transformer
        self._places, self._encoded = drawn.places, encoded
        self.names: list[str] | None = list(transformer.get_feature_names_out())
        self.n_columns, self.n_rows = encoded.shape[1], drawn.n_rows
        self.y_is_vector = drawn.y.ndim == 1
        self.n_outputs = 1 if self.y_is_vector else drawn.y.shape[1]

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        place = 0
        for features, y in self._rows.blocks(self.n_columns):
            numbers = self._transformer.transform(self._schema.read(features, Notes()))
            first, last = np.searchsorted(self._places, [place, place + len(y)])
            numbers[self._places[first:last] - place] = self._encoded[first:last]
            yield as_rows(numbers, y, place, self.names)
            place += len(y)
