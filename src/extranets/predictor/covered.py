"""What rows cover of every column: from where to where there are some, and the gaps between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.model_file import require, storable

USUAL = 0.95  # share of the rows that have another row as near as is called usual, by the column alone
LEAST_USUAL = 0.01  # standard deviations: no value covers less
MOST_GAPS = 100  # of a column, the widest


@storable("Covered")
@dataclass(frozen=True)
class Covered:
    """Column c is covered from ``low[c]`` to ``high[c]``, but for the gaps ``begins[g]`` to ``ends[g]`` with ``columns[g] == c``,
    which are sorted by column, then place.

    Shapes: low, high ``(k,)``; columns, begins, ends ``(n_gaps,)``.
    """

    low: Float32
    high: Float32
    columns: npt.NDArray[np.int32]
    begins: Float32
    ends: Float32

    def distances(self, X: Float32) -> Array:
        """From what is covered, for every column. Shape: ``(n, k)`` -> ``(n, k)``, not negative."""
        return self.beyond(X) + self.between(X)

    def beyond(self, X: Float32) -> Array:
        """How far values are beyond the ends of their columns. Shape: ``(n, k)`` -> ``(n, k)``."""
        return np.maximum(np.maximum(self.low - X, X - self.high), 0).astype(np.float64)

    def between(self, X: Float32) -> Array:
        """How deep values are in gaps. Shape: ``(n, k)`` -> ``(n, k)``."""
        found = np.zeros(X.shape)
        borders = np.searchsorted(self.columns, np.arange(X.shape[1] + 1))
        for column in np.unique(self.columns):
            own = slice(borders[column], borders[column + 1])
            begins, ends, x = self.begins[own], self.ends[own], X[:, column]
            at = np.maximum(np.searchsorted(begins, x) - 1, 0)
            found[:, column] = np.maximum(np.minimum(x - begins[at], ends[at] - x), 0)
        return found

    def _check_stored(self) -> None:
        n_columns, n_gaps = len(self.low), len(self.columns)
        require(self.low.shape == self.high.shape == (n_columns,), "columns do not fit")
        require(self.columns.shape == self.begins.shape == self.ends.shape == (n_gaps,), "gaps do not fit")
        for values in (self.low, self.high, self.begins, self.ends):
            require(np.isfinite(values).all(), "what training rows cover is not finite")
        require((self.low <= self.high).all() and (self.begins < self.ends).all(), "a stretch of a column is empty")
        known = (self.columns >= 0) & (self.columns < n_columns)
        require(known.all() and (np.diff(self.columns) >= 0).all(), "gaps are not in the order of the columns")
        following = np.diff(self.columns) == 0
        require((self.begins[1:][following] >= self.ends[:-1][following]).all(), "gaps of a column overlap")


def stretches(values: Float32) -> tuple[Float32, Float32]:
    """Where the stretches that values cover begin and end. Shape: ``(n,)`` -> ``(n_stretches,)`` each.

    Examples
    --------
    >>> begins, ends = stretches(np.array([0, 1, 2, 3, 10, 11, 12, 13], dtype=np.float32))
    >>> begins.tolist(), ends.tolist()
    ([-1.0, 9.0], [4.0, 14.0])
    """
    ordered = np.sort(values)
    steps = np.diff(ordered)
    usual = np.float32(max(usual_distance(steps), LEAST_USUAL))
    begins, ends = ordered - usual, ordered + usual
    wide = begins[1:] > ends[:-1]  # after rounding, so that no gap is empty
    return begins[np.append(True, wide)], ends[np.append(wide, True)]


def usual_distance(steps: Float32) -> float:
    """So far or nearer is the next of most values, between which steps are. Shape: ``(n - 1,)``."""
    nearest = np.minimum(np.append(np.inf, steps), np.append(steps, np.inf))
    return float(np.quantile(nearest, USUAL))


def together(covered: Sequence[tuple[Float32, Float32]]) -> dict[str, Any]:
    """Fields of `Covered`, from where the stretches of each column begin and end; of the gaps, the widest.

    Examples
    --------
    >>> found = together([(np.array([-1.0, 9.0]), np.array([4.0, 14.0])), (np.array([0.0]), np.array([1.0]))])
    >>> {name: values.tolist() for name, values in found.items()}
    {'low': [-1.0, 0.0], 'high': [14.0, 1.0], 'columns': [0], 'begins': [4.0], 'ends': [9.0]}
    """
    gaps = [_widest(ends[:-1], begins[1:]) for begins, ends in covered]
    return {
        "low": np.array([begins[0] for begins, _ in covered]),
        "high": np.array([ends[-1] for _, ends in covered]),
        "columns": np.repeat(np.arange(len(gaps), dtype=np.int32), [len(begins) for begins, _ in gaps]),
        "begins": np.concatenate([begins for begins, _ in gaps]),
        "ends": np.concatenate([ends for _, ends in gaps]),
    }


def _widest(begins: Float32, ends: Float32) -> tuple[Any, Any]:
    """In their order. Shape: ``(n_gaps,)`` each."""
    chosen = np.sort(np.argsort(begins - ends, kind="stable")[:MOST_GAPS])
    return begins[chosen], ends[chosen]
