"""Fits of tables' models to tables that are read block by block."""

from __future__ import annotations

from functools import cache

import dask.dataframe
import numpy as np
import pandas
import pytest

import extranets
from extranets import BootstrapNetsRegressor, ExtraNetsRegressor
from extranets.blocks.learning import row_keys
from extranets.blocks.memory import MOST_KEPT
from extranets.tables import Schema, TableError, TableRegressor, TableWarning
from extranets.tables.surveying import Survey, learn_schema, survey_block

N_ROWS, N_TEST = 60_000, 15_000
QUICK = {
    "n_estimators": 3,
    "hidden_layer_sizes": (16,),
    "max_iter": 4,
    "batch_size": 64,
    "random_state": 0,
    "n_jobs": 2,
}
MEMORY = "4GB"


@cache
def table():
    rng = np.random.default_rng(0)
    n = N_ROWS + N_TEST
    x, kind = rng.normal(size=n).round(4), rng.integers(0, 4, n)
    shop = rng.integers(0, 200, n)
    effect = np.random.default_rng(1).normal(size=200)
    frame = pandas.DataFrame(
        {
            "number": np.arange(1, n + 1),
            "x": np.where(rng.random(n) < 0.05, np.nan, x),
            "kind": np.array(["a", "b", "c", "d"])[kind],
            "shop": np.char.add("shop ", shop.astype(str)),
            "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 300, n), "D"),
            "sold": rng.integers(0, 2, n).astype(bool),
        }
    )
    frame["y"] = np.sin(2 * x) + kind + effect[shop] + 0.3 * rng.normal(size=n)
    return frame[:N_ROWS], frame[N_ROWS:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("parts")
    for number, rows in enumerate(np.array_split(np.arange(N_ROWS), 3)):
        table()[0].iloc[rows].to_parquet(found / f"{number}.parquet", index=False, row_group_size=7000)
    return found


def fitted(source, y="y", **more):
    with pytest.warns(TableWarning, match="'number': it counts the rows from 1 on"):
        return TableRegressor(ExtraNetsRegressor(**QUICK)).fit(source, y, **more)


@cache
def usual():
    return fitted(table()[0].drop(columns="y"), table()[0]["y"])


@pytest.fixture(scope="module")
def by_blocks(folder):
    return fitted(folder, max_memory=MEMORY)


def scores(model):
    X, y = table()[1].drop(columns="y"), table()[1]["y"].to_numpy()
    lower, upper = model.predict_interval(X, 0.9).T
    return np.sqrt(np.mean((model.predict(X) - y) ** 2)), np.mean((lower <= y) & (y <= upper)), np.mean(upper - lower)


def test_the_result_is_that_of_the_usual_fit_but_for_chance(by_blocks):
    """15,000 test rows: the RMSE has a standard error of 0.6 %, coverage one of 0.25 %. Effects of 200 shops come from 50,000 rows instead
    of 60,000, which changes the RMSE by less than 1 %."""
    (rmse, coverage, width), (other_rmse, other_coverage, other_width) = scores(usual()), scores(by_blocks)
    assert other_rmse == pytest.approx(rmse, rel=0.02) and rmse < 0.45  # without the shops it is above 1
    assert other_coverage == pytest.approx(coverage, abs=0.012)
    assert other_width == pytest.approx(width, rel=0.05)


def test_what_can_be_counted_is_that_of_all_rows(by_blocks):
    ours, theirs = by_blocks.schema_, usual().schema_
    assert ours.kinds() == theirs.kinds() and ours.dropped == theirs.dropped
    for one, other in zip(ours.columns, theirs.columns, strict=True):
        assert one.n_missing == other.n_missing, one.name
    categories = [{column.name: column for column in each.columns}["kind"] for each in (ours, theirs)]
    assert categories[0] == categories[1]
    assert by_blocks.feature_names_in_.tolist() == usual().feature_names_in_.tolist()
    assert by_blocks.regressor_.fit_info_["n_rows"] == N_ROWS


def test_sources_give_the_same_model(by_blocks, folder, tmp_path):
    train, test = table()
    train.to_parquet(tmp_path / "all.parquet")
    parts = dask.dataframe.from_pandas(train, npartitions=4)
    expected = by_blocks.predict(test[:100])
    for source in (tmp_path / "all.parquet", train, parts):
        np.testing.assert_array_equal(fitted(source, max_memory=MEMORY).predict(test[:100]), expected)


def test_the_model_is_saved_with_its_columns(by_blocks, tmp_path):
    by_blocks.save(tmp_path / "model.xnet")
    test = table()[1][:100]
    np.testing.assert_array_equal(extranets.load(tmp_path / "model.xnet").predict(test), by_blocks.predict(test))


def test_a_table_of_which_all_rows_are_drawn_gets_the_usual_fit(tmp_path):
    train, test = table()[0][:3000], table()[1][:50]
    assert len(train) < MOST_KEPT
    train.to_parquet(tmp_path / "small.parquet")
    found = fitted(tmp_path / "small.parquet")
    expected = fitted(train.drop(columns="y"), train["y"])
    np.testing.assert_array_equal(found.predict_interval(test), expected.predict_interval(test))


def test_an_array_and_its_targets():
    X, y = np.random.default_rng(0).normal(size=(60_000, 3)), np.arange(60_000.0)
    model = TableRegressor(ExtraNetsRegressor(**QUICK)).fit(X, y, max_memory=MEMORY)
    assert not hasattr(model, "feature_names_in_") and model.predict(X[:5]).shape == (5,)
    with pytest.raises(ValueError, match=r"\[60000, 59999\]"):
        model.fit(X, y[1:], max_memory=MEMORY)


# -- what is wrong with a table ----------------------------------------------------------------------------------------


def spoiled(folder, number, change):
    path = folder / f"{number}.csv"
    frame = pandas.read_csv(path, dtype=str)
    change(frame)
    frame.to_csv(path, index=False)


@pytest.fixture
def csv(tmp_path):
    """60,000 rows in three files; the model reads them in blocks of 65,536 values at most."""
    for number, rows in enumerate(np.array_split(np.arange(N_ROWS), 3)):
        table()[0].iloc[rows][["x", "kind", "y"]].to_csv(tmp_path / f"{number}.csv", index=False)
    return tmp_path


def put(column, row, value):
    def change(frame):
        frame.loc[row - 1, column] = value

    return change


LAST = row_keys(40_000, N_ROWS)  # of the rows of the last file
DRAWN, NOT_DRAWN = int(LAST.argmin()) + 1, int(LAST.argmax()) + 1


@pytest.mark.parametrize("row", [DRAWN, NOT_DRAWN], ids=["drawn", "not drawn"])
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("x", "abc", r"2\.csv, row {row}, column 'x': 'abc' is not a number"),
        ("x", "inf", r"2\.csv, row {row}, column 'x': 'inf' is infinite"),
        ("y", "high", r"2\.csv, row {row}, column 'y': 'high' is not a number"),
        ("y", None, r"2\.csv, column 'y': the target is missing in 1 of 20,000 rows \(row {row}\)"),
    ],
)
def test_a_bad_value_late_in_the_table_is_named_by_file_and_row(column, value, row, message, csv, tmp_path_factory):
    """Of rows that are drawn the first pass tells, of others the second one."""
    spoiled(csv, 2, put(column, row, value))
    scratch = tmp_path_factory.mktemp("scratch")
    model = TableRegressor(ExtraNetsRegressor(**QUICK))
    with pytest.raises(TableError, match=message.format(row=row)):
        model.fit(csv, "y", max_memory=MEMORY, scratch=scratch)
    assert not hasattr(model, "regressor_") and list(scratch.iterdir()) == []


def test_a_column_that_changes_its_kind_in_late_blocks_is_named(folder, tmp_path):
    train = table()[0]
    for number, rows in enumerate(np.array_split(np.arange(N_ROWS), 3)):
        part = train.iloc[rows]
        if number == 2:
            part = part.assign(x=part["x"].astype(str))
        part.to_parquet(tmp_path / f"{number}.parquet", index=False)
    with pytest.raises(TableError, match=r"2\.parquet, column 'x': it holds text, but numbers in .*0\.parquet"):
        TableRegressor(ExtraNetsRegressor(**QUICK)).fit(tmp_path, "y", max_memory=MEMORY)


def test_text_among_the_numbers_of_a_csv_names_its_rows(csv):
    """From the last third of the last file on: 11 % of the rows."""

    def change(frame):
        frame.loc[15_000:, "x"] = "n.a."

    spoiled(csv, 2, change)
    with pytest.warns(TableWarning, match="'x': it looks like names or free text.* na_values=\\['n.a.'\\]"):
        TableRegressor(ExtraNetsRegressor(**QUICK)).fit(csv, "y", max_memory=MEMORY)


@pytest.mark.parametrize(
    ("model", "y", "more", "error", "message"),
    [
        (TableRegressor(BootstrapNetsRegressor()), "y", {}, TypeError, "needs its table in memory"),
        (TableRegressor(), "z", {}, TableError, "there is no column 'z' to predict"),
        (TableRegressor(), np.ones(N_ROWS), {}, TypeError, "y must name a column of"),
        (TableRegressor(), "y", {"groups": "kind"}, ValueError, "takes no groups of rows"),
        (TableRegressor(), "y", {"max_memory": "300MB"}, ValueError, "max_memory=300MB is too little"),
        (TableRegressor(max_categories=0), "y", {}, ValueError, "max_categories must be"),
    ],
)
def test_what_cannot_be_had_is_refused(model, y, more, error, message, folder):
    with pytest.raises(error, match=message):
        model.fit(folder, y, **more)


# -- surveys -------------------------------------------------------------------------------------------------------------


def surveyed(frame, block=100, drawn=None, kinds=None, **how):
    surveys = {name: Survey(name, (kinds or {}).get(name) == "category") for name in frame.columns}
    for begin in range(0, len(frame), block):
        survey_block(surveys, frame[begin : begin + block], ())
    sample = frame if drawn is None else frame.iloc[drawn]
    return learn_schema(surveys, sample, kinds, how.get("max_categories", 30), ())


MIXED = pandas.DataFrame(
    {
        "id": np.arange(1000),
        "x": np.r_[np.nan, np.arange(999) % 97 / 7],
        "flag": np.arange(1000) % 2 == 0,
        "letter": np.array(list("abcde"))[np.arange(1000) ** 2 % 5],
        "same": 1.0,
        "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(np.arange(1000) % 50, "D"),
    }
)


def test_with_all_rows_drawn_the_schema_is_that_of_memory():
    for kinds in (None, {"x": "category"}, {"same": "ignore"}):
        assert surveyed(MIXED, kinds=kinds) == Schema.learn(MIXED, kinds)
    text = MIXED.astype(str).where(MIXED.notna())
    assert surveyed(text, kinds={"letter": "category"}) == Schema.learn(text, {"letter": "category"})


def test_few_drawn_rows_are_completed_by_what_was_counted():
    found = surveyed(MIXED, drawn=np.arange(1, 1000, 9))
    columns = {column.name: column for column in found.columns}
    expected = {column.name: column for column in Schema.learn(MIXED).columns}
    assert columns["x"].n_missing == 1 and columns["letter"] == expected["letter"]
    assert found.dropped == Schema.learn(MIXED).dropped


def test_a_rare_value_is_no_constant_column():
    frame = pandas.DataFrame({"x": np.arange(1000) % 7, "rare": np.r_[np.zeros(999), 1.0]})
    found = surveyed(frame, drawn=np.arange(100))
    assert "all but a few of its values are the same: in 100 rows" in found.dropped["rare"]


def test_many_categories_in_few_drawn_rows_are_no_free_text():
    names = np.char.add("n", (np.arange(10_000) % 400).astype(str))
    frame = pandas.DataFrame({"x": np.arange(10_000) % 7, "name": names})
    drawn = np.random.default_rng(0).permutation(10_000)[:300]
    assert "name" in Schema.learn(frame.iloc[drawn]).dropped
    (column,) = [column for column in surveyed(frame, drawn=drawn).columns if column.name == "name"]
    assert column.learned and column.rare is None
    assert "name" in surveyed(frame.assign(name=np.char.add("n", np.arange(10_000).astype(str))), drawn=drawn).dropped


def test_categories_beyond_those_that_are_counted(monkeypatch):
    monkeypatch.setattr("extranets.tables.surveying.MOST_COUNTED", 50)
    frame = pandas.DataFrame({"x": np.arange(1000) % 7, "name": np.char.add("n", (np.arange(1000) % 90).astype(str))})
    (column,) = [each for each in surveyed(frame, drawn=np.arange(300)).columns if each.name == "name"]
    assert column.rare is None and len(column.categories) == 90
