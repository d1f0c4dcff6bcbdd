"""The command, and what it asks for."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from rich.console import Console

from benchmarks.contest import records
from benchmarks.contest.records import Task
from benchmarks.contest.show import show_rows
from benchmarks.coverage.processes import PROCESSES, load
from benchmarks.coverage.scores import scores
from benchmarks.coverage.show import sections
from benchmarks.gaps.methods import METHODS

DEFAULTS = {name: METHODS[name] for name in ("stack", "extra-nets")}


def tasks(processes: list[str], methods: list[str], replications: int) -> list[Task]:
    """All methods of a table stand together."""
    return [Task(process, seed, method) for process in processes for seed in range(replications) for method in methods]


def run(options: argparse.Namespace, console: Console) -> None:
    """Messages go to standard error, so that the tables alone can be kept."""
    wanted = tasks(options.process or list(PROCESSES), options.method or list(DEFAULTS), options.replications)
    failed = records.run(
        wanted, DEFAULTS, load, options.out, options.jobs, partial(print, file=sys.stderr, flush=True), scores
    )
    for title, rows in sections(records.chosen(records.read(options.out), wanted)):
        show_rows(title, rows, options.markdown, console)
    if failed:
        sys.exit(f"{len(failed)} fits failed; the same command tries them again")
