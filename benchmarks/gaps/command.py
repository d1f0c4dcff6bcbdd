"""The command, and what it asks for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from rich.console import Console

from benchmarks.contest import records
from benchmarks.contest.records import Task
from benchmarks.contest.show import show_rows
from benchmarks.gaps import splits, tables
from benchmarks.gaps.everything import MEASURED, METHODS
from benchmarks.gaps.scores import scores
from benchmarks.gaps.show import sections

INNER_SEEDS = 100  # of simulated tables that something was chosen on


def tasks(sets: Sequence[str], methods: Sequence[str], seeds: Sequence[int]) -> list[Task]:
    """All methods of a split stand together."""
    simulated = [(name, seed) for name in splits.simulated_names() for seed in seeds]
    regions = [(name, feature) for name in splits.region_names(sets) for feature in splits.features(name.split()[0])]
    home = [(f"{name} {splits.HOME}", 0) for name in sets]
    return [Task(dataset, split, method) for dataset, split in [*simulated, *regions, *home] for method in methods]


def wanted(options: argparse.Namespace) -> list[Task]:
    """Of inner tables everything differs: no table and no seed is one of those that are reported."""
    if options.inner:
        seeds = range(INNER_SEEDS, INNER_SEEDS + options.replications)
        return tasks(options.table or tables.NAMES, options.method or list(METHODS), seeds)
    methods = options.method or [name for name in METHODS if name not in MEASURED]
    return tasks(options.dataset or splits.SETS, methods, range(options.replications))


def run(options: argparse.Namespace, console: Console) -> None:
    """Messages go to standard error, so that the tables alone can be kept."""
    asked = wanted(options)
    load = partial(splits.load, data_dir=options.data_dir)
    tell = partial(print, file=sys.stderr, flush=True)
    failed = records.run(asked, METHODS, load, options.out, options.jobs, tell, scores)
    for title, rows in sections(records.chosen(records.read(options.out), asked)):
        show_rows(title, rows, options.markdown, console)
    if failed:
        sys.exit(f"{len(failed)} fits failed; the same command tries them again")
