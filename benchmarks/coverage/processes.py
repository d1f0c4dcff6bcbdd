"""Tables whose means are known, with every kind of noise that a default interval meets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.contest.records import Split
from extranets._arrays import Array
from extranets.data import linear_process, nonlinear_process

TRAINING_ROWS, TEST_ROWS = 1_200, 5_000
N_GROUPS = 4
SHARES = (0.4, 0.3, 0.2, 0.1)  # of the levels of the first discrete feature
STDS = (0.5, 1.0, 1.0, 2.0)  # of the noise in these levels


class Drawn(NamedTuple):
    """Shape: X ``(n, k)``, the others ``(n,)``."""

    X: Array
    y: Array
    mean: Array


def paper(process: Callable[..., object]) -> Callable[[np.random.Generator, int], Drawn]:
    """One of the paper's two processes: constant Normal noise."""

    def draw(random: np.random.Generator, n: int) -> Drawn:
        found = process(n, random_state=int(random.integers(2**31)))
        return Drawn(found.X, found.y, found.signal)

    return draw


def signal(X: Array) -> Array:
    """The mean of the processes that are not the paper's. Shape: ``(n, 5)`` -> ``(n,)``."""
    found: Array = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    return found


def noisy(noise: Callable[[np.random.Generator, Array], Array]) -> Callable[[np.random.Generator, int], Drawn]:
    """Five Normal columns, and noise that may depend on them."""

    def draw(random: np.random.Generator, n: int) -> Drawn:
        X = random.normal(size=(n, 5))
        mean = signal(X)
        return Drawn(X, mean + noise(random, X), mean)

    return draw


def poisson(random: np.random.Generator, n: int) -> Drawn:
    """Counts, 1 to 40 as a rule."""
    X = random.normal(size=(n, 5))
    mean = np.exp(2 + 0.4 * np.clip(signal(X), -4, 4))
    return Drawn(X, random.poisson(mean).astype(np.float64), mean)


def discrete(random: np.random.Generator, n: int) -> Drawn:
    """Three features with four, three and two levels; the first one decides on the noise."""
    first = random.choice(N_GROUPS, size=n, p=SHARES)
    X = np.column_stack([first, random.integers(3, size=n), random.integers(2, size=n)]).astype(np.float64)
    mean = np.array([0.0, 2.0, 1.0, 3.0])[first] + X[:, 1] * (1 - 2 * X[:, 2])
    return Drawn(X, mean + np.array(STDS)[first] * random.normal(size=n), mean)


PROCESSES: dict[str, Callable[[np.random.Generator, int], Drawn]] = {
    "linear": paper(linear_process),
    "nonlinear": paper(nonlinear_process),
    "heteroscedastic": noisy(lambda random, X: np.exp(0.6 * X[:, 4] - 0.2) * random.normal(size=len(X))),
    "t3": noisy(lambda random, X: random.standard_t(3, size=len(X)) / np.sqrt(3)),
    "exponential": noisy(lambda random, X: random.exponential(size=len(X)) - 1),
    "Poisson": poisson,
    "discrete": discrete,
}


def groups(process: str, X: Array) -> Array:
    """Levels of the first feature where it is discrete, else its quarters, from 0 on. Shape: ``(n, k)`` -> ``(n,)``."""
    if process == "discrete":
        return X[:, 0]
    edges = np.quantile(X[:, 0], np.arange(1, N_GROUPS) / N_GROUPS)
    return np.searchsorted(edges, X[:, 0]).astype(np.float64)


def load(process: str, seed: int) -> Split:
    """Test targets have two more columns: their means without noise, and their groups."""
    drawn = PROCESSES[process](np.random.default_rng([seed, list(PROCESSES).index(process)]), TRAINING_ROWS + TEST_ROWS)
    train, test = slice(None, TRAINING_ROWS), slice(TRAINING_ROWS, None)
    known = np.column_stack([drawn.y[test], drawn.mean[test], groups(process, drawn.X[test])])
    return Split(drawn.X[train], drawn.y[train], drawn.X[test], known)
