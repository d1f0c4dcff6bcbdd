"""Whether predictive distributions mean what they say, and how narrow they are."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr

from extranets._arrays import Array
from extranets.metrics.checks import (
    Weights,
    dof_table,
    require_positive,
    row_average,
    row_weights,
    table_like,
    target_table,
)
from extranets.uncertainty.predictive import Dof, shrink

By = Literal["interval", "quantile"]


def calibration_curve(
    y_true: npt.ArrayLike,
    mean: npt.ArrayLike,
    std: npt.ArrayLike,
    levels: npt.ArrayLike | None = None,
    *,
    by: By = "interval",
    dof: Dof = None,
    sample_weight: Weights = None,
) -> tuple[Array, Array]:
    """Observed against nominal probabilities of predictions. A calibrated model lies on the diagonal.

    Parameters
    ----------
    y_true, mean, std : array of shape (n_samples,) or (n_samples, n_outputs)
    levels : array of shape (n_levels,), optional
        Nominal probabilities from 0 to 1; by default 0.01, 0.02, ..., 0.99.
    by : {"interval", "quantile"}, default="interval"
        Count the targets inside the central interval of each level, or those at most the predicted quantile. Only
        "quantile" sees a shift of the mean as such; with "interval" a shift looks like too small a standard deviation.
    dof : float or array of shape (n_samples,), (n_outputs,) or (n_samples, n_outputs), optional
        Degrees of freedom of Student's t, above 2, as in `student_t_log_likelihood`. None: predictions are Normal.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    levels, observed : array of shape (n_levels,)
        With several outputs, ``observed`` is the mean of their shares.

    References
    ----------
    Kuleshov, Fenner & Ermon (2018), Accurate uncertainties for deep learning using calibrated regression, ICML.

    Examples
    --------
    >>> levels, observed = calibration_curve([-2.0, 0.1, 0.5, 1.0], 0.0, 1.0, [0.5, 0.9])
    >>> observed.tolist()  # within 0.67 and 1.64 standard deviations
    [0.5, 0.75]
    """
    levels, shares = _shares(y_true, mean, std, levels, by, dof, sample_weight)
    return levels, shares.mean(axis=1)


def calibration_error(
    y_true: npt.ArrayLike,
    mean: npt.ArrayLike,
    std: npt.ArrayLike,
    levels: npt.ArrayLike | None = None,
    *,
    by: By = "interval",
    dof: Dof = None,
    sample_weight: Weights = None,
) -> float:
    """Mean absolute distance of the calibration curve from the diagonal, from 0 to 0.5; less is better.

    With evenly spaced levels this is the miscalibration area, up to the spacing. Outputs are compared one by one, so that
    they cannot make up for each other.

    Parameters
    ----------
    y_true, mean, std, levels, by, dof, sample_weight
        As in `calibration_curve`.

    Examples
    --------
    >>> round(calibration_error([-2.0, 0.1, 0.5, 1.0], 0.0, 1.0, [0.5, 0.9]), 6)
    0.075
    """
    levels, shares = _shares(y_true, mean, std, levels, by, dof, sample_weight)
    return float(np.abs(shares - levels[:, None]).mean())


def sharpness(std: npt.ArrayLike, *, sample_weight: Weights = None) -> float:
    """Root of the mean predicted variance; with several outputs, the mean of their roots.

    Parameters
    ----------
    std : array of shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> sharpness([1.0, 7.0])
    5.0
    """
    table = require_positive("std", target_table(std, "std"))
    return float(np.sqrt(row_average(table**2, row_weights(sample_weight, table))).mean())


def _shares(
    y_true: npt.ArrayLike,
    mean: npt.ArrayLike,
    std: npt.ArrayLike,
    levels: npt.ArrayLike | None,
    by: str,
    dof: Dof,
    sample_weight: Weights,
) -> tuple[Array, Array]:
    """Levels ``(n_levels,)`` and, for each output, the observed shares ``(n_levels, n_outputs)``."""
    if by not in ("interval", "quantile"):
        raise ValueError(f"by must be 'interval' or 'quantile'; got {by!r}.")
    nominal = np.arange(1, 100) / 100 if levels is None else np.asarray(levels, dtype=np.float64)
    if nominal.ndim != 1 or nominal.size == 0 or not np.all((nominal >= 0) & (nominal <= 1)):
        raise ValueError(f"levels must be a list of numbers from 0 to 1; got {levels!r}.")
    y = target_table(y_true)
    weight, z = row_weights(sample_weight, y), _normal_errors(y, mean, std, dof)
    if by == "interval":
        shares = [_distribution(column, weight, ndtri(0.5 + nominal / 2)) for column in np.abs(z).T]
    else:
        shares = [_distribution(column, weight, ndtri(nominal)) for column in z.T]
    return nominal, np.stack(shares, axis=1)


def _normal_errors(y: Array, mean: npt.ArrayLike, std: npt.ArrayLike, dof: Dof) -> Array:
    """Errors in standard deviations; those of Student's t as equally likely Normal ones. Shape: ``(n, n_outputs)``."""
    mean, std = table_like(y, "mean", mean), require_positive("std", table_like(y, "std", std))
    with np.errstate(over="ignore"):
        z = (y - mean) / std
        if dof is None:
            return z
        dof = dof_table(y, dof)
        lower_tail = stdtr(dof, -np.abs(z) / shrink(dof))  # the lower tail, where floats are dense
    return -np.sign(z) * ndtri(lower_tail)


def _distribution(values: Array, weight: Array, points: Array) -> Array:
    """Weighted share of values at most each point. Shape: ``(n,)``, ``(n,)``, ``(n_points,)`` -> ``(n_points,)``."""
    order = np.argsort(values)
    mass = np.concatenate([[0.0], np.cumsum(weight[order])])
    return (mass / mass[-1])[np.searchsorted(values[order], points, side="right")]
