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
from extranets._random import Purpose, uniforms
from extranets.engine import Moments
from extranets.model_file import require, storable
from extranets.onnx_graph import Value
from extranets.predictor.covered import Covered, stretches, together
from extranets.predictor.part import Source, check_variances

MOST = 4.0  # times the variance that networks explain: of two unrelated predictions it is 2, and networks go on too far
BEYOND, BETWEEN = 1.5, 0.5  # what squared distances are multiplied by, beyond an end and in a gap
SHARE, ROWS = (
    0.1,
    100,
)  # of the rows, at each end of a column, on which slopes are looked at, and how many of them at most
STEP = 0.1  # standard deviations: how far these rows are moved, inwards
MANY = 500  # columns that are looked at one by one; more are looked at in so many groups
FEW = 32  # rows in which the columns of a group are moved together


@storable("Distance")
@dataclass(frozen=True)
class Distance(Covered):
    """What the training rows cover of every column, and how the epistemic variance grows with the distance from there.

    Everything is standardised. Column c is covered from ``low[c]`` to ``high[c]``, but for the gaps ``begins[g]`` to ``ends[g]`` with
    ``columns[g] == c``, which are sorted by column, then place.

    Shapes: low, high ``(k,)``; columns, begins, ends ``(n_gaps,)``; slopes ``(k, n_outputs)``; most ``(n_outputs,)``.
    """

    slopes: Array
    most: Array
    factor: float

    @classmethod
    def learn(cls, X: Float32, moments: Moments, factor: float) -> Distance:
        """From the training rows and what predicts. Shape: X ``(n, k)``, standardised."""
        slopes, explained = slopes_along_columns(X, moments)
        return cls(
            **together([stretches(column) for column in X.T]),
            slopes=slopes,
            most=MOST * explained,
            factor=float(factor),
        )

    def evaluate(self, X: Float32) -> Array:
        """What the epistemic variance is larger by. Shape: ``(n, k)`` -> ``(n, n_outputs)``."""
        exponent = (BEYOND * self.beyond(X) ** 2 + BETWEEN * self.between(X) ** 2) @ self._rates
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
        super()._check_stored()
        require(self.slopes.shape[:1] == self.low.shape, "columns do not fit")
        require(0 <= self.factor < np.inf, "the factor is negative or not finite")


def slopes_along_columns(X: Float32, moments: Moments) -> tuple[Array, Array]:
    """Mean squared slopes of the mean prediction at the ends of every column, and its variance.

    A prediction takes time in proportion to the columns. So of more than 500 columns, those of a group get the mean of the group, and
    the time stays in proportion to the columns.

    Shape: X ``(n, k)`` -> ``(k, n_outputs)``, ``(n_outputs,)``.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2)).astype(np.float32)
    >>> slopes, explained = slopes_along_columns(X, lambda X: (X[:, :1] ** 2, None, None))
    >>> slopes.round(1).tolist(), explained.round(1).tolist()
    ([[2.9], [0.0]], [0.1])
    """
    slopes = _of_groups(X, moments) if X.shape[1] > MANY else _of_columns(X, moments)
    some = X[_evenly(len(X), 2 * ROWS)]
    return slopes, moments(some)[0].var(axis=0, dtype=np.float64)


def _of_columns(X: Float32, moments: Moments) -> Array:
    """Shape: ``(n, k)`` -> ``(k, n_outputs)``."""
    slopes = []
    for column, values in enumerate(X.T):
        here = X[_at_ends(values)]
        moved = here.copy()
        moved[:, column] -= STEP * np.sign(moved[:, column])  # zero is the mean
        slopes.append(_mean_squared_slope(moments(here)[0], moments(moved)[0]))
    return np.array(slopes)


def _of_groups(X: Float32, moments: Moments) -> Array:
    """The mean over the columns of a group, which are moved together: with random signs, squares of their slopes add up.

    Shape: ``(n, k)`` -> ``(k, n_outputs)``.
    """
    n_columns = X.shape[1]
    here = X[_evenly(len(X), FEW)]
    signs = np.where(uniforms(0, np.arange(len(here)), Purpose.ROWS, n_columns) < 0.5, -1, 1)
    mean, of_group = moments(here)[0], []
    for group in range(MANY):
        columns = slice(group, None, MANY)
        moved = here.copy()
        n_moved = signs[0, columns].size
        moved[:, columns] += STEP * signs[:, columns] / np.sqrt(n_moved)  # together as far as one column alone
        of_group.append(_mean_squared_slope(mean, moments(moved)[0]))
    return np.array(of_group)[np.arange(n_columns) % MANY]


def _mean_squared_slope(here: Array, there: Array) -> Array:
    """From predictions of rows that are a step apart. Shape: ``(n, n_outputs)`` twice -> ``(n_outputs,)``."""
    return np.mean(np.subtract(there, here, dtype=np.float64) ** 2, axis=0) / STEP**2


def _at_ends(values: Float32) -> npt.NDArray[np.intp]:
    """Some of the rows with the smallest and the largest values."""
    order = np.argsort(values, kind="stable")
    n = max(1, int(SHARE * len(values)))
    some = _evenly(n, ROWS)
    return np.concatenate([order[some], order[::-1][some]])


def _evenly(n: int, most: int) -> npt.NDArray[np.intp]:
    """Places among so many, evenly."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(np.intp)
