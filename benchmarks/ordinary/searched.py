"""Settings that are searched for, for a minute: ours by ``extranets.tune``, CatBoost's by Optuna."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas

from benchmarks.contest import boosting
from benchmarks.contest.forecast import Forecast
from benchmarks.machine import THREADS
from benchmarks.ordinary import columns
from benchmarks.ordinary.ours import Ours, quietly
from extranets import StackedNetsRegressor
from extranets._arrays import Array
from extranets.tables.fitting import fit_tuned

SECONDS = 60.0
HELD_OUT = 0.2  # of the rows, to judge CatBoost's settings and to stop its training
MOST_TREES, PATIENCE = 4_000, 50


class Tuned(Ours):
    """``TableRegressor`` after a search of ``SECONDS``, the last fit included."""

    def __init__(self, seed: int, budget: float = SECONDS) -> None:
        super().__init__(StackedNetsRegressor(random_state=seed, n_jobs=THREADS))
        self.budget = budget

    def fit(self, X: pandas.DataFrame, y: Array) -> Tuned:
        with quietly():
            fit_tuned(self.model, X, y, self.budget)
        return self


class OptunaCatBoost:
    """Optuna's default sampler, one fifth of the rows to judge. The trial that ends after ``SECONDS`` is the last; then the best
    settings are fitted to all rows, with as many trees as were best, which is not counted to the seconds."""

    def __init__(self, seed: int, budget: float = SECONDS) -> None:
        self.seed = seed
        self.budget = budget

    def fit(self, X: pandas.DataFrame, y: Array) -> OptunaCatBoost:
        import optuna

        begin = time.perf_counter()
        categories = columns.categories(X)
        held = np.random.default_rng(self.seed).permutation(len(y)) < max(1, round(HELD_OUT * len(y)))
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=self.seed))

        def error(trial: Any) -> float:
            model = boosting.catboost(self.seed, cat_features=categories, **_settings(trial), iterations=MOST_TREES)
            model.fit(X[~held], y[~held], eval_set=(X[held], y[held]), early_stopping_rounds=PATIENCE)
            trial.set_user_attr("trees", model.tree_count_)
            return float(model.best_score_["validation"]["RMSE"])

        study.optimize(error, timeout=max(0.1, self.budget - (time.perf_counter() - begin)))
        best = study.best_trial
        trees = max(1, best.user_attrs["trees"])
        self.model_ = boosting.catboost(self.seed, cat_features=categories, **best.params, iterations=trees).fit(X, y)
        return self

    def forecast(self, X: pandas.DataFrame) -> Forecast:
        return Forecast(self.model_.predict(X))


def _settings(trial: Any) -> dict[str, Any]:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.3, log=True),
        "depth": trial.suggest_int("depth", 3, 10),
        "l2_leaf_reg": trial.suggest_float("l2_leaf_reg", 0.5, 30.0, log=True),
        "random_strength": trial.suggest_float("random_strength", 0.1, 10.0, log=True),
        "bagging_temperature": trial.suggest_float("bagging_temperature", 0.0, 1.0),
    }
