"""The comparison with other libraries: its wrappers on simulated data, its file of records, its arithmetic."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from rich.console import Console
from scipy import stats
from threadpoolctl import threadpool_info

from benchmarks import accuracy
from benchmarks.contest import forecast, records, summary
from benchmarks.contest.methods import METHODS, Method
from benchmarks.contest.ours import REFERENCE, nets
from benchmarks.contest.records import Split, Task
from benchmarks.contest.show import paired_rows, sections, show
from benchmarks.contest.summary import Figure, Results
from extranets import ExtraNetsRegressor, metrics
from extranets.data import linear_process

POINT_METHODS = ("ExtraTrees", "HistGradientBoosting", "MLP", "CatBoost", "RealMLP", "TabM")
ROW_SCORES = ("coverage", "width", "interval_score", "fifth_rows", "fifth_covered", "fifth_width")
QUICK = {
    REFERENCE: Method(("extranets",), partial(nets, partial(ExtraNetsRegressor, 5, max_iter=20))),
    "HistGradientBoosting": METHODS["HistGradientBoosting"],
}


def marks(method: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] if method in ("NGBoost", "RealMLP", "TabM", "extranets accurate") else []


def simulated(dataset: str, split: int) -> Split:
    """A split with large targets far from zero. Their units must not harm a method."""
    X, y, X_test, y_test = linear_process(260, random_state=split).split(200)
    return Split(X, 1000 * y + 1e5, X_test, 1000 * y_test + 1e5)


def tasks(n_splits: int = 2, methods=QUICK) -> list[Task]:
    return [Task("boston", split, method) for split in range(n_splits) for method in methods]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """One thread: two OpenMP threads wait for each other, for seconds if other tests use the cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "THREADS", 1)
        yield


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "records.jsonl"
    assert records.run(tasks(), QUICK, simulated, path, tell=lambda line: None) == []
    return path


# -- methods -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in METHODS])
def test_every_installed_method_predicts_better_than_the_mean(name):
    method = METHODS[name]
    if method.missing:
        pytest.skip(f"{', '.join(method.missing)} not installed")
    data = simulated("", 0)
    record = records.measure(Task("simulated", 0, name), method, data)
    assert 0 < record["rmse"] < 0.5 * data.y_test.std()
    assert record["fit_seconds"] > 0 and set(record["versions"]) == set(method.packages)
    for level in ("90", "95"):
        known = [record[f"{score}_{level}"] is not None for score in ROW_SCORES]
        assert known == [name not in POINT_METHODS] * len(known)
    has_distribution = name not in POINT_METHODS and "MAPIE" not in name
    assert (record["crps"] is not None) == has_distribution
    assert (record["log_likelihood"] is not None) == (has_distribution and name != "quantile-forest")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks(name)) for name in ("CatBoost with uncertainty", "NGBoost")]
)
def test_predicted_deviations_are_not_variances(name):
    """Pure noise with standard deviation 10. Confusing deviation and variance is then wrong by a factor of 10 or 3."""
    method = METHODS[name]
    if method.missing:
        pytest.skip(f"{', '.join(method.missing)} not installed")
    rng = np.random.default_rng(0)
    model = method.make(0)
    model.fit(rng.normal(size=(3000, 2)), 10 * rng.normal(size=3000))
    std = model.forecast(rng.normal(size=(200, 2))).std
    assert 6 < np.median(std) < 13


def test_every_fit_has_the_benchmarks_number_of_threads():
    class Counting:
        def fit(self, X, y):
            self.threads = {library["num_threads"] for library in threadpool_info()}

        def forecast(self, X):
            return forecast.Forecast(np.zeros(len(X)))

    model = Counting()
    records.measure(Task("simulated", 0, "counting"), Method((), lambda seed: model), simulated("", 0))
    assert model.threads == {records.THREADS}


def test_a_method_without_its_package_is_skipped_with_a_message():
    lines: list[str] = []
    methods = {**QUICK, "unheard-of": Method(("scikit-learn", "no-such-package"), METHODS["MLP"].make)}
    assert list(records.installed(methods, lines.append)) == list(QUICK)
    assert lines == ["skipped: unheard-of (no-such-package not installed)"]
    assert (
        Method(("scikit-learn", "typing-extensions"), METHODS["MLP"].make).missing == []
    )  # sklearn, typing_extensions


# -- scores ------------------------------------------------------------------------------------------------------------


def test_coverage_in_fifths_matches_values_computed_by_hand():
    """Ten intervals around zero with half widths 1 to 10, given in mixed order; the three widest miss."""
    half = np.array([3.0, 10, 1, 7, 5, 9, 2, 8, 4, 6])
    y = np.where(half > 7, 2 * half, 0.0)
    rows, covered, width = forecast.by_width(y, -half, half)
    assert (rows, covered, width) == ([2] * 5, [2, 2, 2, 1, 0], [3.0, 7.0, 11.0, 15.0, 19.0])


def test_the_score_of_quantiles_is_twice_their_mean_pinball_loss():
    y, levels = np.array([0.3, -1.0]), (np.arange(100) + 0.5) / 100
    quantiles = np.sort(np.random.default_rng(0).normal(size=(100, 2)), axis=0)
    error = y - quantiles
    pinball = np.maximum(levels[:, None] * error, (levels[:, None] - 1) * error)
    found = forecast.scores(y, forecast.Forecast(np.zeros(2), sample=quantiles))
    assert found["crps"] == pytest.approx(2 * pinball.mean()) and found["log_likelihood"] is None


def test_a_mean_with_a_standard_deviation_is_normal():
    y, mean, std = np.array([0.3, -4.0]), np.array([0.0, 0.5]), np.array([1.0, 2.0])
    found = forecast.scores(y, forecast.Forecast(mean, std=std))
    assert found["log_likelihood"] == pytest.approx(stats.norm(mean, std).logpdf(y).mean())
    assert found["crps"] == metrics.crps_gaussian(y, mean, std)


@pytest.mark.parametrize(
    "settings",
    [
        {"distribution": "student"},
        {"distribution": "normal"},
        {"distribution": "empirical"},
        {"distribution": "empirical", "target_transform": "log"},
    ],
    ids=str,
)
def test_our_forecast_is_scored_by_the_distribution_that_is_predicted(settings):
    """CRPS is twice the mean pinball loss over all quantiles; here over 2,000 of them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    y = np.exp(0.5 * X[:, 0]) + random.exponential(size=200)
    model = nets(partial(ExtraNetsRegressor, 3, max_iter=5, **settings), 0).fit(X[:150], y[:150])
    X, y = X[150:], y[150:]
    found = forecast.scores(y, model.forecast(X))
    levels = (np.arange(2000) + 0.5) / 2000
    error = y[:, None] - model.estimator.predict_quantiles(X, levels)
    assert found["log_likelihood"] == pytest.approx(model.estimator.predict_dist(X).logpdf(y).mean())
    assert found["crps"] == pytest.approx(2 * np.maximum(levels * error, (levels - 1) * error).mean(), rel=2e-3)
    assert found["rmse"] == metrics.rmse(y, model.estimator.predict(X))


def test_normal_intervals_have_their_stated_levels():
    found = forecast.normal_forecast(np.array([1.0]), np.array([2.0]))
    assert found.bounds[0, :, 0] == pytest.approx([1 - 2 * 1.6448536, 1 + 2 * 1.6448536])
    assert found.bounds[0, :, 1] == pytest.approx([1 - 2 * 1.9599640, 1 + 2 * 1.9599640])


# -- the file ----------------------------------------------------------------------------------------------------------


def test_records_have_every_score(run_file):
    found = records.read(run_file)
    assert [records.task_of(record) for record in found] == tasks()
    for record in found:
        assert record["rmse"] > 0 and (record["n_train"], record["n_test"]) == (200, 60)
        for level in ("90", "95"):
            assert {f"{score}_{level}" for score in ROW_SCORES} <= set(record)
    ours = found[0]
    assert ours["coverage_90"] == sum(ours["fifth_covered_90"]) / sum(ours["fifth_rows_90"])
    assert ours["width_95"] > ours["width_90"] > 0 and ours["interval_score_90"] > ours["width_90"]


def test_recorded_tasks_are_not_done_again(run_file, tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text("".join(run_file.read_text().splitlines(keepends=True)[:3]))
    before, lines = path.read_text(), []
    records.run(tasks(3), QUICK, simulated, path, tell=lines.append)
    assert lines[0] == "3 fits to do" and len(lines) == 4
    assert path.read_text().startswith(before)
    assert [records.task_of(record) for record in records.read(path)] == tasks(3)


def test_a_failure_leaves_its_reason_is_tried_again_and_does_not_stop_the_run(tmp_path):
    def broken(seed: int):
        raise ValueError("no such luck")

    methods = {"broken": Method(("scikit-learn",), broken), **QUICK}
    path, lines = tmp_path / "records.jsonl", []
    failed = records.run(tasks(1, methods), methods, simulated, path, tell=lines.append)
    assert failed == [Task("boston", 0, "broken")] and "FAILED, ValueError: no such luck" in lines[1]
    found = records.read(path)
    assert [record.get("error") for record in found] == ["ValueError: no such luck", None, None]
    assert Results(found).methods == list(QUICK)  # tables know nothing of failures
    assert records.undone(tasks(1, methods), path) == failed


def test_files_are_merged_and_the_later_record_counts(tmp_path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    records.append(first, {"dataset": "d", "split": 0, "method": "m", "rmse": 1.0})
    records.append(first, {"dataset": "d", "split": 1, "method": "m", "rmse": 2.0})
    records.append(second, {"dataset": "d", "split": 0, "method": "m", "rmse": 3.0})
    assert [record["rmse"] for record in records.read(first, second)] == [3.0, 2.0]


@pytest.mark.parametrize("line", ['{"dataset": "d", "spl', '{"dataset": "d"}', "3"])
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "records.jsonl"
    records.append(path, {"dataset": "d", "split": 0, "method": "m"})
    path.write_text(path.read_text() + line)
    with pytest.raises(ValueError, match=r"records\.jsonl, line 2 is not a record"):
        records.read(path)


def test_splits_are_those_of_the_study():
    found = records.uci_tasks(["protein", "year"], ["a", "b"], None)
    assert len(found) == 2 * (5 + 1) and found[:3] == [("protein", 0, "a"), ("protein", 0, "b"), ("protein", 1, "a")]
    assert records.uci_tasks(["protein", "year"], ["a"], 2) == [
        ("protein", 0, "a"),
        ("protein", 1, "a"),
        ("year", 0, "a"),
    ]


# -- arithmetic --------------------------------------------------------------------------------------------------------


def made_up(table: dict[str, dict[str, list[float]]], score: str = "rmse") -> Results:
    """Results from scores by method, data set and split."""
    return Results(
        {"dataset": dataset, "split": split, "method": method, score: value}
        for method, sets in table.items()
        for dataset, values in sets.items()
        for split, value in enumerate(values)
    )


def test_paired_differences_match_values_computed_by_hand():
    """Leads 2, 0, -1, 3 on the four splits that both have: mean 1, variance 10/3, standard error sqrt(10/12)."""
    results = made_up({"ours": {"d": [1.0, 2.0, 5.0, 1.0]}, "peer": {"d": [3.0, 2.0, 4.0, 4.0, 99.0]}})
    found = summary.paired(results, "d", "peer", "ours", "rmse")
    assert found.lead == pytest.approx((1.0, np.sqrt(10 / 12)))
    assert (found.wins, found.ties, found.losses) == (2, 1, 1)


def test_more_likelihood_is_better():
    results = made_up({"ours": {"d": [-1.0, -1.0]}, "peer": {"d": [-2.0, -3.0]}}, "log_likelihood")
    found = summary.paired(results, "d", "peer", "ours", "log_likelihood")
    assert found.lead.value == 1.5 and (found.wins, found.losses) == (2, 0)
    ranks = summary.average_ranks(results, "log_likelihood")
    assert ranks.average == {"ours": (1.0, None), "peer": (2.0, None)}


def test_average_ranks_share_ties_and_leave_out_incomplete_methods():
    """On d the means are 1, 1, 3 (ranks 1.5, 1.5, 3); on e 2, 1, 3 (ranks 2, 1, 3). The fourth method lacks e."""
    table = {
        "a": {"d": [1.0], "e": [2.0]},
        "b": {"d": [1.0], "e": [1.0]},
        "c": {"d": [3.0], "e": [3.0]},
        "part": {"d": [0.0]},
    }
    ranks = summary.average_ranks(made_up(table), "rmse")
    assert ranks.average == {"a": Figure(1.75, 0.25), "b": Figure(1.25, 0.25), "c": Figure(3.0, 0.0)}


def test_ranks_use_only_the_splits_that_all_have():
    """Over its own splits, b would be first. On the only split that both have, it is second."""
    ranks = summary.average_ranks(made_up({"a": {"d": [2.0]}, "b": {"d": [3.0, 0.0]}}), "rmse")
    assert ranks.average["a"].value == 1.0 and ranks.n_splits == {"d": 1}


def test_coverage_by_width_weighs_rows_of_all_splits_and_then_data_sets_equally():
    def record(dataset, split, rows, covered, width):
        names = {"rows": [rows] * 5, "covered": [covered] * 5, "width": [1.0, 1, 1, 1, width]}
        return {"dataset": dataset, "split": split, "method": "m", "coverage_90": 0.0} | {
            f"fifth_{name}_90": values for name, values in names.items()
        }

    results = Results([record("d", 0, 10, 10, 2.0), record("d", 1, 30, 20, 4.0), record("e", 0, 4, 1, 5.0)])
    found = summary.by_width(results, "m", 0.9)
    assert found.coverage == pytest.approx([(30 / 40 + 1 / 4) / 2] * 5)
    assert found.widening == pytest.approx((3 + 5) / 2) and found.n_datasets == 2


# -- tables ------------------------------------------------------------------------------------------------------------


def test_tables_leave_out_methods_without_the_score(run_file):
    found = {
        section.title.partition(":")[0]: section.rows
        for section in sections(Results(records.read(run_file)), REFERENCE)
    }
    assert [row["method"] for row in found["RMSE"]] == list(QUICK)
    assert [row["method"] for row in found["CRPS"]] == [REFERENCE]
    assert [row["method"] for row in found["RMSE (less is better)"]] == ["HistGradientBoosting"]


def test_paired_rows_count_the_splits_of_all_data_sets():
    ours, peer = {"d": [1.0, 1.0, 1.0], "e": [2.0]}, {"d": [2.0, 1.0, 3.0], "e": [1.0], "f": [1.0]}
    row = {"method": "peer", "d": "1.00 ± 0.58 (2/1/0)", "e": "-1.0 (0/0/1)", "f": None, "all": "2/1/1"}
    assert paired_rows(made_up({"ours": ours, "peer": peer}), "ours", "rmse") == [row]


def test_a_method_can_be_left_out(run_file, capsys):
    accuracy.main(["table", str(run_file), "--without", "HistGradientBoosting"])
    printed = capsys.readouterr().out
    assert REFERENCE in printed and "HistGradientBoosting" not in printed


def test_tables_are_printed_in_markdown(run_file, capsys):
    accuracy.main(["table", str(run_file), "--markdown", "--dataset", "boston", "--splits", "1"])
    printed = capsys.readouterr().out
    for title in (
        "RMSE",
        "CRPS",
        "Coverage, 90%",
        "Interval score, 95%",
        "Seconds to fit",
        "Average ranks",
        "Coverage at 95%",
    ):
        assert f"\n### {title}" in printed
    first = json.loads(run_file.read_text().splitlines()[0])
    row = next(line for line in printed.splitlines() if line.startswith(f"| {REFERENCE}"))
    assert float(row.split("|")[2]) == pytest.approx(first["rmse"], rel=1e-3)


def test_tables_are_printed_on_a_terminal(run_file):
    with (console := Console(width=200)).capture() as captured:
        show(Results(records.read(run_file)), REFERENCE, markdown=False, console=console)
    assert "HistGradientBoosting" in captured.get() and "narrowest" in captured.get()


def test_a_missing_file_is_refused(capsys, tmp_path):
    with pytest.raises(SystemExit):
        accuracy.main(["table", str(tmp_path / "none.jsonl")])
    assert "there is no file" in capsys.readouterr().err
