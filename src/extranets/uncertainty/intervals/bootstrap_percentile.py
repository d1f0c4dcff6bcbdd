"""Percentile interval (Efron 1979; first construction of Section 3.2): quantiles of the resampled networks' predictions.

It holds no noise term: it is an interval for the regression function, and new targets fall outside it far more often than
its level says.
"""

from __future__ import annotations

import numpy as np

from extranets._arrays import Array
from extranets.uncertainty.intervals.bootstrap_normal import centre, variances

__all__ = ["bounds", "centre", "variances"]


def bounds(members: Array, coverages: Array) -> Array:
    """Empirical quantiles alpha/2 and 1 - alpha/2.

    Shape: members ``(n_members, ...)``, coverages ``(k,)`` -> ``(..., 2, k)``.
    """
    tails = (1 - coverages) / 2
    return np.moveaxis(np.quantile(members, np.stack([tails, 1 - tails]), axis=0), [0, 1], [-2, -1])
