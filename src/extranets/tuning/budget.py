"""`tune`: a search that knows how much time there is."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, get_args

import numpy as np

from extranets._progress import Progress, progress_line
from extranets._random import draw_seed
from extranets._warnings import warn_user
from extranets.estimators import StackedNetsRegressor
from extranets.tuning.candidates import cost, steps
from extranets.tuning.search import Scoring, Search, Stopped, Trial

SEEDS = 1 << 32  # that a parameter can hold
FEWEST_ROWS = 50  # with fewer, held-out rows do not tell candidates apart


@dataclass
class Clock:
    budget: float
    begin: float = field(default_factory=time.monotonic)

    @property
    def used(self) -> float:
        return time.monotonic() - self.begin

    @property
    def left(self) -> float:
        return self.budget - self.used


def tune(
    X: Any,
    y: Any,
    budget: float = 60.0,
    *,
    scoring: Scoring = "rmse",
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 1,
    **fixed: Any,
) -> StackedNetsRegressor:
    """Search for parameters of :class:`StackedNetsRegressor` that suit a table, and return the best model that was fitted.

    A stack finds out by itself which networks a table deserves. More time buys what it does not try by default: larger
    networks (``effort="high"``), other thinning (``keep_prob``), more folds and more networks for each fold. These are tried
    one after the other, each from the best that was found before, and judged on the rows that the networks left out. The
    default is tried first; what is returned had no larger error than that.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,) or (n_samples, n_outputs)
    budget : float, default=60.0
        Seconds for everything. A fit that would exceed them is stopped, but for the default's, which comes first; where that
        leaves no time for a search, it is returned, with a warning. The search ends sooner when nothing is left to try.
    scoring : {"rmse", "interval_score"}, default="rmse"
        What is to be small on held-out rows: the root mean squared error, or the interval score of 90 % intervals. With several
        outputs, the mean of their scores as multiples of the default's.
    sample_weight : array of shape (n_samples,), optional
    groups, time : arrays of shape (n_samples,), optional
        Which rows are left out together, as for :meth:`StackedNetsRegressor.fit`.
    random_state : int, RandomState or None, default=None
        Decides on folds and networks. How far a search gets depends on the clock, so results may differ between runs even with
        the same seed.
    n_jobs : int or None, default=None
        Threads. None uses all cores.
    verbose : int, default=1
        1 shows a progress line on standard error: what is tried, and the best score as a multiple of the default's.
    **fixed : any
        Parameters of :class:`StackedNetsRegressor` that are given and not searched for, such as ``n_folds=5``.

    Returns
    -------
    StackedNetsRegressor
        Its attribute ``tuning_`` is a list of dicts, one for each candidate, the one that was taken first, then the others from
        the best on. Keys: ``parameters`` (what differs from the default; empty for the default itself), ``score`` (a multiple
        of the default's on held-out rows, smaller is better; infinite where training failed), and ``seconds``. It is not
        stored in model files.

    Notes
    -----
    ``held_out_scores_`` come from rows that had a say in the choice: they flatter a little. Ctrl-C ends a search.

    Examples
    --------
    >>> from extranets import tune
    >>> from extranets.data import nonlinear_process
    >>> X_train, y_train, X_test, y_test = nonlinear_process(400, random_state=0).split(300)
    >>> model = tune(X_train, y_train, budget=2, random_state=0, verbose=0)
    >>> bool(model.score(X_test, y_test) > 0.5)
    True
    """
    _check(budget, scoring)
    clock = Clock(float(budget))
    # One seed for all candidates: those with the same number of folds have the same folds.
    seed = random_state if isinstance(random_state, Integral) else draw_seed(random_state) % SEEDS
    default = StackedNetsRegressor(**fixed, random_state=seed, n_jobs=n_jobs)
    fit = partial(StackedNetsRegressor.fit, X=X, y=y, sample_weight=sample_weight, groups=groups, time=time)
    with progress_line("Tuning: default", verbose) as line:
        search = Search(fit(default), clock.used, scoring, fit)
        reason = _obstacle(default, clock)
        if reason:
            warn_user(f"{reason} The default is returned.")
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the default's fit has given them
                Tuning(search, fixed, clock, line).run()
    model = search.best
    model.tuning_ = [trial.as_dict() for trial in _ranked(search)]  # type: ignore[attr-defined]  # not what fit learns
    return model


def _check(budget: float, scoring: str) -> None:
    if not isinstance(budget, Real) or not 0 < budget < math.inf:
        raise ValueError(f"budget must be a positive number of seconds; got {budget!r}.")
    if scoring not in get_args(Scoring):
        raise ValueError(f"scoring must be one of {sorted(get_args(Scoring))}; got {scoring!r}.")


def _obstacle(default: StackedNetsRegressor, clock: Clock) -> str | None:
    """Why there can be no search, as a sentence."""
    if default.fit_info_["n_rows"] < FEWEST_ROWS:
        return f"A search needs at least {FEWEST_ROWS} rows."
    if clock.left < clock.used:
        return f"The default's fit took {clock.used:.1f} s, so a budget of {clock.budget:g} s has no time for a search."
    return None


def _ranked(search: Search) -> list[Trial]:
    return sorted(search.trials, key=lambda trial: trial.score)  # of equals the first tried comes first


@dataclass
class Tuning:
    """A search and its clock."""

    search: Search
    fixed: dict[str, Any]
    clock: Clock
    line: Progress | None

    def run(self) -> None:
        """One parameter after the other, as far as there is time."""
        default = self.search.default
        n_folds, n_rows = default.settings_["n_folds"], default.fit_info_["n_rows"]
        for name, values in steps(default.get_params(deep=False), self.fixed, n_folds, n_rows):
            start = self.search.leader.candidate
            for value in values:
                candidate = {**start, name: value}
                if self._seconds(candidate, n_folds) < self.clock.left:
                    self.search.run(candidate, lambda tried=f"{name}={value!r}": self._tick(tried))  # type: ignore[misc]

    def _seconds(self, candidate: dict[str, Any], n_folds: int) -> float:
        """That a fit is expected to take."""
        leader = self.search.leader
        known = cost(self.search.parameters(leader.candidate), n_folds)
        return leader.seconds * cost(self.search.parameters(candidate), n_folds) / known

    def _tick(self, tried: str) -> None:
        if self.clock.left <= 0:
            raise Stopped
        if self.line is not None:
            self.line.title = (
                f"Tuning: {tried}, {self.search.leader.score:.3f}"  # short: a terminal may have 80 columns
            )
            self.line(min(self.clock.used / self.clock.budget, 1.0))
