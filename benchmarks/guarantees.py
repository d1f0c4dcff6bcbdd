"""What intervals promise, and what they keep: split conformal, by group, under a covariate shift; CV+ and jackknife+ likewise.

    python -m benchmarks.accuracy guarantees

Every replication draws rows anew: skewed noise whose size depends on the group and on x. Split conformal intervals come from a fit that
never changes, and from fresh held-out rows each time; CV+ and jackknife+ are fitted anew each time. Under the shift, new rows have
another mean of the second column, and weights are the ratio of both densities. Each replication judges 100 new rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from extranets import BootstrapNetsRegressor, ExtraNetsRegressor

COVERAGE = 0.9
SHIFT = 0.5  # of the second column's mean in new rows, in its standard deviations
GROUP_SHARES, GROUP_NOISE = (0.5, 0.3, 0.2), (0.5, 1.0, 2.0)
N_NEW, N_FOLDS = 100, 5
NETWORKS: dict[str, Any] = {
    "hidden_layer_sizes": (8,), "max_iter": 20, "learning_rate_init": 0.02, "numeric_encoding": None, "n_jobs": 1, "random_state": 0,
}  # fmt: skip
ESTIMATORS: dict[str, Any] = {
    "split": ExtraNetsRegressor(10, noise_model="constant", distance_factor=0.0, **NETWORKS),
    "CV+": ExtraNetsRegressor(
        10, interval="cv+", n_folds=N_FOLDS, noise_model="constant", distance_factor=0.0, **NETWORKS
    ),
    "jackknife+": BootstrapNetsRegressor(20, interval="jackknife+", **NETWORKS),
}


@dataclass(frozen=True)
class Case:
    """One kind of interval. ``knows`` is what it is told about rows; ``shift`` whether new rows come from other places."""

    method: str
    tails: str
    n_rows: int  # held out, or of the fit
    knows: tuple[str, ...] = ()
    shift: bool = False

    @property
    def exact(self) -> bool:
        """Whether theory says how often a tail is missed, and not only how often at most."""
        return self.method == "split" and self.knows == () and not self.shift

    def promise(self, n: float) -> tuple[float, float]:
        """The largest share that may be missed in each tail, and in both. ``n`` rows are compared with."""
        alpha = 1 - COVERAGE
        if self.method == "split":
            both = 1 - math.ceil(COVERAGE * (n + 1) - 1e-9) / (n + 1) if self.exact else alpha
            tail = math.floor(alpha / 2 * (n + 1) + 1e-9) / (n + 1) if self.exact else alpha / 2
            return (tail, 2 * tail) if self.tails == "separate" else (both, both)
        slack = math.sqrt(2 / n) if self.method == "CV+" else 0.0
        return (alpha + slack, 2 * alpha + slack)


SPLIT = [
    Case("split", "joint", 99),
    Case("split", "separate", 99),
    Case("split", "joint", 300, ("groups",)),
    Case("split", "separate", 300, ("groups",)),
    Case("split", "separate", 300, ("weights",), shift=True),
    Case("split", "separate", 600, ("groups", "weights"), shift=True),
]
REFITTED = [
    Case(method, *rest)
    for method in ("CV+", "jackknife+")
    for rest in (
        ("joint", 100),
        ("separate", 100),
        ("separate", 250, ("groups",)),
        ("separate", 150, ("weights",), True),
    )
]
FORGOTTEN = [  # what happens where the promise does not hold: groups and shifts that nobody mentions
    Case("split", "separate", 300, ()),
    Case("split", "separate", 300, (), shift=True),
]


@dataclass(frozen=True)
class Rows:
    """Shapes: X ``(n, 3)``, the others ``(n,)``."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    weights: np.ndarray

    @classmethod
    def draw(cls, n: int, random: np.random.Generator, shifted: bool = False) -> Rows:
        X, groups = random.normal(size=(n, 3)), random.choice(3, size=n, p=GROUP_SHARES)
        X[:, 1] += SHIFT * shifted
        noise = np.array(GROUP_NOISE)[groups] * np.exp(X[:, 1] / 2) * (random.exponential(size=n) - 1)
        weights = np.exp(SHIFT * X[:, 1])  # the ratio of both Normal densities, up to a factor
        return cls(X, X @ [1.0, -2.0, 0.5] + np.sin(2 * X[:, 0]) + noise, groups, weights)

    def beside(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in names}


def misses(case: Case, n_replications: int, seed: int = 0) -> np.ndarray:
    """Shares of new rows below and above their intervals: in all, then in each group, NaN where a replication has no row of it.

    Shape: ``(n_replications, 4, 2)``.
    """
    random = np.random.default_rng(seed)
    fixed = ESTIMATORS[case.method]
    if case.method == "split":
        first = Rows.draw(300, random)
        fixed.fit(first.X, first.y)
    found = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*are too few|.*weigh too little|.*out-of-bag")
        for _ in range(n_replications):
            known, new = Rows.draw(case.n_rows, random), Rows.draw(N_NEW, random, case.shift)
            model = _calibrated(fixed, case, known)
            lower, upper = model.predict_interval(new.X, COVERAGE, **new.beside(case.knows)).T
            outside = np.stack([new.y < lower, new.y > upper], axis=1)
            parts = [outside, *(outside[new.groups == group] for group in range(3))]
            found.append([part.mean(axis=0) if len(part) else np.full(2, np.nan) for part in parts])
    return np.array(found)


def _calibrated(model: Any, case: Case, known: Rows) -> Any:
    beside = known.beside(case.knows)
    if case.method == "split":
        return model.conformalize(known.X, known.y, tails=case.tails, **beside)
    return model.fit(known.X, known.y).conformalize_training_rows(tails=case.tails, **beside)


def judged(case: Case, shares: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray, tuple[float, float]]]:
    """Where, means of missed below, above and both, their standard errors, and the promise; by group where groups are known."""
    for part in range(4 if "groups" in case.knows else 1):
        own = shares[:, part][~np.isnan(shares[:, part, 0])]
        own = np.column_stack([own, own.sum(axis=1)])
        where = f"group {part}" if part else "all rows"
        n = case.n_rows * (GROUP_SHARES[part - 1] if part else 1)
        yield where, own.mean(axis=0), own.std(axis=0, ddof=1) / np.sqrt(len(own)), case.promise(n)


def show(console: Console, n_replications: int) -> None:
    table = Table(
        "method", "tails", "rows", "knows", "new rows", "judged on", "missed below", "missed above", "missed",
        "promised, each tail", "promised", title="Rows outside 90 % intervals, in per cent, mean and standard error",
    )  # fmt: skip
    cases = [*SPLIT, *REFITTED, *FORGOTTEN]
    for case in track(cases, "kinds of intervals", console=Console(stderr=True), transient=True):
        shares = misses(case, n_replications)
        for where, mean, error, promise in judged(case, shares):
            table.add_row(*_names(case), where, *_cells(mean, error), *_promised(case, promise))
        if case in FORGOTTEN and not case.shift:
            own = shares[:, 3][~np.isnan(shares[:, 3, 0])]
            own = np.column_stack([own, own.sum(axis=1)])
            cells = _cells(own.mean(axis=0), own.std(axis=0, ddof=1) / np.sqrt(len(own)))
            table.add_row(*_names(case), "group 3", *cells, "none", "none")
    console.print(table)


def _names(case: Case) -> tuple[str, ...]:
    return case.method, case.tails, str(case.n_rows), ", ".join(case.knows), "shifted" if case.shift else "alike"


def _cells(mean: np.ndarray, error: np.ndarray) -> list[str]:
    return [f"{100 * m:.2f} ± {100 * e:.2f}" for m, e in zip(mean, error, strict=True)]


def _promised(case: Case, promise: tuple[float, float]) -> tuple[str, str]:
    if case.shift and "weights" not in case.knows:
        return "none", "none"
    sign = "" if case.exact else "at most "
    tail, both = (f"{sign}{100 * each:.4g}" for each in promise)
    return (tail if case.tails == "separate" else "none"), both
