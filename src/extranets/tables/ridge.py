"""What some features explain of a target by ridge regression."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from extranets._arrays import Array, Float32, blocks

SMALLEST_DEVIATION = 1e-9  # of the largest value
PENALTY = 1e-3  # in units of the rows' total weight; features are standardised


class Ridge:
    """Ridge regressions on the same features and rows, with an intercept.

    Parameters
    ----------
    features : float32 array of shape (n, k), standardised
    weight : array of shape (n,)
        Rows of weight zero are not learned from.
    """

    def __init__(self, features: Float32, weight: Array) -> None:
        gram = np.zeros((features.shape[1] + 1,) * 2)
        for block in blocks(len(weight)):
            columns = np.column_stack([features[block].astype(np.float64), np.ones(len(features[block]))])
            gram += (columns * weight[block, None]).T @ columns
        gram[np.diag_indices(features.shape[1])] += PENALTY * weight.sum()  # the intercept, last, has no penalty
        self._features, self._weight, self._factor = features, weight, cho_factor(gram, overwrite_a=True)

    def fitted(self, values: Array) -> Array:
        """Of all rows, from those of positive weight. Shape: ``(n,)`` -> ``(n,)``."""
        weighted = values * self._weight
        product = np.append(weighted.astype(np.float32) @ self._features, weighted.sum())
        slopes = cho_solve(self._factor, product)
        return self._features @ slopes[:-1].astype(np.float32) + slopes[-1]


def standardised(columns: Array, weight: Array) -> Float32:
    """Mean 0 and standard deviation 1, or zeros where a column does not vary or is too large for that. Shape: ``(n, k)``."""
    found = np.empty(columns.shape, dtype=np.float32)
    for at in range(columns.shape[1]):  # one by one, so that only the result is large
        found[:, at] = standard_column(columns[:, at], weight)
    return found


def standard_column(values: Array, weight: Array) -> Array:
    """The same for one column, in double precision. Shape: ``(n,)``."""
    largest = np.abs(values[weight > 0]).max(initial=0.0)
    with np.errstate(all="ignore"):
        scaled = values / largest  # so that no sum of squares overflows
        centred = scaled - np.average(scaled, weights=weight)
        deviation = np.sqrt(np.average(centred**2, weights=weight))
        found = centred / deviation
    return found if deviation > SMALLEST_DEVIATION and np.isfinite(found).all() else np.zeros(len(values))


def strongest(columns: Array, targets: Array, weight: Array) -> npt.NDArray[np.intp]:
    """Positions of the columns, that with the strongest correlation with one of the targets first. Shape: ``(n, k)`` -> ``(k,)``."""
    weighted = targets * weight[:, None]
    correlations = [np.abs(standard_column(columns[:, at], weight) @ weighted).max() for at in range(columns.shape[1])]
    return np.argsort(-np.array(correlations), kind="stable")
