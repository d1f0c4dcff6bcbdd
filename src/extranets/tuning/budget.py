"""`tune`: a search that knows how much time there is."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field
from itertools import islice
from numbers import Real
from typing import Any, get_args

import numpy as np
from sklearn.base import clone

from extranets._progress import ProgressLine, progress_line, thread_count
from extranets._random import draw_seed
from extranets._warnings import warn_user
from extranets.estimators import ExtraNetsRegressor
from extranets.estimators.automatic import SMALL_TABLE
from extranets.estimators.validation import check_training_table
from extranets.predictor import Scaling
from extranets.tuning.candidates import DEFAULT, Candidate, candidates, parameters, work
from extranets.tuning.halving import Search
from extranets.tuning.trials import Rung, Scoring, Stop, Trials

FIRST_ROWS = SMALL_TABLE  # few enough for a quick trial, and enough for what "auto" stands for in larger tables
FEWEST_ROWS = 50  # with fewer, held-out rows do not tell candidates apart
EFFORTS = ((4, 1), (4, 2), (8, 3))  # networks, and fewest splits, of each rung
SMALL_SPLITS = 2  # at least so many for small tables, whose splits hold out few rows
MOST_SPLITS = 10
MOST_RIVALS = 63
STAY = 3  # one out of so many rivals goes on to the next rung
FINAL_SHARE = 0.3  # the final fit may take so much of the budget
SEARCH_SHARE = 0.1  # if less of the budget is left for it, a search is not begun
LATE = 1.25  # a rung is stopped after so many times its share of the time


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
    scoring: Scoring = "interval_score",
    sample_weight: Any = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 1,
    **fixed: Any,
) -> ExtraNetsRegressor:
    """Search for settings of :class:`ExtraNetsRegressor` that suit a table, and fit with the best.

    Candidates differ from the default in encoding, hidden layers, learning rate, weight decay, thinning or epochs. They are
    judged on rows that their networks did not see: many candidates by few networks, rows and splits, and the better ones
    again by more (successive halving). The default takes part in all of it, on the same rows. What is returned was better
    than the default in the last of at least two comparisons; if nothing was, it is the default.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,) or (n_samples, n_outputs)
    budget : float, default=60.0
        Seconds for everything, the final fit included. It may be exceeded by about a fifth. The default is fitted first; where
        that leaves no time for a search, it is returned, with a warning.
    scoring : {"interval_score", "rmse"}, default="interval_score"
        What is to be small on held-out rows: the interval score of 90 % intervals, or the root mean squared error. With
        several outputs, the mean of their scores in units of their standard deviations.
    sample_weight : array of shape (n_samples,), optional
    random_state : int, RandomState or None, default=None
        Decides on candidates, held-out rows and networks. How far a search gets depends on the clock, so results may differ
        between runs even with the same seed.
    n_jobs : int or None, default=None
        Threads. None uses all cores. Candidates are trained side by side.
    verbose : int, default=1
        1 shows a progress line on standard error: the rung, how many candidates are left, and the best score as a multiple of
        the default's.
    **fixed : any
        Parameters of :class:`ExtraNetsRegressor` that are given and not searched for, such as ``n_estimators=32``.

    Returns
    -------
    ExtraNetsRegressor
        Fitted to all rows. Its attribute ``tuning_`` is a list of dicts, one for each candidate and rung. The last rung comes
        first; within a rung the candidate to choose comes first, then the others from the best on. Keys: ``parameters`` (what
        differs from the default; empty for the default itself), ``rung``, ``splits``, ``score`` (a multiple of the default's
        on the same rows, smaller is better; infinite where training failed), and ``seconds``. The list is empty where no
        search took place. It is not stored in model files.

    Notes
    -----
    Candidates are judged with ``noise="holdout"`` and ``interval="calibrated"``, whatever is fixed. Scores of the winner, and
    ``held_out_scores_`` too, are from rows that had a say in the choice: they flatter a little. Ctrl-C ends a search when
    the networks that are being trained, one in each thread, are done.

    Examples
    --------
    >>> from extranets import tune
    >>> from extranets.data import nonlinear_process
    >>> X_train, y_train, X_test, y_test = nonlinear_process(400, random_state=0).split(300)
    >>> model = tune(X_train, y_train, budget=2, n_estimators=4, random_state=0, verbose=0)
    >>> bool(model.score(X_test, y_test) > 0.5)
    True
    """
    _check(budget, scoring)
    clock = Clock(float(budget))
    seed = draw_seed(random_state)
    model = ExtraNetsRegressor(**fixed, random_state=random_state, n_jobs=n_jobs)
    with progress_line("Tuning: default", verbose) as line:
        model.fit(X, y, sample_weight)
        model.tuning_ = []  # not what fit learns, so not stored
        tuning = Tuning(model, fixed, clock, clock.used, line)
        reason = tuning.obstacle()
        if reason:
            warn_user(f"{reason} The default is returned.")
            return model
        search = tuning.search(X, y, sample_weight, scoring, seed)
        return tuning.finished(search, X, y, sample_weight)


def _check(budget: float, scoring: str) -> None:
    if not isinstance(budget, Real) or not 0 < budget < math.inf:
        raise ValueError(f"budget must be a positive number of seconds; got {budget!r}.")
    if scoring not in get_args(Scoring):
        raise ValueError(f"scoring must be one of {sorted(get_args(Scoring))}; got {scoring!r}.")


@dataclass
class Tuning:
    """One run of `tune`, after the default was fitted in ``fit_seconds``."""

    default: ExtraNetsRegressor
    fixed: dict[str, Any]
    clock: Clock
    fit_seconds: float
    line: ProgressLine | None

    def obstacle(self) -> str | None:
        """Why there can be no search, as a sentence."""
        spent, budget = self.fit_seconds, self.clock.budget
        if spent > budget:
            return f"The default's fit alone took {spent:.1f} s, more than the budget of {budget:g} s."
        if self.clock.left - self._longest_final() < SEARCH_SHARE * budget:
            return f"The default's fit took {spent:.1f} s, so a budget of {budget:g} s has no time for a search."
        if self.default.fit_info_["n_rows"] < FEWEST_ROWS:
            return f"A search needs at least {FEWEST_ROWS} rows."
        return None

    def search(self, X: Any, y: Any, sample_weight: Any, scoring: Scoring, seed: int) -> Search:
        trials = self._trials(X, y, sample_weight, scoring, seed)
        affordable = (
            candidate
            for candidate in candidates(self.default, self.fixed, seed)
            if self._final_seconds(candidate) <= self._longest_final()
        )
        rivals = list(islice(affordable, MOST_RIVALS))
        if not rivals:
            warn_user("No settings are left to search for. The default is returned.")
        search = Search(rivals, trials, lambda candidate: work(candidate, self.default))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of candidates say nothing about the model that is returned
            self._run(search, Rung(0, EFFORTS[0][0], min(FIRST_ROWS, len(trials.y)), 1))
        return search

    def _run(self, search: Search, rung: Rung) -> None:
        """All rungs, as far as time allows, after one with the default alone that tells how long a trial takes."""
        (alone,) = search.trials.run([DEFAULT], rung, [0], Stop())
        assert alone is not None  # nothing stopped it
        seconds = [alone.seconds] + [alone.seconds * work(rival, self.default) for rival in search.rivals]
        for number in range(len(EFFORTS)):
            left = self._search_seconds(seconds)
            share = left / (len(EFFORTS) - number)
            if left <= 0 or not search.rivals:
                break
            rung = self._next_rung(seconds, rung, number, share, len(search.trials.y))
            stop = Stop(time.monotonic() + min(LATE * share, left))
            if not search.run(rung, stop, lambda: self._show(search)):
                break
            n_stay = -(-len(search.rivals) // STAY)
            seconds = [standing.seconds for standing in search.last[: 1 + n_stay]]

    def finished(self, search: Search, X: Any, y: Any, sample_weight: Any) -> ExtraNetsRegressor:
        """The winner, fitted to all rows."""
        n_rows = self.default.fit_info_["n_rows"]
        best = search.best
        model = self.default
        if best is not None and best.candidate != DEFAULT:
            self._show(search, ": final fit")
            model = clone(model).set_params(**parameters(best.candidate, model, n_rows)).fit(X, y, sample_weight)
        model.tuning_ = [
            standing.as_dict(self._differing(standing.candidate, n_rows)) for standing in search.standings()
        ]
        return model

    def _differing(self, candidate: Candidate, n_rows: int) -> dict[str, Any]:
        found = parameters(candidate, self.default, n_rows)
        return {name: found[name] for name in candidate}

    def _trials(self, X: Any, y: Any, sample_weight: Any, scoring: Scoring, seed: int) -> Trials:
        X, y, weight, _ = check_training_table(ExtraNetsRegressor(), X, y, sample_weight)
        scale = Scaling.of(y.reshape(len(y), -1), weight, "y").scale
        return Trials(
            X,
            y,
            weight,
            np.where(scale > 0, scale, 1.0),
            scoring,
            lambda candidate, n_rows: self.fixed | parameters(candidate, self.default, n_rows),
            seed,
            thread_count(self.default.n_jobs),
        )

    # -- time ----------------------------------------------------------------------------------------------------------

    def _final_seconds(self, candidate: Candidate) -> float:
        return self.fit_seconds * work(candidate, self.default)

    def _longest_final(self) -> float:
        """A candidate whose final fit would take longer is not tried."""
        return max(self.fit_seconds, FINAL_SHARE * self.clock.budget)

    def _search_seconds(self, seconds: list[float]) -> float:
        """What is left for the search if any of the rivals may win. ``seconds`` as in :meth:`_next_rung`."""
        return self.clock.left - self.fit_seconds * max(seconds) / seconds[0]

    def _next_rung(self, seconds: list[float], last: Rung, number: int, share: float, all_rows: int) -> Rung:
        """As many rivals, then rows, then splits as there is time for.

        Parameters
        ----------
        seconds : of one fit as in the rung ``last``, for the default and for those that may take part
        share : seconds for this rung
        """
        n_networks, n_splits = EFFORTS[number]
        n_splits = max(n_splits, min(SMALL_SPLITS, -(-FIRST_ROWS // all_rows)))
        room = share * thread_count(self.default.n_jobs) * last.n_networks / n_networks / n_splits
        total = np.cumsum(seconds)[1:]  # of the default and one rival, two rivals, ...
        n_rivals = max(1, int(np.searchsorted(total, room, side="right")))
        spare = max(1.0, room / total[n_rivals - 1])
        n_rows = last.n_rows if number == 0 else min(all_rows, int(last.n_rows * spare))
        n_splits = max(n_splits, min(MOST_SPLITS, int(n_splits * spare * last.n_rows / n_rows)))
        return Rung(n_rivals, n_networks, n_rows, n_splits)

    def _show(self, search: Search, stage: str | None = None) -> None:
        if self.line is None:
            return
        score = min((standing.score for standing in search.last), default=1.0)
        stage = stage or f" {search.n_rungs + 1}/{len(EFFORTS)}: {len(search.rivals)} left"
        self.line.title = f"Tuning{stage}, {score:.3f}"  # short: a terminal may have 80 columns
        self.line(min(self.clock.used / self.clock.budget, 1.0))
