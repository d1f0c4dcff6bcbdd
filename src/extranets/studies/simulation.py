"""The Monte Carlo study of Sections 5.1 and 5.2 (Table 1): errors and coverage of three methods on two simulated processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.data.processes import correlation_matrix
from extranets.metrics import mae
from extranets.predictor.intervals import BootstrapAveraged, Paper, Total
from extranets.predictor.part import Interval
from extranets.studies._summaries import mean_and_error
from extranets.studies.paper_networks import (
    SETTINGS,
    DataSet,
    Networks,
    Setting,
    bootstrap_nets,
    data_set,
    extra_nets,
    mc_dropout,
    seeds,
)
from extranets.studies.runs import UnitResult
from extranets.uncertainty import predictive

Noise = Literal["test", "holdout", "cv", "train"]
Record = dict[str, Any]

STUDY = 0  # in `seeds`
SIZES = (30, 50, 70)  # T
LEVELS = (0.01, 0.05, 0.10)  # alpha
N_FOLDS = 5

CONSTRUCTIONS: dict[str, Interval] = {
    "extra-nets": Paper(),
    "MC dropout": Total(),
    "bootstrap": BootstrapAveraged(),
}
POINT_ERRORS = ("mape", "mspe")
MEASURES = (
    *POINT_ERRORS,
    "non_coverage_01",
    "non_coverage_05",
    "non_coverage_10",
    "noise_variance",
    "n_dropped",
    "n_null",
)


class Predictions(NamedTuple):
    """What members or passes say about some rows. Shapes: ``values (m, k)``, ``numbers (m,)``, ``y (k,)``.

    ``numbers`` tells which of the members 0, 1, ... they are: a smaller ensemble is the beginning of a larger one.
    """

    values: Array
    numbers: npt.NDArray[np.intp]
    y: Array

    def first(self, n_members: int) -> Array:
        """Values of the first ``n_members`` members that were not dropped. Shape: ``(at most n_members, k)``."""
        return self.values[self.numbers < n_members]

    def residuals(self, n_members: int) -> Array:
        """Targets minus the mean of the first members. Shape ``(k,)``."""
        return self.y - self.first(n_members).mean(axis=0)


Fit = Callable[[Array, Array, int], Networks]  # scaled inputs, targets, number of the fit (0: the final one)


@dataclass(frozen=True)
class SimulationStudy:
    """Errors and non-coverage of extra-nets, Monte Carlo dropout and the bootstrap over many simulated data sets.

    The paper shows one data set; here every figure is a mean over ``replications`` with its Monte Carlo standard error. All
    methods see the same data set and the same seed, and T = 30 and 50 are the first of the 70 members or passes.

    A record's measures, all on the 300 test rows:

    - ``mape``: mean absolute prediction error, in the target's units. (The paper spells it out as "mean average prediction
      error"; its size beside the squared error shows that it is not a percentage.)
    - ``mspe``: mean squared prediction error.
    - ``non_coverage_01``, ``_05``, ``_10``: share of rows outside their 99, 95 and 90 % intervals.
    - ``noise_variance``: sigma_e^2 in those intervals.
    - ``n_dropped``: networks left out of the average, because they collapsed (training R^2 below 0.5) or had a null mask; for
      Monte Carlo dropout, collapsed starts that were replaced. ``n_null``: the null masks among them.

    Intervals are Normal, with variance sigma_omega^2 / T + sigma_e^2 for extra-nets and the bootstrap (T counts networks that
    were not dropped) and sigma_omega^2 + sigma_e^2 for Monte Carlo dropout.

    Parameters
    ----------
    replications : int, default=100
        Data sets per process.
    noise : {"test", "holdout", "cv", "train"}, default="test"
        Which residuals' mean square is sigma_e^2. ``"test"``: those of the test rows, as in the paper, which looks at the
        targets that are to be covered. ``"holdout"``: those of the last 20 % of the training rows, which no network sees then.
        ``"cv"``: out-of-fold residuals of five folds, with networks of their own; the final networks see all rows.
        ``"train"``: training residuals.
    correlation : {"upper", "lower", "mean"}, default="upper"
        How the printed correlation matrix is read; see :func:`extranets.data.processes.correlation_matrix`.
    starts : int, default=1
        Starts per network, of which the one with the smallest training loss is kept.
    seed : int, default=0

    Examples
    --------
    >>> study = SimulationStudy(replications=2)
    >>> study.units()
    ['nonlinear-0000', 'nonlinear-0001', 'linear-0000', 'linear-0001']
    >>> records = study.run("linear-0000").records
    >>> len(records), records[0]["method"], records[0]["p"], records[0]["T"]
    (33, 'extra-nets', 0.995, 30)
    >>> row = study.summarise(records)[0]
    >>> bool(1 < row["mspe"] < 10), row["mspe_se"]  # one data set has no standard error
    (True, None)
    """

    name: ClassVar[str] = "simulation"

    replications: int = 100
    noise: Noise = "test"
    correlation: Literal["upper", "lower", "mean"] = "upper"
    starts: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.noise not in get_args(Noise):
            raise ValueError(f"noise must be one of {get_args(Noise)}; got {self.noise!r}.")
        correlation_matrix(self.correlation)  # refuses unknown names
        for field, least in (("replications", 1), ("starts", 1), ("seed", 0)):
            if getattr(self, field) < least:
                raise ValueError(f"{field} must be at least {least}; got {getattr(self, field)!r}.")

    def units(self) -> list[str]:
        """One unit is one data set of one process."""
        return [f"{process}-{number:04d}" for process in SETTINGS for number in range(self.replications)]

    def run(self, unit: str) -> UnitResult:
        """All methods, keep probabilities and sizes on one data set."""
        process, number = parsed(unit)
        data_seed, seed = seeds(self.seed, STUDY, process, number)
        data = data_set(process, self.correlation, data_seed)
        records: list[Record] = []
        timings = dict.fromkeys(CONSTRUCTIONS, 0.0)
        for method, p, fit in fits(SETTINGS[process], seed, self.starts):
            start = time.perf_counter()
            names = {"process": process, "replication": number, "method": method, "p": p}
            records += [names | row for row in evaluated(method, fit, data, self.noise)]
            timings[method] += time.perf_counter() - start
        return UnitResult(records, timings)

    def summarise(self, records: list[Record]) -> list[Record]:
        """Means over data sets with Monte Carlo standard errors, by process, method, p and T.

        ``mape_median`` and ``mspe_median`` are medians over data sets, ``mape_min`` and ``mspe_min`` the smallest; ``wins`` is the
        share of data sets on which the method has a smaller squared error than the bootstrap with the same T.
        """
        keys = sorted({key_of(record) for record in records}, key=order)
        return [summary(key, records) for key in keys]


def parsed(unit: str) -> tuple[str, int]:
    """Process and number from a unit's name."""
    process, _, number = unit.rpartition("-")
    if process not in SETTINGS or not number.isdecimal():
        raise ValueError(f"No unit {unit!r}; units are named like 'linear-0007'.")
    return process, int(number)


def fits(setting: Setting, seed: int, n_starts: int) -> list[tuple[str, float | None, Fit]]:
    """Every method with every keep probability; the bootstrap has none.

    A fit takes its streams from the network seed plus its number, so that folds and the final fit have other networks.
    """
    n = max(SIZES)

    def thinned(p: float) -> Fit:
        return lambda X, y, number: extra_nets(setting, p, X, y, n, seed + number, n_starts)

    def dropout(p: float) -> Fit:
        return lambda X, y, number: mc_dropout(setting, p, X, y, n, seed + number, n_starts)

    def resampled(X: Array, y: Array, number: int) -> Networks:
        return bootstrap_nets(setting, X, y, n, seed + number, n_starts)

    return [
        *(("extra-nets", p, thinned(p)) for p in setting.keep_probs),
        *(("MC dropout", p, dropout(p)) for p in setting.keep_probs),
        ("bootstrap", None, resampled),
    ]


def evaluated(method: str, fit: Fit, data: DataSet, noise: str) -> list[Record]:
    """A row of measures for every T."""
    rows = np.arange(len(data.y))
    held_out = rows >= len(rows) * (N_FOLDS - 1) // N_FOLDS  # rows are exchangeable: the last are as good as any
    used = ~held_out if noise == "holdout" else np.ones_like(held_out)
    final = fit(data.X[used], data.y[used], 0)
    tested = predicted(final, data.X_test, data.y_test)
    if noise == "test":
        known = [tested]
    elif noise == "cv":
        known = [out_of_fold(fit, data, rows % N_FOLDS == fold, fold) for fold in range(N_FOLDS)]
    else:
        seen = used if noise == "train" else held_out
        known = [predicted(final, data.X[seen], data.y[seen])]
    return [
        {"T": T, **measures(tested.first(T), data.y_test, noise_variance(known, T), CONSTRUCTIONS[method])}
        | {"n_dropped": final.n_dropped(T), "n_null": final.n_null(T)}
        for T in SIZES
    ]


def predicted(networks: Networks, X: Array, y: Array) -> Predictions:
    return Predictions(networks.predict(X), networks.numbers, y)


def out_of_fold(fit: Fit, data: DataSet, fold: npt.NDArray[np.bool_], number: int) -> Predictions:
    """Predictions of the rows in a fold by networks that did not see them. Shape: fold ``(n,)``, boolean."""
    return predicted(fit(data.X[~fold], data.y[~fold], number + 1), data.X[fold], data.y[fold])


def noise_variance(known: list[Predictions], n_members: int) -> float:
    """Mean squared residual of the mean of the first members, over all rows."""
    return float(np.mean(np.concatenate([part.residuals(n_members) for part in known]) ** 2))


def measures(members: Array, y: Array, noise: float, interval: Interval) -> Record:
    """Point errors, and shares of rows outside their intervals.

    Shape: members ``(m, n)``, y ``(n,)``.

    Examples
    --------
    Two members with mean 1 and spread 1 make a standard deviation of sqrt(1 / 2 + 0.5) = 1:

    >>> row = measures(np.array([[0.0, 0.0], [2.0, 2.0]]), np.array([1.0, 3.0]), 0.5, Paper())
    >>> row["mape"], row["mspe"], row["non_coverage_01"], row["non_coverage_05"]
    (1.0, 2.0, 0.0, 0.5)
    """
    mean = members.mean(axis=0)
    epistemic, aleatoric = interval.variances(members.var(axis=0), np.full_like(mean, noise), len(members))
    bounds = predictive.interval(mean, np.sqrt(epistemic + aleatoric), [1 - alpha for alpha in LEVELS])
    outside = ((y[:, None] < bounds[:, 0]) | (y[:, None] > bounds[:, 1])).mean(axis=0)
    shares = {f"non_coverage_{alpha * 100:02.0f}": float(share) for alpha, share in zip(LEVELS, outside, strict=True)}
    return {"mape": mae(y, mean), "mspe": float(np.mean((y - mean) ** 2)), **shares, "noise_variance": noise}


# -- summaries ---------------------------------------------------------------------------------------------------------

Key = tuple[str, str, float | None, int]


def key_of(record: Record) -> Key:
    return record["process"], record["method"], record["p"], record["T"]


def order(key: Key) -> tuple[int, int, float, int]:
    process, method, p, n_members = key
    return list(SETTINGS).index(process), list(CONSTRUCTIONS).index(method), -(p or 0.0), n_members


def summary(key: Key, records: list[Record]) -> Record:
    process, method, p, n_members = key
    own = [record for record in records if key_of(record) == key]
    rivals = {r["replication"]: r["mspe"] for r in records if key_of(r) == (process, "bootstrap", None, n_members)}
    wins = [record["mspe"] < rivals[record["replication"]] for record in own if record["replication"] in rivals]
    row: Record = {"process": process, "method": method, "p": p, "T": n_members, "replications": len(own)}
    for measure in MEASURES:
        row |= mean_and_error(measure, [record[measure] for record in own])
    for measure in POINT_ERRORS:
        row[f"{measure}_median"] = float(np.median([record[measure] for record in own]))
        row[f"{measure}_min"] = min(record[measure] for record in own)
    return row | mean_and_error("wins", [] if method == "bootstrap" else wins)
