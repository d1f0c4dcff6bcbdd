"""Rows that are being read: their values by column, and errors and notes about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.compute as pc

from extranets.tables.errors import Source, listed, shown
from extranets.tables.notes import Notes
from extranets.tables.values import Mask, column_values

STRICT = "Without strict=True this would be a warning."


def named_by_text(frame: pandas.DataFrame, source: Source) -> pandas.DataFrame:
    """The same data frame, with names of columns that are texts and differ."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise source.error(f"the table has several columns {listed({n: 0 for n in names if names.count(n) > 1})}.")
    return frame if names == list(frame.columns) else frame.set_axis(names, axis=1)


class Rows:
    """A block of a table, with the ways to refuse a value or to note something about it.

    Parameters
    ----------
    frame : DataFrame; its index names the rows in messages
    na_values : further texts that stand for missing values
    notes : collects what is odd
    strict : whether what is odd is refused instead
    """

    def __init__(
        self, frame: pandas.DataFrame, na_values: Sequence[str] = (), notes: Notes | None = None, strict: bool = False
    ) -> None:
        self.source = Source.of(frame)
        self.frame = named_by_text(frame, self.source)
        self.na_values = na_values
        self.notes = Notes() if notes is None else notes
        self.strict = strict

    def values(self, column: str) -> pa.Array:
        return column_values(self.frame[column], self.source, self.na_values)

    def refuse(self, bad: Mask, column: str, values: pa.Array, what: str) -> None:
        """Raise an error about the first of the bad values, if there is one: ``'abc' is not a number``."""
        if bad.any():
            first = int(np.argmax(bad))
            raise self._error(first, column, f"{shown(values[first].as_py())} {what}.")

    def note_filled(self, column: str, missing: Mask, taken_as: str) -> None:
        if self.strict:
            message = f"the value is missing, but none was missing in training. {STRICT}"
            raise self._error(int(np.argmax(missing)), column, message)
        self.notes.add_filled(column, int(missing.sum()), taken_as)

    def note_new_categories(self, column: str, text: pa.Array, new: Mask, taken_as: str) -> None:
        if not new.any():
            return
        if self.strict:
            first = int(np.argmax(new))
            raise self._error(first, column, f"{shown(text[first].as_py())} was not seen in training. {STRICT}")
        counts = pc.value_counts(text.filter(pa.array(new))).to_pylist()
        self.notes.add_new_categories(column, {entry["values"]: entry["counts"] for entry in counts}, taken_as)

    def _error(self, position: int, column: str, message: str) -> Exception:
        return self.source.error(message, row=self._label(position), column=column)

    def _label(self, position: int) -> Any:
        return self.frame.index[position]
