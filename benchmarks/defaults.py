"""How the defaults of ExtraNetsRegressor were chosen: settings changed one after the other, on inner splits of training rows.

    python -m benchmarks.defaults run          fit every variant to every inner split, and print the tables
    python -m benchmarks.defaults table FILE   the tables of records that "run" has written, of one file or more

An inner split takes the training rows of one of the fixed splits of a UCI data set, and splits them again: 85 % to fit, 15 % to
judge. The test rows of that split are not used. (The fixed splits overlap: a training row of one is a test row of another.)
Simulated families, drawn anew for each split, stand beside the data sets, so that a setting is not chosen for nine tables alone.
"run" adds a record for every fit to a file (--out) and skips fits that have one.

The tables give each variant's scores relative to the default's on the same inner splits, in per cent (of a log-likelihood: the
difference, times 100). Negative is better, except for the log-likelihood.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn import datasets

from benchmarks.accuracy import existing_file
from benchmarks.contest import records
from benchmarks.contest.methods import Method
from benchmarks.contest.ours import nets
from benchmarks.contest.records import Split, Task
from benchmarks.contest.show import show_rows
from benchmarks.contest.summary import LARGER_IS_BETTER, Results
from benchmarks.published import SETS
from extranets import ExtraNetsRegressor
from extranets.data import linear_process, nonlinear_process, simulated_rents
from extranets.estimators.extra_nets import PRESETS

DEFAULT = "default"

# A variant changes what its name says, and settings that are "auto" follow. A width is named with the rate that suits it.
VARIANTS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "no encoding": {"numeric_encoding": None},
    "piecewise linear": {"numeric_encoding": "piecewise_linear"},
    "periodic": {"numeric_encoding": "periodic"},
    "8 bins": {"n_bins": 8},
    "32 bins": {"n_bins": 32},
    "one layer of 100, rate 0.005": {"hidden_layer_sizes": (100,), "learning_rate_init": 0.005},
    "three layers of 50": {"hidden_layer_sizes": (50, 50, 50)},
    "keep 0.8": {"keep_prob": 0.8},
    "keep 1": {"keep_prob": 1.0},
    "no decay": {"alpha": 0.0},
    "decay 0.2": {"alpha": 0.2},
    "beta_2 0.999": {"beta_2": 0.999},
    "cosine": {"learning_rate_schedule": "cosine"},
    "constant rate": {"learning_rate_schedule": "constant"},
    "batch 64": {"batch_size": 64},
    "32 networks": {"n_estimators": 32},
    "8 networks": {"n_estimators": 8},
    "constant noise": {"noise_model": "constant"},
    "Normal": {"distribution": "normal"},
    "interval total": {"interval": "total"},
    "interval paper": {"interval": "paper"},
    "10 folds": {"n_folds": 10},
    "hold-out": {"noise": "holdout"},
    "likelihood loss": {"loss": "gaussian_nll"},
    **{f"preset {name}": PRESETS[name] for name in ("fast", "accurate", "paper")},
}
SCORES = {
    "rmse": "RMSE",
    "interval_score_90": "Interval score, 90 %",
    "crps": "CRPS",
    "log_likelihood": "Log-likelihood",
}

# -- inner splits --------------------------------------------------------------------------------------

JUDGED = 0.15  # share of the rows that the fit does not get
N_SIMULATED = 1500


def inner_split(X: np.ndarray, y: np.ndarray, split: int) -> Split:
    rows = np.random.default_rng(1000 + split).permutation(len(y))
    n_fit = int((1 - JUDGED) * len(y))
    fit, judged = rows[:n_fit], rows[n_fit:]
    return Split(X[fit], y[fit], X[judged], y[judged])


def friedman(split: int) -> tuple[np.ndarray, np.ndarray]:
    return datasets.make_friedman1(N_SIMULATED, noise=1.0, random_state=split)


def steps(split: int) -> tuple[np.ndarray, np.ndarray]:
    """Jumps, and noise that depends on x: what trees are good at."""
    random = np.random.default_rng(split)
    X = random.uniform(-1, 1, (N_SIMULATED, 8))
    signal = np.floor(3 * X[:, 0]) + np.where(X[:, 1] > 0.3, X[:, 2], -X[:, 2])
    return X, signal + random.standard_normal(N_SIMULATED) * np.exp(X[:, 3] - 1)


def waves(split: int) -> tuple[np.ndarray, np.ndarray]:
    """A rotated, smooth target, of which no column tells much alone."""
    random = np.random.default_rng(split)
    X = random.standard_normal((N_SIMULATED, 10))
    directions = np.random.default_rng(0).standard_normal((10, 3)) / np.sqrt(10)
    return X, np.sin(2 * X @ directions).sum(axis=1) + 0.1 * random.standard_normal(N_SIMULATED)


def rents(split: int) -> tuple[np.ndarray, np.ndarray]:
    table = simulated_rents(N_SIMULATED, random_state=split)
    numbers = table.select_dtypes("number").dropna()
    return numbers.drop(columns="rent").to_numpy(np.float64), numbers["rent"].to_numpy(np.float64)


FAMILIES = {
    "friedman": friedman,
    "steps": steps,
    "waves": waves,
    "rents": rents,
    "paper, nonlinear": lambda split: _plain(nonlinear_process(N_SIMULATED, random_state=split)),
    "paper, linear": lambda split: _plain(linear_process(N_SIMULATED, random_state=split)),
}


def _plain(simulated: Any) -> tuple[np.ndarray, np.ndarray]:
    return simulated.X, simulated.y


def load(dataset: str, split: int, data_dir: str | None = None) -> Split:
    """Of a UCI data set only the training rows of the fixed split are used."""
    if dataset in FAMILIES:
        return inner_split(*FAMILIES[dataset](split), split)
    outer = records.uci_split(dataset, split, data_dir)
    return inner_split(outer.X, outer.y, split)


# -- variants ----------------------------------------------------------------------------------------------------------


def methods(names: Iterable[str]) -> dict[str, Method]:
    return {
        name: Method(("extranets",), partial(nets, partial(ExtraNetsRegressor, **VARIANTS[name]))) for name in names
    }


def tasks(datasets: Iterable[str], variants: Iterable[str], n_splits: int) -> list[Task]:
    """The default first, so that the records of a stopped run can be compared."""
    names = list(dict.fromkeys([DEFAULT, *variants]))
    return [Task(dataset, split, name) for split in range(n_splits) for dataset in datasets for name in names]


# -- tables ------------------------------------------------------------------------------------------------------------


def relative(results: Results, dataset: str, variant: str, score: str) -> float | None:
    """Mean over the splits that the variant shares with the default. The module's docstring says in which unit."""
    theirs, ours = (results.values(dataset, name, score) for name in (variant, DEFAULT))
    shared = sorted(set(theirs) & set(ours))
    if not shared:
        return None
    a, b = (np.array([cell[split] for split in shared]) for cell in (theirs, ours))
    return float(100 * np.mean(a - b if score in LARGER_IS_BETTER else np.log(a / b)))


def relative_rows(results: Results, score: str) -> list[dict[str, Any]]:
    rows = []
    for variant in results.methods:
        cells = {dataset: relative(results, dataset, variant, score) for dataset in results.datasets}
        known = [value for value in cells.values() if value is not None]
        shown = {dataset: None if value is None else f"{value:+.1f}" for dataset, value in cells.items()}
        rows.append({"variant": variant, **shown, "mean": f"{np.mean(known):+.2f}" if known else None})
    return rows


def mean_rows(results: Results, score: str, digits: int) -> list[dict[str, Any]]:
    rows = []
    for variant in results.methods:
        found = {dataset: results.values(dataset, variant, score) for dataset in results.datasets}
        shown = {name: f"{np.mean(list(cell.values())):.{digits}f}" if cell else None for name, cell in found.items()}
        rows.append({"variant": variant, **shown})
    return rows


def show(results: Results, markdown: bool, console: Console) -> None:
    sections = [(f"{title} against the default", relative_rows(results, score)) for score, title in SCORES.items()]
    sections += [(f"Coverage of {level} % intervals", mean_rows(results, f"coverage_{level}", 3)) for level in (90, 95)]
    sections.append(("Seconds to fit", mean_rows(results, "fit_seconds", 2)))
    for title, rows in sections:
        show_rows(title, rows, markdown, console)


def parser() -> argparse.ArgumentParser:
    main_parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = main_parser.add_subparsers(dest="what", required=True)
    run, table = (commands.add_parser(name) for name in ("run", "table"))
    for command in (run, table):
        command.add_argument("--markdown", action="store_true", help="print the tables for a document")
    names = [*SETS, *FAMILIES]
    run.add_argument("--dataset", action="append", choices=names, help="only this one (may be repeated)")
    run.add_argument(
        "--variant", action="append", choices=VARIANTS, help="only this one and the default (may be repeated)"
    )
    run.add_argument("--splits", type=int, default=3, help="inner splits of every data set (default: 3)")
    run.add_argument("--jobs", type=int, default=1, help="processes, with two threads each (default: 1)")
    run.add_argument("--data-dir", help="folder with the UCI data sets (default: EXTRANETS_DATA)")
    run.add_argument(
        "--out", type=Path, default=Path("defaults.jsonl"), help="file of records (default: defaults.jsonl)"
    )
    table.add_argument("files", type=existing_file, nargs="+", metavar="FILE", help="file of records")
    return main_parser


def main(arguments: list[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    if options.what == "run":
        wanted = tasks(options.dataset or [*SETS, *FAMILIES], options.variant or VARIANTS, options.splits)
        variants = methods(dict.fromkeys(task.method for task in wanted))
        tell = partial(print, file=sys.stderr, flush=True)
        records.run(wanted, variants, partial(load, data_dir=options.data_dir), options.out, options.jobs, tell)
        found = records.chosen(records.read(options.out), wanted)
    else:
        found = records.read(*options.files)
    show(Results(found), options.markdown, Console(width=220))


if __name__ == "__main__":
    main()
