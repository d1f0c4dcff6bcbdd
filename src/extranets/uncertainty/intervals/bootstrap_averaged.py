"""Interval around the mean of the resampled networks (equation "pred2d" of Section 3.2): sigma*_omega^2(x) / T + sigma_e^2."""

from __future__ import annotations

from extranets._arrays import Array
from extranets.uncertainty.intervals.paper import variances  # the same variance as that of extra-networks

__all__ = ["centre", "variances"]


def centre(full: Array, mean: Array) -> Array:
    """Shape: full-sample network and mean of the resampled ones ``(n, n_outputs)``."""
    return mean
