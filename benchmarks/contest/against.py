"""Ours beside what others published for the same splits, and observed coverage beside what it should be."""

from __future__ import annotations

from typing import Any

from benchmarks.contest.forecast import LEVELS, percent
from benchmarks.contest.summary import Results, mean_figure
from benchmarks.published import LOG_LIKELIHOOD, RMSE
from extranets.studies.tables import Figure

Rows = list[dict[str, Any]]

RIVALS = ("MC dropout, tuned", "Deep ensemble", "Paper, T = 70", "Best")
# The best of the published columns that we have; not all authors print likelihoods.
BEST_LIKELIHOOD = {
    dataset: max((column[dataset] for column in LOG_LIKELIHOOD.values()), key=float) for dataset in RMSE["VI"]
}
SMALL_TABLE = 1000  # training and test rows together; below this, coverage may be further off
ALLOWED = {True: 0.025, False: 0.015}  # points, for a small table or not


def rmse_rows(results: Results, method: str) -> Rows:
    """A row for each data set: ours, and every rival's figure with a mark where ours is larger."""
    rows = []
    for dataset in _datasets(results, method):
        ours = _mean(results, dataset, method, "rmse")
        cells = {rival: _marked(RMSE[rival][dataset], _at_most(ours, RMSE[rival][dataset])) for rival in RIVALS}
        rows.append({"data set": dataset, "splits": len(results.records(dataset, method)), method: ours, **cells})
    return rows


def likelihood_rows(results: Results, method: str) -> Rows:
    rows = []
    for dataset in _datasets(results, method):
        ours, best = _mean(results, dataset, method, "log_likelihood"), BEST_LIKELIHOOD[dataset]
        at_least = ours.value is not None and round(ours.value, _digits(best)) >= float(best)
        rows.append({"data set": dataset, method: ours, "best published": _marked(best, at_least)})
    return rows


def coverage_rows(results: Results, method: str) -> Rows:
    """Coverage at each level, with a mark where it is further off than allowed."""
    rows = []
    for dataset in _datasets(results, method):
        records = results.records(dataset, method)
        allowed = ALLOWED[records[0]["n_train"] + records[0]["n_test"] < SMALL_TABLE]
        row: dict[str, Any] = {"data set": dataset, "allowed": f"± {allowed:.3f}"}
        for level in LEVELS:
            found = _mean(results, dataset, method, f"coverage_{percent(level)}")
            value = float("nan") if found.value is None else found.value
            row[f"{level:.0%}"] = _marked(f"{value:.3f}", abs(value - level) <= allowed + 1e-12)
        rows.append(row)
    return rows


def _mean(results: Results, dataset: str, method: str, score: str) -> Figure:
    return mean_figure(results.values(dataset, method, score).values())


def _datasets(results: Results, method: str) -> list[str]:
    return [dataset for dataset in results.datasets if results.records(dataset, method)]


def _digits(printed: str) -> int:
    return len(printed.partition(".")[2])


def _at_most(ours: Figure, printed: str) -> bool:
    """Whether ours, rounded to the printed digits, is at most the printed figure."""
    return ours.value is not None and round(ours.value, _digits(printed)) <= float(printed)


def _marked(text: str, reached: bool) -> str:
    return text if reached else f"{text} (missed)"
