"""Scores as ``scoring=`` in scikit-learn: callables of (estimator, X, y), greater is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from extranets.metrics._checks import Array, Weights, check_level
from extranets.metrics.distributions import crps_student_t, student_t_log_likelihood
from extranets.metrics.intervals import coverage_error, interval_score
from extranets.uncertainty import predictive


@dataclass(frozen=True)
class _IntervalScorer:
    """Less a loss of central intervals. Frozen and without closures, so that worker processes can receive it."""

    loss: Callable[..., float]
    coverage: float

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Weights = None) -> float:
        lower, upper = _predict_bounds(estimator, X, self.coverage)
        return -self.loss(y, lower, upper, self.coverage, sample_weight=sample_weight)


@dataclass(frozen=True)
class _DistributionScorer:
    """A score of predictive means, standard deviations and degrees of freedom, if there are any; times ``sign``."""

    score: Callable[..., float]
    sign: int

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Weights = None) -> float:
        estimator, X = _innermost(estimator, X)
        dof = getattr(estimator, "degrees_of_freedom_", None)
        return self.sign * self.score(y, *_predict_moments(estimator, X), dof, sample_weight=sample_weight)


def interval_score_scorer(coverage: float = 0.9) -> Callable[..., float]:
    """Less the interval score of ``predict_interval``, for ``scoring=`` in scikit-learn; greater is better.

    Pipelines and searches are scored by the estimator inside them. An estimator without ``predict_interval`` that knows
    ``predict(X, return_std=True)``, such as scikit-learn's BayesianRidge, is scored by Normal intervals.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.model_selection import cross_val_score
    >>> x = np.arange(20.0)[:, None]
    >>> cross_val_score(BayesianRidge(), x, np.sin(x[:, 0]), cv=3, scoring=interval_score_scorer(0.9)).shape
    (3,)
    """
    check_level("coverage", coverage)
    return _IntervalScorer(interval_score, coverage)


def coverage_error_scorer(coverage: float = 0.9) -> Callable[..., float]:
    """Less the absolute coverage error of ``predict_interval``; greater is better, 0 best. See `interval_score_scorer`.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> x = np.arange(10.0)[:, None]
    >>> model = BayesianRidge().fit(x, x[:, 0])
    >>> round(coverage_error_scorer(0.75)(model, x, x[:, 0] + 100), 6)  # nothing covered
    -0.75
    """
    check_level("coverage", coverage)
    return _IntervalScorer(coverage_error, coverage)


def crps_scorer() -> Callable[..., float]:
    """Less the CRPS of predictions from ``predict(X, return_std=True)``; greater is better.

    They are Student's t where the estimator, or the one inside a pipeline or search, has ``degrees_of_freedom_``; else Normal.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> x = np.arange(10.0)[:, None]
    >>> model = BayesianRidge().fit(x, np.sin(x[:, 0]))
    >>> crps_scorer()(model, x, np.sin(x[:, 0])) > crps_scorer()(model, x, 5 + np.sin(x[:, 0]))
    True
    """
    return _DistributionScorer(crps_student_t, -1)


def log_likelihood_scorer() -> Callable[..., float]:
    """Mean log density of predictions from ``predict(X, return_std=True)``; greater is better.

    They are Student's t where the estimator, or the one inside a pipeline or search, has ``degrees_of_freedom_``; else Normal.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> x = np.arange(10.0)[:, None]
    >>> model = BayesianRidge().fit(x, np.sin(x[:, 0]))
    >>> log_likelihood_scorer()(model, x, np.sin(x[:, 0])) > log_likelihood_scorer()(model, x, 5 + np.sin(x[:, 0]))
    True
    """
    return _DistributionScorer(student_t_log_likelihood, 1)


def _predict_bounds(estimator: Any, X: Any, coverage: float) -> tuple[Array, Array]:
    estimator, X = _innermost(estimator, X)
    if hasattr(estimator, "predict_interval"):
        bounds = np.asarray(estimator.predict_interval(X, coverage))
    else:
        mean, std = _predict_moments(estimator, X)
        bounds = predictive.interval(mean, std, [coverage])[..., 0]
    return bounds[..., 0], bounds[..., 1]


def _predict_moments(estimator: Any, X: Any) -> tuple[Array, Array]:
    mean, std = estimator.predict(X, return_std=True)
    return np.asarray(mean), np.asarray(std)


def _innermost(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The regressor inside pipelines and searches, which do not pass its methods on, and the X that it sees."""
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
