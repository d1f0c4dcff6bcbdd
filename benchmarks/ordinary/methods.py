"""All methods that take part, by name. Each gets tables as they are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from benchmarks.contest import boosting, tabular_networks
from benchmarks.contest.conformal import CvPlus
from benchmarks.contest.forecast import Forecast, Model
from benchmarks.contest.forests import QuantileForest
from benchmarks.contest.methods import Method
from benchmarks.contest.ours import ESTIMATORS, REFERENCE
from benchmarks.contest.scikit import Points, gradient_boosting
from benchmarks.machine import THREADS
from benchmarks.ordinary import columns
from benchmarks.ordinary.columns import Prepared
from benchmarks.ordinary.ours import ours
from benchmarks.ordinary.scores import QUANTILES
from benchmarks.ordinary.searched import OptunaCatBoost, Tuned
from extranets._arrays import Array

# -- peers -------------------------------------------------------------------------------------------------------------


class CatBoost(RegressorMixin, BaseEstimator):
    """With the columns that are categories, which are known only when it is fitted. MAPIE can clone it; the library's own
    class cannot be cloned with its categories."""

    def __init__(self, seed: int, loss: str = "RMSE") -> None:
        self.seed = seed
        self.loss = loss

    def fit(self, X: pandas.DataFrame, y: Array) -> CatBoost:
        model = boosting.catboost(self.seed, loss_function=self.loss, cat_features=columns.categories(X))
        self.model_ = model.fit(X, y)
        return self

    def predict(self, X: pandas.DataFrame) -> Array:
        return self.model_.predict(X)


class MultiQuantile:
    """One model for all quantiles. They may cross; sorting them repairs that."""

    def __init__(self, seed: int) -> None:
        self.regressor = CatBoost(seed, f"MultiQuantile:alpha={','.join(map(str, QUANTILES))}")

    def fit(self, X: pandas.DataFrame, y: Array) -> MultiQuantile:
        self.regressor.fit(X, y)
        return self

    def forecast(self, X: pandas.DataFrame) -> Forecast:
        quantiles = np.sort(self.regressor.predict(X), axis=1)
        return Forecast(quantiles.mean(axis=1), quantiles[:, [0, -1], None], sample=quantiles.T)


def light_gbm(seed: int) -> Model:
    from lightgbm import LGBMRegressor

    return Prepared(
        columns.Columns(gap_is_level=False), Points(LGBMRegressor(n_jobs=THREADS, random_state=seed, verbose=-1))
    )


def ridge(seed: int) -> Model:
    folds = KFold(5, shuffle=True, random_state=seed)
    return Prepared(columns.scaled_numbers(), Points(RidgeCV(np.logspace(-2, 4, 13), cv=folds)))


def extra_trees(seed: int) -> Model:
    return Prepared(columns.plain_numbers(seed), Points(ExtraTreesRegressor(n_jobs=THREADS, random_state=seed)))


def quantile_forest(seed: int) -> Model:
    return Prepared(columns.plain_numbers(seed), QuantileForest(seed, trees=100, spread=QUANTILES))


def ngboost(seed: int) -> Model:
    return Prepared(columns.plain_numbers(seed), boosting.NGBoost(seed))


def catboost(model: Callable[[int], Model], seed: int) -> Model:
    return Prepared(columns.Columns(gap_is_level=True), model(seed))


def network(model: Callable[[int], Model], seed: int) -> Model:
    return Prepared(columns.filled(), model(seed))


METHODS: dict[str, Method] = {
    **{name: Method(("extranets",), partial(ours, make)) for name, make in ESTIMATORS.items()},
    "CatBoost": Method(("catboost",), partial(catboost, lambda seed: Points(CatBoost(seed)))),
    "LightGBM": Method(("lightgbm",), light_gbm),
    "HistGradientBoosting": Method(
        ("scikit-learn",), lambda seed: Prepared(columns.few_levels(seed), Points(gradient_boosting(seed)))
    ),
    "extra-trees": Method(("scikit-learn",), extra_trees),
    "ridge": Method(("scikit-learn",), ridge),
    "MAPIE CV+ on CatBoost": Method(
        ("mapie", "catboost"), partial(catboost, lambda seed: CvPlus(CatBoost(seed), seed))
    ),
    "CatBoost MultiQuantile": Method(("catboost",), partial(catboost, MultiQuantile)),
    "quantile-forest": Method(("quantile-forest",), quantile_forest),
    "NGBoost": Method(("ngboost",), ngboost),
    "RealMLP": Method(("pytabkit",), partial(network, tabular_networks.real_mlp)),
    "TabM": Method(("pytabkit",), partial(network, tabular_networks.tab_m)),
    "extranets tune": Method(("extranets",), Tuned),
    "CatBoost Optuna": Method(("catboost", "optuna"), partial(catboost, OptunaCatBoost)),
}
SEARCHED = ("extranets tune", "CatBoost Optuna")  # a minute for a fit
SLOW = ("RealMLP", "TabM")  # minutes for a fit: small tables only, one split
UNASKED = [name for name in METHODS if name not in (*SLOW, *SEARCHED, "extranets accurate", "extranets paper")]
FAST = (
    REFERENCE,
    "extranets fast",
    "CatBoost",
    "LightGBM",
    "HistGradientBoosting",
    "ridge",
)  # for hundreds of thousands of rows
RIVALS = ("ridge", "CatBoost", "LightGBM")  # none should be far ahead of ours
