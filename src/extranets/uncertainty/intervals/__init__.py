"""One file per construction. Each turns member spread and noise into the two variances of the predictive distribution."""

from collections.abc import Callable
from typing import Any

from extranets._arrays import Array
from extranets.uncertainty.intervals import (
    bootstrap_averaged,
    bootstrap_bias_corrected,
    bootstrap_normal,
    bootstrap_percentile,
    calibrated,
    delta,
    paper,
    total,
)

# (spread, noise, n_members, factors) -> (epistemic variance, aleatoric variance)
Construction = Callable[[Array, Array, int, Any], tuple[Array, Array]]

__all__ = [
    "Construction",
    "bootstrap_averaged",
    "bootstrap_bias_corrected",
    "bootstrap_normal",
    "bootstrap_percentile",
    "calibrated",
    "delta",
    "paper",
    "total",
]
