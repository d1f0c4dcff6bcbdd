"""Boosted trees of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.contest.forecast import Forecast, normal_forecast
from benchmarks.machine import THREADS
from extranets._arrays import Array


def catboost(seed: int, **settings: Any) -> Any:
    from catboost import CatBoostRegressor

    # Without allow_writing_files=False it makes a folder catboost_info where it runs.
    return CatBoostRegressor(
        thread_count=THREADS, random_seed=seed, verbose=False, allow_writing_files=False, **settings
    )


class UncertainCatBoost:
    """Normal predictions from virtual ensembles: parts of one model whose loss fits a mean and a variance.

    ``TotalUncertainty`` gives the mean, the variance between the ensembles (knowledge) and the mean variance (data) of each row.
    Both are variances (since CatBoost 0.24.2), so the predictive variance is their sum.
    """

    def __init__(self, seed: int) -> None:
        self.regressor = catboost(seed, loss_function="RMSEWithUncertainty", posterior_sampling=True)

    def fit(self, X: Array, y: Array) -> UncertainCatBoost:
        self.regressor.fit(X, y)
        return self

    def forecast(self, X: Array) -> Forecast:
        parts = self.regressor.virtual_ensembles_predict(
            X, prediction_type="TotalUncertainty", virtual_ensembles_count=10, thread_count=THREADS
        )
        mean, knowledge, data = parts.T
        return normal_forecast(mean, np.sqrt(knowledge + data))


class NGBoost:
    """Normal predictions, NGBoost's default. Its trees get the seed here, because it does not pass it on to them."""

    def __init__(self, seed: int) -> None:
        from ngboost import NGBRegressor
        from ngboost.learners import default_tree_learner

        trees = clone(default_tree_learner).set_params(random_state=seed)
        self.regressor = NGBRegressor(Base=trees, random_state=seed, verbose=False)

    def fit(self, X: Array, y: Array) -> NGBoost:
        self.regressor.fit(X, y)
        return self

    def forecast(self, X: Array) -> Forecast:
        predicted = self.regressor.pred_dist(X)
        return normal_forecast(predicted.loc, predicted.scale)
