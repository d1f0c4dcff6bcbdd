"""Categories, gaps and dates as each peer wants them. Everything is learned from training rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas
import sklearn
from pandas.api.types import is_numeric_dtype
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.utils.fixes import parse_version

from benchmarks.contest.forecast import Forecast, Model
from extranets._arrays import Array

MOST_LEVELS = 255  # HistGradientBoosting takes no more
GAP, NEW = "missing", "new"
DATE = r"\d{4}-\d\d-\d\d"


class Columns(TransformerMixin, BaseEstimator):
    """Dates as numbers, and all other texts as levels of a category.

    Parameters
    ----------
    gap_is_level : bool
        Whether gaps of a category become the level ``GAP``, and levels that training did not have the level ``NEW``. Otherwise
        both are gaps.
    """

    def __init__(self, gap_is_level: bool) -> None:
        self.gap_is_level = gap_is_level

    def fit(self, X: pandas.DataFrame, y: Array | None = None) -> Columns:
        texts = [name for name in X if not is_numeric_dtype(X[name])]
        self.dates_ = [name for name in texts if X[name].dropna().astype(str).str.match(DATE).all()]
        self.levels_ = {
            name: sorted(X[name].dropna().astype(str).unique()) for name in texts if name not in self.dates_
        }
        return self

    def transform(self, X: pandas.DataFrame) -> pandas.DataFrame:
        found = X.drop(columns=self.dates_)
        for name, levels in self.levels_.items():
            column, gap = found[name].astype(str), found[name].isna()
            column = column.where(column.isin(levels), NEW).mask(gap, GAP)
            found[name] = pandas.Categorical(column, [*levels, GAP, NEW] if self.gap_is_level else levels)
        for name in self.dates_:
            date = pandas.to_datetime(X[name], utc=True, format="ISO8601")
            found[f"{name}_day"] = (date - pandas.Timestamp(0, tz="utc")) / pandas.Timedelta(days=1)
            for part in ("month", "weekday", "hour"):
                found[f"{name}_{part}"] = getattr(date.dt, part)
        return found


class Prepared:
    """A method behind a transformer of its columns. Both are fitted to the training rows."""

    def __init__(self, columns: Any, model: Model) -> None:
        self.columns, self.model = columns, model

    def fit(self, X: pandas.DataFrame, y: Array) -> Prepared:
        self.model.fit(self.columns.fit_transform(X, y), y)
        return self

    def forecast(self, X: pandas.DataFrame) -> Forecast:
        return self.model.forecast(self.columns.transform(X))


def _levels(smallest: int, largest: float) -> Callable[[pandas.DataFrame], list[str]]:
    """Selects the categories with so many levels."""

    def select(X: pandas.DataFrame) -> list[str]:
        names = X.select_dtypes("category").columns
        return [name for name in names if smallest <= X[name].nunique() <= largest]

    return select


few, many = _levels(0, MOST_LEVELS), _levels(MOST_LEVELS + 1, float("inf"))
numbers = make_column_selector(dtype_include="number")
categories = make_column_selector(dtype_include="category")


def _target_encoder(seed: int) -> TargetEncoder:
    if parse_version(sklearn.__version__) < parse_version("1.9"):
        return TargetEncoder(target_type="continuous", random_state=seed)
    return TargetEncoder(target_type="continuous", cv=KFold(5, shuffle=True, random_state=seed))


def _filled() -> SimpleImputer:
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def filled() -> Any:
    """Categories as they are, and numbers without gaps."""
    transformer = make_column_transformer(
        (_filled(), numbers), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    return make_pipeline(Columns(gap_is_level=True), transformer)


def few_levels(seed: int) -> Any:
    """Categories of no more than 255 levels, and gaps as they are."""
    transformer = make_column_transformer(
        (_target_encoder(seed), many), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    return make_pipeline(Columns(gap_is_level=False), transformer)


def plain_numbers(seed: int) -> Any:
    """A column for each level, unless there are too many. Nothing is scaled, which trees do not need."""
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    transformer = make_column_transformer((one_hot, few), (_target_encoder(seed), many), (_filled(), numbers))
    return make_pipeline(Columns(gap_is_level=True), transformer)


def scaled_numbers() -> Any:
    """A column for each level, however many there are, and standardised numbers."""
    transformer = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), categories), (make_pipeline(_filled(), StandardScaler()), numbers)
    )
    return make_pipeline(Columns(gap_is_level=True), transformer)
