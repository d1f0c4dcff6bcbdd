"""Do masks make members less alike, and does that make a better mean? Masks beside what else makes members differ, at equal cost.

All networks have one hidden layer, as many weights as one of 50 units, and the same training. A thinned network comes from a wider one,
so that it has 50 units on average, too. A prior is a random network that is not trained: its member learns the rest of the target
(Osband et al. 2018). Members with bins have a piecewise-linear encoding with a number of bins of their own. The encoding adds inputs, so
that they have fewer units for as many weights; one variant keeps its 50 units and shows what more weights would add.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from extranets import engine
from extranets._arrays import Array
from extranets.data import uci
from extranets.encodings import learn_piecewise_linear
from extranets.estimators.resampling import bootstrap_counts
from extranets.networks import Architecture, draw_members
from extranets.studies._summaries import mean_and_error
from extranets.studies.paper_networks import N_ROWS, N_TRAIN, SETTINGS, scaled, seeds
from extranets.studies.runs import UnitResult
from extranets.studies.uci import split_of

Record = dict[str, Any]

STUDY = 3  # in `seeds`
SETS = ("boston", "concrete", "energy")
SIZES = (2, 5, 10, 20, 50, 100, 200)  # T
UNITS = 50
PRIOR_SD = 0.5  # of a prior's values on the training rows, in standard deviations of the target
PRIOR_UNITS = 10
BINS = range(2, 17)
OPTIONS = engine.Options(n_epochs=40, batch_size=32, learning_rate=0.01, schedule="cosine")


class Variant(NamedTuple):
    """What makes members differ besides their first weights and the order of their rows."""

    keep_prob: float = 1.0
    rows: bool = False
    prior: bool = False
    bins: bool = False
    more_weights: bool = False  # 50 units with bins, too


VARIANTS = {
    "initialisation": Variant(),
    "masks, p = 0.95": Variant(keep_prob=0.95),
    "masks, p = 0.8": Variant(keep_prob=0.8),
    "masks, p = 0.5": Variant(keep_prob=0.5),
    "rows": Variant(rows=True),
    "priors": Variant(prior=True),
    "bins": Variant(bins=True),
    "bins, 50 units": Variant(bins=True, more_weights=True),
    "all": Variant(keep_prob=0.8, rows=True, prior=True, bins=True),
}
MEASURES = ("member_error", "error", "spread", "correlation", "n_parameters")


class Problem(NamedTuple):
    """Standardised tables, and what is to be predicted: the true mean where it is known, else the target.

    Shapes: ``X (n, k)``, ``y (n, 1)``, ``X_test (m, k)``, ``truth (m,)``.
    """

    X: Array
    y: Array
    X_test: Array
    truth: Array


@dataclass(frozen=True)
class DecorrelationStudy:
    """Correlation of members, error of their mean and its spread, for what makes members differ and for T from 2 to 200.

    A record's measures, on the test rows and in variances of the training target; the truth is the true mean on the simulated
    processes, and the target on the UCI sets, noise and all:

    - ``member_error``: mean squared error of the first T members, one by one;
    - ``error``: mean squared error of their mean, which is ``member_error`` minus (T - 1) / T of ``spread``;
    - ``spread``: variance of the members' predictions, averaged over rows;
    - ``correlation``: mean correlation over rows of two members' errors;
    - ``n_parameters``: weights and biases of a member.

    Parameters
    ----------
    replications : int, default=10
        Data sets of each process, and splits of each UCI set.
    datasets : tuple of str, default=()
        UCI sets. Empty: those of boston, concrete and energy that are found.
    seed : int, default=0
    data_dir : path-like or None, default=None
        Where the UCI sets are, see :func:`extranets.data.load`.

    Examples
    --------
    >>> DecorrelationStudy(replications=1, datasets=("boston",)).units()
    ['nonlinear-00', 'linear-00', 'boston-00']
    """

    name: ClassVar[str] = "decorrelation"

    replications: int = 10
    datasets: tuple[str, ...] = ()
    seed: int = 0
    data_dir: InitVar[uci.PathLike | None] = None

    def __post_init__(self, data_dir: uci.PathLike | None) -> None:
        found = uci.available(data_dir)
        object.__setattr__(self, "datasets", tuple(self.datasets) or tuple(name for name in SETS if name in found))
        object.__setattr__(self, "_root", data_dir)  # not a field, so that it is not recorded
        unknown = [name for name in self.datasets if name not in uci.DATASETS]
        if unknown:
            raise ValueError(f"datasets must be some of {', '.join(uci.DATASETS)}; got {unknown}.")
        for field, least in (("replications", 1), ("seed", 0)):
            if getattr(self, field) < least:
                raise ValueError(f"{field} must be at least {least}; got {getattr(self, field)!r}.")

    def units(self) -> list[str]:
        """One unit is one data set of a process, or one split of a UCI set, with all variants."""
        counts = dict.fromkeys(SETTINGS, self.replications)
        counts |= {name: min(self.replications, uci.DATASETS[name].n_splits) for name in self.datasets}
        return [f"{name}-{number:02d}" for name, count in counts.items() for number in range(count)]

    def run(self, unit: str) -> UnitResult:
        """All variants and sizes on one problem."""
        name, _, number = unit.rpartition("-")
        if unit not in self.units():
            raise ValueError(f"No unit {unit!r}; units are named like 'linear-03' or 'boston-03'.")
        problem = self._problem(name, int(number))
        records: list[Record] = []
        timings: dict[str, float] = {}
        for variant, settings in VARIANTS.items():
            start = time.perf_counter()
            members, n_parameters = predictions(settings, problem, max(SIZES), self.seed + int(number))
            timings[variant] = time.perf_counter() - start
            names = {"data": name, "number": int(number), "variant": variant}
            sizes = [measures(members[:T], problem.truth) for T in SIZES]
            records += [names | size | {"n_parameters": n_parameters} for size in sizes]
        return UnitResult(records, timings)

    def summarise(self, records: list[Record]) -> list[Record]:
        """Means over data sets or splits with standard errors, by data, variant and T.

        ``ratio`` is the ``error`` over that of ``"initialisation"`` with the same T on the same data.
        """
        plain = {case_of(r): r["error"] for r in records if r["variant"] == "initialisation"}
        found: dict[tuple[str, str, int], list[Record]] = {}
        for record in records:
            found.setdefault((record["data"], record["variant"], record["T"]), []).append(record)
        rows = []
        for (data, variant, T), own in found.items():
            row: Record = {"data": data, "variant": variant, "T": T, "replications": len(own)}
            for measure in MEASURES:
                row |= mean_and_error(measure, [record[measure] for record in own])
            ratios = [record["error"] / plain[case_of(record)] for record in own]
            rows.append(row | mean_and_error("ratio", ratios))
        return rows

    def _problem(self, name: str, number: int) -> Problem:
        if name in SETTINGS:
            data_seed, _ = seeds(self.seed, STUDY, name, number)
            drawn = SETTINGS[name].draw(N_ROWS, random_state=data_seed)
            X, y, X_test, truth = drawn.X[:N_TRAIN], drawn.y[:N_TRAIN], drawn.X[N_TRAIN:], drawn.signal[N_TRAIN:]
        else:
            X, y, X_test, truth = split_of(name, number, vars(self)["_root"])
        varies = X.std(axis=0) > 0
        X, X_test = scaled(X[:, varies], X_test[:, varies])
        return Problem(X, ((y - y.mean()) / y.std())[:, None], X_test, (truth - y.mean()) / y.std())


def case_of(record: Record) -> tuple[str, int, int]:
    return record["data"], record["number"], record["T"]


def predictions(variant: Variant, problem: Problem, n_members: int, seed: int) -> tuple[Array, float]:
    """Predictions of the test rows, and the mean number of parameters. Shape: ``(n_members, m)``."""
    priors = [prior_of(seed, t, problem.X) if variant.prior else none for t in range(n_members)]
    trainings = [
        training(variant, t, problem.X, problem.y - prior(problem.X)[:, None], seed) for t, prior in enumerate(priors)
    ]
    out = []
    for trained, prior in zip(engine.train_all(trainings), priors, strict=True):
        if isinstance(trained, engine.TrainingDiverged):
            raise trained
        out.append(engine.forward(trained.ensemble, problem.X_test)[0, :, 0] + prior(problem.X_test))
    return np.stack(out).astype(np.float64), float(np.mean([each.members.n_parameters for each in trainings]))


def training(variant: Variant, number: int, X: Array, y: Array, seed: int) -> engine.Training:
    """One member. Shape: X ``(n, k)``, y ``(n, 1)``."""
    encoding = None
    if variant.bins:
        n_bins = int(np.random.RandomState([seed, number, 1]).choice(BINS))
        encoding = learn_piecewise_linear(X.astype(np.float32), n_bins)
    n_first = Architecture(X.shape[1], (UNITS,), 1, 1, encoding).n_first
    kept = UNITS if variant.more_weights else units_for(n_first, X.shape[1])
    architecture = Architecture(X.shape[1], (round(kept / variant.keep_prob),), 1, 1, encoding)
    members = draw_members(architecture, variant.keep_prob, seed, [number])
    counts = bootstrap_counts(seed, members.ids, len(X)) if variant.rows else None
    data = engine.TrainingData(X, y, counts=counts, count_rows=np.zeros(1, dtype=np.intp) if variant.rows else None)
    return engine.Training(members, data, OPTIONS, seed)


def units_for(n_first: int, n_inputs: int) -> int:
    """Hidden units that make as many weights with ``n_first`` inputs of the first layer as 50 units make with ``n_inputs``.

    Examples
    --------
    >>> units_for(5, 5), units_for(50, 5)
    (50, 7)
    """
    return max(1, round(UNITS * (n_inputs + 2) / (n_first + 2)))


def none(X: Array) -> Array:
    """No prior."""
    return np.zeros(len(X))


def prior_of(seed: int, number: int, X: Array) -> Callable[[Array], Array]:
    """A random ReLU network, scaled and centred on the training rows. Shape: X ``(n, k)``."""
    rng = np.random.RandomState([seed, number, 2])
    first, bias = rng.normal(size=(X.shape[1], PRIOR_UNITS)) / np.sqrt(X.shape[1]), rng.normal(size=PRIOR_UNITS)
    last = rng.normal(size=PRIOR_UNITS)

    def values(at: Array) -> Array:
        return np.maximum(0.0, at @ first + bias) @ last

    middle, scale = values(X).mean(), values(X).std()
    return lambda at: PRIOR_SD * (values(at) - middle) / scale


def measures(members: Array, truth: Array) -> Record:
    """What an ensemble is worth. Shape: members ``(T, m)``, truth ``(m,)``.

    Examples
    --------
    Two members whose errors are opposite:

    >>> row = measures(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.zeros(2))
    >>> row["member_error"], row["error"], row["spread"], round(row["correlation"], 9)
    (1.0, 0.0, 2.0, -1.0)
    """
    errors = members - truth
    n = len(members)
    correlation = np.asarray(np.corrcoef(errors))[np.triu_indices(n, 1)].mean()
    return {
        "T": n,
        "member_error": float(np.mean(errors**2)),
        "error": float(np.mean(errors.mean(axis=0) ** 2)),
        "spread": float(members.var(axis=0, ddof=1).mean()),
        "correlation": float(correlation),
    }
