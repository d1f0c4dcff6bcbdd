"""Tables with rows left out: a data set is called by the table's name and where its test rows lie, as in "boston gap"."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.contest.records import Split
from benchmarks.gaps import tables
from extranets._arrays import Array
from extranets.data import uci

MOST_FEATURES = 4  # of a UCI table, evenly spread over its columns
MOST_ROWS = 1000  # training rows, and test rows: the Gaussian process takes the third power of them
SETS = ("boston", "concrete", "energy", "yacht", "wine", "kin8nm", "power", "naval")
REGIONS = ("gap", "tails")  # of one feature, left out of a table
HOME = "home"
WHERE = (*REGIONS, HOME)
CONSTANT = {"naval": (8, 11)}  # columns

NOISE = {"line": 0.15, "surface": 1.0}
ZONES = ("home", "gap", "outside", "far")  # of simulated tables


def simulated_names() -> list[str]:
    return [f"{table} {zone}" for table in NOISE for zone in ZONES]


def region_names(sets: tuple[str, ...] = SETS) -> list[str]:
    return [f"{name} {region}" for name in sets for region in REGIONS]


def load(dataset: str, split: int, data_dir: str | None = None) -> Split:
    """Rows of a data set. Where a region of a feature is left out, ``split`` is the feature; of a simulated table it is the seed.

    Targets are in units of their standard deviation in training. Those of test rows of a simulated table have a second column: their
    means, without noise.
    """
    table, where = dataset.split()
    found = simulated(table, where, split) if table in NOISE else left_out(table, where, split, data_dir)
    centre, scale = found.y.mean(), found.y.std()
    return found._replace(y=(found.y - centre) / scale, y_test=(found.y_test - centre) / scale)


# -- simulated tables --------------------------------------------------------------------------------------------------


def simulated(table: str, zone: str, seed: int) -> Split:
    """The same training rows for every zone of a table."""
    random = np.random.default_rng([seed, list(NOISE).index(table)])
    draw, signal = (line_rows, line_signal) if table == "line" else (surface_rows, surface_signal)
    X = draw(random, "home", 300)
    y = signal(X) + NOISE[table] * random.normal(size=len(X))
    X_test = draw(random, zone, MOST_ROWS)
    mean = signal(X_test)
    return Split(X, y, X_test, np.column_stack([mean + NOISE[table] * random.normal(size=len(mean)), mean]))


def line_rows(random: np.random.Generator, zone: str, n: int) -> Array:
    """Home is from -4 to -1.2 and from 1.2 to 4."""
    low, high = {"home": (1.2, 4), "gap": (0, 1.2), "outside": (4, 5), "far": (5, 7)}[zone]
    return (random.uniform(low, high, size=n) * random.choice([-1, 1], size=n))[:, None]


def line_signal(X: Array) -> Array:
    return np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 0]


def surface_rows(random: np.random.Generator, zone: str, n: int) -> Array:
    """Home is the unit cube without a slab, the middle of the third column, and without an edge, the last fifth of the first one."""
    X = random.uniform(size=(n, 5))
    X[:, 2] = 0.5 + random.choice([-1, 1], size=n) * random.uniform(
        *((0, 0.15) if zone == "gap" else (0.15, 0.5)), size=n
    )
    X[:, 0] = random.uniform(*{"outside": (0.8, 0.9), "far": (0.9, 1)}.get(zone, (0, 0.8)), size=n)
    return X


def surface_signal(X: Array) -> Array:
    """Friedman's first function."""
    return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


# -- tables with a region of one feature left out ----------------------------------------------------------------------


_uci = cache(uci.read)


def features(name: str) -> list[int]:
    """Columns whose regions are left out: some of those with enough values, evenly."""
    if name in tables.NAMES:
        columns = tables.candidates(tables.table(name)[0])
    else:
        columns = [column for column in range(uci.DATASETS[name].features) if column not in CONSTANT.get(name, ())]
    return [columns[place] for place in np.unique(np.linspace(0, len(columns) - 1, MOST_FEATURES).round().astype(int))]


def left_out(name: str, region: str, feature: int, data_dir: str | None) -> Split:
    """Rows ordered by a feature in three parts: the middle one is the gap, what is left are the tails, halves of them each.

    Foong et al. (2019): "gap" trains on the outer two thirds, and "tails" on the inner two thirds. At "home" rows are left out at random.
    """
    X, y = tables.table(name) if name in tables.NAMES else _rows(name, data_dir)
    random = np.random.default_rng([feature, WHERE.index(region)])
    order = random.permutation(len(y))
    if region != HOME:
        order = order[np.argsort(X[order, feature], kind="stable")]
    place = (np.arange(len(order)) + 0.5) / len(order)
    inner = np.abs(place - 0.5) < (1 / 3 if region == "tails" else 1 / 6)
    train, test = (order[inner], order[~inner]) if region == "tails" else (order[~inner], order[inner])
    train, test = (random.permutation(rows)[:MOST_ROWS] for rows in (train, test))
    return Split(X[train], y[train], X[test], y[test])


def _rows(name: str, data_dir: str | None) -> tuple[Array, Array]:
    table = _uci(name, data_dir)
    return table.X, table.y
