"""Quantiles of Normal predictive distributions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from extranets.uncertainty.components import Array


def quantiles(mean: Array, std: Array, levels: npt.ArrayLike) -> Array:
    """Shape: mean, std ``(...)``, levels ``(k,)`` -> ``(..., k)``."""
    return mean[..., None] + std[..., None] * ndtri(np.asarray(levels, dtype=np.float64))


def interval(mean: Array, std: Array, coverages: npt.ArrayLike) -> Array:
    """Central intervals. Shape: mean, std ``(...)``, coverages ``(k,)`` -> ``(..., 2, k)``."""
    tail = (1 - np.asarray(coverages, dtype=np.float64)) / 2
    return np.stack([quantiles(mean, std, tail), quantiles(mean, std, 1 - tail)], axis=-2)
