"""Predictive distributions around a mean with a standard deviation: Normal, or Student's t where errors have heavier tails.

Student's t is scaled to the standard deviation that is given, so that its degrees of freedom change the shape alone. Without
degrees of freedom (None) the distribution is Normal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from extranets._arrays import Array

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen

Dof = float | Array | None  # one number, or one for each output

SMALLEST_STD = float(np.finfo(np.float64).tiny)  # scipy treats a scale of zero as a mistake and returns NaN


NEAREST_LEVEL = 1e-12  # to 0 and to 1: the tail of a nearer one has lost its digits in 1 - tail, or all of itself


def check_tails(name: str, levels: npt.ArrayLike) -> None:
    """Refuse levels between 0 and 1 that are too near one of them to be computed, by a ``ValueError``."""
    given = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    lost = (given < NEAREST_LEVEL) | (given > 1 - NEAREST_LEVEL)
    if lost.any():
        raise ValueError(
            f"{name} lies too near 0 or 1: rounding would decide where the tail begins. Levels from {NEAREST_LEVEL:g} to "
            f"1 - {NEAREST_LEVEL:g} can be computed; got {given[lost][0]!s}."
        )


def multiples(levels: npt.ArrayLike, dof: Dof = None) -> Array:
    """Quantiles at mean 0 and standard deviation 1. Shape: levels ``(k,)``, dof ``(...)`` -> ``(..., k)``.

    Examples
    --------
    >>> multiples([0.5, 0.975]).round(3).tolist(), multiples([0.5, 0.975], dof=4.0).round(3).tolist()
    ([0.0, 1.96], [0.0, 1.963])
    """
    at = np.asarray(levels, dtype=np.float64)
    if dof is None:
        return ndtri(at)
    each = np.asarray(dof, dtype=np.float64)[..., None]
    return stdtrit(each, at) * shrink(each)


def shrink(dof: Any) -> Any:
    """Scale of Student's t at standard deviation 1."""
    return np.sqrt((dof - 2) / dof)


def quantiles(mean: Array, std: Array, levels: npt.ArrayLike, dof: Dof = None) -> Array:
    """Shape: mean, std ``(...)``, levels ``(k,)`` -> ``(..., k)``."""
    return mean[..., None] + std[..., None] * multiples(levels, dof)


def interval(mean: Array, std: Array, coverages: npt.ArrayLike, dof: Dof = None) -> Array:
    """Central intervals. Shape: mean, std ``(...)``, coverages ``(k,)`` -> ``(..., 2, k)``."""
    check_tails("coverage", coverages)
    tail = (1 - np.asarray(coverages, dtype=np.float64)) / 2
    return np.stack([quantiles(mean, std, tail, dof), quantiles(mean, std, 1 - tail, dof)], axis=-2)


def distribution(mean: Array, std: Array, dof: Dof = None) -> rv_continuous_frozen:
    """As a frozen distribution of scipy. Shape: mean, std ``(...)``."""
    from scipy.stats import norm, t

    std = np.maximum(std, SMALLEST_STD)
    return norm(loc=mean, scale=std) if dof is None else t(dof, loc=mean, scale=std * shrink(dof))
