"""Rows in folds that keep groups whole or look back."""

from __future__ import annotations

import datetime

import numpy as np
import pandas
import pytest

from extranets.parting import Parting, blocks_of_time, fold_of_row, held_share, whole_groups

RANDOM = np.random.default_rng(0)
GROUPS = RANDOM.integers(0, 40, size=500) ** 2  # of unequal sizes: numbers need not be consecutive


def test_without_parting_rows_are_drawn_as_ever():
    assert sorted(np.bincount(fold_of_row(23, 5, seed=3))) == [4, 4, 5, 5, 5]
    assert len(np.unique(fold_of_row(3, 5, seed=3))) == 3


@pytest.mark.parametrize("n_folds", [2, 5, 10])
def test_groups_are_whole_and_folds_about_equal(n_folds):
    folds = whole_groups(GROUPS, n_folds, seed=1)
    for group in np.unique(GROUPS):
        assert len(np.unique(folds[group == GROUPS])) == 1
    sizes = np.bincount(folds)
    assert len(sizes) == n_folds and np.ptp(sizes) <= np.unique(GROUPS, return_counts=True)[1].max()
    np.testing.assert_array_equal(folds, fold_of_row(500, n_folds, 1, Parting("groups", GROUPS)))
    assert not np.array_equal(folds, whole_groups(GROUPS, n_folds, seed=2))


def test_no_more_folds_than_groups():
    assert sorted(np.unique(whole_groups(np.array([7, 7, 9]), 5, seed=0))) == [0, 1]


@pytest.mark.parametrize("n_folds", [1, 3, 6])
def test_blocks_of_time_are_in_order_and_the_earliest_is_never_held_out(n_folds):
    rank = np.random.default_rng(1).permutation(100)
    folds = blocks_of_time(rank, n_folds)
    by_time = folds[np.argsort(rank)]
    block = np.where(by_time < 0, n_folds, by_time)
    assert (np.diff(block) <= 0).all() and set(folds) == {-1, *range(n_folds)}  # fold 0 is the latest
    assert np.ptp(np.bincount(block)) <= 1


def test_equal_times_stay_together():
    rank = np.random.default_rng(2).integers(0, 7, size=200)
    folds = blocks_of_time(rank, 10)
    assert all(len(np.unique(folds[rank == each])) == 1 for each in range(7))
    assert set(folds) == {-1, *range(6)}  # each time is a block of its own


@pytest.mark.parametrize("n_first", [1, 9])
def test_two_times_make_two_blocks(n_first):
    rank = np.repeat([0, 1], [n_first, 10 - n_first])
    np.testing.assert_array_equal(blocks_of_time(rank, 5), np.where(rank == 0, -1, 0))


@pytest.mark.parametrize("fraction", [1e-3, 0.2, 0.7, 0.999])
def test_a_share_of_the_groups_or_the_latest_times(fraction):
    rank = np.random.default_rng(3).permutation(50)
    held = held_share(Parting("time", rank), fraction, seed=0)
    assert held.sum() == np.clip(round(50 * fraction), 1, 49)
    assert rank[held].min() > rank[~held].max()
    held = held_share(Parting("groups", GROUPS), fraction, seed=0)
    assert not set(GROUPS[held]) & set(GROUPS[~held]) and 0 < held.sum() < 500
    assert abs(held.mean() - fraction) <= np.unique(GROUPS, return_counts=True)[1].max() / 500


# -- what users give ---------------------------------------------------------------------------------------------------

DAYS = ["2024-03-01", "2023-12-31", "2024-03-01", "2024-02-29"]


@pytest.mark.parametrize(
    "time",
    [
        [2, 0, 2, 1],
        np.array([0.5, -1.0, 0.5, 0.1]),
        DAYS,
        np.array(DAYS, dtype="datetime64[D]"),
        [datetime.date.fromisoformat(day) for day in DAYS],
        [datetime.datetime.fromisoformat(day) for day in DAYS],
        pandas.Series(pandas.to_datetime(DAYS)),
        pandas.Series(pandas.to_datetime(DAYS)).dt.tz_localize("Europe/Berlin"),
        pandas.Series([2, 0, 2, 1], dtype="Int64"),
        np.array([True, False, True, True]) + np.array([1, 0, 1, 0]),
    ],
)
def test_times_are_numbers_dates_or_texts_of_dates(time):
    found = Parting.of(None, time, 4)
    assert found.looks_back
    np.testing.assert_array_equal(found.number, [2, 0, 2, 1])


@pytest.mark.parametrize(
    "groups", [["b", "a", "b", "c"], [1.5, 2, 1.5, 3], [(1, 2), "a", (1, 2), 0], pandas.Categorical(list("xyxz"))]
)
def test_groups_are_named_by_anything(groups):
    if isinstance(groups[0], tuple):
        groups = pandas.Series(groups)
    found = Parting.of(groups, None, 4)
    assert not found.looks_back
    np.testing.assert_array_equal(found.number, [0, 1, 0, 2])


def test_neither_is_needed():
    assert Parting.of(None, None, 4) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": list("abcd"), "time": range(4)}, "groups or time, not both"),
        ({"groups": list("abc")}, r"groups must have one value for each of the 4 rows; its shape is \(3,\)"),
        ({"time": [[1], [2], [3], [4]]}, r"time must have one value for each of the 4 rows; its shape is \(4, 1\)"),
        ({"groups": ["a", None, "b", "b"]}, "groups has no value in row 1"),
        ({"groups": [1.0, 2.0, np.nan, 1.0]}, "groups has no value in row 2"),
        ({"groups": pandas.Series([1, 2, None, 1], dtype="Int64")}, "groups has no value in row 2"),
        ({"time": [1.0, 2.0, np.nan, 1.0]}, "time has no value in row 2"),
        ({"time": [1.0, np.inf, 0.0, 1.0]}, "time has no value in row 1"),
        ({"time": pandas.to_datetime(["2024-01-01", None, None, "2024-01-02"])}, "time has no value in row 1"),
        ({"time": ["one", "two", "three", "four"]}, "can be put in order"),
        ({"time": np.ma.array([1, 2, 3, 4], mask=[0, 0, 1, 0])}, "time is a masked array"),
    ],
)
def test_what_cannot_be_used_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        Parting.of(given.get("groups"), given.get("time"), 4)


@pytest.mark.parametrize(("kind", "words"), [("groups", "two groups"), ("time", "two different times")])
def test_one_of_a_kind_cannot_be_parted(kind, words):
    with pytest.raises(ValueError, match=f"{kind} must have at least {words}"):
        Parting(kind, np.array([3, 3, 3])).check()
    assert Parting(kind, np.array([3, 4, 3])).part(np.array([True, True, False])).check().number.tolist() == [3, 4]
