"""Figures into tables: on a terminal, or in Markdown for documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from rich.console import Console

from benchmarks.contest.forecast import FIFTHS, LEVELS, percent
from benchmarks.contest.summary import LARGER_IS_BETTER, Paired, Results, average_ranks, by_width, mean_figure, paired
from extranets.studies.tables import render, value_and_error

Rows = list[dict[str, Any]]

SCORES = {
    "rmse": "RMSE",
    "log_likelihood": "Log-likelihood",
    "crps": "CRPS",
    **{f"interval_score_{percent(level)}": f"Interval score, {level:.0%}" for level in LEVELS},
    **{f"coverage_{percent(level)}": f"Coverage, {level:.0%}" for level in LEVELS},
    **{f"width_{percent(level)}": f"Mean width, {level:.0%}" for level in LEVELS},
    "fit_seconds": "Seconds to fit",
    "predict_seconds": "Seconds to predict the test rows",
}
COMPARED = ("rmse", "log_likelihood", "crps", "interval_score_90", "interval_score_95")
RANKED = ("rmse", "crps", "interval_score_90")


class Section(NamedTuple):
    title: str
    rows: Rows


def sections(results: Results, reference: str) -> Iterator[Section]:
    for score, title in SCORES.items():
        yield Section(f"{title}: mean over splits ± standard error", score_rows(results, score))
    for score in COMPARED:
        better = "more is better" if score in LARGER_IS_BETTER else "less is better"
        title = f"{SCORES[score]} ({better}): lead of {reference} over each method on the same splits, ± standard error"
        yield Section(f"{title} (splits won/tied/lost)", paired_rows(results, reference, score))
    yield Section("Average ranks over data sets, among methods that have all of them", rank_rows(results))
    for level in LEVELS:
        title = f"Coverage at {level:.0%} in fifths of the test rows by predicted width, mean over data sets"
        yield Section(title, width_rows(results, level))


def score_rows(results: Results, score: str) -> Rows:
    """A row for each method that has the score."""
    rows = []
    for method in results.methods:
        values = {dataset: results.values(dataset, method, score).values() for dataset in results.datasets}
        if any(values.values()):
            rows.append({"method": method, **{dataset: mean_figure(found) for dataset, found in values.items()}})
    return rows


def paired_rows(results: Results, reference: str, score: str) -> Rows:
    """The last column counts the splits of all data sets."""
    rows = []
    for method in results.methods:
        leads = {dataset: paired(results, dataset, method, reference, score) for dataset in results.datasets}
        known = {dataset: lead for dataset, lead in leads.items() if lead is not None}
        if known and method != reference:
            counts = (sum(column) for column in zip(*(lead[1:] for lead in known.values()), strict=True))
            cells = {dataset: _paired_text(known[dataset]) if dataset in known else None for dataset in leads}
            rows.append({"method": method, **cells, "all": "/".join(map(str, counts))})
    return rows


def rank_rows(results: Results) -> Rows:
    """The best RMSE first."""
    ranks = {score: average_ranks(results, score) for score in RANKED}
    named = dict.fromkeys(method for rank in ranks.values() for method in rank.average)
    rows: Rows = [
        {"method": method, **{SCORES[score]: rank.average.get(method) for score, rank in ranks.items()}}
        for method in named
    ]
    splits = {SCORES[score]: "/".join(map(str, rank.n_splits.values())) for score, rank in ranks.items()}
    rows.sort(key=lambda row: row[SCORES[RANKED[0]]].value)
    return [*rows, {"method": "(splits of each data set)", **splits}]


def width_rows(results: Results, level: float) -> Rows:
    rows = []
    names = ["narrowest", *(f"fifth {number}" for number in range(2, FIFTHS)), "widest"]
    for method in results.methods:
        found = by_width(results, method, level)
        if found is not None:
            fifths = {name: round(value, 3) for name, value in zip(names, found.coverage.tolist(), strict=True)}
            last = {"width, widest / narrowest": round(found.widening, 2), "data sets": found.n_datasets}
            rows.append({"method": method, **fifths, **last})
    return rows


def _paired_text(found: Paired) -> str:
    return f"{' ± '.join(filter(None, value_and_error(found.lead)))} ({found.wins}/{found.ties}/{found.losses})"


def show(results: Results, reference: str, markdown: bool, console: Console) -> None:
    for title, rows in sections(results, reference):
        show_rows(title, rows, markdown, console)


def show_rows(title: str, rows: Rows, markdown: bool, console: Console) -> None:
    if not rows:
        return
    if markdown:
        print(f"\n### {title}\n\n{render(rows, None, 'markdown')}")
    else:
        console.print(title, style="bold", highlight=False, soft_wrap=True)
        console.print(render(rows))
