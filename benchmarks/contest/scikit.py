"""Regressors that only predict a number: scikit-learn's, and all that have its interface."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.contest.forecast import Forecast
from benchmarks.machine import THREADS
from extranets._arrays import Array

TREES = 500


class Points:
    """The point predictions of a regressor."""

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def fit(self, X: Array, y: Array) -> Points:
        with warnings.catch_warnings():
            # The default of 200 epochs is what users get; that it stops there is part of the result.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.regressor.fit(X, y)
        return self

    def forecast(self, X: Array) -> Forecast:
        return Forecast(self.regressor.predict(X).astype(float))


def extra_trees(seed: int) -> ExtraTreesRegressor:
    return ExtraTreesRegressor(TREES, n_jobs=THREADS, random_state=seed)


def gradient_boosting(seed: int) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(random_state=seed)


def scaled_network(seed: int) -> TransformedTargetRegressor:
    """An MLP that sees standardised inputs and targets."""
    network = make_pipeline(StandardScaler(), MLPRegressor(random_state=seed))
    return TransformedTargetRegressor(network, transformer=StandardScaler())
