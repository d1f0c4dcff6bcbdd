"""The command: which tables, the fits, and the tables that are printed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.contest import records
from benchmarks.contest.records import Record, Task
from benchmarks.contest.show import Rows, Section, show_rows
from benchmarks.machine import THREADS
from benchmarks.ordinary import looks, manifest
from benchmarks.ordinary.manifest import Table
from benchmarks.ordinary.ours import quietly
from benchmarks.ordinary.rows import Label, read, use
from benchmarks.ordinary.scores import LEVEL
from extranets import StackedNetsRegressor, metrics
from extranets._arrays import Array
from extranets.tables import TableRegressor
from extranets.tables.updating import BLOCK, blocks_in_order

FITS = ("at random", "by time")  # how rows are left out
UPDATED = ", updated"
METHODS = tuple(fit + later for fit in FITS for later in ("", UPDATED))


@cache
def tables() -> dict[str, Table]:
    """By name: those of this folder, and those of benchmarks/ordinary that are split by time."""
    ordinary = {name: table for name, table in manifest.tables().items() if table.split == "time"}
    return {**manifest.read(Path(__file__).with_name("tables.csv")), **ordinary}


def chosen(names: str) -> list[Table]:
    """The tables of a role, or of names with commas between them."""
    if names in manifest.ROLES:
        return [table for table in tables().values() if table.role == names]
    unknown = [name for name in names.split(",") if name not in tables()]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no table {', '.join(unknown)}; there are {', '.join(tables())}")
    return [tables()[name] for name in names.split(",")]


def label(table: Table) -> str:
    """Tables for choosing are never predicted beyond the training rows of their outer split."""
    return str(Label(table.name, inner=table.role == "choose"))


def tasks(wanted: list[Table]) -> list[Task]:
    return [Task(label(table), 0, method) for table in wanted for method in METHODS]


def run(options: argparse.Namespace, console: Console) -> None:
    """Messages go to standard error, so that the tables alone can be kept."""
    open_tasks = records.undone(tasks(options.tables), options.out)
    looks.log(options.out, [task for task in open_tasks if Label.read(task.dataset).name in manifest.tables()])
    for table in options.tables:
        for how in FITS:
            if any(task.dataset == label(table) and task.method.startswith(how) for task in open_tasks):
                for record in measure(table, how, options.block, options.effort):
                    records.append(options.out, record)
                    print(
                        f"{record['dataset']}, {record['method']}: {record['coverage']:.3f}",
                        file=sys.stderr,
                        flush=True,
                    )
    found = records.chosen(records.read(options.out), tasks(options.tables))
    for title, rows in sections(found):
        show_rows(title, rows, options.markdown, console)


def measure(table: Table, how: str, block: int, effort: str) -> Iterator[Record]:
    """One fit: a record of its intervals as they are, and one of those that follow the rows."""
    X, y = read(table)
    train, test = use(table, X, 0, Label.read(label(table)))
    time_of = X[table.by].to_numpy()
    order = {"time": table.by} if how == "by time" else {}
    model = TableRegressor(StackedNetsRegressor(effort=effort, random_state=0, n_jobs=THREADS))
    begin = time.perf_counter()
    with quietly():
        model.fit(X.iloc[train], y[train], **order)
        seconds = time.perf_counter() - begin
        bounds = {"": model.predict_interval(X.iloc[test], LEVEL), UPDATED: np.empty((len(test), 2))}
        for rows in blocks_in_order(len(test), time_of[test], block):
            own = X.iloc[test[rows]]
            bounds[UPDATED][rows] = model.predict_interval(own, LEVEL)
            model.update(own, y[test[rows]])
    about = {"dataset": label(table), "split": 0, "n_train": len(train), "n_test": len(test), "fit_seconds": seconds}
    for later, both in bounds.items():
        yield {**about, "method": how + later, **scores(y[test], both)}


def scores(y: Array, bounds: Array) -> dict[str, float]:
    """Shape: ``(n,)``, ``(n, 2)``."""
    lower, upper = bounds.T
    return {
        "coverage": metrics.coverage(y, lower, upper),
        "below": float(np.mean(y < lower)),
        "above": float(np.mean(y > upper)),
        "interval_score": metrics.interval_score(y, lower, upper, LEVEL),
        "width": metrics.mean_width(y, lower, upper),
    }


def sections(found: list[Record]) -> Iterator[Section]:
    """Coverage, with the shares that are missed below and above in per cent; and interval scores beside today's."""
    by_table: dict[str, dict[str, Record]] = {}
    for record in found:
        by_table.setdefault(record["dataset"], {})[record["method"]] = record
    coverage, score = [], []
    for name, own in by_table.items():
        first = next(iter(own.values()))
        about = {"table": name, "fitted": f"{first['n_train']:,}", "predicted": f"{first['n_test']:,}"}
        coverage.append({**about, **{method: _coverage(record) for method, record in own.items()}})
        score.append({**about, **{method: f"{_ratio(record, own):.2f}" for method, record in own.items()}})
    yield Section(f"Coverage of {LEVEL:.0%} intervals (missed below / above, in %)", coverage)
    yield Section("Interval score, in multiples of that with rows left out at random and no updates", score)
    yield Section("Tables within five points of what is promised", _within(by_table))


def _coverage(record: Record) -> str:
    return f"{record['coverage']:.3f} ({100 * record['below']:.1f} / {100 * record['above']:.1f})"


def _ratio(record: Record, own: dict[str, Record]) -> float:
    usual = own.get(METHODS[0])
    return float("nan") if usual is None else record["interval_score"] / usual["interval_score"]


def _within(by_table: dict[str, dict[str, Record]]) -> Rows:
    row: dict[str, Any] = {"tables": str(len(by_table))}
    for method in METHODS:
        own = [each[method] for each in by_table.values() if method in each]
        row[method] = f"{sum(abs(record['coverage'] - LEVEL) <= 0.05 for record in own)}"
    return [row]


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--tables", type=chosen, default="choose", help="choose, judge, or NAME,NAME,... (default: choose)"
    )
    command.add_argument("--block", type=int, default=BLOCK, help=f"rows between updates (default: {BLOCK})")
    command.add_argument("--effort", default="medium", help="of the stack (default: medium)")
    command.add_argument("--out", type=Path, default=Path("time.jsonl"), help="file of records (default: time.jsonl)")
    command.add_argument("--markdown", action="store_true", help="print the tables for a document")
