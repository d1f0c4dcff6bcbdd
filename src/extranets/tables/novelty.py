"""Rows of a table unlike those of training, in the table's own columns.

The regressor knows what the training rows cover of the encoded features; here they become columns again. A category that was not
seen has no feature, and so is outside, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas

from extranets._arrays import Array
from extranets.tables.columns import CategoryColumn, Column, DateColumn, NumberColumn
from extranets.tables.encoding import DAY, DAYS
from extranets.tables.notes import Notes
from extranets.tables.schema import Schema

Mask = npt.NDArray[np.bool_]


def outside_columns(schema: Schema, regressor: Any, encoded: pandas.DataFrame) -> pandas.DataFrame:
    """Which values lie outside of what the training rows cover. Shape: ``(n, n_encoded)`` -> ``(n, n_columns)``, bool."""
    outside = regressor.predict_outside(encoded)
    features = column_of_features(tuple(schema.names), tuple(encoded.columns))
    found = {}
    for column in schema.columns:
        own = np.flatnonzero(features == column.name)
        unseen = isinstance(column, CategoryColumn)
        found[column.name] = ~encoded.to_numpy()[:, own].any(axis=1) if unseen else outside[:, own].any(axis=1)
    return pandas.DataFrame(found, index=encoded.index)


def novelty_of(schema: Schema, regressor: Any, encoded: pandas.DataFrame) -> Array:
    """The regressor's score, and 1 for rows with a value outside. Shape: ``(n, n_encoded)`` -> ``(n,)``."""
    outside = outside_columns(schema, regressor, encoded).to_numpy().any(axis=1)
    return np.where(outside, 1.0, regressor.predict_novelty(encoded))


def note_outside(schema: Schema, regressor: Any, encoded: pandas.DataFrame, notes: Notes) -> None:
    """Note numbers and dates outside of training, the same ones as `outside_columns`."""
    notes.add_rows(len(encoded))
    if not getattr(regressor, "knows_novelty", False):
        return
    outside = outside_columns(schema, regressor, encoded)
    for column in schema.columns:
        for rows, what in _kinds(column, outside[column.name].to_numpy(), encoded):
            if rows.any():
                notes.add_outside(column.name, encoded.index[rows], what)


def _kinds(column: Column, outside: Mask, encoded: pandas.DataFrame) -> Iterator[tuple[Mask, str]]:
    """Rows whose value is outside in some way, and in words how."""
    if isinstance(column, NumberColumn):
        yield outside, f"outside of training ({column.described()})"
    if isinstance(column, DateColumn):
        days = encoded[f"{column.name}{DAYS}"].to_numpy()
        length = (np.datetime64(column.last, "us") - np.datetime64(column.first, "us")) / DAY
        first, last = column.described().split(" to ")
        yield outside & (days > length), f"later than the last date of training, {last}"
        yield outside & (days < 0), f"earlier than the first date of training, {first}"
        yield (
            outside & (days >= 0) & (days <= length),
            f"in a part of the time or the year in which training ({first} to {last}) has no rows",
        )


@lru_cache(maxsize=32)
def column_of_features(columns: tuple[str, ...], features: tuple[str, ...]) -> npt.NDArray[np.object_]:
    """The column that each feature is made of.

    Examples
    --------
    >>> column_of_features(("day", "city", "city size"), ("day, days", "city=Ulm", "city size", "city size is missing")).tolist()
    ['day', 'city', 'city size', 'city size']
    """
    longest_first = sorted(columns, key=len, reverse=True)
    return np.array(
        [next(name for name in longest_first if _is_of(feature, name)) for feature in features], dtype=object
    )


def _is_of(feature: str, column: str) -> bool:
    return feature == column or feature.startswith((f"{column}=", f"{column}, ", f"{column}: ", f"{column} is missing"))
