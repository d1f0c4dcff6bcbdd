"""Short trials on halves of the rows: which encoding suits a table, and how much its errors fall with more rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array
from extranets._random import Purpose, generator
from extranets.estimators.automatic import Effort
from extranets.held_out import Plan, Sample
from extranets.parting import fold_of_row
from extranets.uncertainty.components import HeldOut
from extranets.uncertainty.noise import held_out_variance

FEWEST_ROWS = 40  # fewer rows are too few to be tried in halves
MOST_ROWS = 5000
FEWEST_ERRORS = 100  # on held-out rows: fewer would lower themselves by chance
MEMBERS = 4  # networks that leave each half out
# Towards the floor that noise is, errors fall more slowly than between two points before it, the more so as networks overfit the half
# of the rows that the first point has. So the exponent is damped; but not what is above 1, for errors that fall so fast hold little
# noise. Chosen for coverage on simulated tables.
DAMPING = 0.5  # of the exponent up to 1
STEEPEST = 3.0  # exponent of the rows that squared errors may fall with; 1 is what independent errors do

# Held-out errors of networks with an encoding and an effort, trained on a sample as a plan says.
Try = Callable[[str | None, Effort, Sample, Plan], HeldOut]


@dataclass(frozen=True)
class Trial:
    """What came out. Shape: error ``(n_outputs,)``, the mean squared error of networks that saw ``n_rows`` rows."""

    encoding: str | None
    effort: Effort
    n_rows: int
    error: Array

    def shrinkage(self, error: Array, n_seen: int, n_rows: int) -> Array:
        """Ratio of squared errors between networks that see all ``n_rows`` rows and those that saw ``n_seen`` of them.

        Errors fall as a power of the rows. Its exponent comes from two points, the trial's error and ``error``, that of networks
        that saw ``n_seen`` rows, and is damped up to 1; it is never negative.

        Shape: ``(n_outputs,)`` -> ``(n_outputs,)``.
        """
        if n_seen <= self.n_rows:
            return np.ones_like(error)
        known = (error > 0) & (self.error > 0)  # a constant output has no errors
        ratio = np.divide(self.error, error, out=np.ones_like(error), where=known)
        exponent = np.log(ratio) / np.log(n_seen / self.n_rows)
        return (n_seen / n_rows) ** np.clip(exponent - (1 - DAMPING) * np.minimum(exponent, 1), 0.0, STEEPEST)


@dataclass(frozen=True)
class Trials:
    """Encodings that are tried, the effort that is asked for, and the size of the ensemble whose errors are predicted."""

    encodings: Sequence[str | None]
    effort: Effort
    n_members: float

    def best(self, sample: Sample, plan: Plan | None, seed: int, attempt: Try) -> Trial | None:
        """The trial with the smallest error; None where trials have nothing to say."""
        if plan is not None and plan.keeps_rows_from_final:
            sample = sample.part(plan.fold_of_row < 0)  # held-out rows have no say
        has_curve = plan is not None and not plan.keeps_rows_from_final
        if len(sample.y) < FEWEST_ROWS or not (has_curve or len(self.encodings) > 1):
            return None
        some, by_half = halves(sample, seed)
        # Long training overfits the few rows of a trial, and would say more about that than about encodings.
        quick: Effort = "low" if self.effort == "low" else "medium"
        done = [self._run(encoding, quick, some, by_half, attempt) for encoding in self.encodings]
        best = min((each for each in done if each is not None), key=lambda each: each[0], default=None)
        if best is not None and self.effort == "high":
            own = self._run(best[1].encoding, "high", some, by_half, attempt)
            # Where noise rules, long training overfits all rows too. A part of them cannot tell.
            if own is not None and (own[0] <= best[0] or len(some.y) < len(sample.y)):
                best = own
        return None if best is None else best[1]  # None: all diverge, and so will the fit

    def _run(
        self, encoding: str | None, effort: Effort, some: Sample, by_half: Plan, attempt: Try
    ) -> tuple[float, Trial] | None:
        """The error that decides, and what is kept of the trial; None if its networks diverge."""
        try:
            held = attempt(encoding, effort, some, by_half)
        except engine.TrainingDiverged:
            return None
        trial = Trial(encoding, effort, len(some.y) // 2, held_out_variance(held, self.n_members))
        # The choice must not depend on n_estimators, which a warm start may raise.
        return float(held_out_variance(held, MEMBERS).sum()), trial


def halves(sample: Sample, seed: int) -> tuple[Sample, Plan]:
    """Some of the rows, and a plan in which networks leave one half of them out; of time, the later half."""
    rows: npt.NDArray[np.intp] = generator(seed, Purpose.ROWS, part=2).permutation(len(sample.y))[:MOST_ROWS]
    some = sample.part(rows)
    if some.parting is None:
        return some, Plan(np.arange(len(rows)) % 2, 2, MEMBERS)
    looks_back = some.parting.looks_back
    folds = fold_of_row(len(rows), 1 if looks_back else 2, seed, some.parting)
    return some, Plan(folds, int(folds.max()) + 1, MEMBERS, looks_back=looks_back)


def as_if_trained_on_all(held: HeldOut, trial: Trial | None, plan: Plan, n_members: float) -> HeldOut:
    """Held-out errors, and the members' spread, as they would be for networks that see all rows of the plan.

    They stay as they are where a trial says nothing about that, or where the final networks leave rows out as well.
    """
    few = len(held.weight) < FEWEST_ERRORS
    if (
        trial is None or plan.keeps_rows_from_final or plan.looks_back or few
    ):  # what changes with time is no lack of rows
        return held
    shrinkage = trial.shrinkage(held_out_variance(held, n_members), plan.n_seen, plan.n_rows)
    return held._replace(residual=held.residual * np.sqrt(shrinkage), spread=held.spread * shrinkage)
