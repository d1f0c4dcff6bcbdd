"""From columns of their own types to the numbers that networks take: a scikit-learn ColumnTransformer.

The schema and the effects of levels hold all that was learned; the transformers get it as parameters. Fitting, on one made-up row, only
makes scikit-learn look at names and types. So a model file needs no more than these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from extranets._arrays import Array
from extranets._sklearn import BaseEstimator, TransformerMixin
from extranets.tables.columns import BooleanColumn, CategoryColumn, Column, DateColumn, NumberColumn
from extranets.tables.dates import Moments
from extranets.tables.errors import TableError, listed
from extranets.tables.levels import LevelEffects, level_codes
from extranets.tables.schema import Schema

if TYPE_CHECKING:
    from typing_extensions import Self

DAY = np.timedelta64(1, "D")
YEAR = np.timedelta64(1, "Y")
MONDAY = np.datetime64("1970-01-05")
PERIODS = ("year", "week")
DAYS = ", days"


def column_transformer(schema: Schema, levels: Mapping[str, LevelEffects] | None = None) -> ColumnTransformer:
    """A fitted transformer for what :meth:`Schema.read` gives: data frame in, float64 array out.

    Numbers and truth values stay one feature each, with a typical value where they are missing; dates become days since the
    first of training and sines and cosines of the year, the week and, where there are times, the day; categories become one
    feature for each value or, where these are many, the numbers of ``levels``. A column that had missing values in training gets
    a feature that marks them.

    Parameters
    ----------
    schema : Schema
    levels : dict of LevelEffects, optional
        For each column of ``schema.learned``, what was learned from the target about its values.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"area": [50.0, 72.0, None], "city": ["Ulm", "Bonn", "Ulm"]})
    >>> schema = Schema.learn(table)
    >>> transformer = column_transformer(schema)
    >>> transformer.get_feature_names_out().tolist()
    ['area', 'area is missing', 'city=Ulm', 'city=Bonn']
    >>> transformer.transform(schema.read(table)).tolist()
    [[50.0, 0.0, 1.0, 0.0], [72.0, 0.0, 0.0, 1.0], [50.0, 1.0, 1.0, 0.0]]
    """
    numbers = [column for column in schema.columns if isinstance(column, NumberColumn | BooleanColumn)]
    dates = [column for column in schema.columns if isinstance(column, DateColumn)]
    learned = schema.learned
    categories = [column for column in schema.columns if isinstance(column, CategoryColumn) and not column.learned]
    parts = [
        ("numbers", FillNumbers(_fills(numbers), _missing(numbers)), _names(numbers)),
        ("dates", DateFeatures(_fills(dates), _missing(dates), _firsts(dates), _times(dates)), _names(dates)),
        ("categories", _one_hot(categories), _names(categories)),
        ("levels", _level_numbers(learned, levels or {}), _names(learned)),
    ]
    used = [part for part in parts if part[2]]
    transformer = ColumnTransformer(used, sparse_threshold=0.0, verbose_feature_names_out=False)
    transformer.fit(pandas.DataFrame({column.name: _prototype(column) for column in schema.columns}))
    _refuse_twins(transformer)
    return transformer


class FillNumbers(TransformerMixin, BaseEstimator):
    """Fill in a typical value where a number is missing and, for some columns, add a feature that marks such rows.

    Parameters
    ----------
    fills : tuple of float, one for each column
    missing : tuple of bool
        Which columns get a feature that marks missing values.
    """

    def __init__(self, fills: tuple[float, ...], missing: tuple[bool, ...]) -> None:
        self.fills = fills
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        return self

    def transform(self, X: pandas.DataFrame) -> Array:
        numbers = X.to_numpy(dtype=np.float64)
        absent = np.isnan(numbers)
        return np.hstack([np.where(absent, np.asarray(self.fills), numbers), absent[:, list(self.missing)]])

    def get_feature_names_out(self, input_features: Any) -> Any:
        return np.array([*input_features, *_marks(input_features, self.missing)], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class DateFeatures(TransformerMixin, BaseEstimator):
    """Moments as days since the first one, and where in the year, the week and the day they lie.

    Parameters
    ----------
    fills : tuple of str, one ISO date for each column
    missing : tuple of bool
        Which columns get a feature that marks missing values.
    firsts : tuple of str
        Days are counted from these.
    times : tuple of bool
        Which columns have times of the day.
    """

    def __init__(
        self, fills: tuple[str, ...], missing: tuple[bool, ...], firsts: tuple[str, ...], times: tuple[bool, ...]
    ) -> None:
        self.fills = fills
        self.missing = missing
        self.firsts = firsts
        self.times = times

    def fit(self, X: Any, y: Any = None) -> Self:
        return self

    def transform(self, X: pandas.DataFrame) -> Array:
        features, marks = [], []
        for i in range(X.shape[1]):
            moments = X.iloc[:, i].to_numpy(dtype="datetime64[us]")
            absent = np.isnat(moments)
            filled = np.where(absent, np.datetime64(self.fills[i], "us"), moments)
            features.append((filled - np.datetime64(self.firsts[i], "us")) / DAY)
            for period in _periods(self.times[i]):
                angle = 2 * np.pi * _phase(filled, period)
                features += [np.sin(angle), np.cos(angle)]
            marks += [absent] if self.missing[i] else []
        return np.column_stack([*features, *marks]).astype(np.float64)

    def get_feature_names_out(self, input_features: Any) -> Any:
        names = []
        for name, time in zip(input_features, self.times, strict=True):
            names.append(f"{name}{DAYS}")
            names += [f"{name}, {wave} of {period}" for period in _periods(time) for wave in ("sine", "cosine")]
        return np.array([*names, *_marks(input_features, self.missing)], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class LevelNumbers(TransformerMixin, BaseEstimator):
    """Categories as the numbers that were learned about them; zeros for a value that is not known.

    Parameters
    ----------
    levels : tuple of tuples of str, one for each column
    effects : tuple of LevelEffects, one for each column
    """

    def __init__(self, levels: tuple[tuple[str, ...], ...], effects: tuple[LevelEffects, ...]) -> None:
        self.levels = levels
        self.effects = effects

    def fit(self, X: Any, y: Any = None) -> Self:
        return self

    def transform(self, X: pandas.DataFrame) -> Array:
        found = [
            effects.in_rows(level_codes(levels, X.iloc[:, i]))
            for i, (levels, effects) in enumerate(zip(self.levels, self.effects, strict=True))
        ]
        return np.hstack(found)

    def get_feature_names_out(self, input_features: Any) -> Any:
        return np.array([name for effects in self.effects for name in effects.names], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def number_features(schema: Schema) -> list[str]:
    """Names of the features that are numbers, truth values or days."""
    return [
        f"{column.name}{DAYS}" if isinstance(column, DateColumn) else column.name
        for column in schema.columns
        if not isinstance(column, CategoryColumn)
    ]


def _level_numbers(columns: list[CategoryColumn], levels: Mapping[str, LevelEffects]) -> LevelNumbers:
    unknown = [column.name for column in columns if column.name not in levels]
    if unknown:
        raise TableError(
            f"Columns of many categories ({listed(unknown)}) need numbers that are learned from the target: use TableRegressor; "
            "or give max_categories, for a feature for each category."
        )
    for column in columns:
        effects = levels[column.name]
        if len(effects.values) != len(column.encoded):
            raise TableError(f"The effects of column {column.name!r} do not fit the number of its values.")
    return LevelNumbers(tuple(column.encoded for column in columns), tuple(levels[column.name] for column in columns))


def _periods(time: bool) -> tuple[str, ...]:
    return (*PERIODS, "day") if time else PERIODS


def _phase(moments: Moments, period: str) -> Array:
    """Which part of the year, the week (from Monday) or the day has passed, from 0 to 1."""
    if period == "year":
        years = moments.astype("datetime64[Y]")
        return (moments - years) / ((years + YEAR).astype("datetime64[D]") - years.astype("datetime64[D]"))
    return ((moments - MONDAY) / DAY) % 7 / 7 if period == "week" else ((moments - MONDAY) / DAY) % 1


def _one_hot(columns: list[CategoryColumn]) -> OneHotEncoder:
    known = [np.array(column.encoded, dtype=object) for column in columns]
    return OneHotEncoder(
        categories=known, handle_unknown="ignore", sparse_output=False, feature_name_combiner=_category_name
    )


def _category_name(column: str, category: str) -> str:
    return f"{column}={category}"


def _marks(names: Any, missing: tuple[bool, ...]) -> list[str]:
    return [f"{name} is missing" for name, marked in zip(names, missing, strict=True) if marked]


def _names(columns: Any) -> list[str]:
    return [column.name for column in columns]


def _fills(columns: Any) -> tuple[Any, ...]:
    return tuple(column.fill for column in columns)


def _missing(columns: Any) -> tuple[bool, ...]:
    return tuple(column.missing for column in columns)


def _firsts(columns: list[DateColumn]) -> tuple[str, ...]:
    return tuple(column.first for column in columns)


def _times(columns: list[DateColumn]) -> tuple[bool, ...]:
    return tuple(column.has_time for column in columns)


def _prototype(column: Column) -> pandas.Series:
    """One row of the column's own type."""
    if isinstance(column, CategoryColumn):
        return pandas.Series([column.encoded[0]], dtype=object)
    if isinstance(column, DateColumn):
        return pandas.Series(np.array([column.fill], dtype="datetime64[us]"))
    return pandas.Series([0.0])


def _refuse_twins(transformer: ColumnTransformer) -> None:
    try:
        transformer.get_feature_names_out()
    except ValueError as error:
        raise TableError(f"Columns have names that make two features the same; rename one. {error}") from error
