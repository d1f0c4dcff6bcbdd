"""Who stays: successive halving, in which the default never leaves and everyone is compared with it on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from extranets.tuning.candidates import DEFAULT, Candidate
from extranets.tuning.trials import Outcome, Rung, Stop, Trials

FEWEST_RUNGS = 2  # a rival may be taken after so many


@dataclass(frozen=True)
class Standing:
    """A candidate after a rung. ``score`` is a multiple of the default's, averaged over the splits: 0.9 is a tenth better."""

    candidate: Candidate
    rung: int
    n_splits: int
    score: float
    seconds: float  # of one fit, on average

    def as_dict(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {
            "parameters": parameters,
            "rung": self.rung,
            "splits": self.n_splits,
            "score": self.score,
            "seconds": self.seconds * self.n_splits,
        }


class Search:
    """The default and its rivals, rung after rung.

    Parameters
    ----------
    rivals : candidates besides the default
    work : what training a candidate takes, so that long trials begin first
    """

    def __init__(self, rivals: list[Candidate], trials: Trials, work: Callable[[Candidate], float]) -> None:
        self.rivals = rivals  # that are left, the best first
        self.trials = trials
        self.work = work
        self.last: list[Standing] = []  # after the last rung: the default first, then as in `rivals`
        self.all: list[Standing] = []
        self.n_rungs = 0
        self.n_splits = 0  # every rung has rows of its own, so that luck in one does not help in the next

    def run(self, rung: Rung, stop: Stop | None = None, tick: Callable[[], object] = lambda: None) -> bool:
        """Judge the default and the best rivals, and keep those that were judged in time.

        Returns whether the default and at least one rival were; if not, all is as before.
        """
        rivals = sorted(self.rivals[: rung.n_rivals], key=self.work, reverse=True)
        splits = range(self.n_splits, self.n_splits + rung.n_splits)
        default, *others = self.trials.run([DEFAULT, *rivals], rung, splits, stop or Stop(), tick)
        judged = [(rival, outcome) for rival, outcome in zip(rivals, others, strict=True) if outcome is not None]
        if default is None or not judged:
            return False
        self.n_splits += rung.n_splits
        self._rank(default, judged)
        return True

    def _rank(self, default: Outcome, judged: list[tuple[Candidate, Outcome]]) -> None:
        self.n_rungs += 1
        ranked = sorted(
            (self._standing(rival, outcome, default) for rival, outcome in judged), key=lambda standing: standing.score
        )
        self.last = [self._standing(DEFAULT, default, default), *ranked]
        self.all += self.last
        self.rivals = [standing.candidate for standing in ranked if math.isfinite(standing.score)]

    def _standing(self, candidate: Candidate, own: Outcome, default: Outcome) -> Standing:
        relative = [_relative(*scores) for scores in zip(own.scores, default.scores, strict=True)]
        n_splits = len(relative)
        return Standing(candidate, self.n_rungs, n_splits, float(np.mean(relative)), own.seconds / n_splits)

    @property
    def best(self) -> Standing | None:
        """The best of the last rung, the default if no rival is better; None before the first rung.

        After one rung it is still the default: the best of many owes part of its score to luck, so it has to be good once more
        on other rows.
        """
        if self.n_rungs < FEWEST_RUNGS:
            return self.last[0] if self.last else None
        return min(self.last, key=lambda standing: standing.score)  # the first of equals: the default

    def standings(self) -> list[Standing]:
        """All of them, the last rung first; in it the one to take, then the best."""
        best = self.best
        return sorted(self.all, key=lambda standing: (-standing.rung, standing is not best, standing.score))


def _relative(own: float, default: float) -> float:
    """Own score over the default's; 1 if both are infinite, as where training failed, or both zero."""
    if own == default:
        return 1.0
    return own / default if default > 0 else math.inf
