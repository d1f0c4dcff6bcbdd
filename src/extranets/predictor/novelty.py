"""Whether rows lie outside of what the training rows cover, and how far they are from them.

Outside is a matter of single columns, so that it can be said in which. A column's training rows cover it from the smallest value to the
largest, and a margin beyond: three times as far as the outer twentieth of them lies beyond the rest, on average. In a tail like that of an
exponential distribution, the next value is larger than all and beyond the margin with probability exp(-3) / (n + 1). Between two values
there is a gap where no training row is nearer than the larger margin, and than three times the usual distance between neighbours. A column
of few values has no margins.

The score is a matter of whole rows: the share of the training rows that are less far from the others than a row is from them,
in standard deviations of the columns. Far is the distance to the nearest of some training rows that are kept. So of rows that are drawn as the
training rows were, about one in twenty has a score above 0.95. Rows outside in some column have a score of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from extranets._arrays import Array, Float32, blocks
from extranets._random import Purpose, generator
from extranets._warnings import is_muted, warn_once
from extranets.model_file import require, storable
from extranets.predictor.covered import LEAST_USUAL, Covered, together, usual_distance
from extranets.predictor.part import Source
from extranets.predictor.units import Scaling, dense

TAIL = 0.05  # of the rows, at each end
MARGIN = 3.0  # times their mean distance from the rest
FEW, OFTEN = 10, 10  # values of a column, and rows for each, so that others are new ones
MOST_ROWS = 500  # that are kept
MOST_NUMBERS = 100_000  # in them
SEED, PART = 0, 2  # of their choice: it is no matter of the networks' seed
COMPARED = 4096  # rows at a time
ROUNDING = 1e-6  # of a column that was constant
NAMED_ROWS, NAMED_COLUMNS = 5, 5

Mask = npt.NDArray[np.bool_]


class NoveltyWarning(UserWarning):
    """Rows lie outside of what the training rows cover: predictions and intervals are less certain there than they look."""


class Bounds(NamedTuple):
    """What is inside, in the user's units: from low to high, but not between begins and ends of some columns."""

    low: Array
    high: Array
    columns: npt.NDArray[np.int32]
    begins: Array
    ends: Array

    @classmethod
    def of(cls, limits: Covered, scaling: Scaling) -> Bounds:
        constant = ROUNDING * np.abs(scaling.centre) * (scaling.scale == 0)
        low, high = scaling.undo(limits.low) - constant, scaling.undo(limits.high) + constant
        scale, centre = scaling.scale[limits.columns], scaling.centre[limits.columns]
        return cls(low, high, limits.columns, limits.begins * scale + centre, limits.ends * scale + centre)

    def leave_out(self, X: Array) -> bool:
        """Whether any value is outside. Shape: ``(n, k)``. Every prediction asks; counting is quicker than ``any`` for single rows."""
        if np.count_nonzero(self.low > X) or np.count_nonzero(self.high < X):
            return True
        if not len(self.columns):
            return False
        inner = X[:, self.columns]
        return bool(np.count_nonzero((inner > self.begins) & (inner < self.ends)))

    def outside(self, X: Array) -> Mask:
        """Shape: ``(n, k)`` -> ``(n, k)``."""
        found = (self.low > X) | (self.high < X)
        inner = X[:, self.columns]
        rows, gaps = np.nonzero((inner > self.begins) & (inner < self.ends))
        found[rows, self.columns[gaps]] = True
        return found


@storable("Novelty")
@dataclass(frozen=True)
class Novelty:
    """Everything is standardised. Shapes: rows ``(n_rows, k)``; nearest ``(n_rows,)``, how far each of them is from the others,
    ascending.
    """

    limits: Covered
    rows: Float32
    nearest: Array

    @classmethod
    def learn(cls, X: Float32) -> Novelty:
        """From the training rows, standardised as new ones are. Shape: ``(n, k)``."""
        n_rows, n_columns = X.shape
        most = max(2, min(MOST_ROWS, MOST_NUMBERS // n_columns))
        drawn = np.sort(generator(SEED, Purpose.ROWS, part=PART).permutation(n_rows)[:most])
        rows = np.ascontiguousarray(X[drawn])
        apart = cdist(rows, rows)
        np.fill_diagonal(apart, np.inf)
        limits = Covered(**together([limits_of(column) for column in X.T]))
        return cls(limits, rows, np.sort(apart.min(axis=1)))

    def score(self, X: Float32) -> Array:
        """Share of the kept rows that are less far from the others. Shape: ``(n, k)`` -> ``(n,)``."""
        found = np.empty(len(X))
        for begin in range(0, len(X), COMPARED):
            own = slice(begin, begin + COMPARED)
            found[own] = cdist(X[own], self.rows).min(axis=1)
        return np.searchsorted(self.nearest, found, side="left") / len(self.nearest)

    def check_fits(self, source: Source) -> None:
        """Refuse, by ``ValueError``, a stored part that does not go with these networks."""
        require(len(self.limits.low) == source.n_features, "the rows that are kept have other columns")

    def _check_stored(self) -> None:
        require(self.rows.ndim == 2 and self.rows.shape[1] == len(self.limits.low), "kept rows have the wrong shape")
        require(np.isfinite(self.rows).all(), "kept rows are not finite")
        require(self.nearest.shape == (len(self.rows),) and len(self.rows) >= 1, "distances of kept rows do not fit")
        sound = np.isfinite(self.nearest).all() and (self.nearest >= 0).all() and (np.diff(self.nearest) >= 0).all()
        require(bool(sound), "distances of kept rows are not in order")


def limits_of(values: Float32) -> tuple[Float32, Float32]:
    """Where the stretches of a column begin and end that its rows cover, with margins. Shape: ``(n,)`` -> ``(n_stretches,)`` each.

    Examples
    --------
    >>> begins, ends = limits_of(np.arange(101, dtype=np.float32))
    >>> begins.tolist(), ends.tolist()
    ([-9.0], [109.0])
    """
    ordered = np.sort(values)
    steps = np.diff(ordered)
    n_tail = max(1, int(TAIL * len(ordered)))
    beyond = ordered[n_tail] - ordered[:n_tail], ordered[-n_tail:] - ordered[-1 - n_tail]
    n_values = 1 + np.count_nonzero(steps)
    margin = 0.0 if n_values <= FEW and len(values) >= OFTEN * n_values else MARGIN
    low, high = (np.float32(max(margin * float(np.mean(each)), LEAST_USUAL)) for each in beyond)
    gap = max(low, high, np.float32(margin * usual_distance(steps)))
    wide = steps > 2 * gap
    return (
        np.append(ordered[0] - low, ordered[1:][wide] - gap),
        np.append(ordered[:-1][wide] + gap, ordered[-1] + high),
    )


def outside_of(X: Any, bounds: Bounds) -> Mask:
    """Which values are outside, in the user's units. Shape: ``(n, k)``, dense or CSR -> ``(n, k)``."""
    return np.concatenate([bounds.outside(dense(X[rows])) for rows in blocks(X.shape[0])])


def tell(X: Any, bounds: Bounds, names: Sequence[str] | None) -> None:
    """Warn of rows outside, naming rows and columns. Of a single row, the text depends on the columns alone, so that a loop over rows
    does not tell again and again.

    Shape: X ``(n, k)``, dense or CSR.
    """
    if not any(bounds.leave_out(dense(X[rows])) for rows in blocks(X.shape[0])) or is_muted(NoveltyWarning):
        return
    found = outside_of(X, bounds)
    rows, n_rows = np.flatnonzero(found.any(axis=1)), len(found)
    who = "The row lies" if n_rows == 1 else f"{len(rows):,} of {n_rows:,} rows {'lies' if len(rows) == 1 else 'lie'}"
    named = ", ".join(map(str, rows[:NAMED_ROWS])) + (", ..." if len(rows) > NAMED_ROWS else "")
    which = "" if n_rows == 1 else f": {'row' if len(rows) == 1 else 'rows'} {named}, counted from 0"
    columns = np.argsort(-found.sum(axis=0), kind="stable")[: np.count_nonzero(found.any(axis=0))]
    listed = ", ".join(_named(column, bounds, names) for column in columns[:NAMED_COLUMNS].tolist())
    more = f" and {len(columns) - NAMED_COLUMNS} more" if len(columns) > NAMED_COLUMNS else ""
    warn_once(
        f"{who} outside of what the training rows cover{which}, in {listed}{more}. Predictions are less certain there than they "
        "look; predict_novelty and predict_outside say more.",
        NoveltyWarning,
    )


def _named(column: int, bounds: Bounds, names: Sequence[str] | None) -> str:
    name = f"column {column}" if names is None else repr(str(names[column]))
    return f"{name} (covered: {bounds.low[column]:.4g} to {bounds.high[column]:.4g})"
