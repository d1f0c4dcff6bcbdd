"""Constant noise, networks that say where it is larger, and what "auto" chooses, on simulated tables.

    python -m benchmarks.noise_models                             docs/accuracy.md has what this prints
    python -m benchmarks.noise_models --rows 1000 --repeats 4

The mean of five columns is known. The noise is the same everywhere, or its standard deviation depends on the fifth column. Networks are
those of `StackedNetsRegressor` with effort "low", the same for both models of the noise. Scores are those of the true distribution of
2,000 test rows, in per cent above those of constant noise on the same rows: negative is better.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.skew import NOISE, TEST_ROWS, signal, with_error
from extranets import StackedNetsRegressor
from extranets._arrays import Array
from extranets.metrics import interval_score

KINDS = ("normal", "exponential", "lognormal", "t3")
STEEPNESS = {"constant": 0.0, "weak": 0.2, "strong": 0.6}  # of the logarithm of the standard deviation, along a column
MODELS = ("constant", "networks", "auto")


class Scores(NamedTuple):
    """Of one model on one test set; ``networks`` is 100 where networks say what the noise is."""

    interval: float
    crps: float
    networks: float


def one(kind: str, steepness: float, n_rows: int, seed: int) -> dict[str, Scores]:
    """Every model of the noise on one simulated table."""
    random = np.random.default_rng([seed, n_rows])
    X, test = random.normal(size=(n_rows, 5)), random.normal(size=(TEST_ROWS, 5))
    y, new = (_targets(kind, steepness, each, random) for each in (X, test))
    auto = _made("auto", seed).fit(X, y)
    chosen = auto.settings_["noise_model"]
    found = {model: auto if model == chosen else _made(model, seed).fit(X, y) for model in MODELS[:2]}
    return {model: _scored(found[chosen if model == "auto" else model], test, new) for model in MODELS}


def _targets(kind: str, steepness: float, X: Array, random: np.random.Generator) -> Array:
    error: Array = NOISE[kind].rvs(size=len(X), random_state=random)
    return signal(X) + np.exp(steepness * X[:, 4]) * error


def _made(model: str, seed: int) -> StackedNetsRegressor:
    return StackedNetsRegressor(effort="low", noise_model=model, random_state=seed, n_jobs=1)


def _scored(model: StackedNetsRegressor, X: Array, y: Array) -> Scores:
    mean, std = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X).T
    networks = 100.0 * (model.settings_["noise_model"] == "networks")
    return Scores(interval_score(y, lower, upper, 0.9), model.distribution_.crps(y, mean, std), networks)


def row(runs: list[dict[str, Scores]]) -> list[str]:
    """How much larger the scores are than those of constant noise, and how often "auto" is networks."""
    relative = {
        (score, model): np.array(
            [100 * (getattr(run[model], score) / getattr(run["constant"], score) - 1) for run in runs]
        )
        for score in ("interval", "crps")
        for model in MODELS[1:]
    }
    chosen = np.mean([run["auto"].networks for run in runs])
    return [*map(with_error, relative.values()), f"{chosen:.0f} %"]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1_000, 5_000])
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    table = Table(box=box.MARKDOWN)
    scores = [f"{score}, {model}" for score in ("interval score", "CRPS") for model in MODELS[1:]]
    for name in ("shape", "noise", "rows", *scores, "auto is networks"):
        table.add_column(name)
    cases = [(kind, how, n_rows) for kind in KINDS for how in STEEPNESS for n_rows in options.rows]
    parallel = Parallel(options.jobs)
    for kind, how, n_rows in track(cases, console=Console(stderr=True), transient=True):
        runs = parallel(delayed(one)(kind, STEEPNESS[how], n_rows, seed) for seed in range(options.repeats))
        table.add_row(kind, how, f"{n_rows:,}", *row(runs))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
