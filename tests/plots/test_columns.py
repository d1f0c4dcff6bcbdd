"""Columns of any kind as bins."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from extranets.plots._columns import MISSING, MOST_CATEGORIES, OTHERS, binned, binned_columns


def counts(bins):
    return dict(zip(bins.labels, bins.counts().astype(int).tolist(), strict=True))


def test_quantile_bins_hold_equally_many_rows_and_say_their_limits():
    bins = binned("x", np.arange(100.0), 4)
    assert counts(bins) == {"≤ 24": 25, "24 to 49": 25, "49 to 74": 25, "> 74": 25}
    assert bins.where(1) == "x from 24 to 49" and bins.where(0) == "x ≤ 24"


def test_labels_agree_with_the_rows():
    values = np.random.default_rng(0).normal(size=1000) * 1e-3
    bins = binned("x", values, 5)
    assert len(set(bins.labels)) == 5
    for code, label in enumerate(bins.labels):
        inside = values[bins.codes == code]
        ends = [float(part) for part in label.replace("≤", "").replace(">", "").split(" to ")]
        if label[0] == "≤":
            assert inside.max() == pytest.approx(ends[0], abs=1e-4)
        else:
            assert inside.min() >= ends[0] - 1e-4


def test_a_number_with_few_values_has_a_bin_for_each():
    assert counts(binned("x", [3, 1, 1, 2.5], 4)) == {"1": 2, "2.5": 1, "3": 1}


def test_ties_make_fewer_bins_without_empty_ones():
    bins = binned("x", [0.0] * 90 + list(range(1, 11)), 4)
    assert (bins.counts() > 0).all() and bins.counts()[0] == 90
    top = binned("x", [*range(1, 11), *[20.0] * 90], 4)
    assert counts(top) == {"≤ 10": 10, "> 10": 90}


def test_close_and_huge_numbers_keep_different_labels():
    for values in (1 + 1e-12 * np.arange(40), 1e18 + 1e6 * np.arange(40), [1e-300, 1e300, -1e300]):
        labels = binned("x", values, 4).labels
        assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    "column",
    [
        [1.0, np.nan, 2.0, np.inf],
        pd.array([1, None, 2, None], dtype="Int64"),
        np.array([1, None, 2.0, None], dtype=object),
        pl.Series([1, None, 2, None]),
    ],
    ids=["float", "nullable", "object", "polars"],
)
def test_missing_numbers_are_a_bin_of_their_own(column):
    bins = binned("x", column, 4)
    assert bins.kind == "number" and bins.labels[-1] == MISSING and bins.counts()[-1] == 2
    assert bins.where(len(bins.labels) - 1) == "x is missing"


def test_the_most_frequent_categories_come_first_and_the_rest_together():
    column = [f"c{i}" for i in range(20) for _ in range(40 - i)] + [None]
    bins = binned("city", column, 4)
    assert bins.labels == [*(f"c{i}" for i in range(MOST_CATEGORIES)), OTHERS, MISSING]
    assert bins.counts().sum() == len(column) and bins.counts()[0] == 40
    assert bins.where(0) == "city = c0"


@pytest.mark.parametrize("kind", ["category", "string", "object"])
def test_categories_may_have_any_dtype(kind):
    bins = binned("city", pd.Series(["b", "a", "b", None]).astype(kind), 4)
    assert counts(bins) == {"b": 2, "a": 1, MISSING: 1}


def test_booleans_are_categories():
    assert counts(binned("flag", [True, False, True], 4)) == {"True": 2, "False": 1}


@pytest.mark.parametrize("zone", [None, "Europe/Rome"])
def test_dates_are_binned_in_their_order(zone):
    days = pd.Series(pd.date_range("2024-01-01", periods=100, tz=zone))
    days[3] = pd.NaT
    bins = binned("day", days, 2)
    assert bins.kind == "date" and bins.labels[0].startswith("≤ 2024-02-") and bins.labels[-1] == MISSING
    assert bins.codes[0] == 0 and bins.codes[99] == 1


def test_python_dates_and_times_within_a_day_are_binned():
    assert binned("day", [datetime.date(2024, 1, d) for d in (2, 1)], 4).labels == ["2024-01-01", "2024-01-02"]
    times = pd.date_range("2024-01-01", periods=3, freq="h")
    assert len(set(binned("time", times, 4).labels)) == 3


def test_a_constant_or_empty_column_is_one_bin():
    assert binned("x", [5.0] * 10, 4).labels == ["5"]
    assert binned("x", [None, None], 4).labels == [MISSING]
    assert binned("x", [np.nan, np.nan], 4).labels == [MISSING]


def test_every_column_of_a_frame_or_dict_is_binned():
    frame = pd.DataFrame({"a": [1, 2], 7: ["x", "y"]})
    assert [bins.name for bins in binned_columns(frame, 4)] == ["a", "7"]
    assert [bins.name for bins in binned_columns({"a": [1, 2]}, 4)] == ["a"]


def test_explained_is_the_share_of_variance_between_bins():
    bins = binned("x", ["a", "a", "b", "b"], 4)
    assert bins.explained(np.array([1.0, 1.0, 3.0, 3.0])) == 1.0
    assert bins.explained(np.array([1.0, 3.0, 1.0, 3.0])) == 0.0
    assert bins.explained(np.array([1.0, np.inf, 3.0, 3.0])) == 1.0
    assert bins.explained(np.ones(4)) == 0.0
