"""Honest errors: which rows are kept from which members, and what those members then get wrong on them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32, blocks
from extranets._random import Purpose, generator
from extranets.blocks import AllRows
from extranets.engine import Moments
from extranets.networks import Ensemble
from extranets.parting import Parting, fold_of_row, held_share
from extranets.uncertainty.components import HeldOut

FEWEST_PER_FOLD = 6  # members per fold that give a usable estimate of the spread
ENOUGH_ROWS = 5000  # held-out rows beyond which more of them change neither noise nor calibration
FOLD_BITS = 24  # a member's id holds its number below this bit and, above it, its fold + 1 (0: a final member)
FIRST_FOLD_ID = 1 << FOLD_BITS


@dataclass(frozen=True)
class Sample:
    """Standardised training rows. Shapes: X ``(n, k)``, y ``(n, n_outputs)``, weight ``(n,)``."""

    X: Float32
    y: Float32
    weight: Array
    fingerprint: bytes = b""  # of the table it was made of: enough to notice other data
    used: npt.NDArray[np.bool_] | None = None  # which rows of that table these are; None: all
    parting: Parting | None = None  # which rows are held out together; None: at random
    whole: AllRows | None = None  # the rows that these were drawn from; None: these are all

    @property
    def n_rows(self) -> int:
        """Of the whole table."""
        return len(self.y) if self.whole is None else self.whole.n_rows

    @property
    def n_beside(self) -> int:
        """Rows that are not in memory."""
        return self.n_rows - len(self.y)

    @property
    def weight_or_none(self) -> Array | None:
        """What the engine takes: None where all rows count alike."""
        return None if (self.weight == 1).all() else self.weight

    def part(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Sample:
        parting = None if self.parting is None else self.parting.part(rows)
        return Sample(self.X[rows], self.y[rows], self.weight[rows], parting=parting)

    def with_unused(self, values: Array) -> Array:
        """One row for every row of the table, NaN for those that are not in the sample. Shape: ``(n, k)``."""
        if self.used is None:
            return values
        out = np.full((len(self.used), values.shape[1]), np.nan)
        out[self.used] = values
        return out


@dataclass(frozen=True)
class Plan:
    """Rows in folds, and which members leave which fold out.

    Cross-validation adds members of its own, so that the final ones see all rows; a hold-out is one fold that the final
    members leave out themselves. Where the plan looks back, fold 0 is the latest, and members see nothing that is later than
    the fold that they leave out.

    Shape: fold_of_row ``(n,)``, -1 for rows that every member may see.
    """

    fold_of_row: npt.NDArray[np.intp]
    n_folds: int
    members_per_fold: int  # of its own; 0: the final members leave fold 0 out
    fraction: float | None = None  # of the rows, that a hold-out asks for
    looks_back: bool = False
    n_beside: int = 0  # rows that are not in memory, which every member may see

    @property
    def keeps_rows_from_final(self) -> bool:
        return self.members_per_fold == 0

    def extra_ids(self) -> npt.NDArray[np.uint32]:
        """Members to train beside the final ones, fold after fold."""
        fold = np.arange(1, self.n_folds + 1, dtype=np.uint32)[:, None] << np.uint32(FOLD_BITS)
        return (fold + np.arange(self.members_per_fold, dtype=np.uint32)).ravel()

    def seen(self, fold: int) -> npt.NDArray[np.bool_]:
        """The rows that a fold's members may see. Shape: ``(n,)``."""
        if self.looks_back:
            return (self.fold_of_row < 0) | (self.fold_of_row > fold)
        return self.fold_of_row != fold

    @property
    def n_seen(self) -> int:
        """How many these are, on average over the folds."""
        n_unseen = sum(np.count_nonzero(~self.seen(fold)) for fold in range(self.n_folds))
        return self.n_rows - n_unseen // self.n_folds

    @property
    def n_rows(self) -> int:
        """All rows, in memory or not."""
        return len(self.fold_of_row) + self.n_beside

    def counts(self) -> npt.NDArray[np.uint16]:
        """Shape ``(n_folds, n)``: 0 for the rows that a fold's members must not see."""
        return np.stack([self.seen(fold) for fold in range(self.n_folds)]).astype(np.uint16)

    def fold_of_member(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.int32]:
        """The fold that a member leaves out; -1: none."""
        return (ids >> np.uint32(FOLD_BITS)).astype(np.int32) - (self.members_per_fold > 0)

    def ensembles(self, final: Ensemble, extra: Ensemble) -> list[Ensemble]:
        """For every fold the members that left it out."""
        ensemble = final if self.keeps_rows_from_final else extra
        borders = np.searchsorted(self.fold_of_member(ensemble.members.ids), np.arange(self.n_folds + 1))
        return [ensemble[first:last] for first, last in itertools.pairwise(borders.tolist())]

    def held_rows(self) -> npt.NDArray[np.intp]:
        """The rows of :meth:`errors`, in its order."""
        return np.concatenate([np.flatnonzero(self.fold_of_row == fold) for fold in range(self.n_folds)])

    def errors(
        self, final: Ensemble, extra: Ensemble, sample: Sample, moments_of: Callable[[Ensemble], Moments]
    ) -> HeldOut:
        """Every held-out row predicted by the members that left it out, fold after fold."""
        parts = [
            errors_on(moments_of(ensemble), sample, np.flatnonzero(self.fold_of_row == fold))
            for fold, ensemble in enumerate(self.ensembles(final, extra))
        ]
        return HeldOut(
            residual=np.concatenate([part.residual for part in parts]),
            spread=np.concatenate([part.spread for part in parts]),
            noise=np.concatenate([part.noise for part in parts]),
            weight=np.concatenate([part.weight for part in parts]),
            n_members=parts[0].n_members,
        )


def cross_validation(
    n_rows: int,
    n_folds: int,
    n_estimators: int,
    seed: int,
    *,
    enough: int | None = None,
    parting: Parting | None = None,
) -> Plan:
    """Folds as equal as possible. They share the work of one ensemble: each gets about n_estimators / n_folds members.

    With ``enough``, folds beyond so many rows are not left out by anyone; but all groups and times are, for they differ.
    """
    folds = fold_of_row(n_rows, n_folds, seed, parting)
    n_found = int(folds.max()) + 1
    members = min(n_estimators, max(FEWEST_PER_FOLD, -(-n_estimators // n_found)))
    if parting is not None:
        return Plan(folds, n_found, members, looks_back=parting.looks_back)
    if enough is None or enough >= n_rows:
        return Plan(folds, n_found, members)
    used = -(-enough * n_found // n_rows)
    return Plan(np.where(folds < used, folds, -1), used, members)


def hold_out(n_rows: int, fraction: float, seed: int, parting: Parting | None = None) -> Plan:
    """A random share of the rows, or of the groups, or the latest rows: at least one, and not all."""
    if parting is not None:
        return Plan(np.where(held_share(parting, fraction, seed), 0, -1), 1, 0, fraction)
    n_held = int(np.clip(round(fraction * n_rows), 1, n_rows - 1))
    fold_of = np.where(generator(seed, Purpose.ROWS).permutation(n_rows) < n_held, 0, -1)
    return Plan(fold_of, 1, 0, fraction)


def plan_rows(
    noise: str,
    n_rows: int,
    n_estimators: int,
    seed: int,
    *,
    n_folds: int,
    fraction: float,
    enough: int | None = None,
    parting: Parting | None = None,
) -> Plan | None:
    """What the parameter ``noise`` of an estimator asks for; None where no rows are held out."""
    if noise == "holdout":
        return hold_out(n_rows, fraction, seed, parting)
    if noise == "cv":
        return cross_validation(n_rows, n_folds, n_estimators, seed, enough=enough, parting=parting)
    if parting is not None:
        raise ValueError(
            f"{parting.kind} says which rows are left out together, but with these parameters none are; use noise='cv' and "
            "networks that do not predict a variance themselves (loss='squared_error')."
        )
    return None


def member_name(member: int) -> str:
    """How a member is called in messages."""
    fold, number = member >> FOLD_BITS, member % (1 << FOLD_BITS)
    return f"network {number}" + (f" of fold {fold - 1}" if fold else "")


def errors_on(moments: Moments, sample: Sample, rows: npt.NDArray[np.intp]) -> HeldOut:
    """Errors of one ensemble on some rows."""
    residual, spread, noise = (np.ones((len(rows), sample.y.shape[1])) for _ in range(3))
    for block in blocks(len(rows)):  # block by block, so that Ctrl-C is seen
        mean, spread[block], learned = moments(sample.X[rows[block]])
        residual[block] = mean - sample.y[rows[block]]
        if learned is not None:
            noise[block] = learned
    return HeldOut(residual, spread, noise, sample.weight[rows], moments.n_members)


def errors_on_all(moments: Moments, sample: Sample) -> HeldOut:
    """Errors of one ensemble on all rows of a sample."""
    return errors_on(moments, sample, np.arange(len(sample.y)))


def training_r2(moments: Moments, sample: Sample) -> Array:
    """Share of the outputs' variance that predictions of their own training rows explain. Shape: ``(n_outputs,)``."""
    errors = errors_on_all(moments, sample)
    return 1 - np.average(errors.residual**2, axis=0, weights=errors.weight)
