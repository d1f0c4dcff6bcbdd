"""Bounds that follow the errors of rows in order, a block at a time, so that their coverage is right in the long run.

Each bound is a threshold for the arcsinh of standardised errors: where intervals are much too narrow, steps are in proportion to
what they have become. After every block of rows that were predicted together, it moves outward by ``step``
times the share of rows beyond it, less the share ``tail`` that is meant to be there. For single rows this is the quantile
tracking of Angelopoulos, Candès and Tibshirani (2023), which does on the scale of the errors what the adaptive conformal inference
of Gibbs and Candès (2021) does on that of levels, and needs no infinite intervals. A block is judged as a whole because its rows
were predicted as a whole: errors that hang together would otherwise leave the bounds where the block's last rows happened to be.

Let q be a threshold's values before blocks 1 to K + 1. The moves sum up to q[K + 1] - q[1]. With the arcsinh of all errors and
all first thresholds between -B and B, no threshold is ever farther out than B plus a step, nor farther in than -B minus a step, and both together are less than
2 B + the largest step. So, whatever the data, for steps s[k]

    |sum_k s[k] * (share of block k beyond - tail)| <= 2 B + max s

and with K blocks of n rows, which all have the same step s, the share of all rows beyond differs from the tail by (2 B + s) / (s K)
at most.

References
----------
Angelopoulos, A., Candès, E. and Tibshirani, R. (2023). Conformal PID control for time series prediction. Advances in Neural
Information Processing Systems 36.

Gibbs, I. and Candès, E. (2021). Adaptive conformal inference under distribution shift. Advances in Neural Information
Processing Systems 34.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from extranets._arrays import Array

# Of intervals whose bounds are followed, the narrowest first; those of others are between these.
COVERAGES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])
TAILS = (1 - COVERAGES) / 2
STEP = 0.03  # for each row of a block,
# up to half of what takes a threshold of Normal errors to its place at once; farther out, such a step would be too wild.
MOST = np.minimum(0.5 * np.sqrt(2 * np.pi) * np.exp(ndtri(TAILS) ** 2 / 2) / np.sqrt(1 + ndtri(TAILS) ** 2), 2.0)


def steps(n_rows: int) -> Array:
    """What a block moves each threshold by, for every share of its rows. Shape: ``(n_coverages,)``.

    Examples
    --------
    >>> steps(1)[-4:].tolist(), steps(1000)[-4:].round(2).tolist()
    ([0.03, 0.03, 0.03, 0.03], [2.0, 2.0, 2.0, 2.0])
    """
    return np.minimum(STEP * n_rows, MOST)


def follow(thresholds: Array, errors: Array) -> Array:
    """Thresholds after a block of rows that were predicted together.

    Shapes: thresholds ``(2, n_outputs, n_coverages)``, the arcsinh of how far bounds are below and above the mean; errors
    ``(n, n_outputs)``, how far targets were above their means, both in standard deviations.

    Examples
    --------
    One row above most bounds: the upper ones move outward and the lower ones inward.

    >>> before = np.arcsinh(np.tile(ndtri(1 - TAILS), (2, 1, 1)))
    >>> moves = (follow(before, np.array([[2.0]])) - before) / STEP
    >>> moves[:, 0, -5:].round(3).tolist()
    [[-0.1, -0.05, -0.025, -0.01, -0.005], [0.9, 0.95, 0.975, -0.01, -0.005]]
    """
    found = np.empty_like(thresholds)
    for side, sign in enumerate((-1, 1)):
        for output, own in enumerate(thresholds[side]):
            ordered = np.arcsinh(np.sort(sign * errors[:, output]))
            beyond = 1 - np.searchsorted(ordered, own, side="right") / len(errors)
            found[side, output] = own + steps(len(errors)) * (beyond - TAILS)
    return found


def between(thresholds: Array, tails: Array) -> Array:
    """How far bounds of other tails are out, none of them nearer than that of a larger tail. Constant beyond the outermost ones.

    Shape: ``(2, n_outputs, n_coverages)``, ``(k,)`` -> ``(2, n_outputs, k)``.
    """
    outward = np.sinh(np.maximum.accumulate(thresholds, axis=-1))
    places, known = ndtri(1 - tails), ndtri(1 - TAILS)
    return np.apply_along_axis(lambda values: np.interp(places, known, values), -1, outward)
