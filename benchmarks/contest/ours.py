"""Estimators of this library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.contest.forecast import LEVELS, Forecast
from benchmarks.machine import THREADS
from extranets import ExtraNetsRegressor, StackedNetsRegressor
from extranets._arrays import Array

REFERENCE = "extranets stack"  # the method that all others are compared with

# A line for every setting of ours that takes part; called without arguments.
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "extranets stack": StackedNetsRegressor,
    "extranets default": ExtraNetsRegressor,
    **{f"extranets {name}": partial(ExtraNetsRegressor.from_preset, name) for name in ("fast", "accurate", "paper")},
}


class Nets:
    """Any regressor with ``predictive`` and ``predict_interval``."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Array, y: Array) -> Nets:
        self.estimator.fit(X, y)
        return self

    def forecast(self, X: Array) -> Forecast:
        predicted = self.estimator.predictive(X)
        mean, bounds = predicted.components().mean, self.estimator.predict_interval(X, LEVELS)
        return Forecast(mean, bounds, distribution=predicted)


def nets(make: Callable[[], Any], seed: int) -> Nets:
    return Nets(make().set_params(random_state=seed, n_jobs=THREADS))
