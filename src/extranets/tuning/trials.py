"""How candidates are judged: by networks that leave rows out, on those rows, many fits at a time."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from extranets import engine
from extranets._random import Purpose, generator
from extranets.estimators import ExtraNetsRegressor
from extranets.estimators.settings import Settings
from extranets.estimators.training import Trainer
from extranets.held_out import Plan, Sample
from extranets.predictor.sources import Recipe
from extranets.tuning.candidates import Candidate

Scoring = Literal["interval_score", "rmse"]

TICK = 0.1  # seconds between two looks at progress


class Stopped(Exception):
    """There is no time left for this trial."""


@dataclass
class Stop:
    """When trials end before they are done: at a time (of ``time.monotonic``), or when asked to."""

    deadline: float = math.inf
    asked: Event = field(default_factory=Event)

    def check(self) -> None:
        if self.asked.is_set() or time.monotonic() > self.deadline:
            raise Stopped


@dataclass(frozen=True)
class StoppableTrainer(Trainer):
    """Trains one network after the other, so that a trial can be stopped between two of them.

    Ctrl-C is heard by the main thread alone, and the engine cannot be asked to stop from outside.
    """

    stop: Stop = field(default_factory=Stop)

    def train(self, recipe: Recipe, sample: Sample, plan: Plan | None, ids: npt.NDArray[np.uint32]) -> engine.Trained:
        parts = []
        for member in range(len(ids)):
            self.stop.check()
            parts.append(super().train(recipe, sample, plan, ids[member : member + 1]))
        self.stop.check()
        return engine.joined(parts)


@dataclass(eq=False, repr=False)
class TrialRegressor(ExtraNetsRegressor):
    """Whose networks can be stopped."""

    stop: Stop = field(default_factory=Stop, init=False)

    def _trainer(self, settings: Settings, seed: int, purpose: str = "") -> Trainer:
        return StoppableTrainer(settings, seed, self._machine(), self._watch, purpose, self.stop)


@functools.cache
def _thread_pools() -> Any:
    """Looked for only once: the system lists its libraries through a callback, and Ctrl-C would get lost in it."""
    return ThreadpoolController()


@dataclass(frozen=True)
class Rung:
    """How thoroughly candidates are judged, and how many of them: the default and ``n_rivals``."""

    n_rivals: int
    n_networks: int
    n_rows: int
    n_splits: int


@dataclass(frozen=True)
class Outcome:
    """One candidate's scores, one for each split: smaller is better; infinite where training failed."""

    scores: list[float]
    seconds: float  # of all its fits together


@dataclass(frozen=True)
class Trials:
    """Checked rows of a table, and how candidates are fitted to some of them.

    Shapes: X ``(n, k)``, dense or CSR; y ``(n,)`` or ``(n, n_outputs)``; weight ``(n,)``; scale ``(n_outputs,)``.
    """

    X: Any
    y: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]  # what the score of each output is divided by
    scoring: Scoring
    settings: Callable[[Candidate, int], dict[str, Any]]  # parameters of a candidate for so many rows
    seed: int
    n_threads: int

    def run(
        self,
        candidates: Sequence[Candidate],
        rung: Rung,
        splits: Sequence[int],
        stop: Stop,
        tick: Callable[[], object] = lambda: None,
    ) -> list[Outcome | None]:
        """Judge every candidate on the same rows; None for one that was not judged on all splits in time.

        Parameters
        ----------
        candidates : those that take longest should come first, after those that must not be left out
        splits : their numbers; each stands for other rows
        tick : called on this thread every now and then
        """
        tasks = [(candidate, split) for candidate in candidates for split in splits]
        # The cores are taken: linear algebra must not add threads of its own.
        with _thread_pools().limit(limits=1, user_api="blas"):
            found = self._run(tasks, rung, stop, tick)
        n = len(splits)
        return [_outcome(found[n * which : n * (which + 1)]) for which in range(len(candidates))]

    def _run(
        self, tasks: list[tuple[Candidate, int]], rung: Rung, stop: Stop, tick: Callable[[], object]
    ) -> list[tuple[float, float] | None]:
        pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="extranets-tune")
        try:
            futures = [pool.submit(self._judge, candidate, rung, split, stop) for candidate, split in tasks]
            pending = set(futures)
            while pending:
                done, pending = wait(pending, timeout=TICK)
                for future in done:
                    future.result()  # an error in our own code ends the search at once
                tick()
        finally:
            stop.asked.set()
            pool.shutdown(cancel_futures=True)
        return [future.result() for future in futures]

    def _judge(self, candidate: Candidate, rung: Rung, split: int, stop: Stop) -> tuple[float, float] | None:
        """Score and seconds; None if it was stopped."""
        begin = time.monotonic()
        try:
            score = self._score(candidate, rung, split, stop)
        except Stopped:
            return None
        except engine.TrainingDiverged:
            score = math.inf
        return score, time.monotonic() - begin

    def _score(self, candidate: Candidate, rung: Rung, split: int, stop: Stop) -> float:
        stop.check()
        random = generator(self.seed, Purpose.RESAMPLE, part=1 + split)
        rows = np.sort(random.permutation(len(self.y))[: rung.n_rows])
        trial = TrialRegressor(**self.settings(candidate, len(rows)))
        # One seed for all candidates: they hold out the same rows.
        trial.set_params(n_estimators=rung.n_networks, n_jobs=1, random_state=int(random.integers(2**31)), device="cpu")
        trial.set_params(noise="holdout", interval="calibrated", noise_model=self._noise_model(trial))
        trial.stop = stop
        trial.fit(self.X[rows], self.y[rows], self.weight[rows])
        assert trial.held_out_scores_ is not None  # noise="holdout" makes them
        scores = np.atleast_1d(trial.held_out_scores_[self.scoring])
        return float(np.mean(scores / self.scale))

    def _noise_model(self, trial: ExtraNetsRegressor) -> str:
        """An RMSE needs no networks for the noise; and "auto" does without them where a trial holds out too few rows."""
        return "constant" if self.scoring == "rmse" or trial.noise_model == "constant" else "auto"


def _outcome(found: list[tuple[float, float] | None]) -> Outcome | None:
    finished = [each for each in found if each is not None]
    if len(finished) < len(found):
        return None
    scores, seconds = zip(*finished, strict=True)
    return Outcome(list(scores), sum(seconds))
