"""Honest errors: which rows are kept from which members, and what those members then get wrong on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._random import Purpose, generator
from extranets.estimators._scaling import blocks
from extranets.networks import Ensemble
from extranets.uncertainty.components import Array, HeldOut
from extranets.uncertainty.intervals import calibrated
from extranets.uncertainty.noise import held_out_variance

FEWEST_PER_FOLD = 10  # members per fold that give a usable estimate of the spread
FOLD_BITS = 24  # a member's id holds its number below this bit and, above it, its fold + 1 (0: a final member)


@dataclass(frozen=True)
class Sample:
    """Standardised training rows. Shapes: X ``(n, k)``, y ``(n, n_outputs)``, weight ``(n,)``."""

    X: npt.NDArray[np.float32]
    y: npt.NDArray[np.float32]
    weight: Array


@dataclass(frozen=True)
class Plan:
    """Rows in folds, and which members leave which fold out.

    Cross-validation adds members of its own, so that the final ones see all rows; a hold-out is one fold that the final
    members leave out themselves.

    Shape: fold_of_row ``(n,)``, -1 for rows that every member may see.
    """

    fold_of_row: npt.NDArray[np.intp]
    n_folds: int
    members_per_fold: int  # of its own; 0: the final members leave fold 0 out

    def extra_ids(self) -> npt.NDArray[np.uint32]:
        """Members to train beside the final ones, fold after fold."""
        fold = np.arange(1, self.n_folds + 1, dtype=np.uint32)[:, None] << np.uint32(FOLD_BITS)
        return (fold + np.arange(self.members_per_fold, dtype=np.uint32)).ravel()

    def counts(self) -> npt.NDArray[np.uint16]:
        """Shape ``(n_folds, n)``: 0 for the rows that a fold's members must not see."""
        return (self.fold_of_row != np.arange(self.n_folds)[:, None]).astype(np.uint16)

    def fold_of_member(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.int32]:
        """The fold that a member leaves out; -1: none."""
        return (ids >> np.uint32(FOLD_BITS)).astype(np.int32) - (self.members_per_fold > 0)

    def errors(self, final: Ensemble, extra: Ensemble, sample: Sample, n_threads: int) -> HeldOut:
        """Every held-out row predicted by the members that left it out."""
        ensemble = extra if self.members_per_fold else final
        fold_of_member = self.fold_of_member(ensemble.members.ids)
        parts = []
        for fold in range(self.n_folds):
            first, last = np.searchsorted(fold_of_member, [fold, fold + 1])
            rows = np.flatnonzero(self.fold_of_row == fold)
            parts.append(errors_on(ensemble[first:last], sample, rows, n_threads))
        return HeldOut(
            residual=np.concatenate([part.residual for part in parts]),
            spread=np.concatenate([part.spread for part in parts]),
            noise=np.concatenate([part.noise for part in parts]),
            weight=np.concatenate([part.weight for part in parts]),
            n_members=parts[0].n_members,
        )


def cross_validation(n_rows: int, n_folds: int, n_estimators: int, seed: int) -> Plan:
    """Folds as equal as possible. They share the work of one ensemble: each gets about n_estimators / n_folds members."""
    n_folds = min(n_folds, n_rows)
    fold_of_row = generator(seed, Purpose.ROWS).permutation(n_rows) % n_folds
    return Plan(fold_of_row, n_folds, min(n_estimators, max(FEWEST_PER_FOLD, -(-n_estimators // n_folds))))


def hold_out(n_rows: int, fraction: float, seed: int) -> Plan:
    """A random share of the rows, at least one and not all."""
    n_held = int(np.clip(round(fraction * n_rows), 1, n_rows - 1))
    fold_of_row = np.where(generator(seed, Purpose.ROWS).permutation(n_rows) < n_held, 0, -1)
    return Plan(fold_of_row, 1, 0)


def member_name(member: int) -> str:
    """How a member is called in messages."""
    fold, number = member >> FOLD_BITS, member % (1 << FOLD_BITS)
    return f"network {number}" + (f" of fold {fold - 1}" if fold else "")


def errors_on(ensemble: Ensemble, sample: Sample, rows: npt.NDArray[np.intp], n_threads: int) -> HeldOut:
    """Errors of one ensemble on some rows."""
    moments = engine.Moments(ensemble, n_threads=n_threads)
    residual, spread, noise = (np.ones((len(rows), sample.y.shape[1])) for _ in range(3))
    for block in blocks(len(rows)):  # block by block, so that Ctrl-C is seen
        mean, spread[block], learned = moments(sample.X[rows[block]])
        residual[block] = mean - sample.y[rows[block]]
        if learned is not None:
            noise[block] = learned
    return HeldOut(residual, spread, noise, sample.weight[rows], len(ensemble))


def noise_from_held_out(held: HeldOut, ensemble: Ensemble) -> tuple[Array, Array]:
    """Residual variance and calibration factors, from errors on rows that were not trained on."""
    learned = ensemble.members.architecture.learns_noise
    variance = np.ones(held.residual.shape[1]) if learned else held_out_variance(held, len(ensemble))
    return variance, calibrated.fit_factors(held, held.noise * variance, len(ensemble))
