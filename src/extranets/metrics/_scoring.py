"""The scorers' classes. They are apart from the functions that make them, because they load much of scikit-learn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.compose import TransformedTargetRegressor

from extranets._arrays import Array
from extranets._sklearn.scorer import BaseScorer
from extranets.metrics.checks import Weights
from extranets.metrics.distributions import crps_student_t, student_t_log_likelihood
from extranets.metrics.intervals import coverage_error, interval_score
from extranets.uncertainty import predictive

POINTS = 33  # points of an interval that are mapped back through a transformation of the target


class IntervalScorer(BaseScorer):
    """The negative of a loss of central intervals."""

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **given: Any) -> float:
        given = {**self._kwargs, **given}
        return float(self._sign * self._score_func(y_true, _bounds(estimator, X, given["coverage"]), **given))


class DistributionScorer(BaseScorer):
    """A score of predictive distributions."""

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **given: Any) -> float:
        predicted, y = _predicted(estimator, X), np.asarray(y_true, dtype=np.float64)
        return float(self._sign * self._score_func(y, predicted, **{**self._kwargs, **given}))


def interval_loss(y_true: npt.ArrayLike, y_pred: Array, coverage: float, sample_weight: Weights = None) -> float:
    lower, upper = y_pred
    return interval_score(y_true, lower, upper, coverage, sample_weight=sample_weight)


def coverage_loss(y_true: npt.ArrayLike, y_pred: Array, coverage: float, sample_weight: Weights = None) -> float:
    lower, upper = y_pred
    return coverage_error(y_true, lower, upper, coverage, sample_weight=sample_weight)


class Moments(NamedTuple):
    """Distributions of an estimator from elsewhere: Student's t, or Normal without degrees of freedom."""

    mean: Array
    std: Array
    dof: Any

    def crps(self, y: Array, weight: Weights) -> float:
        return crps_student_t(y, *self, sample_weight=weight)

    def log_likelihood(self, y: Array, weight: Weights) -> float:
        return student_t_log_likelihood(y, *self, sample_weight=weight)


def crps(y_true: Array, y_pred: Any, sample_weight: Weights = None) -> float:
    return y_pred.crps(y_true, sample_weight)


def log_likelihood(y_true: Array, y_pred: Any, sample_weight: Weights = None) -> float:
    std = y_pred.std if isinstance(y_pred, Moments) else y_pred.latent.std
    if not np.all(std):
        raise ValueError(
            "Some predictions have a standard deviation of 0, as after training with a constant target, and so no density. "
            "Use crps_scorer or interval_score_scorer."
        )
    return y_pred.log_likelihood(y_true, sample_weight)


def _bounds(estimator: Any, X: Any, coverage: float) -> Array:
    """Lower and upper ends. Shape: ``(2, n)`` or ``(2, n, n_outputs)``."""
    estimator, X = _innermost(estimator, X)
    if hasattr(estimator, "predict_interval"):
        return np.moveaxis(np.asarray(estimator.predict_interval(X, coverage)), -1, 0)
    if isinstance(estimator, TransformedTargetRegressor):
        return _mapped_back(_bounds(estimator.regressor_, X, coverage), estimator.transformer_)
    mean, std, _ = _moments(estimator, X)
    return np.moveaxis(predictive.interval(mean, std, [coverage])[..., 0], -1, 0)


def _predicted(estimator: Any, X: Any) -> Any:
    """What scores targets: an estimator's ``predictive``, or that of its moments where it has none."""
    estimator, X = _innermost(estimator, X)
    return estimator.predictive(X) if hasattr(estimator, "predictive") else _moments(estimator, X)


def _moments(estimator: Any, X: Any) -> Moments:
    if isinstance(estimator, TransformedTargetRegressor):
        raise TypeError(
            f"{type(estimator).__name__} gives no standard deviation in units of the target, which this scorer needs. Use "
            f"interval_score_scorer, or fit {type(estimator.regressor_).__name__} to the target as it is."
        )
    mean, std = estimator.predict(X, return_std=True)
    return Moments(np.asarray(mean), np.asarray(std), getattr(estimator, "degrees_of_freedom_", None))


def _innermost(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The regressor inside pipelines and searches, and the X that it sees. They do not pass its methods on."""
    while True:
        if hasattr(estimator, "predict_interval"):
            return estimator, X
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
            estimator = estimator.steps[-1][1]
        else:
            return estimator, X


def _mapped_back(bounds: Array, transformer: Any) -> Array:
    """The range of the values that an interval is mapped back to. An infinite interval stays infinite. Shape: ``(2, n)``.

    Points inside the interval are mapped as well: the transformation need not be monotone.
    """
    if bounds.ndim > 2:
        raise TypeError("Intervals of several transformed targets cannot be mapped back; score each target by itself.")
    lower, upper = bounds
    finite = np.isfinite(lower) & np.isfinite(upper)
    mapped = np.stack([np.full(len(lower), -np.inf), np.full(len(lower), np.inf)])
    if finite.any():
        points = np.linspace(lower[finite], upper[finite], POINTS)
        values = np.reshape(transformer.inverse_transform(points.reshape(-1, 1)), points.shape)
        mapped[:, finite] = values.min(axis=0), values.max(axis=0)
    return mapped
