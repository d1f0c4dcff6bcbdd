"""Every method of the paper on the UCI splits, beside the published figures, as printed in docs/methods.md.

    python -m benchmarks.methods                                  all methods, nine data sets, all splits
    python -m benchmarks.methods --method PBP --dataset boston    some of it
    python -m benchmarks.methods --json methods.json              also keep every split's figures
    python -m benchmarks.methods --stored methods.json            print the tables of figures that were kept; what --method and
                                                                  --dataset name is run anew and takes the place of theirs

The data sets are read from --data-dir or from EXTRANETS_DATA; nothing is downloaded. Test rows are used for the figures only.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from rich.console import Console
from rich.progress import Progress
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from benchmarks.published import LOG_LIKELIHOOD, RMSE, SETS
from extranets import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    MCDropoutRegressor,
    MeanVarianceRegressor,
    PBPRegressor,
    VariationalRegressor,
)
from extranets.data import uci
from extranets.metrics import coverage, interval_score, log_likelihood_scorer, rmse
from extranets.studies.printed import half_unit

# Published settings: one hidden layer of 50 units (100 for protein), two for "two layers"; 40 passes for PBP; 40 epochs for deep
# ensembles, whose authors leave open which of adversarial training and which start of the variance they used, so both are
# chosen by cross-validation on training rows; 400 epochs for MC dropout, with the dropout rate chosen on training rows as its
# authors did. Methods without a published figure have our defaults.
DROPOUT = MCDropoutRegressor(keep_prob="auto", max_iter=400, n_folds=3, n_passes=1000)
DEEP_ENSEMBLE = GridSearchCV(
    DeepEnsembleRegressor(max_iter=40, early_stopping=False),
    {"adversarial_epsilon": [0.0, 0.01], "warm_up": [0.0, 0.5]},
    scoring=log_likelihood_scorer(),
    cv=3,
)
# Two layers: 1,000 epochs instead of the published 20,000, a fixed rate of dropout, and batches of 128 as published.
TWO_LAYERS: dict[str, Any] = {"keep_prob": 0.95, "learning_rate_init": 0.003, "max_iter": 1_000, "batch_size": 128}
METHODS: dict[str, Any] = {
    "VI": VariationalRegressor(),
    "VI, Graves": VariationalRegressor(gradient="graves"),
    "VI, Graves, 40 epochs": VariationalRegressor(gradient="graves", max_iter=40),
    "PBP": PBPRegressor(),
    "MC dropout": DROPOUT,
    "MC dropout, two layers": clone(DROPOUT).set_params(**TWO_LAYERS),
    "Deep ensemble": DEEP_ENSEMBLE,
    "Mean-variance": MeanVarianceRegressor(),
    "Bootstrap": BootstrapNetsRegressor(),
    "Delta method": DeltaMethodRegressor(),
}
# Tables that fell short of a published figure got settings that are nearer to the published ones: batches of 128, more steps, or
# the rate of dropout tuned on training rows. Rates were tried on an inner split of training rows. The largest tables have 400 epochs.
EXCEPTIONS: dict[tuple[str, str], dict[str, Any]] = {
    ("MC dropout", "protein"): {"keep_prob": 0.99, "learning_rate_init": 0.003, "batch_size": 128},
    ("MC dropout, two layers", "naval"): {"max_iter": 400},
    ("MC dropout, two layers", "power"): {"keep_prob": 0.98, "learning_rate_init": 0.01},
    ("MC dropout, two layers", "protein"): {"max_iter": 400},
    ("MC dropout, two layers", "wine"): {"keep_prob": "auto", "learning_rate_init": 0.01, "max_iter": 2_000},
    ("MC dropout, two layers", "yacht"): {"keep_prob": "auto", "learning_rate_init": 0.01, "max_iter": 2_000},
}
COMPARED_WITH = {name: [name] for name in RMSE} | {
    "VI, Graves": ["VI"],
    "VI, Graves, 40 epochs": ["VI"],
    "MC dropout": ["MC dropout", "MC dropout, tuned"],
}
# A row that stands beside figures of another algorithm says so.
ALGORITHMS = {
    "VI": "VI, reparameterised (published: Graves's gradients)",
    "VI, Graves": "VI, Graves's gradients",
    "VI, Graves, 40 epochs": "VI, Graves's gradients, 40 epochs",
}


class Figures(NamedTuple):
    """Figures of one split."""

    rmse: float
    log_likelihood: float
    coverage: float  # of 90 % intervals
    interval_score: float


def units(method: str, dataset: str) -> tuple[int, ...]:
    width = 100 if dataset == "protein" else 50
    if method == "Delta method":
        return (10,)
    return (width, width) if "two layers" in method else (width,)


def run_split(method: str, dataset: str, split: int, data_dir: str | None) -> Figures:
    table = uci.read(dataset, data_dir)
    train, test = list(uci.DATASETS[dataset].splits())[split]
    model = clone(METHODS[method])
    network = model.estimator if isinstance(model, GridSearchCV) else model
    network.set_params(hidden_layer_sizes=units(method, dataset), random_state=split, n_jobs=1)
    network.set_params(**EXCEPTIONS.get((method, dataset), {}))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="J'J is near singular")
        model.fit(table.X[train], table.y[train])
    model = getattr(model, "best_estimator_", model)
    X, y = table.X[test], table.y[test]
    predicted = model.predictive(X)
    lower, upper = model.predict_interval(X, 0.9).T
    mixture = isinstance(model, MCDropoutRegressor)  # as its authors compute it
    likelihood = model.log_likelihood(X, y) if mixture else predicted.log_likelihood(y)
    return Figures(
        rmse(y, predicted.components().mean),
        likelihood,
        coverage(y, lower, upper),
        interval_score(y, lower, upper, 0.9),
    )


def run(
    methods: list[str], datasets: list[str], n_splits: int | None, data_dir: str | None, jobs: int
) -> dict[str, Any]:
    """Figures by method and data set, shape (n_splits, n_figures)."""
    work = [
        (method, dataset, split)
        for method in methods
        for dataset in datasets
        for split in range(min(uci.DATASETS[dataset].n_splits, n_splits or 1000))
    ]
    found: dict[str, Any] = {method: {dataset: [] for dataset in datasets} for method in methods}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("splits", total=len(work))
        parallel = joblib.Parallel(n_jobs=jobs, return_as="generator")
        results = parallel(joblib.delayed(run_split)(*item, data_dir) for item in work)
        for (method, dataset, _), figures in zip(work, results, strict=True):
            found[method][dataset].append(figures)
            progress.update(task, advance=1, description=f"{method}, {dataset}")
    return found


def merged(stored: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Figures that were kept, with new ones in the place of theirs, in the order of the tables."""
    return {
        method: {name: sets[name] for name in SETS if name in sets}
        for method in METHODS
        if (sets := stored.get(method, {}) | new.get(method, {}))
    }


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def verdict(values: np.ndarray, printed: str, larger_is_better: bool) -> str:
    """How the mean over the splits compares with a printed figure, in standard errors of ours, minus the rounding of theirs."""
    difference = (values.mean() - float(printed)) * (1 if larger_is_better else -1)
    error = standard_error(values)
    if difference > 0:
        return "better"
    return "agrees" if -difference <= 2 * error + half_unit(printed) else f"worse by {-difference / error:.1f} s.e."


def comparison(found: dict[str, Any], index: int, published: dict[str, dict[str, str]], larger: bool) -> list[str]:
    """Lines of methods that have a published figure; a cell is empty where a method was not run."""
    lines = []
    for method, sets in found.items():
        for source in COMPARED_WITH.get(method, []):
            if source in published:
                name = ALGORITHMS.get(method, method) + (", against tuned" if source == "MC dropout, tuned" else "")
                cells = [
                    compared(np.array(sets[d])[:, index], published[source][d], larger) if d in sets else ""
                    for d in data_sets(found)
                ]
                lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def compared(values: np.ndarray, printed: str, larger: bool) -> str:
    digits = max(3, len(printed.partition(".")[2]) + 1)
    error = standard_error(values)
    return f"{values.mean():.{digits}f} ± {error:.{digits}f} ({printed}: {verdict(values, printed, larger)})"


def data_sets(found: dict[str, Any]) -> list[str]:
    """The columns of the tables."""
    return [name for name in SETS if any(name in sets for sets in found.values())]


def summary(found: dict[str, Any]) -> list[str]:
    """RMSE / log-likelihood / coverage of 90 % intervals / interval score."""
    lines = []
    for method, sets in found.items():
        means = [np.array(sets[name]).mean(axis=0) if name in sets else None for name in data_sets(found)]
        cells = ["" if m is None else f"{m[0]:.4g} / {m[1]:.2f} / {m[2]:.3f} / {m[3]:.4g}" for m in means]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return lines


def coverages(found: dict[str, Any]) -> str:
    """Each method's smallest and largest mean coverage over the tables, as a sentence."""
    parts = []
    for method, sets in found.items():
        each = [np.array(splits)[:, 2].mean() for splits in sets.values()]
        parts.append(f"{method} {min(each):.3f} to {max(each):.3f}")
    return f"Coverage of 90 % intervals, smallest and largest over the tables: {'; '.join(parts)}."


def documented(found: dict[str, Any]) -> str:
    """The tables as docs/methods.md has them."""
    datasets = data_sets(found)
    parts = [
        table("RMSE (published: verdict)", datasets, comparison(found, 0, RMSE, larger=False)),
        table("Log-likelihood (published: verdict)", datasets, comparison(found, 1, LOG_LIKELIHOOD, larger=True)),
        table("RMSE / log-likelihood / coverage at 90 % / interval score", datasets, summary(found)),
    ]
    return "\n".join([*parts, "", coverages(found)])


def table(title: str, datasets: list[str], lines: list[str]) -> str:
    head = ["", f"## {title}", "", f"| | {' | '.join(datasets)} |", "|---" * (len(datasets) + 1) + "|"]
    return "\n".join([*head, *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", action="append", choices=METHODS, help="only this method (may be repeated)")
    parser.add_argument("--dataset", action="append", choices=SETS, help="only this data set (may be repeated)")
    parser.add_argument("--splits", type=int, help="only this many splits, from the first")
    parser.add_argument("--data-dir", help="folder with the data sets; EXTRANETS_DATA by default")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; all cores by default")
    parser.add_argument("--json", help="write every split's figures to this file")
    parser.add_argument(
        "--stored", help="file of an earlier --json; its methods are not run again unless they are named"
    )
    options = parser.parse_args()
    stored = json.loads(Path(options.stored).read_text(encoding="utf-8")) if options.stored else {}
    methods, datasets = options.method or ([] if stored else list(METHODS)), options.dataset or list(SETS)
    found = merged(stored, run(methods, datasets, options.splits, options.data_dir, options.jobs))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file)
    print(documented(found))


if __name__ == "__main__":
    main()
