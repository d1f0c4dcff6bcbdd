"""Scores of predictive distributions: Normal, mixtures, and samples."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, ndtr

from extranets.metrics._checks import (
    Array,
    Weights,
    mean_score,
    member_table,
    require_positive,
    row_weights,
    table_like,
    target_table,
)

_LOG_2PI = math.log(2 * math.pi)


def gaussian_log_likelihood(
    y_true: npt.ArrayLike, mean: npt.ArrayLike, std: npt.ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Mean log density of the target under Normal predictions; greater is better.

    Parameters
    ----------
    y_true, mean, std : array of shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> round(gaussian_log_likelihood([0.0, 1.0], [0.0, 0.0], 1.0), 6)
    -1.168939
    """
    y = target_table(y_true)
    mean, std = table_like(y, "mean", mean), require_positive("std", table_like(y, "std", std))
    return mean_score(_log_density(y, mean, std), row_weights(sample_weight, y))


def mixture_log_likelihood(
    y_true: npt.ArrayLike, member_means: npt.ArrayLike, member_stds: npt.ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Mean log density under an equal mixture of Normals, log (1/T) sum_t N(y; mean_t, std_t^2); greater is better.

    Parameters
    ----------
    y_true : array of shape (n_samples,) or (n_samples, n_outputs)
    member_means : array of shape (n_members, n_samples[, n_outputs])
        As ``predict_members`` returns them.
    member_stds : float or array of shape (n_members, n_samples[, n_outputs]) or (n_samples[, n_outputs])
        Standard deviation of the noise: of each member and row, of each row, or one number.
    sample_weight : array of shape (n_samples,), optional

    References
    ----------
    Gal & Ghahramani (2016), Dropout as a Bayesian approximation, ICML, equation 22 of the appendix;
    Lakshminarayanan, Pritzel & Blundell (2017), Simple and scalable predictive uncertainty estimation, NeurIPS.

    Examples
    --------
    >>> round(mixture_log_likelihood([0.0], [[-1.0], [1.0]], 1.0), 6)  # both members have the same density
    -1.418939
    """
    y = target_table(y_true)
    means = member_table(y, "member_means", member_means)
    if np.ndim(member_stds) == np.ndim(member_means):
        stds = member_table(y, "member_stds", member_stds)
        if len(stds) != len(means):
            raise ValueError(f"member_stds has {len(stds)} members where member_means has {len(means)}.")
    else:
        stds = table_like(y, "member_stds", member_stds)[None]
    for t, member in enumerate(stds):
        require_positive(f"member_stds[{t}]" if len(stds) > 1 else "member_stds", member)
    density = logsumexp(_log_density(y, means, stds), axis=0) - math.log(len(means))
    return mean_score(density, row_weights(sample_weight, y))


def crps_gaussian(
    y_true: npt.ArrayLike, mean: npt.ArrayLike, std: npt.ArrayLike, *, sample_weight: Weights = None
) -> float:
    """Continuous ranked probability score of Normal predictions, in units of the target; less is better.

    std (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi)) with z = (y - mean) / std.

    Parameters
    ----------
    y_true, mean, std : array of shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array of shape (n_samples,), optional

    References
    ----------
    Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102, equation 21.

    Examples
    --------
    >>> round(crps_gaussian([0.0, 1.0], [0.0, 0.0], 1.0), 6)
    0.418068
    """
    y = target_table(y_true)
    mean, std = table_like(y, "mean", mean), require_positive("std", table_like(y, "std", std))
    with np.errstate(over="ignore"):  # far out, the score becomes the absolute error
        z = (y - mean) / std
        bump = 2 * np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) - 1 / math.sqrt(math.pi)
    return mean_score((y - mean) * (2 * ndtr(z) - 1) + std * bump, row_weights(sample_weight, y))


def crps_ensemble(
    y_true: npt.ArrayLike, members: npt.ArrayLike, *, fair: bool = False, sample_weight: Weights = None
) -> float:
    """Continuous ranked probability score of a sample, mean |x_i - y| - mean |x_i - x_j| / 2; less is better.

    Parameters
    ----------
    y_true : array of shape (n_samples,) or (n_samples, n_outputs)
    members : array of shape (n_members, n_samples[, n_outputs])
        Draws from the predictive distribution, such as ``sample_y`` with its last axis moved to the front. (Members
        without noise, from ``predict_members``, make a distribution that is too narrow.)
    fair : bool, default=False
        Average over the T (T - 1) pairs of distinct members instead of all T^2. It is an unbiased estimate of the score
        of the distribution that the members were drawn from, and can be negative.
    sample_weight : array of shape (n_samples,), optional

    References
    ----------
    Gneiting & Raftery (2007), JASA 102, equation 20;
    Ferro (2014), Fair scores for ensemble forecasts, Q. J. R. Meteorol. Soc. 140.

    Examples
    --------
    >>> crps_ensemble([1.0], [[0.0], [2.0]]), crps_ensemble([1.0], [[0.0], [2.0]], fair=True)
    (0.5, 0.0)
    """
    y = target_table(y_true)
    error = member_table(y, "members", members) - y
    n = len(error)
    if fair and n < 2:
        raise ValueError("members must hold at least two members for fair=True; got one.")
    error.sort(axis=0)
    # Sum of |x_i - x_j| over i < j: the sorted value number i is added i times and subtracted n - 1 - i times.
    pairs = np.tensordot(2.0 * np.arange(n) - (n - 1), error, axes=1)
    value = np.abs(error).mean(axis=0) - pairs / (n * (n - 1) if fair else n * n)
    return mean_score(value, row_weights(sample_weight, y))


def _log_density(y: Array, mean: Array, std: Array) -> Array:
    with np.errstate(over="ignore"):  # too far out for a float: minus infinity
        return -0.5 * (((y - mean) / std) ** 2 + _LOG_2PI) - np.log(std)
