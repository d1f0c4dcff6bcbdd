"""How much less is known about a row, the farther it lies from the training rows.

Networks agree more than they should where there are no rows: in a gap they draw the same line, and beyond the ends they go on alike.
So the epistemic variance gets a term for each column in which a row lies far from every training row. It grows as that of
a Gaussian process does with the distance from its rows, whose length along a column is the one that makes functions as steep as the
networks' mean:

    most * (1 - exp(-sum of slope[c] * distance[c]^2 / most))

``most`` is four times the variance that the networks explain, ``slope[c]`` the mean squared slope of their mean along column c, at both
ends of the column, and ``distance[c]`` how far the row lies from what the training rows cover of the column: every value covers its
surroundings, so far as is usual between neighbours in this column. Rows among the training rows get nothing. Squared distances count
by half in a gap, where the mean is held on both sides, and one and a half times beyond an end, where the networks go on in a direction
of their own.

The numbers below were chosen on simulated functions and on tables in benchmarks/ordinary with regions left out; half or twice as much
hardly changes the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.engine import Moments
from extranets.model_file import require, storable
from extranets.onnx_graph import Value
from extranets.predictor.part import Source, check_variances

USUAL = 0.95  # share of the rows that have another row as near as is called usual, by the column alone
LEAST_USUAL = 0.01  # standard deviations: no value covers less
MOST_GAPS = 100  # of a column, the widest
MOST = 4.0  # times the variance that networks explain: of two unrelated predictions it is 2, and networks go on too far
BEYOND, BETWEEN = 1.5, 0.5  # what squared distances are multiplied by, beyond an end and in a gap
SHARE, ROWS = (
    0.1,
    100,
)  # of the rows, at each end of a column, on which slopes are looked at, and how many of them at most
STEP = 0.1  # standard deviations: how far these rows are moved, inwards


@storable("Distance")
@dataclass(frozen=True)
class Distance:
    """What the training rows cover of every column, and how the epistemic variance grows with the distance from there.

    Everything is standardised. Column c is covered from ``low[c]`` to ``high[c]``, but for the gaps ``begins[g]`` to ``ends[g]`` with
    ``columns[g] == c``, which are sorted by column, then place.

    Shapes: low, high ``(k,)``; columns, begins, ends ``(n_gaps,)``; slopes ``(k, n_outputs)``; most ``(n_outputs,)``.
    """

    low: Float32
    high: Float32
    columns: npt.NDArray[np.int32]
    begins: Float32
    ends: Float32
    slopes: Array
    most: Array
    factor: float

    @classmethod
    def learn(cls, X: Float32, moments: Moments, factor: float) -> Distance:
        """From the training rows and what predicts. Shape: X ``(n, k)``, standardised."""
        covered = [stretches(column) for column in X.T]
        gaps = [_widest(ends[:-1], begins[1:]) for begins, ends in covered]
        slopes, explained = slopes_along_columns(X, moments)
        return cls(
            low=np.array([begins[0] for begins, _ in covered]),
            high=np.array([ends[-1] for _, ends in covered]),
            columns=np.repeat(np.arange(len(gaps), dtype=np.int32), [len(begins) for begins, _ in gaps]),
            begins=np.concatenate([begins for begins, _ in gaps]),
            ends=np.concatenate([ends for _, ends in gaps]),
            slopes=slopes,
            most=MOST * explained,
            factor=float(factor),
        )

    def distances(self, X: Float32) -> Array:
        """From what is covered, for every column. Shape: ``(n, k)`` -> ``(n, k)``, not negative."""
        return self._beyond(X) + self._between(X)

    def _beyond(self, X: Float32) -> Array:
        return np.maximum(np.maximum(self.low - X, X - self.high), 0).astype(np.float64)

    def _between(self, X: Float32) -> Array:
        found = np.zeros(X.shape)
        borders = np.searchsorted(self.columns, np.arange(X.shape[1] + 1))
        for column in np.unique(self.columns):
            own = slice(borders[column], borders[column + 1])
            begins, ends, x = self.begins[own], self.ends[own], X[:, column]
            at = np.maximum(np.searchsorted(begins, x) - 1, 0)
            found[:, column] = np.maximum(np.minimum(x - begins[at], ends[at] - x), 0)
        return found

    def evaluate(self, X: Float32) -> Array:
        """What the epistemic variance is larger by. Shape: ``(n, k)`` -> ``(n, n_outputs)``."""
        exponent = (BEYOND * self._beyond(X) ** 2 + BETWEEN * self._between(X) ** 2) @ self._rates
        return -np.expm1(-exponent) * (self.factor * self.most)

    def graph(self, x: Value) -> Value:
        """The same as a part of a graph."""
        beyond = (self.low - x).apply("Max", x - self.high).apply("Max", np.float32(0)).cast(np.float64)
        squares = beyond * beyond * BEYOND
        if len(self.columns):
            inside = x.take(self.columns, axis=1)
            depths = (inside - self.begins).apply("Min", self.ends - inside).apply("Max", np.float32(0))
            belongs = (self.columns[:, None] == np.arange(len(self.low))).astype(np.float32)
            between = (depths @ belongs).cast(np.float64)
            squares = squares + between * between * BETWEEN
        exponent = squares @ self._rates
        return (1.0 - (-exponent).apply("Exp")) * (self.factor * self.most)

    @property
    def _rates(self) -> Array:
        """Shape: ``(k, n_outputs)``."""
        return np.divide(self.slopes, self.most, out=np.zeros_like(self.slopes), where=self.most > 0)

    def check_fits(self, source: Source) -> None:
        """Refuse, by ``ValueError``, a stored part that does not go with these networks."""
        check_variances(self.slopes, (source.n_features, source.n_outputs), "slopes")
        check_variances(self.most, (source.n_outputs,), "the variance that networks explain")

    def _check_stored(self) -> None:
        n_columns, n_gaps = len(self.low), len(self.columns)
        require(self.low.shape == self.high.shape == (n_columns,) == self.slopes.shape[:1], "columns do not fit")
        require(self.columns.shape == self.begins.shape == self.ends.shape == (n_gaps,), "gaps do not fit")
        for values in (self.low, self.high, self.begins, self.ends):
            require(np.isfinite(values).all(), "what training rows cover is not finite")
        require((self.low <= self.high).all() and (self.begins < self.ends).all(), "a stretch of a column is empty")
        known = (self.columns >= 0) & (self.columns < n_columns)
        require(known.all() and (np.diff(self.columns) >= 0).all(), "gaps are not in the order of the columns")
        following = np.diff(self.columns) == 0
        require((self.begins[1:][following] >= self.ends[:-1][following]).all(), "gaps of a column overlap")
        require(0 <= self.factor < np.inf, "the factor is negative or not finite")


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
    nearest = np.minimum(np.append(np.inf, steps), np.append(steps, np.inf))
    usual = np.float32(max(np.quantile(nearest, USUAL), LEAST_USUAL))
    wide = steps > 2 * usual
    return ordered[np.append(True, wide)] - usual, ordered[np.append(wide, True)] + usual


def _widest(begins: Float32, ends: Float32) -> tuple[Float32, Float32]:
    chosen = np.sort(np.argsort(begins - ends, kind="stable")[:MOST_GAPS])
    return begins[chosen], ends[chosen]


def slopes_along_columns(X: Float32, moments: Moments) -> tuple[Array, Array]:
    """Mean squared slopes of the mean prediction at the ends of every column, and its variance.

    Shape: X ``(n, k)`` -> ``(k, n_outputs)``, ``(n_outputs,)``.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2)).astype(np.float32)
    >>> slopes, explained = slopes_along_columns(X, lambda X: (X[:, :1] ** 2, None, None))
    >>> slopes.round(1).tolist(), explained.round(1).tolist()
    ([[2.9], [0.0]], [0.1])
    """
    slopes = []
    for column, values in enumerate(X.T):
        here = X[_at_ends(values)]
        moved = here.copy()
        moved[:, column] -= STEP * np.sign(moved[:, column])  # zero is the mean
        difference = np.subtract(moments(moved)[0], moments(here)[0], dtype=np.float64)
        slopes.append(np.mean(difference**2, axis=0) / STEP**2)
    some = X[_evenly(len(X), 2 * ROWS)]
    return np.array(slopes), moments(some)[0].var(axis=0, dtype=np.float64)


def _at_ends(values: Float32) -> npt.NDArray[np.intp]:
    """Some of the rows with the smallest and the largest values."""
    order = np.argsort(values, kind="stable")
    n = max(1, int(SHARE * len(values)))
    some = _evenly(n, ROWS)
    return np.concatenate([order[some], order[::-1][some]])


def _evenly(n: int, most: int) -> npt.NDArray[np.intp]:
    """Places among so many, evenly."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(np.intp)
