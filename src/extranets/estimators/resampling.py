"""Bootstrap samples as counts, and the predictions of rows by the networks that did not draw them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array, blocks
from extranets._random import Purpose
from extranets._warnings import warn_user
from extranets.engine import Machine
from extranets.held_out import Sample
from extranets.networks import Ensemble
from extranets.uncertainty.components import HeldOut


def bootstrap_counts(seed: int, ids: npt.NDArray[np.uint32], n_rows: int) -> npt.NDArray[np.uint16]:
    """How often each row is drawn when as many rows are drawn as there are, with replacement, from each member's stream.

    Shape: ids ``(m,)`` -> ``(m, n_rows)``.
    """
    counts = np.empty((len(ids), n_rows), dtype=np.uint16)
    for count, member in zip(counts, ids.tolist(), strict=True):
        words = engine.random_words(seed, member, Purpose.RESAMPLE, n_rows)
        rows = words.astype(np.uint64) * np.uint64(n_rows) >> np.uint64(32)
        count[:] = np.bincount(rows.astype(np.intp), minlength=n_rows)
    return counts


@dataclass(frozen=True)
class OutOfBag:
    """Every row, predicted by the networks that did not draw it.

    Shapes: in_bag ``(n_members, n)``; usable ``(n,)``, rows that some network did not draw; mean and spread
    ``(n, n_outputs)``, zero for rows that are not usable.
    """

    sample: Sample
    in_bag: npt.NDArray[np.bool_]
    usable: npt.NDArray[np.bool_]
    mean: Array
    spread: Array

    @classmethod
    def of(cls, ensemble: Ensemble, seed: int, sample: Sample, machine: Machine) -> OutOfBag:
        in_bag = bootstrap_counts(seed, ensemble.members.ids, len(sample.y)) > 0
        n_members = (~in_bag).sum(axis=0)[:, None]
        mean, spread = np.zeros(sample.y.shape), np.zeros(sample.y.shape)
        for rows in blocks(len(mean)):
            heads = engine.forward(ensemble, sample.X[rows], **machine)
            share = (~in_bag[:, rows] / np.maximum(n_members[rows].T, 1))[:, :, None]
            mean[rows] = (share * heads).sum(axis=0)
            spread[rows] = (share * (heads - mean[rows]) ** 2).sum(axis=0)
        return cls(sample, in_bag, n_members[:, 0] > 0, mean, spread)

    @property
    def errors(self) -> HeldOut:
        """On the rows that some network did not draw."""
        usable, n_members = self.usable, (~self.in_bag).sum(axis=0)[:, None]
        residual = (self.mean - self.sample.y)[usable]
        weight = self.sample.weight[usable]
        return HeldOut(residual, self.spread[usable], np.ones_like(residual), weight, n_members[usable])

    @property
    def prediction(self) -> Array:
        """NaN where every network drew the row. Shape: ``(n, n_outputs)``."""
        prediction = np.full(self.sample.y.shape, np.nan)
        # As `errors` has it: the difference rounds, and stored answers hold its last bit.
        prediction[self.usable] = self.errors.residual + self.sample.y[self.usable]
        return prediction

    @property
    def residuals(self) -> Array:
        """Shape: ``(n, n_outputs)``."""
        return self.prediction - self.sample.y

    def r2(self) -> float:
        """R^2 of the predictions; NaN for a single one."""
        from sklearn.metrics import r2_score  # slow to import

        y, weight = self.sample.y[self.usable], self.sample.weight[self.usable]
        return float(r2_score(y, self.prediction[self.usable], sample_weight=weight)) if len(y) > 1 else np.nan

    def check_enough_rows(self) -> None:
        """Refuse to measure noise on next to nothing."""
        if self.usable.sum() < 2:
            raise ValueError(
                f"Only {int(self.usable.sum())} rows are out of some network's bag, too few for noise='oob'; use a larger "
                "n_estimators or noise='train'."
            )

    def warn_of_rows_in_every_bag(self) -> None:
        if not self.usable.all():
            warn_user(
                f"{int((~self.usable).sum())} rows are in every network's sample and have no out-of-bag prediction; use a "
                "larger n_estimators."
            )
