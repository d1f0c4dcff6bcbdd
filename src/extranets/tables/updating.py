"""A table's model catches up with rows whose targets have become known, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.tables.predictions import naming_rows
from extranets.tables.regressor import TableRegressor

BLOCK = 20  # rows, or somewhat more

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Followed:
    """How often targets were inside the intervals of one coverage: those that the model gave just before each update, and those
    that it would have given without any.
    """

    coverage: float
    n_rows: int
    n_updates: int
    inside: float
    without: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


def update_in_order(
    model: TableRegressor, X: Any, y: npt.ArrayLike, time: Any = None, *, block: int = BLOCK, coverage: float = 0.9
) -> Followed:
    """Call :meth:`TableRegressor.update` for one block of rows after the other, the earliest first.

    Parameters
    ----------
    model : fitted; it is changed
    X : data frame of shape (n, n_columns)
    y : array of shape (n,)
    time : array of shape (n,), optional
        Numbers or dates; without it, rows are taken in their order. Rows of the same time stay in one block.
    block : fewest rows of a block but for the last
    coverage : of the intervals that are counted

    Examples
    --------
    >>> import pandas
    >>> from extranets import ExtraNetsRegressor
    >>> random = np.random.default_rng(0)
    >>> table = pandas.DataFrame({"x": random.normal(size=600)})
    >>> y = table["x"].to_numpy() + random.normal(size=600) * np.where(np.arange(600) < 200, 1, 3)
    >>> model = TableRegressor(ExtraNetsRegressor(3, max_iter=20, random_state=0)).fit(table[:200], y[:200])
    >>> followed = update_in_order(model, table[200:], y[200:])
    >>> followed.n_updates, followed.without < 0.6, followed.inside > 0.7
    (20, True, True)
    """
    y = np.asarray(y, dtype=np.float64)
    encoded = model.encode(X)
    with naming_rows(encoded):
        without = inside(y, model.regressor_.predict_interval(encoded, coverage))
        found, parts = np.empty(len(y), dtype=bool), blocks_in_order(len(y), time, block)
        for rows in parts:
            own = encoded.iloc[rows]
            found[rows] = inside(y[rows], model.regressor_.predict_interval(own, coverage))
            model.regressor_.update(own, y[rows])
    return Followed(coverage, len(y), len(parts), float(found.mean()), float(without.mean()))


def inside(y: Array, bounds: Array) -> npt.NDArray[np.bool_]:
    """Shape: ``(n,)``, ``(n, 2)`` -> ``(n,)``."""
    return (bounds[:, 0] <= y) & (y <= bounds[:, 1])


def blocks_in_order(n_rows: int, time: Any, block: int) -> list[Rows]:
    """Rows of so many or more in each block but the last, whole times, the earliest first.

    Examples
    --------
    >>> [rows.tolist() for rows in blocks_in_order(5, np.array([3, 1, 1, 2, 0]), 2)]
    [[4, 1, 2], [3, 0]]
    """
    if time is None:
        time = np.arange(n_rows)
    order = np.argsort(time, kind="stable")
    begins = np.flatnonzero(np.append(True, time[order][1:] != time[order][:-1]))  # of each time
    cuts, last = [], 0
    for begin in begins.tolist():
        if begin - last >= block:
            cuts.append(begin)
            last = begin
    return np.split(order, cuts)
