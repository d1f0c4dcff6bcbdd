"""Scores of point predictions and of single quantiles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from extranets.metrics.checks import (
    Weights,
    check_level,
    mean_score,
    row_average,
    row_weights,
    table_like,
    target_table,
)


def rmse(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, sample_weight: Weights = None) -> float:
    """Root mean squared error; with several outputs, the mean of their errors.

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> rmse([1.0, 2.0], [1.0, 4.0])
    1.4142135623730951
    """
    y = target_table(y_true)
    error = y - table_like(y, "y_pred", y_pred)
    return float(np.sqrt(row_average(error**2, row_weights(sample_weight, y))).mean())


def mae(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, sample_weight: Weights = None) -> float:
    """Mean absolute error.

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> mae([1.0, 2.0], [1.0, 4.0])
    1.0
    """
    y = target_table(y_true)
    error = y - table_like(y, "y_pred", y_pred)
    return mean_score(np.abs(error), row_weights(sample_weight, y))


def pinball_loss(
    y_true: npt.ArrayLike, quantile: npt.ArrayLike, alpha: float = 0.5, *, sample_weight: Weights = None
) -> float:
    """Pinball (quantile) loss, max(alpha (y - q), (alpha - 1) (y - q)): least, on average, at the true alpha-quantile.

    Parameters
    ----------
    y_true, quantile : array of shape (n_samples,) or (n_samples, n_outputs)
    alpha : float, default=0.5
        Level of the predicted quantile, strictly between 0 and 1.
    sample_weight : array of shape (n_samples,), optional

    References
    ----------
    Koenker & Bassett (1978), Regression quantiles, Econometrica 46.

    Examples
    --------
    >>> pinball_loss([1.0, 2.0], [0.0, 4.0], alpha=0.75)
    0.625
    """
    check_level("alpha", alpha)
    y = target_table(y_true)
    above = y - table_like(y, "quantile", quantile)
    return mean_score(np.maximum(alpha * above, (alpha - 1) * above), row_weights(sample_weight, y))
