"""Kinds of networks trained on folds of the rows, many in one call of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import chain
from operator import add
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array, Float32
from extranets._blas import one_blas_thread
from extranets.encodings import numeric_columns
from extranets.engine import Machine, Trained, Training, TrainingData, WindowedData
from extranets.held_out import Plan, Sample, errors_on
from extranets.networks import Architecture, Ensemble, Members, draw_members
from extranets.predictor.sources import FoldNetworks
from extranets.predictor.sources.folds import drawn_in
from extranets.stacking.kinds import KINDS, Kind
from extranets.stacking.linear import fit_ridge
from extranets.stacking.relevance import factors_from, reading_as_it_is, reading_scaled, relevance

LIMIT = 3.0  # standard deviations: how far the inputs of networks are drawn in
KIND_BITS = 12  # a member's id holds its kind from this bit on: every kind has random streams of its own

Wanted = Sequence[tuple[Kind, Sequence[int]]]  # kinds, and the folds that their networks leave out


class Watch(Protocol):
    """Shows the progress of what a title names, while a block runs; gives None where nothing is to be shown."""

    def __call__(
        self, title: str, ahead: float | None = None, minor: bool = False
    ) -> AbstractContextManager[Callable[[float], object] | None]: ...


@dataclass(frozen=True)
class Part:
    """Models of one kind, and what they predict on the rows that they left out.

    ``kind`` is None for ridge regressions. Shapes: ``residual``, ``spread`` ``(n_rows, n_outputs)``, NaN on rows that none of
    them left out.
    """

    kind: Kind | None
    networks: FoldNetworks
    residual: Array
    spread: Array

    def __add__(self, other: Part) -> Part:
        """Models of other folds beside these."""
        known = ~np.isnan(self.residual)
        return Part(
            self.kind,
            replace(self.networks, ensemble=self.networks.ensemble + other.networks.ensemble),
            np.where(known, self.residual, other.residual),
            np.where(known, self.spread, other.spread),
        )


@dataclass
class Growing:
    """Trains kinds on one plan of folds.

    Attributes
    ----------
    after : float
        The most :meth:`work` that may follow on other rows.
    """

    sample: Sample
    plan: Plan
    keep_prob: float
    seed: int
    machine: Machine
    watch: Watch
    after: float = 0.0
    factors: Array = field(default_factory=lambda: np.ones((1, 1)))
    _data: dict[tuple[int, ...], TrainingData | WindowedData] = field(default_factory=dict)
    _architectures: dict[Kind, Architecture] = field(default_factory=dict)
    _seconds: dict[Kind, float] = field(default_factory=dict)

    @cached_property
    def _inputs(self) -> Float32:
        """The columns as networks get them; ridge regressions get them as they are."""
        return drawn_in(self.sample.X, LIMIT)

    @cached_property
    def n_numeric(self) -> int:
        """Columns that bins can be made of."""
        return len(numeric_columns(self._inputs))

    @cached_property
    def n_seen(self) -> int:
        """Rows that a network of a fold is trained on."""
        return self.plan.n_seen

    def linear(self) -> Part | None:
        """Ridge regressions of all folds; None where there are too many rows and columns."""
        with self.watch("Fitting ridge regressions", minor=True):
            ensemble = fit_ridge(self.sample, self.plan)
        return None if ensemble is None else self._part(None, FoldNetworks(ensemble))

    def train(self, wanted: Wanted, title: str, later: Wanted = ()) -> list[Part | None]:
        """Networks of each kind for some folds, in the order asked for; None for a kind whose loss was not finite.

        Parameters
        ----------
        later : what may be trained afterwards, for a guess at the time that is left
        """
        if not wanted:
            return []
        trainings = [self._trainings(kind, folds) for kind, folds in wanted]
        n_networks = sum(len(training.members) for each in trainings for training in each)
        ahead = (self.work(later) + self.after) / self.work(wanted)
        with self.watch(title.format(n=n_networks), ahead) as progress:
            found = iter(engine.train_all(list(chain(*trainings)), **self.machine, progress=progress))
        return [
            self._trained(kind, [next(found) for _ in each]) for (kind, _), each in zip(wanted, trainings, strict=True)
        ]

    def learn_factors(self, parts: Iterable[Part]) -> None:
        """From kinds that read columns as they are, without bins, on all folds."""
        plain = [part.networks.ensemble for part in parts if part.kind is not None and not part.kind.n_bins]
        if plain:
            folds = range(self.plan.n_folds)
            with one_blas_thread():
                relevances = [[relevance(self._of(each, fold), self._inputs) for each in plain] for fold in folds]
            self.factors = np.stack([factors_from(np.stack(each)) for each in relevances])

    def seconds(self, kind: Kind) -> float:
        """About how long one core takes to train one network of a kind."""
        if kind not in self._seconds:
            self._seconds[kind] = kind.seconds(self._architecture(kind), self.n_seen)
        return self._seconds[kind]

    def _architecture(self, kind: Kind) -> Architecture:
        if kind not in self._architectures:
            self._architectures[kind] = kind.architecture(
                self._inputs, self.sample.y.shape[1], self.n_seen, self.n_numeric
            )
        return self._architectures[kind]

    def work(self, wanted: Wanted) -> float:
        """Seconds of one core for training this, roughly."""
        return sum(len(folds) * self.plan.members_per_fold * self.seconds(kind) for kind, folds in wanted)

    def _trainings(self, kind: Kind, folds: Sequence[int]) -> list[Training]:
        """One for all folds, or one for each where each has its own inputs."""
        ids = self.plan.extra_ids() + np.uint32(KINDS.index(kind) << KIND_BITS)
        ids = ids[np.isin(self.plan.fold_of_member(ids), folds)]
        members = draw_members(self._architecture(kind), self.keep_prob, self.seed, ids)
        if not kind.scaled or len(self.factors) == 1:
            return [self._training(kind, members)]
        fold_of_member = self.plan.fold_of_member(ids)
        return [self._training(kind, members[fold_of_member == fold]) for fold in folds]

    def _training(self, kind: Kind, members: Members) -> Training:
        if kind.scaled:
            factors = self._factors_of(int(self.plan.fold_of_member(members.ids)[0]))
            members = replace(members, architecture=reading_scaled(members.architecture, factors))
        return Training(members, self._rows(members.ids, kind.scaled), kind.options(self.n_seen), self.seed)

    def _rows(self, ids: npt.NDArray[np.uint32], scaled: bool) -> TrainingData | WindowedData:
        """All rows, and which of them each member leaves out. Kinds on the same folds share them."""
        folds = self.plan.fold_of_member(ids)
        key = (scaled, *folds.tolist())
        if key not in self._data:
            sample, factors = self.sample, self._factors_of(folds[0]).astype(np.float32) if scaled else None
            samples: dict[str, Any] = {"counts": self.plan.counts(), "count_rows": folds}
            if sample.whole is None:
                inputs = self._inputs if factors is None else self._inputs * factors
                self._data[key] = TrainingData(inputs, sample.y, sample.weight_or_none, **samples)
            else:
                self._data[key] = sample.whole.training_data(**samples, inputs=partial(_read_inputs, factors))
        return self._data[key]

    def _factors_of(self, fold: int) -> Array:
        """Shape: ``(k,)``."""
        factors = self.factors[min(fold, len(self.factors) - 1)]
        return np.broadcast_to(factors, self.sample.X.shape[1:])

    def _trained(self, kind: Kind, found: Sequence[Trained | engine.TrainingDiverged]) -> Part | None:
        ensembles = []
        for one in found:
            if isinstance(one, engine.TrainingDiverged):
                return None
            fold = int(self.plan.fold_of_member(one.ensemble.members.ids)[0])
            ensembles.append(
                reading_as_it_is(one.ensemble, self._architecture(kind), self._factors_of(fold))
                if kind.scaled
                else one.ensemble
            )
        return self._part(kind, FoldNetworks(reduce(add, ensembles), LIMIT))

    def _of(self, ensemble: Ensemble, fold: int) -> Ensemble:
        """The networks that left a fold out."""
        first, last = np.searchsorted(self.plan.fold_of_member(ensemble.members.ids), [fold, fold + 1])
        return ensemble[int(first) : int(last)]

    def _part(self, kind: Kind | None, networks: FoldNetworks) -> Part:
        residual, spread = (np.full(self.sample.y.shape, np.nan) for _ in range(2))
        for fold in np.unique(self.plan.fold_of_member(networks.ensemble.members.ids)):
            rows = np.flatnonzero(self.plan.fold_of_row == fold)
            some = replace(networks, ensemble=self._of(networks.ensemble, fold))
            held = errors_on(some.moments(self.machine), self.sample, rows)
            residual[rows], spread[rows] = held.residual, held.spread
        return Part(kind, networks, residual, spread)


def _read_inputs(factors: Float32 | None, X: Float32) -> Float32:
    """What networks read of standardised rows. Shape: factors ``(k,)``, X ``(n, k)``."""
    inputs = drawn_in(X, LIMIT)
    return inputs if factors is None else inputs * factors
