"""Predictive distributions around a mean with a standard deviation: Normal, or Student's t where errors have heavier tails.

Student's t is scaled to the standard deviation that is given, so that its degrees of freedom change the shape alone. Without
degrees of freedom (None) the distribution is Normal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtri, stdtrit

from extranets._arrays import Array

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen

Dof = float | Array | None  # one number, or one for each output

FEWEST_ROWS = 100  # held-out errors that say something about tails
FEWEST_DOF, MOST_DOF = 2.5, 200.0  # the variance is finite above 2; at 200 the shape is Normal for all purposes
FEWEST_SMALL_DOF = 3.0
MOST_ROWS = 100_000  # used to fit degrees of freedom: one number needs no more
SMALLEST_STD = float(np.finfo(np.float64).tiny)  # scipy treats a scale of zero as a mistake and returns NaN


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
    tail = (1 - np.asarray(coverages, dtype=np.float64)) / 2
    return np.stack([quantiles(mean, std, tail, dof), quantiles(mean, std, 1 - tail, dof)], axis=-2)


def distribution(mean: Array, std: Array, dof: Dof = None) -> rv_continuous_frozen:
    """As a frozen distribution of scipy. Shape: mean, std ``(...)``."""
    from scipy.stats import norm, t

    std = np.maximum(std, SMALLEST_STD)
    return norm(loc=mean, scale=std) if dof is None else t(dof, loc=mean, scale=std * shrink(dof))


def fit_dof(errors: Array, weight: Array) -> Array | None:
    """Maximum-likelihood degrees of freedom of errors in units of their standard deviations.

    Shape: errors ``(n, n_outputs)``, weight ``(n,)`` -> ``(n_outputs,)``; None where there are too few rows to tell.
    """
    if len(errors) < FEWEST_ROWS:
        return None
    some = slice(None, None, -(-len(errors) // MOST_ROWS))
    return np.array([_fit_one(column, weight[some]) for column in (errors[some] ** 2).T])


def small_sample_dof(n_rows: int) -> float:
    """Degrees of freedom when the variance itself comes from ``n_rows`` errors, to which two numbers were fitted."""
    return float(max(n_rows - 2, FEWEST_SMALL_DOF))


def _fit_one(squares: Array, weight: Array) -> float:
    from scipy.optimize import minimize_scalar

    level = float(np.average(squares, weights=weight))
    if level <= 0:
        return MOST_DOF  # a constant output
    squares, share = squares / level, weight / weight.sum()

    def loss(inverse: float) -> float:
        dof = 1 / inverse
        constant = gammaln((dof + 1) / 2) - gammaln(dof / 2) - 0.5 * np.log(np.pi * (dof - 2))
        return float((dof + 1) / 2 * (share @ np.log1p(squares / (dof - 2))) - constant)

    # Likelihood is smooth and has one minimum in 1 / dof, where Normal is at 0.
    found = minimize_scalar(loss, bounds=(1 / MOST_DOF, 1 / FEWEST_DOF), method="bounded", options={"xatol": 1e-4})
    return float(1 / found.x)
