"""How the defaults were chosen: which rows are used, and the arithmetic of the tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import accuracy, defaults
from benchmarks.contest import against, records
from benchmarks.contest.summary import Results
from extranets import ExtraNetsRegressor


def record(dataset, split, method, **scores):
    return {"dataset": dataset, "split": split, "method": method, "n_train": 900, "n_test": 100, **scores}


def test_every_variant_is_an_estimator():
    for parameters in defaults.VARIANTS.values():
        ExtraNetsRegressor(**parameters).check_parameters()
    assert defaults.VARIANTS[defaults.DEFAULT] == {}


def test_inner_splits_partition_the_rows():
    X, y = np.arange(200.0).reshape(100, 2), np.arange(100.0)
    split = defaults.inner_split(X, y, 3)
    assert len(split.y) == 85 and len(split.y_test) == 15
    assert sorted([*split.y, *split.y_test]) == list(range(100))
    np.testing.assert_array_equal(split.X[:, 0], 2 * split.y)
    other = defaults.inner_split(X, y, 4)
    assert set(other.y_test) != set(split.y_test)


def test_test_rows_of_a_data_set_are_never_used(monkeypatch):
    train, test = np.arange(90.0), np.arange(1000.0, 1010.0)
    outer = records.Split(train[:, None], train, test[:, None], test)
    monkeypatch.setattr(records, "uci_split", lambda dataset, split, data_dir: outer)
    split = defaults.load("boston", 0)
    used = [*split.X[:, 0], *split.y, *split.X_test[:, 0], *split.y_test]
    assert max(used) < 90


@pytest.mark.parametrize("family", defaults.FAMILIES)
def test_families_are_drawn_anew_for_each_split(family):
    first, again, other = (defaults.load(family, split) for split in (0, 0, 1))
    assert first.X.ndim == 2 and np.isfinite(first.X).all() and np.isfinite(first.y).all()
    np.testing.assert_array_equal(first.y, again.y)
    assert len(first.y) != len(other.y) or not np.array_equal(first.y, other.y)


def test_relative_scores_are_paired():
    found = [
        record("a", 0, "default", rmse=1.0, log_likelihood=0.5),
        record("a", 1, "default", rmse=10.0, log_likelihood=0.0),
        record("a", 0, "x", rmse=2.0, log_likelihood=0.25),
        record("a", 1, "x", rmse=5.0, log_likelihood=0.25),
        record("a", 2, "x", rmse=99.0, log_likelihood=9.0),  # the default has no such split
        record("b", 0, "default", rmse=1.0, log_likelihood=0.5),
    ]
    results = Results(found)
    assert defaults.relative(results, "a", "x", "rmse") == pytest.approx(0.0)  # twice as large, half as large
    assert defaults.relative(results, "a", "x", "log_likelihood") == pytest.approx(0.0)
    assert defaults.relative(results, "b", "x", "rmse") is None
    rows = {row["variant"]: row for row in defaults.relative_rows(Results(found[:4] + found[5:]), "rmse")}
    assert rows["x"] == {"variant": "x", "a": "+0.0", "b": None, "mean": "+0.00"}


def test_run_and_table_print_scores_against_the_default(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    arguments = ["run", "--dataset", "steps", "--variant", "preset fast", "--splits", "1", "--out", str(path)]
    defaults.VARIANTS["preset fast"], kept = {"max_iter": 2, "numeric_encoding": None}, defaults.VARIANTS["preset fast"]
    try:
        defaults.main(arguments)
    finally:
        defaults.VARIANTS["preset fast"] = kept
    assert [json.loads(line)["method"] for line in path.read_text().splitlines()] == ["default", "preset fast"]
    printed = capsys.readouterr().out
    defaults.main(["table", "--markdown", str(path)])
    assert "### RMSE against the default" in capsys.readouterr().out
    assert "RMSE against the default" in printed and "steps" in printed


# -- beside published figures ------------------------------------------------------------------------------------------


def test_ours_is_rounded_to_the_printed_digits():
    results = Results([record("wine", 0, "ours", rmse=0.6049), record("yacht", 0, "ours", rmse=0.481)])
    wine, yacht = against.rmse_rows(results, "ours")
    assert (wine["Best"], yacht["Best"]) == ("0.60", "0.48")
    results = Results([record("wine", 0, "ours", rmse=0.6051), record("yacht", 0, "ours", rmse=0.486)])
    wine, yacht = against.rmse_rows(results, "ours")
    assert (wine["Best"], yacht["Best"]) == ("0.60 (missed)", "0.48 (missed)")
    assert wine["Paper, T = 70"] == "0.63"


def test_likelihood_is_compared_with_the_best_column():
    assert against.BEST_LIKELIHOOD["naval"] == "5.63" and against.BEST_LIKELIHOOD["wine"] == "-0.92"
    results = Results([record("wine", 0, "ours", log_likelihood=-0.94), record("naval", 0, "ours", log_likelihood=6.0)])
    wine, naval = against.likelihood_rows(results, "ours")
    assert (wine["best published"], naval["best published"]) == ("-0.92 (missed)", "5.63")


def test_small_tables_may_miss_the_coverage_by_more():
    scores = {"coverage_90": 0.92, "coverage_95": 0.95}
    large = record("wine", 0, "ours", **scores)
    small = {**record("yacht", 0, "ours", **scores), "n_train": 277, "n_test": 31}
    rows = against.coverage_rows(Results([large, small]), "ours")
    assert [row["90%"] for row in rows] == ["0.920 (missed)", "0.920"]
    assert [row["95%"] for row in rows] == ["0.950", "0.950"]


def test_the_published_command_prints_one_method_beside_the_published_figures(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    scores = {"rmse": 0.5, "log_likelihood": -0.5, "coverage_90": 0.9, "coverage_95": 0.95}
    path.write_text(json.dumps(record("wine", 0, "extranets default", **scores)) + "\n")
    accuracy.main(["published", "--markdown", str(path)])
    printed = capsys.readouterr().out
    assert "RMSE: extranets default" in printed and "accurate" not in printed and "missed" not in printed
