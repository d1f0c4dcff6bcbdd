"""Figures into tables: on a terminal, or in Markdown for documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from benchmarks.contest.ours import REFERENCE
from benchmarks.contest.records import Record
from benchmarks.contest.show import Rows, Section, show_rows
from benchmarks.contest.summary import Results
from benchmarks.ordinary import figures
from benchmarks.ordinary.figures import RANKED
from benchmarks.ordinary.methods import RIVALS, SEARCHED
from benchmarks.ordinary.scores import WIDTHS

PEER = "CatBoost"
FAR_AHEAD = 1.05  # ratio of our RMSE to a rival's
MARK = " !"


def show(records: list[Record], looks: list[dict[str, Any]], markdown: bool, console: Console) -> None:
    for title, rows in sections(records, looks):
        show_rows(title, rows, markdown, console)


def sections(records: list[Record], looks: list[dict[str, Any]]) -> Iterator[Section]:
    results = Results(records)
    for score, name in RANKED.items():
        title = f"Average rank by {name} (number of tables), among methods that were run on all of them"
        yield Section(title, rank_rows(records, score))
    yield Section(f"Against {PEER}: RMSE on tables split at random, seconds on all tables", peer_rows(results))
    title = f"RMSE / standard deviation of the target;{MARK} marks a rival ahead of {REFERENCE} by more than 5 %"
    yield Section(title, error_rows(results))
    yield Section(f"{SEARCHED[0]} beside {SEARCHED[1]}: ratio of RMSE", searched_rows(results))
    yield Section("90 % intervals: shares of test rows, mean over tables", coverage_rows(results))
    yield Section(f"90 % intervals of {REFERENCE}, by table", coverage_rows_by_table(results))
    yield Section("Failures", failure_rows(records))
    yield Section("Runs that saw test rows of the tables that judge", look_rows(looks))


def rank_rows(records: list[Record], score: str) -> Rows:
    """A column for each group of tables; the best over all tables first."""
    columns: dict[str, dict[str, str | None]] = {}
    for group in figures.GROUPS:
        ranks = figures.ranks(records, score, group)
        name = f"{group} ({sum(n > 0 for n in ranks.n_splits.values())})"
        columns[name] = {method: _rounded(rank.value, 2) for method, rank in ranks.average.items()}
    methods = dict.fromkeys(method for ranks_of in columns.values() for method in ranks_of)
    rows = [
        {"method": method, **{name: ranks_of.get(method) for name, ranks_of in columns.items()}} for method in methods
    ]
    return sorted(rows, key=_first_figure)


def peer_rows(results: Results) -> Rows:
    rows: Rows = []
    for method in results.methods:
        error = figures.ratios(results, method, PEER, "rmse", figures.random_splits(results))
        seconds = figures.ratios(results, method, PEER, "fit_seconds", results.datasets)
        cores = figures.ratios(results, method, PEER, "fit_core_seconds", results.datasets)
        predicting = figures.ratios(results, method, PEER, "predict_seconds", results.datasets)
        if method != PEER and seconds is not None and predicting is not None:
            errors = {"RMSE": None, "ahead": None}
            if error is not None:
                errors = {"RMSE": f"{error.mean:.3f}", "ahead": f"{error.ahead} of {error.n_tables}"}
            times = {
                "fit": seconds.mean,
                "fit, largest": seconds.largest,
                "fit, seconds of cores": None if cores is None else cores.mean,
                "predict": predicting.mean,
            }
            shown = {name: _rounded(value, 2) for name, value in times.items()}
            rows.append({"method": method, **errors, **shown, "tables": seconds.n_tables})
    return sorted(rows, key=_first_figure)


def searched_rows(results: Results) -> Rows:
    """A row for each table, and how often ours is at most the peer's. None where the two have no table in common."""
    ratios = {dataset: figures.ratio_on(results, dataset, *SEARCHED, "rmse") for dataset in results.datasets}
    known = {dataset: ratio for dataset, ratio in ratios.items() if ratio is not None}
    if not known:
        return []
    rows: Rows = [{"table": dataset, "ratio": f"{ratio:.3f}"} for dataset, ratio in known.items()]
    reached = sum(ratio <= 1 for ratio in known.values())
    return [*rows, {"table": "(at most 1)", "ratio": f"{reached} of {len(known)}"}]


def error_rows(results: Results) -> Rows:
    """A row for each table. Of marks, the ratio on common splits decides."""
    rows = []
    for dataset in results.datasets:
        table = figures.table_of(dataset)
        cells = {method: _error(results, dataset, method) for method in results.methods}
        rows.append({"table": dataset, "role": table.role, "split": table.split, **cells})
    return rows


def _error(results: Results, dataset: str, method: str) -> str | None:
    value = _rounded(figures.relative_error(results, dataset, method), 3)
    lead = figures.ratio_on(results, dataset, REFERENCE, method, "rmse") if method in RIVALS else None
    return f"{value}{MARK}" if lead is not None and lead > FAR_AHEAD else value


def coverage_rows(results: Results) -> Rows:
    rows = []
    for method in results.methods:
        found = figures.mean_predicted(results, method)
        if found is not None:
            means, n_tables = found
            rows.append({"method": method, **_shares(means), "tables": n_tables})
    return rows


def coverage_rows_by_table(results: Results) -> Rows:
    cells = {dataset: figures.predicted(results, dataset, REFERENCE) for dataset in results.datasets}
    return [{"table": dataset, **_shares(cell)} for dataset, cell in cells.items() if cell is not None]


def _shares(found: dict[str, Any]) -> dict[str, Any]:
    shares = {"covered": found["coverage"], "below": found["below"], "above": found["above"]}
    thirds = {f"covered, {width} third": share for width, share in zip(WIDTHS, found["thirds"], strict=True)}
    return {name: _rounded(share, 3) for name, share in (shares | thirds).items()}


def failure_rows(records: list[Record]) -> Rows:
    names = ("dataset", "split", "method", "error")
    return [{name: record[name] for name in names} for record in records if "error" in record]


def look_rows(looks: list[dict[str, Any]]) -> Rows:
    return [
        {"date": look["date"], "commit": look["commit"], "methods": ", ".join(look["methods"]), "tables": len(look["tables"])}
        for look in looks
    ]  # fmt: skip


def _first_figure(row: dict[str, Any]) -> float:
    """For sorting by the first column after the name; rows without it are last."""
    return float(list(row.values())[1] or "inf")


def _rounded(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:.{digits}f}"
