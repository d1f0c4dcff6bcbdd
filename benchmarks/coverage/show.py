"""Records into tables, in per cent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.contest.records import Record
from benchmarks.contest.show import Section
from extranets._arrays import Array

Found = dict[tuple[str, str], list[Record]]  # by process and method
SHARES = ("coverage", "below", "above", "thirds", "groups")


def sections(records: list[Record]) -> Iterator[Section]:
    found: Found = {}
    for record in records:
        if "error" not in record:
            found.setdefault((record["dataset"], record["method"]), []).append(record)
    yield Section("Coverage of 90 % intervals, in per cent: mean ± standard error", list(map(_coverage, found.items())))
    title = "Epistemic variance and squared error of the mean, per mille of the target's variance"
    yield Section(title, list(map(_errors, found.items())))


def shares(records: list[Record]) -> dict[str, tuple[Array, Array]]:
    """Mean over tables, and its standard error, of everything that is covered or missed; in per cent."""
    values = {name: 100 * np.array([np.atleast_1d(record[name]) for record in records]) for name in SHARES}
    return {name: (each.mean(axis=0), _error(each)) for name, each in values.items()}


def _error(values: Array) -> Array:
    return values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full(values.shape[1], np.nan)


def _coverage(item: tuple[tuple[str, str], list[Record]]) -> dict[str, str]:
    (process, method), records = item
    cells = {name: _row(*each) for name, each in shares(records).items()}
    return {"process": process, "method": method, "tables": str(len(records)), **cells}


def _row(means: Array, errors: Array) -> str:
    """All means, and the largest of their standard errors."""
    return f"{' / '.join(f'{mean:.1f}' for mean in means)} ± {errors.max():.1f}"


def _errors(item: tuple[tuple[str, str], list[Record]]) -> dict[str, str]:
    (process, method), records = item
    found: dict[str, str] = {"process": process, "method": method}
    means = {}
    for name in ("epistemic", "squared_error"):
        values = np.array([1000 * np.array(record[name]) / record["variance"] for record in records])
        means[name] = values.mean(axis=0)
        found[name.replace("_", " ")] = f"{values.mean():.1f}"
        found[f"{name.replace('_', ' ')}, thirds by width"] = " / ".join(f"{mean:.1f}" for mean in means[name])
    return {**found, "ratio": f"{means['epistemic'].sum() / means['squared_error'].sum():.2f}"}
