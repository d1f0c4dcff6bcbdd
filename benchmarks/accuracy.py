"""Accuracy and coverage of extra-nets, alone and beside other libraries, as printed in docs/accuracy.md.

    python -m benchmarks.accuracy uci         RMSE on the UCI splits, for 40 and 400 epochs
    python -m benchmarks.accuracy coverage    coverage of the defaults in every part, on seven simulated processes; records in --out
    python -m benchmarks.accuracy paper       coverage on the paper's two simulated processes
    python -m benchmarks.accuracy far         coverage on rows outside the range of the training rows
    python -m benchmarks.accuracy gaps        intervals where rows were left out, beside other methods; records in --out.
                                              With --inner on the tables that the distance was chosen on
    python -m benchmarks.accuracy guarantees  what conformal intervals promise, and how often they miss
    python -m benchmarks.accuracy time        coverage of later rows, with "time" and updates; pip install ".[ordinary]"
    python -m benchmarks.accuracy peers       ours and the peers on the same splits; pip install ".[peers]" brings them
    python -m benchmarks.accuracy table FILE  the tables of records that "peers" has written, of one file or more
    python -m benchmarks.accuracy published FILE  one method of ours beside what others published, from the same records

"peers", "gaps", "coverage" and "time" add a record for every fit to a file (--out) and skip fits that have one, so that they can be
stopped and started again. They do not notice that a method has changed: then delete its lines. Methods and settings are described in
benchmarks/contest.

The UCI data sets are read from --data-dir or from EXTRANETS_DATA; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import guarantees
from benchmarks.contest import against, records
from benchmarks.contest.methods import METHODS
from benchmarks.contest.ours import ESTIMATORS, REFERENCE
from benchmarks.contest.show import show, show_rows
from benchmarks.contest.summary import Results
from benchmarks.coverage import command as coverage
from benchmarks.coverage.paper import show_coverage, standard_error
from benchmarks.coverage.processes import PROCESSES
from benchmarks.gaps import command as gaps
from benchmarks.gaps.everything import METHODS as GAP_METHODS
from benchmarks.gaps.splits import SETS as GAP_SETS
from benchmarks.gaps.tables import NAMES as INNER
from benchmarks.published import SETS
from benchmarks.times import command as times
from extranets import ExtraNetsRegressor, StackedNetsRegressor
from extranets.data import uci

# Changes of the preset "paper", which is the setting of the paper's Table 3: none, and 400 epochs with the rate falling to zero.
PAPER_SETTING: dict[str, Any] = {}
LONG_SETTING: dict[str, Any] = {"max_iter": 400, "learning_rate_schedule": "linear"}

# RMSE of an independent prototype with the two settings, mean over the splits.
PROTOTYPE = {
    "boston": (2.82, 2.67),
    "concrete": (5.05, 4.37),
    "energy": (0.591, 0.389),
    "yacht": (1.05, 0.53),
    "wine": (0.619, 0.62),
    "kin8nm": (0.072, 0.067),
}

# Intervals outside the training rows: distances in units of the training rows' own, and a plane and a curved surface.
FACTORS = [1, 2, 3, 5, 10]
FAR: dict[str, tuple[Any, tuple[str, ...]]] = {
    "stack": (StackedNetsRegressor, ("calibrated", "total")),
    "extra-nets": (ExtraNetsRegressor, ("calibrated", "total", "paper")),
}
SURFACES = {"plane": lambda X: X @ [1.0, -1.0, 0.5], "waves": lambda X: np.sin(2 * X[:, 0]) + X[:, 1]}


def uci_splits(name: str, data_dir: str | None, n_splits: int | None) -> Iterator[tuple[np.ndarray, ...]]:
    table = uci.read(name, data_dir)
    for index, (train, test) in enumerate(uci.DATASETS[name].splits()):
        if n_splits is not None and index >= n_splits:
            return
        yield table.X[train], table.y[train], table.X[test], table.y[test]


def uci_rmse(
    name: str, settings: dict[str, Any], data_dir: str | None = None, n_splits: int | None = None
) -> np.ndarray:
    """Test RMSE of every split."""
    errors = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="noise='train'")  # only the point predictions are used
        for seed, (X, y, X_test, y_test) in enumerate(uci_splits(name, data_dir, n_splits)):
            model = ExtraNetsRegressor.from_preset("paper", random_state=seed, **settings).fit(X, y)
            errors.append(float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))))
    return np.array(errors)


def far_coverage(surface: str, n_replications: int) -> dict[tuple[str, str], np.ndarray]:
    """Coverage of 90 % intervals at FACTORS times the training rows' distance, by estimator and interval.

    Shape of the arrays: ``(n_replications, len(FACTORS))``.
    """
    found: dict[tuple[str, str], list[list[float]]] = {}
    for seed in track(range(n_replications), surface, transient=True):
        random = np.random.default_rng(seed)
        X, X_test = random.normal(size=(300, 3)), random.normal(size=(1000, 3))
        noise = 0.5 * random.normal(size=1300)
        for name, (make, intervals) in FAR.items():
            model = make(random_state=seed).fit(X, SURFACES[surface](X) + noise[:300])
            for interval in intervals:
                model.set_params(interval=interval)
                shares = [_covered(model, surface, factor * X_test, noise[300:]) for factor in FACTORS]
                found.setdefault((name, interval), []).append(shares)
    return {which: np.array(rows) for which, rows in found.items()}


def _covered(model: Any, surface: str, X: np.ndarray, noise: np.ndarray) -> float:
    lower, upper = model.predict_interval(X).T
    y = SURFACES[surface](X) + noise
    return float(np.mean((lower <= y) & (y <= upper)))


def show_uci(console: Console, data_dir: str | None, n_splits: int | None) -> None:
    table = Table(
        "", "splits", "40 epochs", "prototype", "400 epochs", "prototype", title="Test RMSE, mean and standard error"
    )
    for name in track(PROTOTYPE, "UCI data sets", transient=True):
        short, long = (uci_rmse(name, settings, data_dir, n_splits) for settings in (PAPER_SETTING, LONG_SETTING))
        cells = [f"{np.mean(r):.3f} ± {standard_error(r):.3f}" for r in (short, long)]
        known = [f"{value:g}" for value in PROTOTYPE[name]]
        table.add_row(name, str(len(short)), cells[0], known[0], cells[1], known[1])
    console.print(table)


def show_far(console: Console, n_replications: int) -> None:
    table = Table(
        "surface", "estimator", "interval", *[f"x {factor}" for factor in FACTORS], title="Coverage of 90 % intervals"
    )
    for surface in SURFACES:
        for which, shares in far_coverage(surface, n_replications).items():
            means, errors = shares.mean(axis=0), standard_error(shares)
            table.add_row(surface, *which, *[f"{m:.3f} ± {s:.3f}" for m, s in zip(means, errors, strict=True)])
    console.print(table)


def chosen_methods(options: argparse.Namespace, known: Iterable[str]) -> list[str]:
    return [name for name in options.method or known if name not in options.without]


def run_peers(options: argparse.Namespace, console: Console) -> None:
    """Messages go to standard error, so that the tables alone can be kept."""
    tell = partial(print, file=sys.stderr, flush=True)
    methods = records.installed({name: METHODS[name] for name in chosen_methods(options, METHODS)}, tell)
    tasks = records.uci_tasks(options.dataset or SETS, methods, options.splits)
    load = partial(records.uci_split, data_dir=options.data_dir)
    failed = records.run(tasks, methods, load, options.out, options.jobs, tell)
    show_records([options.out], options, console)
    if failed:
        sys.exit(f"{len(failed)} fits failed; the same command tries them again")


def show_records(files: list[Path], options: argparse.Namespace, console: Console) -> None:
    found = records.read(*files)
    known = dict.fromkeys([*METHODS, *(record["method"] for record in found)])
    tasks = records.uci_tasks(options.dataset or uci.DATASETS, chosen_methods(options, known), options.splits)
    show(Results(records.chosen(found, tasks)), REFERENCE, options.markdown, console)


def show_published(options: argparse.Namespace, console: Console) -> None:
    results = Results(records.read(*options.files))
    for method in options.method or ESTIMATORS:
        for title, rows in (
            ("RMSE", against.rmse_rows(results, method)),
            ("Log-likelihood", against.likelihood_rows(results, method)),
            ("Coverage", against.coverage_rows(results, method)),
        ):
            show_rows(f"{title}: {method}", rows, options.markdown, console)


def parser() -> argparse.ArgumentParser:
    main_parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = main_parser.add_subparsers(dest="what", required=True)
    alone, parts, paper, far, gap, peers, table, published = (
        commands.add_parser(name) for name in ("uci", "coverage", "paper", "far", "gaps", "peers", "table", "published")
    )
    times.add_arguments(commands.add_parser("time"))
    promised = commands.add_parser("guarantees")
    promised.add_argument("--replications", type=int, default=400, help="of each kind (default: 400)")
    for command in (parts, paper, far):
        command.add_argument("--replications", type=int, default=40, help="simulated data sets (default: 40)")
    for command in (alone, gap, peers):
        command.add_argument("--data-dir", help="folder with the UCI data sets (default: EXTRANETS_DATA)")
    for command in (alone, peers, table):
        command.add_argument("--splits", type=int, help="use only the first splits of every data set")
    for command in (peers, table):
        command.add_argument("--dataset", action="append", choices=uci.DATASETS, help="only this one (may be repeated)")
        command.add_argument("--method", action="append", choices=METHODS, help="only this one (may be repeated)")
        command.add_argument("--without", action="append", choices=METHODS, default=[], help="leave this method out")
        command.add_argument("--markdown", action="store_true", help="print the tables for a document")
    for command in (parts, gap, peers):
        command.add_argument("--jobs", type=int, default=1, help="processes, with two threads each (default: 1)")
    parts.add_argument("--process", action="append", choices=PROCESSES, help="only this one (may be repeated)")
    parts.add_argument("--method", action="append", choices=coverage.DEFAULTS, help="only this one (may be repeated)")
    parts.add_argument("--markdown", action="store_true", help="print the tables for a document")
    parts.add_argument(
        "--out", type=Path, default=Path("coverage.jsonl"), help="file of records (default: coverage.jsonl)"
    )
    gap.add_argument("--replications", type=int, default=10, help="simulated tables of each kind (default: 10)")
    gap.add_argument("--dataset", action="append", choices=GAP_SETS, help="only this one (may be repeated)")
    gap.add_argument("--inner", action="store_true", help="tables that something was chosen on, instead of UCI tables")
    gap.add_argument(
        "--table", action="append", choices=INNER, help="of the inner ones, only this one (may be repeated)"
    )
    gap.add_argument("--method", action="append", choices=GAP_METHODS, help="only this one (may be repeated)")
    gap.add_argument("--markdown", action="store_true", help="print the tables for a document")
    gap.add_argument("--out", type=Path, default=Path("gaps.jsonl"), help="file of records (default: gaps.jsonl)")
    peers.add_argument("--out", type=Path, default=Path("peers.jsonl"), help="file of records (default: peers.jsonl)")
    published.add_argument("--method", action="append", choices=ESTIMATORS, help="only this one (may be repeated)")
    published.add_argument("--markdown", action="store_true", help="print the tables for a document")
    published.add_argument("files", type=existing_file, nargs="+", metavar="FILE", help="file of records")
    table.add_argument("files", type=existing_file, nargs="+", metavar="FILE", help="file of records")
    return main_parser


def existing_file(name: str) -> Path:
    if not Path(name).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {name}")
    return Path(name)


def main(arguments: list[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    console = Console(width=120)
    wide = Console(width=220)  # a column for every data set
    if options.what == "uci":
        show_uci(console, options.data_dir, options.splits)
    elif options.what == "coverage":
        coverage.run(options, wide)
    elif options.what == "paper":
        show_coverage(console, options.replications)
    elif options.what == "far":
        show_far(console, options.replications)
    elif options.what == "guarantees":
        guarantees.show(wide, options.replications)
    elif options.what == "gaps":
        gaps.run(options, wide)
    elif options.what == "time":
        times.run(options, wide)
    elif options.what == "peers":
        run_peers(options, wide)
    elif options.what == "published":
        show_published(options, wide)
    else:
        show_records(options.files, options, wide)


if __name__ == "__main__":
    main()
