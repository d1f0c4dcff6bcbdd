"""A default fit beside CatBoost's, on simulated tables of which half of the target's variance is noise.

    python -m benchmarks.noisy                        all tables, on a quiet machine: minutes
    python -m benchmarks.noisy --tables 5000x20       one of them

Both are timed in turn in one process, with two threads. ``pip install ".[ordinary]"`` brings CatBoost.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import NamedTuple

import numpy as np
from rich.console import Console
from sklearn.datasets import make_friedman1

from benchmarks.contest.boosting import catboost
from benchmarks.machine import THREADS, describe
from benchmarks.report import QUIET_COLUMNS, Section, print_machine, print_section, target
from benchmarks.timing import Stopwatch, seconds
from extranets import StackedNetsRegressor, metrics
from extranets._arrays import Array

PATIENCE = 60.0  # seconds for each figure to wait for other processes
TEST_ROWS = 5_000
COLUMNS = {
    "table": ("rows x columns", ""),
    "ours": ("seconds", ".2f"),
    "peer": ("CatBoost", ".2f"),
    "ratio": ("ratio", ".2f"),
    "target": ("at most", ".1f"),
    "met": ("met", ""),
    "error": ("RMSE", ".3f"),
    "peer_error": ("CatBoost", ".3f"),
    "least_error": ("least possible", ".3f"),
    **QUIET_COLUMNS,
}


class Size(NamedTuple):
    rows: int
    columns: int
    most: float  # ratio of our time to CatBoost's that is aimed at

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}"


SIZES = (
    Size(5_000, 20, 1.5),
    Size(20_000, 20, 1.5),
    Size(50_000, 10, 1.5),
    Size(200_000, 20, 1.5),
    Size(3_000, 100, 1.0),
)


def table(size: Size, seed: int = 0) -> tuple[Array, Array]:
    """Friedman's function of five columns, others without influence, and as much noise as signal. Shapes: ``(n, k)``, ``(n,)``."""
    X, signal = make_friedman1(size.rows + TEST_ROWS, size.columns, noise=0.0, random_state=seed)
    return X, signal + signal.std() * np.random.default_rng(seed).standard_normal(len(X))


def row(size: Size, patience: float = PATIENCE) -> dict[str, object]:
    X, y = table(size)
    train, test = slice(None, size.rows), slice(size.rows, None)
    ours, peer = StackedNetsRegressor(n_jobs=THREADS, random_state=0), catboost(0)
    watch = Stopwatch(patience)
    taken = [watch.quietly(partial(seconds, partial(model.fit, X[train], y[train]))) for model in (ours, peer)]
    ratio = taken[0] / taken[1]
    errors = [metrics.rmse(y[test], model.predict(X[test])) for model in (ours, peer)]
    return {
        "table": f"{size.rows:,} x {size.columns}",
        "ours": taken[0],
        "peer": taken[1],
        "ratio": ratio,
        **target(ratio, size.most, watch, at_least=False),
        "error": errors[0],
        "peer_error": errors[1],
        "least_error": float(y.std() / np.sqrt(2)),
    }


def main(arguments: list[str] | None = None, patience: float = PATIENCE) -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.noisy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", help="ROWSxCOLUMNS,... (default: all)")
    wanted = parser.parse_args(arguments).tables
    known = {str(size): size for size in SIZES}
    names = list(known) if wanted is None else wanted.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"there is no table {', '.join(unknown)}; there are {', '.join(known)}")
    rows = []
    for name in names:
        print(f"fitting {name}", file=sys.stderr, flush=True)
        rows.append(row(known[name], patience))
    console = Console(width=160)
    print_machine(console, describe())
    print_section(
        console, Section("Friedman's function tables, half noise: default fit, intervals included", COLUMNS, rows)
    )


if __name__ == "__main__":
    main()
