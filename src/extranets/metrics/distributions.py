"""Scores of predictive distributions: Normal, Student's t, mixtures, and samples."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, logsumexp, ndtr, stdtr

from extranets._arrays import Array
from extranets.metrics.checks import (
    Weights,
    dof_table,
    mean_score,
    member_table,
    require_not_negative,
    require_positive,
    row_weights,
    table_like,
    target_table,
)
from extranets.uncertainty.predictive import Dof, shrink

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


def student_t_log_likelihood(
    y_true: npt.ArrayLike, mean: npt.ArrayLike, std: npt.ArrayLike, dof: Dof, *, sample_weight: Weights = None
) -> float:
    """Mean log density of the target under predictions of Student's t; greater is better.

    Parameters
    ----------
    y_true, mean, std : array of shape (n_samples,) or (n_samples, n_outputs)
        ``std`` is the standard deviation, not the scale, which is smaller.
    dof : float or array of shape (n_samples,), (n_outputs,) or (n_samples, n_outputs), or None
        Degrees of freedom, above 2; with one output, a vector has one for each row. None means Normal predictions, so
        that an estimator's ``degrees_of_freedom_`` can be passed as they are.
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> y = [0.0, 5.0]
    >>> round(student_t_log_likelihood(y, 0.0, 1.0, 4.0), 6), round(gaussian_log_likelihood(y, 0.0, 1.0), 6)
    (-3.887618, -7.168939)
    """
    if dof is None:
        return gaussian_log_likelihood(y_true, mean, std, sample_weight=sample_weight)
    y = target_table(y_true)
    mean, std = table_like(y, "mean", mean), require_positive("std", table_like(y, "std", std))
    dof = dof_table(y, dof)
    with np.errstate(divide="ignore"):  # log 0 at the mean; logarithms, because the square of a distance may overflow
        distance = 2 * (np.log(np.abs(y - mean)) - np.log(std)) - np.log(dof - 2)
    constant = betaln(0.5, dof / 2) + 0.5 * np.log(dof - 2) + np.log(std)
    return mean_score(-(dof + 1) / 2 * np.logaddexp(0, distance) - constant, row_weights(sample_weight, y))


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

    std (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi)) with z = (y - mean) / std; the absolute error where std is 0.

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
    mean, std = table_like(y, "mean", mean), require_not_negative("std", table_like(y, "std", std))
    error = y - mean
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # far out, the score becomes the absolute error
        z = error / std
        bump = 2 * np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) - 1 / math.sqrt(math.pi)
        value = np.where(std > 0, error * (2 * ndtr(z) - 1) + std * bump, np.abs(error))
    return mean_score(value, row_weights(sample_weight, y))


def crps_student_t(
    y_true: npt.ArrayLike, mean: npt.ArrayLike, std: npt.ArrayLike, dof: Dof, *, sample_weight: Weights = None
) -> float:
    """Continuous ranked probability score of predictions of Student's t, in units of the target; less is better.

    With v degrees of freedom, s = std sqrt((v - 2) / v), z = (y - mean) / s and Student's F and f:
    s (z (2 F(z) - 1) + 2 f(z) (v + z^2) / (v - 1) - 2 sqrt(v) B(1/2, v - 1/2) / ((v - 1) B(1/2, v/2)^2)).
    Where std is 0, it is the absolute error.

    Parameters
    ----------
    y_true, mean, std, dof, sample_weight
        As in `student_t_log_likelihood`.

    References
    ----------
    Jordan, Krueger & Lerch (2019), Evaluating probabilistic forecasts with scoringRules, J. Stat. Softw. 90(12).

    Examples
    --------
    >>> round(crps_student_t([0.0, 1.0], 0.0, 1.0, 4.0), 6), round(crps_student_t([0.0, 1.0], 0.0, 1.0, None), 6)
    (0.410253, 0.418068)
    """
    if dof is None:
        return crps_gaussian(y_true, mean, std, sample_weight=sample_weight)
    y = target_table(y_true)
    mean, std = table_like(y, "mean", mean), require_not_negative("std", table_like(y, "std", std))
    dof = dof_table(y, dof)
    error = y - mean
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # far out, the score becomes the absolute error
        z = error / std / shrink(dof)
        bump = np.exp((1 - dof) / 2 * np.log1p(z**2 / dof) - betaln(0.5, dof / 2))  # f(z) (v + z^2) / sqrt(v)
        bump -= np.exp(betaln(0.5, dof - 0.5) - 2 * betaln(0.5, dof / 2))
        value = error * (2 * stdtr(dof, z) - 1) + std * shrink(dof) * 2 * np.sqrt(dof) / (dof - 1) * bump
        value = np.where(std > 0, value, np.abs(error))
    return mean_score(value, row_weights(sample_weight, y))


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
