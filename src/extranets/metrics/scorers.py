"""Scores as ``scoring=`` in scikit-learn: callables of (estimator, X, y), greater is better."""

from __future__ import annotations

from collections.abc import Callable

from extranets.metrics.checks import check_level


def interval_score_scorer(coverage: float = 0.9) -> Callable[..., float]:
    """The negative interval score of ``predict_interval``, for ``scoring=`` in scikit-learn; greater is better.

    Pipelines and searches are scored by the estimator inside them. An estimator without ``predict_interval`` that knows
    ``predict(X, return_std=True)``, such as scikit-learn's BayesianRidge, is scored by Normal intervals. Intervals of a
    TransformedTargetRegressor are mapped back to the units of the target. ``sample_weight`` is used where it is given, or
    requested by ``set_score_request(sample_weight=True)`` where scikit-learn routes metadata.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.model_selection import cross_val_score
    >>> import numpy as np
    >>> x = np.arange(20.0)[:, None]
    >>> cross_val_score(BayesianRidge(), x, np.sin(x[:, 0]), cv=3, scoring=interval_score_scorer(0.9)).shape
    (3,)
    """
    from extranets.metrics._scoring import IntervalScorer, interval_loss

    check_level("coverage", coverage)
    return IntervalScorer(interval_loss, -1, {"coverage": coverage}, "predict_interval")


def coverage_error_scorer(coverage: float = 0.9) -> Callable[..., float]:
    """The negative absolute coverage error of ``predict_interval``; 0 is best. See `interval_score_scorer`.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> import numpy as np
    >>> x = np.arange(10.0)[:, None]
    >>> model = BayesianRidge().fit(x, x[:, 0])
    >>> round(coverage_error_scorer(0.75)(model, x, x[:, 0] + 100), 6)  # nothing covered
    -0.75
    """
    from extranets.metrics._scoring import IntervalScorer, coverage_loss

    check_level("coverage", coverage)
    return IntervalScorer(coverage_loss, -1, {"coverage": coverage}, "predict_interval")


def crps_scorer() -> Callable[..., float]:
    """The negative CRPS of predictive distributions; greater is better.

    Estimators of this library, also inside a pipeline or search, are scored by their ``predictive``. Of others, predictions from
    ``predict(X, return_std=True)`` are Student's t where there are ``degrees_of_freedom_``; else Normal.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> import numpy as np
    >>> x = np.arange(10.0)[:, None]
    >>> model = BayesianRidge().fit(x, np.sin(x[:, 0]))
    >>> crps_scorer()(model, x, np.sin(x[:, 0])) > crps_scorer()(model, x, 5 + np.sin(x[:, 0]))
    True
    """
    from extranets.metrics._scoring import DistributionScorer, crps

    return DistributionScorer(crps, -1, {})


def log_likelihood_scorer() -> Callable[..., float]:
    """Mean log density of predictive distributions; greater is better.

    Estimators of this library, also inside a pipeline or search, are scored by their ``predictive``. Of others, predictions from
    ``predict(X, return_std=True)`` are Student's t where there are ``degrees_of_freedom_``; else Normal.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> import numpy as np
    >>> x = np.arange(10.0)[:, None]
    >>> model = BayesianRidge().fit(x, np.sin(x[:, 0]))
    >>> log_likelihood_scorer()(model, x, np.sin(x[:, 0])) > log_likelihood_scorer()(model, x, 5 + np.sin(x[:, 0]))
    True
    """
    from extranets.metrics._scoring import DistributionScorer, log_likelihood

    return DistributionScorer(log_likelihood, 1, {})
