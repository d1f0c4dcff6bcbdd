"""Records into tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.contest.records import Record
from benchmarks.contest.show import Rows, Section
from benchmarks.gaps.splits import HOME, NOISE, simulated_names

SCORES = {"log_likelihood": 2, "coverage": 2, "rmse": 2, "interval_score": 3}  # and digits

Found = dict[tuple[str, str], list[Record]]  # by method and data set


def sections(records: list[Record]) -> Iterator[Section]:
    found: Found = {}
    for record in records:
        if "error" not in record:
            found.setdefault((record["method"], record["dataset"]), []).append(record)
    methods = list(dict.fromkeys(method for method, _ in found))
    present = {dataset for _, dataset in found}
    known = [dataset for dataset in simulated_names() if dataset in present]
    others = list(dict.fromkeys(dataset for _, dataset in found if dataset.split()[0] not in NOISE))
    yield Section("Simulated tables: coverage of 90 % intervals", rows(found, methods, known, _mean("coverage", 2)))
    title = "Simulated tables: mean epistemic variance / mean squared error of the mean"
    yield Section(title, rows(found, methods, known, _both))
    yield Section("Interval score of 90 % intervals", rows(found, methods, known, _mean("interval_score", 3)))
    for region in dict.fromkeys(dataset.split()[1] for dataset in others):
        chosen = [dataset for dataset in others if dataset.split()[1] == region]
        for score, digits in SCORES.items():
            average = [*rows(found, methods, chosen, _mean(score, digits))]
            for row in average:
                values = [_value(found, row["method"], each, score) for each in chosen]
                row["all"] = f"{np.mean(values):.{digits}f}"
            yield Section(f"Regions left out, {region}: {score.replace('_', ' ')}, mean over features", average)
    left_out = [dataset for dataset in others if dataset.split()[1] != HOME]
    yield Section("Regions left out: log-likelihood of the worst feature", rows(found, methods, left_out, _worst))


def rows(found: Found, methods: list[str], datasets: list[str], cell: Callable[[list[Record]], str]) -> Rows:
    return [
        {"method": method, **{name: cell(found[method, name]) for name in datasets if (method, name) in found}}
        for method in methods
        if any((method, name) in found for name in datasets)
    ]


def _value(found: Found, method: str, dataset: str, score: str) -> float:
    return float(np.mean([record[score] for record in found.get((method, dataset), [])] or [np.nan]))


def _mean(score: str, digits: int) -> Callable[[list[Record]], str]:
    return lambda records: f"{np.mean([record[score] for record in records]):.{digits}f}"


def _both(records: list[Record]) -> str:
    epistemic, error = (np.mean([record[name] for record in records]) for name in ("epistemic", "squared_error"))
    return f"{epistemic:.3f} / {error:.3f}"


def _worst(records: list[Record]) -> str:
    return f"{min(record['log_likelihood'] for record in records):.2f}"
