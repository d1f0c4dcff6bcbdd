"""The command, and what it asks for."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from rich.console import Console

from benchmarks.contest import records
from benchmarks.contest.records import Task
from benchmarks.contest.show import show_rows
from benchmarks.gaps import splits
from benchmarks.gaps.methods import METHODS
from benchmarks.gaps.scores import scores
from benchmarks.gaps.show import sections


def tasks(sets: list[str], methods: list[str], replications: int) -> list[Task]:
    """All methods of a split stand together."""
    simulated = [(name, seed) for name in splits.simulated_names() for seed in range(replications)]
    real = [(name, feature) for name in splits.uci_names(tuple(sets)) for feature in splits.features(name.split()[0])]
    return [Task(dataset, split, method) for dataset, split in [*simulated, *real] for method in methods]


def run(options: argparse.Namespace, console: Console) -> None:
    """Messages go to standard error, so that the tables alone can be kept."""
    wanted = tasks(options.dataset or list(splits.SETS), options.method or list(METHODS), options.replications)
    load = partial(splits.load, data_dir=options.data_dir)
    tell = partial(print, file=sys.stderr, flush=True)
    failed = records.run(wanted, METHODS, load, options.out, options.jobs, tell, scores)
    for title, rows in sections(records.chosen(records.read(options.out), wanted)):
        show_rows(title, rows, options.markdown, console)
    if failed:
        sys.exit(f"{len(failed)} fits failed; the same command tries them again")
