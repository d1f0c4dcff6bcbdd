"""Scores of intervals."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.metrics.checks import (
    Weights,
    bound_tables,
    check_level,
    mean_score,
    row_average,
    row_weights,
    target_table,
)


def coverage(
    y_true: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Share of targets inside their closed intervals (PICP).

    Parameters
    ----------
    y_true, lower, upper : array of shape (n_samples,) or (n_samples, n_outputs)
        Bounds may be infinite.
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> coverage([1.0, 5.0], [0.0, 0.0], [2.0, 2.0])
    0.5
    """
    y = target_table(y_true)
    return float(_covered(y, *bound_tables(y, lower, upper), row_weights(sample_weight, y)).mean())


def coverage_error(
    y_true: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    coverage: float = 0.9,
    *,
    sample_weight: Weights = None,
) -> float:
    """Absolute difference of observed and nominal coverage; with several outputs, the mean of their differences.

    Parameters
    ----------
    y_true, lower, upper : array of shape (n_samples,) or (n_samples, n_outputs)
    coverage : float, default=0.9
        Nominal coverage of the intervals, strictly between 0 and 1.
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> coverage_error([1.0, 5.0], [0.0, 0.0], [2.0, 2.0], coverage=0.75)
    0.25
    """
    check_level("coverage", coverage)
    y = target_table(y_true)
    share = _covered(y, *bound_tables(y, lower, upper), row_weights(sample_weight, y))
    return float(np.abs(share - coverage).mean())


def mean_width(
    y_true: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Mean width of intervals (MPIW), in units of the target. Only the shape of ``y_true`` is used.

    Parameters
    ----------
    y_true, lower, upper : array of shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> mean_width([1.0, 5.0], [0.0, 0.0], [2.0, 4.0])
    3.0
    """
    y = target_table(y_true)
    lower, upper = bound_tables(y, lower, upper)
    return mean_score(upper - lower, row_weights(sample_weight, y))


def normalised_width(
    y_true: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Mean width over the range of the observed targets (NMPIW), for each output by its own range.

    Parameters
    ----------
    y_true, lower, upper : array of shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array of shape (n_samples,), optional
        Rows of weight zero do not count for the range.

    References
    ----------
    Khosravi, Nahavandi, Creighton & Atiya (2011), Comprehensive review of neural network-based prediction intervals and
    new advances, IEEE Trans. Neural Networks 22.

    Examples
    --------
    >>> normalised_width([1.0, 5.0], [0.0, 0.0], [2.0, 4.0])
    0.75
    """
    y = target_table(y_true)
    return float(_normalised_width(y, *bound_tables(y, lower, upper), row_weights(sample_weight, y)).mean())


def interval_score(
    y_true: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    coverage: float = 0.9,
    *,
    sample_weight: Weights = None,
) -> float:
    """Interval (Winkler) score: width plus 2 / (1 - coverage) times the distance of a miss; less is better.

    Parameters
    ----------
    y_true, lower, upper : array of shape (n_samples,) or (n_samples, n_outputs)
    coverage : float, default=0.9
        Nominal coverage of the intervals, strictly between 0 and 1.
    sample_weight : array of shape (n_samples,), optional

    References
    ----------
    Gneiting & Raftery (2007), JASA 102, equation 43; Winkler (1972), JASA 67.

    Examples
    --------
    >>> interval_score([1.0, 5.0], [0.0, 0.0], [2.0, 4.0], coverage=0.5)
    5.0
    """
    check_level("coverage", coverage)
    y = target_table(y_true)
    lower, upper = bound_tables(y, lower, upper)
    miss = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return mean_score(upper - lower + 2 / (1 - coverage) * miss, row_weights(sample_weight, y))


def cwc(
    y_true: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    coverage: float = 0.9,
    eta: float = 50.0,
    *,
    sample_weight: Weights = None,
) -> float:
    """Coverage-width criterion, NMPIW (1 + exp(-eta (PICP - coverage)) [PICP < coverage]); less is better.

    For comparison with older work. It is not a proper score: intervals of width zero get 0. Prefer `interval_score`.

    Parameters
    ----------
    y_true, lower, upper : array of shape (n_samples,) or (n_samples, n_outputs)
    coverage : float, default=0.9
        Nominal coverage of the intervals, strictly between 0 and 1.
    eta : float, default=50
        How hard too little coverage is punished.
    sample_weight : array of shape (n_samples,), optional

    References
    ----------
    Khosravi, Nahavandi, Creighton & Atiya (2011), IEEE Trans. Neural Networks 22.

    Examples
    --------
    >>> cwc([1.0, 5.0], [0.0, 0.0], [2.0, 6.0])  # both covered: the normalised width
    1.0
    >>> round(cwc([1.0, 5.0], [0.0, 0.0], [2.0, 4.0], coverage=0.6, eta=10), 6)  # 0.75 (1 + e)
    2.788711
    """
    check_level("coverage", coverage)
    if not 0 <= eta < math.inf:
        raise ValueError(f"eta must be a finite number, at least 0; got {eta!r}.")
    y = target_table(y_true)
    weight = row_weights(sample_weight, y)
    lower, upper = bound_tables(y, lower, upper)
    excess = _covered(y, lower, upper, weight) - coverage
    penalty = np.where(excess < 0, np.exp(np.minimum(-eta * excess, 700.0)), 0.0)  # finite, whatever eta
    with np.errstate(over="ignore"):
        return float((_normalised_width(y, lower, upper, weight) * (1 + penalty)).mean())


def _covered(y: Array, lower: Array, upper: Array, weight: Array) -> Array:
    return row_average(((lower <= y) & (y <= upper)).astype(np.float64), weight)


def _normalised_width(y: Array, lower: Array, upper: Array, weight: Array) -> Array:
    extent = np.ptp(y[weight > 0], axis=0)
    if not extent.all():
        raise ValueError(
            f"y_true must vary, for a width in units of its range; output {np.argmin(extent)} is constant."
        )
    with np.errstate(over="ignore"):
        return row_average(upper - lower, weight) / extent
