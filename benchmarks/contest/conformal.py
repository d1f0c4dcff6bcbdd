"""MAPIE's CV+ intervals around regressors that predict none."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.contest.forecast import LEVELS, Forecast
from extranets._arrays import Array

BLOCK = 500  # rows that are predicted at a time: each needs several numbers for every training row


class CvPlus:
    """Five folds, absolute residuals; the point prediction is the mean of the folds' models, MAPIE's default."""

    def __init__(self, regressor: Any, seed: int) -> None:
        from mapie.regression import CrossConformalRegressor

        self.regressor = CrossConformalRegressor(regressor, confidence_level=list(LEVELS), random_state=seed)

    def fit(self, X: Array, y: Array) -> CvPlus:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # as for the regressor itself
            self.regressor.fit_conformalize(X, y)
        return self

    def forecast(self, X: Array) -> Forecast:
        blocks = [self.regressor.predict_interval(X[begin : begin + BLOCK]) for begin in range(0, len(X), BLOCK)]
        mean, bounds = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return Forecast(mean, bounds)
