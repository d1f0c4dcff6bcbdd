"""Shapes of the predictive distribution beside each other: Student's t, the held-out errors' own, and what "auto" chooses.

    python -m benchmarks.skew simulated                      five kinds of noise around a known mean, 200 to 5,000 rows
    python -m benchmarks.skew simulated --rows 200 --repeats 20
    python -m benchmarks.skew tables OFP MedExp              inner splits of the tables of benchmarks/ordinary
    python -m benchmarks.skew targets OFP MedExp             the same splits: bounds and transforms of the target, one after the other
    python -m benchmarks.skew targets --simulated            noise that multiplies, counts, and noise that adds

All print what docs/accuracy.md has. Networks are those of `StackedNetsRegressor` with effort "low", the same for all shapes. "Missed"
is how much lies below and above 90 % intervals, in per cent: known where the noise is simulated, counted on the rows of a table.
Interval score and CRPS are relative to Student's t on the same rows, in per cent: negative is better. `targets` compares, each with what the
one before it has: Student's t alone; the shape of the errors; bounds; and a transform where held-out scores ask for one, which is the default.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import stats

from benchmarks.ordinary.manifest import selected
from benchmarks.ordinary.ours import quietly
from benchmarks.ordinary.rows import Label, load
from extranets import StackedNetsRegressor
from extranets._arrays import Array
from extranets.metrics import interval_score
from extranets.tables import TableRegressor

SHAPES = ("student", "empirical", "auto")
LOG_SD = 0.8  # of lognormal noise: a skewness of 3.7
NOISE = {  # each with mean 0 and standard deviation 1
    "normal": stats.norm(),
    "uniform": stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)),
    "exponential": stats.expon(-1),
    "lognormal": stats.lognorm(LOG_SD, *(np.array([-stats.lognorm(LOG_SD).mean(), 1]) / stats.lognorm(LOG_SD).std())),
    "t3": stats.t(3, scale=1 / np.sqrt(3)),
}
TEST_ROWS = 2_000
SKEWED = ("OFP", "MedExp", "Wages1", "SLID", "Hitters", "Housing", "quakes", "Salaries")
TABLES = ("OFP", "MedExp", "Wages1", "SLID", "SaratogaHouses", "Housing")


class Scores(NamedTuple):
    """Of one model on one test set. Shares are in per cent; ``own`` is 100 where the shape is that of the errors."""

    below: float
    above: float
    interval: float
    crps: float
    own: float


def signal(X: Array) -> Array:
    """The mean. Shape: ``(n, 5)`` -> ``(n,)``."""
    found: Array = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    return found


def simulated(noise: str, n_rows: int, seed: int) -> dict[str, Scores]:
    """Every shape on one simulated table."""
    random = np.random.default_rng([seed, n_rows])
    X, test = random.normal(size=(n_rows, 5)), random.normal(size=(TEST_ROWS, 5))
    error, new = (NOISE[noise].rvs(size=n, random_state=random) for n in (n_rows, TEST_ROWS))
    found = {}
    for shape, model in fits(partial(network, seed), X, signal(X) + error).items():
        lower, upper = model.predict_interval(test).T
        missed = NOISE[noise].cdf(lower - signal(test)), NOISE[noise].sf(upper - signal(test))
        found[shape] = scored(model, test, signal(test) + new, *missed)
    return found


def of_table(name: str, split: int) -> dict[str, Scores]:
    """Every shape on an inner split of a table."""
    X, y, test, observed = load(str(Label(name, inner=True)), split)
    found = {}
    for shape, model in fits(lambda shape: TableRegressor(network(split, shape)), X, y).items():
        lower, upper = model.predict_interval(test).T
        found[shape] = scored(model, test, observed, observed < lower, observed > upper)
    return found


def network(seed: int, shape: str) -> StackedNetsRegressor:
    return StackedNetsRegressor(effort="low", distribution=shape, random_state=seed)


def fits(make: Callable[[str], Any], X: Any, y: Array) -> dict[str, Any]:
    """A fitted model for every shape. What "auto" chooses is one of the others, which need no other fit."""
    auto = make("auto").fit(X, y)
    return {shape: auto if shape in ("auto", auto.distribution_.name) else make(shape).fit(X, y) for shape in SHAPES}


def scored(model: Any, X: Any, y: Array, below: Array, above: Array) -> Scores:
    lower, upper = model.predict_interval(X).T
    shape = model.distribution_
    score, crps = interval_score(y, lower, upper, 0.9), model.predictive(X).crps(y)
    return Scores(100 * below.mean(), 100 * above.mean(), score, crps, 100.0 * (shape.name == "empirical"))


def relative(found: dict[str, Scores]) -> dict[str, Scores]:
    """With interval score and CRPS as per cent above those of Student's t."""
    base = found["student"]
    return {
        shape: each._replace(interval=100 * (each.interval / base.interval - 1), crps=100 * (each.crps / base.crps - 1))
        for shape, each in found.items()
    }


def add_row(table: Table, what: tuple[str, ...], runs: list[dict[str, Scores]]) -> None:
    """Means over runs, and the standard errors of both scores."""
    values = {shape: np.array([relative(run)[shape] for run in runs]) for shape in SHAPES}
    means = {shape: each.mean(axis=0) for shape, each in values.items()}
    missed = [f"{mean[0]:.1f} / {mean[1]:.1f}" for mean in means.values()]
    scores = [with_error(values[shape][:, column]) for column in (2, 3) for shape in SHAPES[1:]]
    table.add_row(*what, *missed, *scores, f"{means['auto'][4]:.0f} %")


def with_error(values: Array) -> str:
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}" if len(values) > 1 else ""
    return f"{round(values.mean(), 1) + 0.0:+.1f}{error}"  # no -0.0


def columns(*names: str) -> Table:
    table = Table(box=box.MARKDOWN)
    scores = [f"{score}, {shape}" for score in ("interval score", "CRPS") for shape in SHAPES[1:]]
    for name in (*names, *(f"missed, {shape}" for shape in SHAPES), *scores, "auto is empirical"):
        table.add_column(name)
    return table


# -- bounds and transforms of the target -----------------------------------------------------------------------------------

STEPS = {
    "student": {"distribution": "student", "bounds": None, "target_transform": None},
    "own shape": {"bounds": None, "target_transform": None},
    "bounds": {"target_transform": None},
    "transform": {},
}


class Step(NamedTuple):
    """What one version of the target scores on one test set; ``below`` is the share of lower bounds below zero, in per cent."""

    interval: float
    crps: float
    rmse: float
    below: float
    chosen: str


def multiplied(random: np.random.Generator, mean: Array) -> Array:
    return np.exp(mean + 0.5 * random.normal(size=len(mean)))


def counted(random: np.random.Generator, mean: Array) -> Array:
    return random.poisson(np.exp(1 + mean)).astype(np.float64)


def added(random: np.random.Generator, mean: Array) -> Array:
    return 10 + mean + 0.5 * random.normal(size=len(mean))


TARGETS = {"exp(f + noise)": multiplied, "Poisson(exp(1 + f))": counted, "10 + f + noise": added}


def steps_on_simulated(target: str, n_rows: int, seed: int) -> dict[str, Step]:
    random = np.random.default_rng([seed, n_rows])
    X = random.normal(size=(n_rows + TEST_ROWS, 5))
    y = TARGETS[target](random, 0.6 * signal(X))
    return steps(partial(stack, seed), X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def steps_on_table(name: str, split: int) -> dict[str, Step]:
    X, y, test, observed = load(str(Label(name, inner=True)), split)
    return steps(lambda **changes: TableRegressor(stack(split, **changes)), X, y, test, observed)


def stack(seed: int, **changes: Any) -> StackedNetsRegressor:
    return StackedNetsRegressor(effort="low", random_state=seed, **changes)


def steps(make: Callable[..., Any], X: Any, y: Array, test: Any, observed: Array) -> dict[str, Step]:
    """Every step on one split. Where no transform is chosen, the last two are the same fit."""
    with quietly():
        return _steps(make, X, y, test, observed)


def _steps(make: Callable[..., Any], X: Any, y: Array, test: Any, observed: Array) -> dict[str, Step]:
    found, last = {}, make().fit(X, y)
    chosen = last.settings_["target_transform"]
    for name, changes in STEPS.items():
        same = name == "transform" or (name == "bounds" and chosen == "none")
        model = last if same else make(**changes).fit(X, y)
        lower, upper = model.predict_interval(test).T
        mean, crps = model.predict(test), model.predictive(test).crps(observed)
        scores = interval_score(observed, lower, upper, 0.9), crps, float(np.sqrt(np.mean((mean - observed) ** 2)))
        found[name] = Step(*scores, 100 * float(np.mean(lower < 0)), chosen)
    return found


def steps_table() -> Table:
    table = Table(box=box.MARKDOWN)
    names = list(STEPS)[1:]
    scores = [f"{score}, {name}" for score in ("interval score", "CRPS") for name in names]
    for name in ("target", *scores, "RMSE, transform", "lower bounds below 0", "transforms"):
        table.add_column(name)
    return table


def changes_of(runs: list[dict[str, Step]]) -> Array:
    """Interval score, CRPS and RMSE of every step but the first, in per cent above the first. Shape: ``(3, n_runs, 3)``."""
    values = np.array([[run[name][:3] for name in STEPS] for run in runs])
    return np.moveaxis(100 * (values[:, 1:] / values[:, :1] - 1), 2, 0)


def add_steps(table: Table, what: str, runs: list[dict[str, Step]]) -> None:
    interval, crps, rmse = changes_of(runs)
    scores = [with_error(each) for each in (*interval.T, *crps.T, rmse[:, -1])]
    negative = [np.mean([run[name].below for run in runs]) for name in ("student", "transform")]
    chosen = ", ".join(sorted(run["transform"].chosen for run in runs))
    table.add_row(what, *scores, f"{negative[0]:.0f} %, {negative[1]:.0f} %", chosen)


def print_steps(options: argparse.Namespace, console: Console, progress: Any) -> None:
    table, means = steps_table(), []
    if options.simulated:
        cases = [(target, n_rows) for target in TARGETS for n_rows in options.rows]
        for target, n_rows in progress(cases):
            runs = [steps_on_simulated(target, n_rows, seed) for seed in range(options.repeats)]
            add_steps(table, f"{target}, {n_rows:,} rows", runs)
    else:
        for each in progress(selected(",".join(options.tables))):
            runs = [steps_on_table(each.name, split) for split in range(each.n_splits)]
            add_steps(table, each.name, runs)
            means.append(changes_of(runs).mean(axis=1))
        interval, crps, rmse = np.mean(means, axis=0)
        table.add_row("mean", *(f"{value:+.1f}" for value in (*interval, *crps, rmse[-1])), "", "")
    console.print(table)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = made.add_subparsers(dest="command", required=True)
    simulation = commands.add_parser("simulated")
    simulation.add_argument("--rows", type=int, nargs="+", default=[200, 1_000, 5_000])
    simulation.add_argument("--noise", nargs="+", choices=NOISE, default=list(NOISE))
    simulation.add_argument("--repeats", type=int, default=5)
    commands.add_parser("tables").add_argument("tables", nargs="*", default=TABLES)
    targets = commands.add_parser("targets")
    targets.add_argument("tables", nargs="*", default=SKEWED)
    targets.add_argument("--simulated", action="store_true")
    targets.add_argument("--rows", type=int, nargs="+", default=[300, 2_000])
    targets.add_argument("--repeats", type=int, default=3)
    return made


def main(arguments: list[str] | None = None) -> None:
    options, console = parser().parse_args(arguments), Console(width=240)
    progress = partial(track, console=Console(stderr=True), transient=True)
    if options.command == "targets":
        print_steps(options, console, progress)
        return
    if options.command == "simulated":
        table = columns("noise", "rows")
        for noise, n_rows in progress([(noise, n_rows) for noise in options.noise for n_rows in options.rows]):
            add_row(table, (noise, f"{n_rows:,}"), [simulated(noise, n_rows, seed) for seed in range(options.repeats)])
    else:
        table = columns("table")
        for each in progress(selected(",".join(options.tables))):
            add_row(table, (each.name,), [of_table(each.name, split) for split in range(each.n_splits)])
    console.print(table)


if __name__ == "__main__":
    main()
