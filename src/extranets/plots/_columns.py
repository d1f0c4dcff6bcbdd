"""Columns of any kind as bins: quantiles of numbers and dates, the most frequent categories, and missing values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets._extras import require

Kind = Literal["number", "date", "category"]

MISSING = "missing"
OTHERS = "all others"
MOST_PLACES = 8  # after the point
MOST_CATEGORIES = 7  # with a bin of their own


@dataclass(frozen=True, eq=False)
class Bins:
    """A column in bins. Shapes: labels ``(k,)``, codes ``(n,)`` from 0 to k - 1. No bin is empty."""

    name: str
    kind: Kind
    labels: list[str]
    codes: npt.NDArray[np.intp]

    def counts(self, weights: npt.ArrayLike | None = None) -> Array:
        """Rows, or the sum of their weights, in every bin. Shape: ``(k,)``."""
        return np.bincount(self.codes, weights, len(self.labels)).astype(np.float64)

    def explained(self, values: Array) -> float:
        """Share of the variance of the finite values that lies between the bins, from 0 to 1. Shape: values ``(n,)``."""
        usable = np.isfinite(values)
        total = float(np.var(values[usable])) if usable.any() else 0.0
        if total == 0:
            return 0.0
        n = self.counts(usable)
        means = self.counts(np.where(usable, values, 0.0)) / np.maximum(n, 1)
        return float(np.average((means - values[usable].mean()) ** 2, weights=n) / total)

    def where(self, code: int) -> str:
        """A bin in words."""
        label = self.labels[code]
        if label == MISSING:
            return f"{self.name} is missing"
        if self.kind != "category" and " to " in label:
            return f"{self.name} from {label}"
        return f"{self.name} {'' if label[0] in '≤>' else '= '}{label}"


def binned_columns(features: Any, most_bins: int) -> Iterator[Bins]:
    """Every column of a data frame or of a dict of columns."""
    require("Drawing", "report", "pandas")
    for name in features.columns if hasattr(features, "columns") else features:
        yield binned(str(name), features[name], most_bins)


def binned(name: str, column: Any, most_bins: int, most_categories: int = MOST_CATEGORIES) -> Bins:
    """One column in bins: at most ``most_bins`` bins of numbers, or the most frequent categories and all others. Missing values are a
    bin of their own.

    Examples
    --------
    >>> binned("size", [1.0, 2.0, float("nan"), 4.0], 2).labels
    ['1', '2', '4', 'missing']
    >>> binned("city", ["Rome", "Oslo", "Rome", None], 2).labels
    ['Rome', 'Oslo', 'missing']
    """
    import pandas as pd

    values = pd.Series(column.to_numpy() if hasattr(column, "to_numpy") else column).infer_objects()
    kind = _kind(values)
    if kind == "category":
        labels, codes = _category_codes(values, most_categories)
    else:
        labels, codes = _ordered_codes(_as_floats(values, kind), kind, most_bins)
    missing = codes < 0
    if missing.any():
        labels, codes = [*labels, MISSING], np.where(missing, len(labels), codes)
    return Bins(name, kind, labels, codes)


def _kind(values: Any) -> Kind:
    import pandas as pd

    known = values.dropna()
    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.infer_dtype(known) in ("date", "datetime"):
        return "date"
    inferred = pd.api.types.infer_dtype(known)
    return "number" if inferred in ("integer", "floating", "mixed-integer-float", "decimal") else "category"


def _as_floats(values: Any, kind: Kind) -> Array:
    """Dates as nanoseconds; missing and infinite values as NaN."""
    import pandas as pd

    if kind == "date":
        dates = pd.to_datetime(values, utc=True).dt.tz_localize(None).to_numpy().astype("datetime64[ns]")
        return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))
    floats = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(floats), floats, np.nan)


def _category_codes(values: Any, most: int) -> tuple[list[str], npt.NDArray[np.intp]]:
    """The most frequent ones first; all rarer ones together."""
    texts = values.astype(object).where(values.notna(), None).map(str, na_action="ignore")
    frequent = texts.value_counts().index.tolist()
    if len(frequent) <= most + 1:
        labels, rest = frequent, -1
    else:
        labels, rest = [*frequent[:most], OTHERS], most
    place = {label: i if i < len(labels) else rest for i, label in enumerate(frequent)}
    return labels, texts.map(place).fillna(-1).to_numpy(dtype=np.intp)


def _ordered_codes(values: Array, kind: Kind, most_bins: int) -> tuple[list[str], npt.NDArray[np.intp]]:
    """A bin for each value if there are few, else between quantiles. NaN gets -1."""
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if len(distinct) <= most_bins + 1:
        labels, codes = _texts(distinct, kind), np.searchsorted(distinct, values)
    else:
        quantiles = np.quantile(known, np.arange(1, most_bins) / most_bins, method="lower")
        edges = np.unique(np.minimum(quantiles, distinct[-2]))  # so that no bin is empty
        codes = np.searchsorted(edges, values)
        texts = _texts(edges, kind)
        between = [f"{a} to {b}" for a, b in pairwise(texts)]
        labels = [f"≤ {texts[0]}", *between, f"> {texts[-1]}"]
    return labels, np.where(np.isnan(values), -1, codes)


def _texts(values: Array, kind: Kind) -> list[str]:
    """Sorted numbers or dates with as many digits as tell them apart."""
    if kind == "date":
        return _date_texts(values.astype(np.int64).astype("datetime64[ns]"))
    exact = [f"{value + 0.0:.7g}" for value in values]
    if all(float(text) == value for text, value in zip(exact, values, strict=True)):
        return exact
    whole = bool((values == np.round(values)).all())
    gap = float(np.diff(values).min()) if len(values) > 1 else 1.0
    places = 0 if whole else max(1 - math.floor(math.log10(gap)), 0)
    if places > MOST_PLACES or np.abs(values).max() >= 1e15:
        return [repr(float(value)) for value in values]
    return [f"{round(float(value), places) + 0.0:.{places}f}" for value in values]


def _date_texts(dates: npt.NDArray[np.datetime64]) -> list[str]:
    """Days if they are different days."""
    days = np.datetime_as_string(dates, unit="D")
    return (days if len(np.unique(days)) == len(days) else np.datetime_as_string(dates)).tolist()
