"""What rows have in common, from the columns of a table: groups, times, weights, and whether they stand in the order of a date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow.compute as pc

from extranets._warnings import warn_user
from extranets.parting import Parting
from extranets.tables.columns import DateColumn, NumberColumn
from extranets.tables.errors import TableError, TableWarning, near
from extranets.tables.rows import Rows
from extranets.tables.schema import Schema

FEWEST_DATES = 10  # that make an order no chance


def column_groups(frame: pandas.DataFrame, name: str, na_values: Sequence[str] = ()) -> npt.NDArray[np.object_]:
    """What names the group of each row. Shape: ``(n,)``.

    Examples
    --------
    >>> column_groups(pandas.DataFrame({"school": ["A", "B", "A"]}), "school").tolist()
    ['A', 'B', 'A']
    """
    rows = Rows(frame, na_values)
    _require_column(rows, name)
    values = rows.values(name)
    missing = np.asarray(pc.is_null(values))
    if missing.any():
        rows.refuse(missing, name, values, "is no group; fill it in, or leave the row out")
    return np.array(values.to_pylist(), dtype=object)


def column_times(
    frame: pandas.DataFrame, name: str, kinds: Mapping[str, str] | None = None, na_values: Sequence[str] = ()
) -> npt.NDArray[Any]:
    """Dates or numbers, as the column's kind has it. Shape: ``(n,)``.

    Examples
    --------
    >>> column_times(pandas.DataFrame({"day": ["2024-05-01", "2024-05-02"]}), "day").astype("datetime64[D]").tolist()
    [datetime.date(2024, 5, 1), datetime.date(2024, 5, 2)]
    >>> column_times(pandas.DataFrame({"row": [1, 2, 3]}), "row").tolist()
    [1.0, 2.0, 3.0]
    """
    rows = Rows(frame, na_values)
    _require_column(rows, name)
    column = _learned(frame[[name]], name, (kinds or {}).get(name), na_values)
    values = rows.values(name)
    missing = np.asarray(pc.is_null(values))
    if missing.any():
        rows.refuse(missing, name, values, "is no time; fill it in, or leave the row out")
    return column.read(rows)


def column_weights(frame: pandas.DataFrame, name: str, na_values: Sequence[str] = ()) -> npt.NDArray[np.float64]:
    """Numbers. Shape: ``(n,)``."""
    rows = Rows(frame, na_values)
    _require_column(rows, name)
    values = rows.values(name)
    missing = np.asarray(pc.is_null(values))
    if missing.any():
        rows.refuse(missing, name, values, "is no weight; fill it in, or leave the row out")
    found: npt.NDArray[np.float64] = (
        Schema.learn(frame[[name]], {name: "number"}, na_values=na_values).columns[0].read(rows)
    )
    return found


def columns_beside(frame: pandas.DataFrame, asked: Mapping[str, Any], na_values: Sequence[str] = ()) -> dict[str, Any]:
    """Groups and weights as columns, where they are asked for by name; all else as it is given, but for None."""
    readers = {"groups": column_groups, "weights": column_weights}
    return {
        name: readers[name](frame, given, na_values) if isinstance(given, str) else given
        for name, given in asked.items()
        if given is not None
    }


def _learned(frame: pandas.DataFrame, name: str, kind: str | None, na_values: Sequence[str]) -> Any:
    """The column as dates, or else as numbers: also one that says nothing as a feature, such as one that counts the rows."""
    known = {} if kind in (None, "ignore") else {name: kind}
    try:
        column = Schema.learn(frame, known, na_values=na_values).columns[0]
        if isinstance(column, DateColumn | NumberColumn):
            return column
    except TableError:
        if known:
            raise
    return Schema.learn(frame, {name: "number"}, na_values=na_values).columns[0]


def _require_column(rows: Rows, name: str) -> None:
    names = [str(column) for column in rows.frame.columns]
    if name not in names:
        raise rows.source.error(f"there is no column {name!r}{near(name, names)}.")


def check_parting(groups: Any, time: Any, n_rows: int) -> Parting | None:
    """Groups or times of all rows, checked; None where neither is given."""
    found = Parting.of(groups, time, n_rows)
    return None if found is None else found.check()


def warn_of_order(schema: Schema, frame: pandas.DataFrame) -> None:
    """Where rows stand in the order of a date, and nobody has said what that means."""
    dates = [column for column in schema.columns if isinstance(column, DateColumn)]
    for name, moments in schema.part(dates).read(frame).items() if dates else ():
        known = moments.dropna().to_numpy(dtype="datetime64[us]")
        steps = np.diff(known).astype(np.int64)
        if np.count_nonzero(steps) >= FEWEST_DATES - 1 and ((steps >= 0).all() or (steps <= 0).all()):
            warn_user(
                f"The rows stand in the order of the date {name!r}, but were left out at random. If the rows to predict are later, "
                f"give time={name!r} (--time {name}): intervals are then learned from errors on rows that are later than those "
                "that networks saw.",
                TableWarning,
            )
            return
