"""Records into figures: means over splits, paired differences, average ranks, coverage by predicted width."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from benchmarks.contest.forecast import FIFTHS, percent
from benchmarks.contest.records import Record
from extranets._arrays import Array
from extranets.studies.tables import Figure

# Scores of which more is better. Of all others, less is better.
LARGER_IS_BETTER = ("log_likelihood",)


class Results:
    """The records with scores, by data set, method and split. Names keep the order in which they first appear."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._cells: dict[tuple[str, str], dict[int, Record]] = {}
        for record in (record for record in records if "error" not in record):
            self._cells.setdefault((record["dataset"], record["method"]), {})[record["split"]] = record
        self.datasets = list(dict.fromkeys(dataset for dataset, _ in self._cells))
        self.methods = list(dict.fromkeys(method for _, method in self._cells))

    def records(self, dataset: str, method: str) -> list[Record]:
        return list(self._cells.get((dataset, method), {}).values())

    def values(self, dataset: str, method: str, score: str) -> dict[int, float]:
        """A score by split; splits without it are left out."""
        cell = self._cells.get((dataset, method), {})
        return {split: record[score] for split, record in cell.items() if record.get(score) is not None}

    def complete(self, score: str) -> list[str]:
        """Methods that have the score on every data set."""
        return [m for m in self.methods if all(self.values(dataset, m, score) for dataset in self.datasets)]


def mean_figure(values: Iterable[float]) -> Figure:
    """Mean with its standard error, which needs two values.

    >>> mean_figure([1.0, 3.0])
    Figure(value=2.0, error=1.0)
    """
    array = np.array(list(values), dtype=np.float64)
    if len(array) == 0:
        return Figure(None, None)
    return Figure(float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array))) if len(array) > 1 else None)


class Paired(NamedTuple):
    """How far the reference is ahead of a method on the splits that both have. Positive: the reference is better."""

    lead: Figure
    wins: int  # splits on which the reference is better
    ties: int
    losses: int


def paired(results: Results, dataset: str, method: str, reference: str, score: str) -> Paired | None:
    """None where the two have no split in common."""
    theirs, ours = (results.values(dataset, name, score) for name in (method, reference))
    shared = sorted(set(theirs) & set(ours))
    if not shared:
        return None
    sign = -1 if score in LARGER_IS_BETTER else 1
    leads = np.array([sign * (theirs[split] - ours[split]) for split in shared])
    return Paired(mean_figure(leads), int((leads > 0).sum()), int((leads == 0).sum()), int((leads < 0).sum()))


class Ranks(NamedTuple):
    """``average[method]`` is over the data sets; 1 is the best, and methods with equal means share their ranks."""

    average: dict[str, Figure]
    n_splits: dict[str, int]  # of each data set, on which the methods were compared


def average_ranks(results: Results, score: str) -> Ranks:
    """Ranks of the methods that have every data set, by their means over the splits that all of them have."""
    from scipy.stats import rankdata

    methods = results.complete(score)
    ranks, n_splits = [], {}
    for dataset in results.datasets:
        values = [results.values(dataset, method, score) for method in methods]
        shared = sorted(set.intersection(*map(set, values))) if values else []
        n_splits[dataset] = len(shared)
        if shared:
            means = np.array([np.mean([cell[split] for split in shared]) for cell in values])
            ranks.append(rankdata(-means if score in LARGER_IS_BETTER else means))
    if not ranks:
        return Ranks({}, n_splits)
    return Ranks(
        {method: mean_figure(column) for method, column in zip(methods, np.array(ranks).T, strict=True)}, n_splits
    )


class ByWidth(NamedTuple):
    """Coverage in the fifths of the rows by predicted width, narrowest first; means over data sets. Shape: ``(5,)``."""

    coverage: Array
    widening: float  # median over data sets of the widest fifth's mean width over the narrowest's
    n_datasets: int


def by_width(results: Results, method: str, level: float) -> ByWidth | None:
    """None for a method without intervals. All rows of a data set count equally, and so do data sets."""
    coverage, widening = [], []
    for dataset in results.datasets:
        cells = [
            record for record in results.records(dataset, method) if record[f"coverage_{percent(level)}"] is not None
        ]
        if cells:
            rows, covered, width = (
                np.array([record[f"fifth_{name}_{percent(level)}"] for record in cells])
                for name in ("rows", "covered", "width")
            )
            coverage.append(covered.sum(axis=0) / rows.sum(axis=0))
            widening.append(width[:, FIFTHS - 1].mean() / width[:, 0].mean())
    if not coverage:
        return None
    return ByWidth(np.mean(coverage, axis=0), float(np.median(widening)), len(coverage))
