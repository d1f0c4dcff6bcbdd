"""The networks of the paper's simulations, trained on the engine as Section 5 describes, and the data that they see.

Glorot-uniform weights, Adam (epsilon 1e-7) at a constant rate, batches of 32; inputs are scaled by training statistics, the
target is not scaled. p is the probability that a hidden unit is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array
from extranets.data.processes import Simulated, linear_process, nonlinear_process
from extranets.estimators.resampling import bootstrap_counts
from extranets.networks import Architecture, Ensemble, draw_members

N_ROWS = 1500
N_TRAIN = 1200
COLLAPSED_BELOW = 0.5  # training R^2; a network that died predicts a constant and has R^2 below zero
# A quarter of the 3-2 networks collapse, so that all of 21 starts fail once in 10^12 times.
MAX_RESTARTS = 20


@dataclass(frozen=True)
class Setting:
    """A simulated process and the networks that the paper fits to it."""

    draw: Callable[..., Simulated]
    hidden: tuple[int, ...]
    n_epochs: int
    learning_rate: float
    keep_probs: tuple[float, ...]
    changes: Mapping[str, Any] = field(default_factory=dict)  # of the paper's training, by an option's name

    def architecture(self) -> Architecture:
        return Architecture(n_inputs=5, hidden=self.hidden, n_outputs=1, n_heads=1)

    def options(self, **others: Any) -> engine.Options:
        """Training as in the paper; the rate is constant and epsilon 1e-7 by default."""
        paper = {
            "n_epochs": self.n_epochs,
            "learning_rate": self.learning_rate,
            "batch_size": 32,
            "collapse_r2": COLLAPSED_BELOW,
        }
        return engine.Options(**paper | dict(self.changes) | others)


SETTINGS: dict[str, Setting] = {
    "nonlinear": Setting(nonlinear_process, (3, 2), 80, 0.01, (0.995,)),
    "linear": Setting(linear_process, (5,), 10, 0.1, (0.995, 0.99, 0.95, 0.9, 0.8)),
}


class DataSet(NamedTuple):
    """First 1200 rows for training, last 300 for testing; inputs scaled by training statistics.

    Shapes: ``X (1200, 5)``, ``y (1200,)``, ``X_test (300, 5)``, ``y_test (300,)``.
    """

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def data_set(process: str, correlation: str, seed: int) -> DataSet:
    """Simulate one data set.

    Examples
    --------
    >>> data = data_set("linear", "upper", seed=0)
    >>> data.X.shape, data.X_test.shape
    ((1200, 5), (300, 5))
    >>> print(abs(data.X.mean(axis=0)).max().round(9), data.X.std(axis=0).round(9))
    0.0 [1. 1. 1. 1. 1.]
    """
    X, y, X_test, y_test = SETTINGS[process].draw(N_ROWS, correlation=correlation, random_state=seed).split(N_TRAIN)
    X, X_test = scaled(X, X_test)
    return DataSet(X, y, X_test, y_test)


def scaled(X: Array, *others: Array) -> tuple[Array, ...]:
    """Scale all tables by the mean and standard deviation of the first. Shapes stay."""
    mean, std = X.mean(axis=0), X.std(axis=0)
    return tuple((table - mean) / std for table in (X, *others))


def seeds(seed: int, study: int, process: str, number: int) -> tuple[int, int]:
    """Seeds of a data set (32 bits) and of its networks (64 bits): other arguments, other and independent streams.

    Examples
    --------
    >>> seeds(0, 0, "linear", 1) == seeds(0, 0, "linear", 1), seeds(0, 0, "linear", 1) == seeds(0, 1, "linear", 1)
    (True, False)
    """
    path = [seed, study, list(SETTINGS).index(process), number]
    data, low, high = np.random.SeedSequence(path).generate_state(3, np.uint32).tolist()
    return data, low | high << 32


@dataclass(frozen=True)
class Networks:
    """What an average is taken over: members 0 to n - 1 without those that were dropped, or the passes of one network.

    Attributes
    ----------
    numbers : array of shape (m,)
        Which members are left, in increasing order.
    null_numbers : array of shape (n_null,)
        Members whose mask kept no unit of some hidden layer. They are not trained.
    n_replaced : int
        Collapsed starts of the one network of Monte Carlo dropout, which were replaced.
    """

    ensemble: Ensemble
    numbers: npt.NDArray[np.intp]
    null_numbers: npt.NDArray[np.intp]
    n_replaced: int
    passes: engine.Passes | None

    def predict(self, X: Array) -> Array:
        """Predictions of the members that are left. Shape: ``(k, 5) -> (m, k)``."""
        heads = engine.forward(self.ensemble, X, self.passes)[:, :, 0].astype(np.float64)
        if self.passes is None:
            return heads[np.isin(self.ensemble.members.ids, self.numbers)]
        return heads

    def n_null(self, n: int) -> int:
        """Null masks among the first ``n`` members."""
        return int(np.sum(self.null_numbers < n))

    def n_dropped(self, n: int) -> int:
        """Null masks and collapsed networks among the first ``n`` members, and collapsed starts that were replaced."""
        return n - int(np.sum(self.numbers < n)) + self.n_replaced


def extra_nets(
    setting: Setting, keep_prob: float, X: Array, y: Array, n_members: int, seed: int, n_starts: int = 1
) -> Networks:
    """Networks thinned by fixed masks, each trained on all rows (Algorithm 1); null masks and collapsed networks are dropped.

    Shape: X ``(n, 5)`` scaled, y ``(n,)``.
    """
    return _members(setting, keep_prob, X, y, n_members, seed, n_starts, resample=False)


def bootstrap_nets(setting: Setting, X: Array, y: Array, n_members: int, seed: int, n_starts: int = 1) -> Networks:
    """Whole networks, each trained on as many rows drawn with replacement; collapsed networks are dropped.

    With the same seed a member has the first weights of the extra-net of the same number, if that lost no unit: the two
    methods are compared with common random numbers.

    Shape: X ``(n, 5)`` scaled, y ``(n,)``.
    """
    return _members(setting, 1.0, X, y, n_members, seed, n_starts, resample=True)


def mc_dropout(
    setting: Setting, keep_prob: float, X: Array, y: Array, n_passes: int, seed: int, n_starts: int = 1
) -> Networks:
    """One network trained with inverted dropout of its hidden units, and its stochastic passes.

    A pass is one thinned network for all rows. (Keras thins every row anew. A row's passes have the same distribution either
    way, so the expected squared error is the same; with few passes and p near one, coverage varies more between data sets here,
    because all rows miss the rare dropped unit together.)

    Shape: X ``(n, 5)`` scaled, y ``(n,)``.
    """
    # Ensembles drop their collapsed networks. Here that would leave nothing, so the network is started again from a fresh
    # stream until it lives: both condition on networks that learned something. Starts that were replaced are counted.
    options = setting.options(dropout_keep=keep_prob, n_starts=n_starts, max_restarts=MAX_RESTARTS)
    members = draw_members(setting.architecture(), 1.0, seed, [0])
    trained = engine.train(members, engine.TrainingData(X, y), options, seed)
    passes = engine.Passes(n_passes, dropout_keep=keep_prob, seed=seed)
    n_replaced = int(trained.n_attempts[0]) - n_starts
    return Networks(trained.ensemble, np.arange(n_passes), np.arange(0), n_replaced, passes)


def _members(
    setting: Setting,
    keep_prob: float,
    X: Array,
    y: Array,
    n_members: int,
    seed: int,
    n_starts: int,
    *,
    resample: bool,
) -> Networks:
    numbers = np.arange(n_members)
    members = draw_members(setting.architecture(), keep_prob, seed, numbers, null="drop")
    counts = bootstrap_counts(seed, members.ids, len(y)) if resample else None
    count_rows = np.arange(len(members)) if resample else None
    data = engine.TrainingData(X, y, counts=counts, count_rows=count_rows)
    trained = engine.train(members, data, setting.options(n_starts=n_starts), seed)
    alive = members.ids[~trained.collapsed].astype(np.intp)
    if len(alive) == 0:
        raise ArithmeticError(f"All {n_members} networks collapsed; there is nothing to average.")
    return Networks(trained.ensemble, alive, np.setdiff1d(numbers, members.ids), 0, None)
