"""Quantile regression forests."""

from __future__ import annotations

import numpy as np

from benchmarks.contest.forecast import LEVELS, Forecast
from benchmarks.contest.scikit import TREES
from benchmarks.machine import THREADS
from extranets._arrays import Array

# Middles of 100 equal parts: the CRPS of this "sample" is twice the mean pinball loss of the quantiles.
SPREAD = (np.arange(100) + 0.5) / 100
LOWER = [(1 - level) / 2 for level in LEVELS]
UPPER = [(1 + level) / 2 for level in LEVELS]


class QuantileForest:
    """The forest's mean, and quantiles of the training targets in the leaves."""

    def __init__(self, seed: int, trees: int = TREES, spread: Array = SPREAD) -> None:
        from quantile_forest import RandomForestQuantileRegressor

        self.regressor = RandomForestQuantileRegressor(trees, n_jobs=THREADS, random_state=seed)
        self.spread = spread

    def fit(self, X: Array, y: Array) -> QuantileForest:
        self.regressor.fit(X, y)
        return self

    def forecast(self, X: Array) -> Forecast:
        mean = self.regressor.predict(X, quantiles="mean")
        quantiles = self.regressor.predict(X, quantiles=[*LOWER, *UPPER, *self.spread])
        lower, upper, sample = np.split(quantiles, [len(LOWER), len(LOWER) + len(UPPER)], axis=1)
        return Forecast(mean, np.stack([lower, upper], axis=1), sample=sample.T)
