"""Which kinds a table deserves, and with which weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array
from extranets._random import Purpose, generator
from extranets.engine import Machine
from extranets.held_out import Plan, Sample
from extranets.parting import fold_of_row
from extranets.stacking.averaging import as_if_averaged
from extranets.stacking.growing import Growing, Part, Watch
from extranets.stacking.kinds import LADDERS, QUICK, SCALED, Kind
from extranets.stacking.relevance import of_all_folds
from extranets.uncertainty.components import HeldOut
from extranets.uncertainty.stacking import effective_members, error_products, stacked_error, stacking_weights

Effort = Literal["low", "medium", "high"]

FOLDS = (5, 10)  # fewest, and most of "auto": small tables can afford more, and lose more by each row that is left out
TEN_FOLDS = 2000  # rows up to which there are so many
TRIAL_SHARE, TRIAL_ROWS = 0.2, 400  # of the rows, and fewest rows, on which a rung of a ladder is tried first
# By which share a kind must lower the stack's squared error, if it takes as long as all kinds before it together; in proportion
# more if it takes longer, and less if it takes less. None: only the quick kinds are trained.
WORTH: dict[Effort, float | None] = {"low": None, "medium": 0.02, "high": 0.003}
SHORT = 0.05  # seconds for one network of every kind so far: up to there, small tables count as having taken so long
FALLING = 0.7  # of the gain of a ladder's last rung, what is expected of the next one
CHANCE = 2.0  # a weight more that is fitted to n rows lowers their squared error by 1 / n or so, by chance
FEWEST_ROWS = 30  # errors on fewer rows do not tell what a rung is worth
LEAST_WEIGHT = 0.02  # of what is kept
MANY_ROWS = 12_000  # beyond, kinds are chosen on some rows
SEARCH_ROWS = 10_000
ENOUGH_HELD = 20_000  # rows that are left out by some fold
MOST_KINDS, LEAST_SHARE = 3, 0.05  # of the kinds chosen on some rows, those that are trained on all


@dataclass(frozen=True)
class Found:
    """A stack. Shapes: ``rows (n_held,)``, the numbers of the rows that ``held`` is about."""

    parts: list[Part]
    weights: Array
    held: HeldOut
    rows: npt.NDArray[np.intp]
    n_folds: int
    tried: list[dict[str, Any]]


def n_folds_for(n_rows: int) -> int:
    """What ``n_folds="auto"`` stands for."""
    return int(min(n_rows, np.clip(round(FOLDS[1] * (TEN_FOLDS / n_rows) ** 0.5), *FOLDS)))


def grow(
    sample: Sample,
    *,
    n_folds: int | None,
    members_per_fold: int,
    keep_prob: float,
    effort: Effort,
    seed: int,
    machine: Machine,
    watch: Watch,
) -> Found:
    """A stack for a standardised sample; everything that ``None`` or an effort leaves open is decided by errors on folds."""
    n_rows = sample.n_rows

    def growing(of: Sample, n_members: int, after: float = 0.0) -> Growing:
        plan = plan_folds(of, n_folds or n_folds_for(len(of.y)), n_members, seed)
        return Growing(of, plan, keep_prob, seed, machine, watch, after)

    judged = Search(growing(sample, members_per_fold), effort)
    if judged.plan.looks_back:
        judged.growing.after = judged.most_work()
    if n_rows <= MANY_ROWS:
        judged.run()
        found = judged.found()
    else:
        some = generator(seed, Purpose.ROWS, part=3).permutation(len(sample.y))[:SEARCH_ROWS]
        search = Search(growing(sample.part(np.sort(some)), 1, judged.most_work() + judged.growing.after), effort)
        search.run()
        judged.growing.factors = of_all_folds(search.growing.factors)
        judged.train_chosen(search.most_useful())
        found = judged.found(search.tried())
    if not judged.plan.looks_back:
        return found
    # Networks that look back do not know the latest rows, so others predict. Their kinds, weights and errors are those found.
    final = Search(growing(replace(sample, parting=None), members_per_fold), effort)
    final.growing.factors = of_all_folds(judged.growing.factors)
    return final.trained_like(found)


def plan_folds(sample: Sample, n_folds: int, members_per_fold: int, seed: int) -> Plan:
    """The folds of a stack. Of many rows, some from every fold are left out; but of groups and times, all."""
    n_rows, parting = len(sample.y), sample.parting
    folds = fold_of_row(n_rows, n_folds, seed, parting)
    n_found = int(folds.max()) + 1
    if parting is None:
        order = generator(seed, Purpose.ROWS).permutation(n_rows)
        held = np.where(order < ENOUGH_HELD, folds, -1)
        return Plan(held, n_found, members_per_fold, n_beside=sample.n_beside)
    return Plan(folds, n_found, members_per_fold, looks_back=parting.looks_back)


class Search:
    """Parts so far, on one plan of folds."""

    def __init__(self, growing: Growing, effort: Effort) -> None:
        self.growing, self.effort = growing, effort
        self.plan, self.sample = growing.plan, growing.sample
        self.parts: list[Part] = []  # that left out every fold
        self.rejected: list[Part] = []  # that were tried on the trial's folds alone
        n_held = np.count_nonzero(self.plan.fold_of_row >= 0)
        n_trial = math.ceil(self.plan.n_folds * min(1.0, max(TRIAL_SHARE, TRIAL_ROWS / n_held)) - 0.5)
        self.trial, self.rest = range(n_trial), range(n_trial, self.plan.n_folds)
        self.trial_rows = np.flatnonzero((self.plan.fold_of_row >= 0) & (self.plan.fold_of_row < n_trial))

    def run(self) -> None:
        """The quick kinds, and then rung after rung of every ladder that is worth it."""
        linear = self.growing.linear()
        quick, scaled = ([(kind, range(self.plan.n_folds)) for kind in kinds] for kinds in (QUICK, SCALED))
        self._add([linear, *self._train(quick, [*scaled, *self._higher(LADDERS, 0)])])
        self.growing.learn_factors(self.parts)
        self._add(self._train(scaled, self._higher(LADDERS, 0)))
        ladders = dict.fromkeys(LADDERS, 1.0)  # and by which share the last rung of each lowered the error
        climbed: list[Part] = []
        for level in range(max(map(len, LADDERS))):
            ladders = {
                ladder: gain
                for ladder, gain in ladders.items()
                if level < len(ladder) and FALLING * gain > self._least_gain(ladder[level], climbed)
            }
            rungs = [ladder[level] for ladder in ladders]
            # What was worth it is trained on the other folds in the same call that tries the next rungs.
            wanted = [(kind, self.trial) for kind in rungs] + [(part.kind, self.rest) for part in climbed]
            later = [*((kind, self.rest) for kind in rungs), *self._higher(ladders, level + 1)]
            tried = self._train(wanted, later)
            self._complete(climbed, tried[len(rungs) :])
            tried = tried[: len(rungs)]
            gains = [0.0 if part is None else self._gain(part) for part in tried]
            worth = [gain > self._least_gain(kind) for gain, kind in zip(gains, rungs, strict=True)]
            climbed = [part for part, good in zip(tried, worth, strict=True) if good and part is not None]
            self.rejected += [part for part, good in zip(tried, worth, strict=True) if not good and part is not None]
            ladders = {ladder: gain for ladder, gain, good in zip(ladders, gains, worth, strict=True) if good}
        self._complete(climbed, self._train([(part.kind, self.rest) for part in climbed]))

    def train_chosen(self, kinds: Sequence[Kind | None]) -> None:
        """These kinds on all folds."""
        linear = [self.growing.linear()] if None in kinds else []
        networks = [(kind, range(self.plan.n_folds)) for kind in kinds if kind is not None]
        self._add([*linear, *self._train(networks)])

    def trained_like(self, found: Found) -> Found:
        """Other networks of the same kinds, with the weights and errors that these had."""
        self.train_chosen([part.kind for part in found.parts])
        ours = {part.kind: part for part in self.parts}
        known = [part.kind in ours for part in found.parts]  # all, but for kinds that diverge
        parts = [ours[part.kind] for part, good in zip(found.parts, known, strict=True) if good]
        return replace(found, parts=parts, weights=found.weights[known] / found.weights[known].sum())

    def most_useful(self) -> list[Kind | None]:
        """The few kinds with the largest weights, and the linear one, which costs next to nothing."""
        weights = self._weights(self.parts)
        order = np.argsort(-weights, kind="stable")
        networks = [self.parts[i].kind for i in order if self.parts[i].kind is not None and weights[i] >= LEAST_SHARE]
        return [None, *networks[:MOST_KINDS]]

    def _higher(self, ladders: Iterable[Sequence[Kind]], level: int) -> list[tuple[Kind, Sequence[int]]]:
        """All that may be trained from a level on."""
        if WORTH[self.effort] is None:
            return []
        return [(kind, range(self.plan.n_folds)) for ladder in ladders for kind in ladder[level:]]

    def most_work(self) -> float:
        """Of the few kinds that take longest."""
        folds = range(self.plan.n_folds)
        kinds = [*((kind, folds) for kind in QUICK), *self._higher(LADDERS, 0)]
        return sum(sorted(self.growing.work([each]) for each in kinds)[-MOST_KINDS:])

    def _train(
        self,
        wanted: Sequence[tuple[Kind | None, Sequence[int]]],
        later: Sequence[tuple[Kind, Sequence[int]]] = (),
    ) -> list[Part | None]:
        networks = [(kind, folds) for kind, folds in wanted if kind is not None and len(folds)]
        return self.growing.train(networks, "Training {n} networks", later)

    def _add(self, parts: Sequence[Part | None]) -> None:
        self.parts += [part for part in parts if part is not None]
        if not self.parts:
            raise engine.TrainingDiverged(
                "The loss of every kind of network was not finite. Look for extreme values among the columns."
            )

    def _complete(self, begun: Sequence[Part], others: Sequence[Part | None]) -> None:
        """Parts of the trial's folds and of the others together."""
        if not len(self.rest):  # the trial was on all folds
            self._add(begun)
            return
        self._add([None if other is None else part + other for part, other in zip(begun, others, strict=True)])

    def _least_gain(self, kind: Kind, begun: Sequence[Part] = ()) -> float:
        """By which share a kind must lower the stack's squared error to be worth its time."""
        worth = WORTH[self.effort]
        if worth is None or len(self.trial_rows) < FEWEST_ROWS:
            return math.inf
        spent = max(SHORT, sum(self.growing.seconds(part.kind) for part in (*self.parts, *begun) if part.kind))
        return max(worth * self.growing.seconds(kind) / spent, CHANCE / len(self.trial_rows))

    def _gain(self, part: Part) -> float:
        """Share of the stack's squared error on the trial's rows that one more part takes away."""
        before, after = (self._error(parts, self.trial_rows) for parts in (self.parts, [*self.parts, part]))
        return 1 - after / before if before > 0 else 0.0

    def _error(self, parts: Sequence[Part], rows: npt.NDArray[np.intp]) -> float:
        residuals = np.stack([part.residual[rows] for part in parts])
        weight = self.sample.weight[rows]
        return stacked_error(error_products(residuals, weight), stacking_weights(residuals, weight))

    def _weights(self, parts: Sequence[Part]) -> Array:
        rows = self.plan.held_rows()
        return stacking_weights(np.stack([part.residual[rows] for part in parts]), self.sample.weight[rows])

    def found(self, tried: list[dict[str, Any]] | None = None) -> Found:
        """The stack of the parts that deserve a weight."""
        chosen, rows = self.parts, self.plan.held_rows()
        weights = self._weights(chosen)
        while weights.min() < LEAST_WEIGHT:  # what is left out changes the other weights
            chosen = [part for part, weight in zip(chosen, weights, strict=True) if weight >= LEAST_WEIGHT]
            weights = self._weights(chosen)
        residuals = np.stack([part.residual[rows] for part in chosen])
        own = np.stack([part.spread[rows] for part in chosen])
        residual = np.tensordot(weights, residuals, axes=1)
        spread = np.tensordot(weights, own + (residuals - residual) ** 2, axes=1)
        counts = [len(part.networks.ensemble) / self.plan.n_folds for part in chosen]
        held = HeldOut(
            residual, spread, np.ones_like(spread), self.sample.weight[rows], effective_members(weights, counts)
        )
        held = as_if_averaged(held, chosen, weights, self.sample, self.plan, self.growing.machine)
        known = {id(part): float(weight) for part, weight in zip(chosen, weights, strict=True)}
        report = self.tried(known) if tried is None else self.tried(known) + [each | {"weight": 0.0} for each in tried]
        return Found(chosen, weights, held, rows, self.plan.n_folds, report)

    def tried(self, weights: dict[int, float] | None = None) -> list[dict[str, Any]]:
        """What was trained: settings, the weight in the stack, and the error on rows that were left out."""
        n_seen, n_numeric = self.growing.n_seen, self.growing.n_numeric
        linear = {"hidden_layer_sizes": ()}
        return [
            {
                **(linear if part.kind is None else part.kind.settings(n_seen, n_numeric)),
                "weight": (weights or {}).get(id(part), 0.0),
                "r2": self._r2(part),
            }
            for part in [*self.parts, *self.rejected]
        ]

    def _r2(self, part: Part) -> float:
        """Share of the outputs' variance that is explained on rows that were left out, of the variance on the same rows."""
        rows = np.flatnonzero(~np.isnan(part.residual[:, 0]))
        y, weight = self.sample.y[rows], self.sample.weight[rows]
        squares = np.average(part.residual[rows] ** 2, axis=0, weights=weight)
        variance = np.average((y - np.average(y, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
        differs = np.ptp(y, axis=0) > 0  # a constant output has nothing to explain
        return float(1 - (squares[differs] / variance[differs]).mean()) if differs.any() else 0.0
