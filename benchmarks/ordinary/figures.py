"""Records into the figures that are compared: ranks, ratios to one peer, and means over tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contest.records import Record
from benchmarks.contest.summary import Ranks, Results, average_ranks
from benchmarks.ordinary.manifest import Table, tables
from benchmarks.ordinary.rows import Label
from benchmarks.ordinary.tasks import SMALL
from extranets._arrays import Array

RANKED = {"rmse": "RMSE", "crps": "CRPS", "interval_score": "interval score, 90 %"}
GROUPS: dict[str, Callable[[Table], bool]] = {
    "all": lambda table: True,
    "choose": lambda table: table.role == "choose",
    "judge": lambda table: table.role == "judge",
    f"under {SMALL:,} rows": lambda table: table.rows < SMALL,  # all that the slow methods were run on
}
PREDICTED = ("coverage", "below", "above")


def table_of(dataset: str) -> Table:
    return tables()[Label.read(dataset).name]


# -- ranks -------------------------------------------------------------------------------------------------------------


def ranks(records: Iterable[Record], score: str, group: str) -> Ranks:
    """Average ranks over a group of tables, among the methods that were run on all of them. Failures are last."""
    belongs = GROUPS[group]
    chosen = [record for record in records if belongs(table_of(record["dataset"]))]
    return average_ranks(Results(failures_last(chosen)), score)


def failures_last(records: Iterable[Record]) -> list[Record]:
    """In place of each record of a failure, one with scores that are worse than all others."""
    records = list(records)
    has = {
        method: {score for score in RANKED if any(r.get(score) is not None for r in records if r["method"] == method)}
        for method in {record["method"] for record in records}
    }

    def worst(record: Record) -> Record:
        return {
            **{name: record[name] for name in ("dataset", "split", "method")},
            **{score: math.inf if score in has[record["method"]] else None for score in RANKED},
        }

    return [worst(record) if "error" in record else record for record in records]


# -- one peer ----------------------------------------------------------------------------------------------------------


class Ratios(NamedTuple):
    """Of a method's scores to a peer's, on the tables and splits that both have."""

    mean: float  # geometric
    largest: float
    ahead: int  # tables with a ratio below one
    n_tables: int


def ratios(results: Results, method: str, peer: str, score: str, datasets: Iterable[str]) -> Ratios | None:
    """None where the two have no table in common."""
    found = [ratio for dataset in datasets if (ratio := ratio_on(results, dataset, method, peer, score)) is not None]
    if not found:
        return None
    return Ratios(float(np.exp(np.mean(np.log(found)))), max(found), sum(value < 1 for value in found), len(found))


def ratio_on(results: Results, dataset: str, method: str, peer: str, score: str) -> float | None:
    """Ratio of the means over the splits that both have."""
    ours, theirs = (results.values(dataset, name, score) for name in (method, peer))
    shared = sorted(set(ours) & set(theirs))
    if not shared:
        return None
    return float(np.mean([ours[split] for split in shared]) / np.mean([theirs[split] for split in shared]))


def random_splits(results: Results) -> list[str]:
    return [dataset for dataset in results.datasets if table_of(dataset).split == "random"]


# -- one method --------------------------------------------------------------------------------------------------------


def relative_error(results: Results, dataset: str, method: str) -> float | None:
    """RMSE over the standard deviation of the test rows' target, mean over splits."""
    records = results.records(dataset, method)
    return float(np.mean([record["rmse"] / record["target_std"] for record in records])) if records else None


def predicted(results: Results, dataset: str, method: str) -> dict[str, Any] | None:
    """Coverage, both tails and the coverage of each third by width, over the rows of all splits. None without intervals."""
    records = [record for record in results.records(dataset, method) if record["coverage"] is not None]
    if not records:
        return None
    rows = [record["n_test"] for record in records]
    found = {name: np.average([record[name] for record in records], weights=rows) for name in PREDICTED}
    covered, all_rows = (
        np.sum([record[f"width_{name}"] for record in records], axis=0) for name in ("covered", "rows")
    )
    return {**found, "thirds": covered / all_rows}


def mean_predicted(results: Results, method: str) -> tuple[dict[str, Any], int] | None:
    """The same, mean over tables, which count equally, and the number of tables."""
    cells = [cell for dataset in results.datasets if (cell := predicted(results, dataset, method)) is not None]
    if not cells:
        return None
    means: dict[str, float | Array] = {name: np.mean([cell[name] for cell in cells], axis=0) for name in cells[0]}
    return means, len(cells)
