"""Candidates one after the other: each is fitted to all rows, judged by errors on the rows that its networks left out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from extranets._arrays import Array
from extranets._progress import heard_by
from extranets.engine import TrainingDiverged
from extranets.estimators import StackedNetsRegressor
from extranets.tuning.candidates import DEFAULT, Candidate

Scoring = Literal["rmse", "interval_score"]


class Stopped(Exception):
    """There is no time left for this candidate."""


@dataclass(frozen=True)
class Trial:
    """A candidate that was fitted. ``score`` is a multiple of the default's; infinite where training failed."""

    candidate: Candidate
    score: float
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        return {"parameters": self.candidate, "score": self.score, "seconds": self.seconds}


@dataclass
class Search:
    """The best so far, and all that were tried.

    Parameters
    ----------
    default : fitted in ``seconds``
    fit : fits an estimator to the table of this search
    """

    default: StackedNetsRegressor
    seconds: float
    scoring: Scoring
    fit: Callable[[StackedNetsRegressor], StackedNetsRegressor]
    trials: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.best = self.default
        self.trials.append(Trial(DEFAULT, 1.0, self.seconds))

    @property
    def leader(self) -> Trial:
        """What ``best`` is; of equals the first, so that the default is not left for nothing."""
        return min(self.trials, key=lambda trial: trial.score)

    def parameters(self, candidate: Candidate) -> dict[str, Any]:
        """All parameters of the estimator."""
        return {**self.default.get_params(deep=False), **candidate}

    def run(self, candidate: Candidate, tick: Callable[[], object] = lambda: None) -> Trial | None:
        """Fit and judge; None where ``tick``, which is called all the time, has stopped it by :class:`Stopped`."""
        begin = time.monotonic()
        model = clone(self.default).set_params(**candidate)
        try:
            with heard_by(lambda title, done: tick()):
                score = self._relative(self.fit(model))
        except Stopped:
            return None
        except TrainingDiverged:
            score = math.inf
        trial = Trial(candidate, score, time.monotonic() - begin)
        if score < self.leader.score:
            self.best = model
        self.trials.append(trial)
        return trial

    def _scores(self, model: StackedNetsRegressor) -> Array:
        """Shape: ``(n_outputs,)``."""
        assert model.held_out_scores_ is not None  # a stack always has them
        return np.atleast_1d(model.held_out_scores_[self.scoring])

    def _relative(self, model: StackedNetsRegressor) -> float:
        """Mean over the outputs of their scores as multiples of the default's; outputs without errors count as equal."""
        own, default = self._scores(model), self._scores(self.default)
        usable = default > 0
        return float(np.mean(np.where(usable, own / np.where(usable, default, 1.0), 1.0)))
