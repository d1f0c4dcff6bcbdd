"""Bias-corrected interval (equation "pred2c" of Section 3.2): 2 f(x) - f_bar(x), with the variance of "pred2b".

The resampled networks' mean less the full-sample network estimates the network's bias, which is taken off once.
"""

from __future__ import annotations

from extranets._arrays import Array
from extranets.uncertainty.intervals.bootstrap_normal import variances

__all__ = ["centre", "variances"]


def centre(full: Array, mean: Array) -> Array:
    """Shape: full-sample network and mean of the resampled ones ``(n, n_outputs)``."""
    return 2 * full - mean
