"""Predictions beside the targets that were observed: what `extranets evaluate` prints and a report shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from extranets import metrics
from extranets._arrays import Array
from extranets._sklearn import rows_of
from extranets._warnings import muted
from extranets.held_out import cross_validation
from extranets.parting import Parting
from extranets.predictor.distributions import Normal
from extranets.predictor.link import PLAIN, Link
from extranets.predictor.novelty import NoveltyWarning
from extranets.predictor.part import Distribution
from extranets.predictor.predictive import Predictive
from extranets.uncertainty.components import Components
from extranets.uncertainty.predictive import SMALLEST_STD

# Close enough together for a slider; the levels that people ask for are among them.
LEVELS = np.round(np.arange(0.05, 0.996, 0.01), 2)
VAGUE = 0.2  # limits of a coverage that are farther apart than this say nothing in its favour
CONFIDENCE = 0.95  # with which the limits of an observed coverage hold the true one


class NamedValues(NamedTuple):
    """A column: its name, and its values of shape ``(n,)``."""

    name: str
    values: npt.NDArray[Any]

    def part(self, rows: npt.NDArray[np.intp]) -> NamedValues:
        return NamedValues(self.name, self.values[rows])


@dataclass(frozen=True)
class Predictions:
    """Predictions of one target for rows whose targets are known. Everything is in the target's units.

    Shapes: y, mean, epistemic, aleatoric ``(n,)`` (the last two are variances); levels ``(k,)``, ascending; bounds
    ``(n, 2, k)``, lower first, infinite where a conformal interval must be; members ``(m, n)``; loss_curve ``(m, epochs)``,
    NaN after a member has stopped; features: a data frame or a dict of columns of length n, as the user gave them.
    """

    y: Array
    mean: Array
    epistemic: Array
    aleatoric: Array
    levels: Array
    bounds: Array
    target: str = "y"
    features: Any = field(default_factory=dict)
    members: Array | None = None
    loss_curve: Array | None = None
    shape: Distribution = field(default_factory=Normal)  # of the predictive distribution
    latent: Components | None = None  # what has this shape; None: the target itself
    link: Link = PLAIN  # from there to the target
    groups: NamedValues | None = None  # what names the groups of rows
    time: NamedValues | None = None  # dates or numbers
    novelty: Array | None = None  # (n,): how far rows are from those of training
    outside: dict[str, npt.NDArray[np.bool_]] | None = (
        None  # by column, which values lie outside of training, shape (n,)
    )
    about: dict[str, Any] = field(default_factory=dict)  # the model and the table in words, for headings

    def __len__(self) -> int:
        return len(self.y)

    @property
    def std(self) -> Array:
        return np.sqrt(self.epistemic + self.aleatoric)

    @property
    def predictive(self) -> Predictive:
        """The predictive distributions."""
        return Predictive(self.shape, self.latent or Components(self.mean, self.epistemic, self.aleatoric), self.link)

    @property
    def covered(self) -> npt.NDArray[np.bool_]:
        """Shape: ``(n, k)``."""
        return (self.bounds[:, 0] <= self.y[:, None]) & (self.y[:, None] <= self.bounds[:, 1])

    @property
    def distribution(self) -> str:
        """The predictive distribution in words."""
        return self.predictive.describe()

    def at(self, coverage: float) -> tuple[Array, Array]:
        """Lower and upper bounds at one of the levels. Shape: ``(n,)`` each."""
        column = int(np.argmin(np.abs(self.levels - coverage)))
        if abs(self.levels[column] - coverage) > 1e-9:
            raise ValueError(f"There are no intervals of coverage {coverage}; the levels are {self.levels.tolist()}.")
        return self.bounds[:, 0, column], self.bounds[:, 1, column]


def predict_with_targets(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    levels: Sequence[float] | Array = LEVELS,
    members: bool = True,
    **named: Any,
) -> Predictions:
    """Let a fitted regressor of this package predict rows whose targets are known.

    Parameters
    ----------
    model : any regressor with ``predict_components``, ``predict_interval`` and ``predict_members``, fitted to one target
    X : table of shape (n, n_features)
    y : array of shape (n,)
    levels : coverages of the intervals
    members : whether to keep the predictions of the single networks
    named : ``target``, ``features``, ``groups``, ``time`` and ``about`` of :class:`Predictions`
    """
    levels = np.sort(np.unique(np.asarray(levels, dtype=np.float64)))
    parts = model.predict_components(X)
    observed = np.asarray(y, dtype=np.float64)
    if parts.mean.ndim != 1 or observed.shape != parts.mean.shape:
        raise ValueError(
            f"Predictions of one target are compared with one column; got {parts.mean.shape} and {observed.shape}."
        )
    with muted(NoveltyWarning):  # said once
        bounds = np.asarray(model.predict_interval(X, levels))
        own_members = np.asarray(model.predict_members(X), dtype=np.float64) if members else None
        novelty, distribution = _novelty(model, X), _distribution_of(model, X)
    curve = getattr(model, "loss_curve_", None)
    return Predictions(
        observed,
        parts.mean,
        parts.epistemic,
        parts.aleatoric,
        levels,
        bounds,
        members=own_members,
        loss_curve=None if curve is None else np.asarray(curve, dtype=np.float64),
        **distribution,
        **novelty,
        **named,
    )


def _distribution_of(model: Any, X: Any) -> dict[str, Any]:
    """What `Predictions` holds of it."""
    predictive = model.predictive(X)
    return {"shape": predictive.shape, "latent": predictive.latent, "link": predictive.link}


def _novelty(model: Any, X: Any) -> dict[str, Any]:
    """What the model says about rows unlike those of training, if it does."""
    if not getattr(model, "knows_novelty", False):
        return {}
    outside = model.predict_outside(X)
    names = getattr(outside, "columns", getattr(model, "feature_names_in_", map("x{}".format, range(X.shape[1]))))
    columns = np.asarray(outside, dtype=bool).T
    return {
        "novelty": model.predict_novelty(X),
        "outside": {str(name): values for name, values in zip(names, columns, strict=True)},
    }


def scores(predictions: Predictions, coverage: float = 0.9) -> dict[str, float]:
    """Every score that one table of predictions has; those of intervals at ``coverage``."""
    p = predictions
    lower, upper = p.at(coverage)
    std = np.maximum(p.std, SMALLEST_STD)
    return {
        "rmse": metrics.rmse(p.y, p.mean),
        "mae": metrics.mae(p.y, p.mean),
        "r2": r_squared(p.y, p.mean),
        "log_likelihood": p.predictive.log_likelihood(p.y),
        "crps": p.predictive.crps(p.y),
        "calibration_error": metrics.calibration_error(p.predictive.normal_errors(p.y), 0.0, 1.0),
        "sharpness": metrics.sharpness(std),
        "coverage": metrics.coverage(p.y, lower, upper),
        "mean_width": metrics.mean_width(p.y, lower, upper),
        "interval_score": metrics.interval_score(p.y, lower, upper, coverage),
        "epistemic_share": epistemic_share(p.epistemic, p.aleatoric),
    }


def r_squared(y: Array, mean: Array) -> float:
    """R²: 1 less the mean squared error as a share of the targets' variance; NaN where the targets are all the same.

    Examples
    --------
    >>> r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]))
    0.5
    """
    target_variance = float(np.var(y))
    return 1 - metrics.rmse(y, mean) ** 2 / target_variance if target_variance > 0 else float("nan")


def epistemic_share(epistemic: Array, aleatoric: Array) -> float:
    """Part of the mean predictive variance that more data or better networks could remove."""
    total = float(np.mean(epistemic + aleatoric))
    return float(np.mean(epistemic)) / total if total > 0 else 0.0


@dataclass(frozen=True)
class CoverageRow:
    """Nominal and observed coverage, with limits within which the true coverage lies with 95 % confidence."""

    nominal: float
    observed: float
    low: float
    high: float
    mean_width: float
    interval_score: float

    @property
    def verdict(self) -> str:
        if self.high < self.nominal:
            return "too narrow"
        if self.low > self.nominal:
            return "too wide"
        return "as promised" if self.high - self.low <= VAGUE else "too few rows to tell"


def coverage_table(predictions: Predictions, levels: Sequence[float] | None = None) -> list[CoverageRow]:
    """One row for each level."""
    p, rows = predictions, []
    for level in p.levels.tolist() if levels is None else levels:
        lower, upper = p.at(level)
        hits = int(((lower <= p.y) & (p.y <= upper)).sum())
        low, high = binomial_limits(hits, len(p))
        width, score = metrics.mean_width(p.y, lower, upper), metrics.interval_score(p.y, lower, upper, level)
        rows.append(CoverageRow(level, hits / len(p), low, high, width, score))
    return rows


def binomial_limits(hits: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Exact confidence limits of a share (Clopper and Pearson), of which ``hits`` out of ``n`` were observed.

    Examples
    --------
    >>> low, high = binomial_limits(9, 10)
    >>> round(low, 4), round(high, 4)
    (0.555, 0.9975)
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = betaincinv(hits, n - hits + 1, tail) if hits > 0 else 0.0
    high = betaincinv(hits + 1, n - hits, 1 - tail) if hits < n else 1.0
    return float(low), float(high)


@dataclass(frozen=True)
class OutOfFold:
    """Predictions of rows by models that were fitted without them.

    Shapes: rows ``(n,)``, positions in the table; y, mean ``(n,)``; bounds ``(n, 2)``.
    """

    coverage: float
    n_folds: int
    n_judged: int  # how many of the folds were held out, one after the other
    rows: npt.NDArray[np.intp]
    y: Array
    mean: Array
    bounds: Array
    seconds: float  # to fit one fold's model, on average
    parting: str | None = (
        None  # "groups" where folds are whole groups, "time" where they are later than the rows of the fit
    )

    @property
    def row_scores(self) -> Array:
        """The interval score of every row, so that two methods can be compared row by row."""
        lower, upper = self.bounds.T
        outside = np.maximum(lower - self.y, 0) + np.maximum(self.y - upper, 0)
        return upper - lower + 2 / (1 - self.coverage) * outside

    def scores(self) -> dict[str, float]:
        """Scores of all held-out rows together; the coverage with its limits."""
        lower, upper = self.bounds.T
        inside = int(((lower <= self.y) & (self.y <= upper)).sum())
        low, high = binomial_limits(inside, len(self.y))
        return {
            "rmse": metrics.rmse(self.y, self.mean),
            "r2": r_squared(self.y, self.mean),
            "coverage": inside / len(self.y),
            "coverage_low": low,
            "coverage_high": high,
            "mean_width": metrics.mean_width(self.y, lower, upper),
            "interval_score": metrics.interval_score(self.y, lower, upper, self.coverage),
        }

    def as_dict(self) -> dict[str, Any]:
        """The scores, with the numbers of folds and rows that they come from."""
        counts = {"n_folds": self.n_folds, "n_judged": self.n_judged, "n_rows": len(self.y)}
        return {**counts, "parting": self.parting, **self.scores()}


ENOUGH_ROWS = 10_000  # so many held-out rows tell an error to about one per cent


def cross_validate(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    coverage: float = 0.9,
    n_folds: int = 5,
    enough_rows: int = ENOUGH_ROWS,
    seed: int = 0,
    parting: Parting | None = None,
    begin_fold: Callable[[int, int], object] | None = None,
) -> OutOfFold:
    """Hold out one fold after the other: fit a clone of ``model`` to the rest, and predict the rows that were held out.

    Of a large table, not every fold is held out: it stops as soon as ``enough_rows`` rows have been predicted.

    Parameters
    ----------
    model : regressor with ``predict`` and ``predict_interval``; it is not fitted itself
    X : table of shape (n, n_features)
    y : array of shape (n,)
    coverage : of the intervals
    n_folds : how many parts the rows are divided into, at random
    enough_rows : no further fold is held out once so many rows have been predicted
    seed : decides which rows make a fold
    parting : Parting, optional
        What rows have in common: folds are then whole groups; or blocks of time, the latest first, and models see nothing but
        earlier rows. It is told to models that leave rows out themselves.
    begin_fold : called before each fold, with its number, from 1, and how many will be held out

    Examples
    --------
    >>> from extranets import ExtraNetsRegressor
    >>> from extranets.data import linear_process
    >>> data = linear_process(300, random_state=0)
    >>> found = cross_validate(ExtraNetsRegressor(n_estimators=5, max_iter=40, random_state=0), data.X, data.y)
    >>> sorted(found.scores())
    ['coverage', 'coverage_high', 'coverage_low', 'interval_score', 'mean_width', 'r2', 'rmse']
    """
    from sklearn.base import clone

    y = np.asarray(y, dtype=np.float64)
    if len(y) < n_folds:
        raise ValueError(f"{n_folds} folds need at least as many rows; there are {len(y)}. Use fewer folds.")
    folds = _folds(len(y), n_folds, seed, parting)
    n_judged = min(len(folds), -(-enough_rows // (len(y) // n_folds)))
    parts, seconds = [], 0.0
    for fold, (train, test) in enumerate(folds[:n_judged]):
        if begin_fold is not None:
            begin_fold(fold + 1, n_judged)
        begin = time.perf_counter()
        fitted = clone(model).fit(rows_of(X, train), y[train], **_told(model, parting, train))
        seconds += time.perf_counter() - begin
        held = rows_of(X, test)
        with muted(NoveltyWarning):  # the rows of the table that lie farthest out are held out, too
            parts.append((test, y[test], fitted.predict(held), fitted.predict_interval(held, coverage)))
    rows, observed, mean, bounds = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    kind = None if parting is None else parting.kind
    return OutOfFold(coverage, len(folds), n_judged, rows, observed, mean, bounds, seconds / n_judged, kind)


Rows = npt.NDArray[np.intp]


def _folds(n_rows: int, n_folds: int, seed: int, parting: Parting | None) -> list[tuple[Rows, Rows]]:
    """Rows to fit to, and rows to judge."""
    from sklearn.model_selection import KFold

    if parting is None:
        return list(KFold(n_folds, shuffle=True, random_state=seed).split(np.empty(n_rows)))
    plan = cross_validation(n_rows, n_folds, 1, seed, parting=parting)
    return [(np.flatnonzero(plan.seen(fold)), np.flatnonzero(plan.fold_of_row == fold)) for fold in range(plan.n_folds)]


def _told(model: Any, parting: Parting | None, rows: Rows) -> dict[str, Rows]:
    """What a fit to some rows is told of what they have in common, if it leaves rows out, and there are several parts."""
    if parting is None or not getattr(model, "leaves_rows_out", False):
        return {}
    number = parting.number[rows]
    return {parting.kind: number} if (number != number[0]).any() else {}


def drawn_rows(n_rows: int, max_rows: int, seed: int) -> Rows:
    """At most ``max_rows`` rows, drawn at random, in the order they had.

    Examples
    --------
    >>> drawn_rows(3, 5, seed=0).tolist(), len(drawn_rows(10, 5, seed=0))
    ([0, 1, 2], 5)
    """
    if n_rows <= max_rows:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, max_rows, replace=False))
