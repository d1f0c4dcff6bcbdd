"""How starts of training went, and the best of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.engine.options import Trained
from extranets.networks import Ensemble

TRAINED, COLLAPSED, NOT_FINITE = 0, 1, 2  # Outcome in native/contract.hpp

Slots = npt.NDArray[np.int32]  # members by their position in the call


@dataclass
class Starts:
    """How one attempt, or the best of several, went for every member."""

    outcome: npt.NDArray[np.int32]
    train_loss: Array
    train_r2: Array
    validation_loss: Array
    n_epochs: npt.NDArray[np.int32]
    loss_curve: Float32

    @classmethod
    def none(cls, n_members: int, n_epochs: int) -> Starts:
        return cls(
            outcome=np.full(n_members, NOT_FINITE, dtype=np.int32),
            train_loss=np.full(n_members, math.inf),
            train_r2=np.full(n_members, math.inf),
            validation_loss=np.full(n_members, math.inf),
            n_epochs=np.zeros(n_members, dtype=np.int32),
            loss_curve=np.full((n_members, n_epochs), np.nan, dtype=np.float32),
        )

    def take(self, other: Starts, members: Slots) -> None:
        for name in self.__dataclass_fields__:
            getattr(self, name)[members] = getattr(other, name)[members]

    def better(self, other: Starts, members: Slots) -> Slots:
        """Those of ``members`` whose start in ``other`` is the better one.

        Outcomes are ordered from good to bad; a trained network beats a collapsed one whatever its loss.
        """
        better = other.outcome < self.outcome
        better |= (other.outcome == self.outcome) & (other.train_loss < self.train_loss)
        return members[(better & (other.outcome != NOT_FINITE))[members]]


@dataclass(frozen=True)
class Result:
    """A trained ensemble, how the kept starts went, and how many starts each member had."""

    ensemble: Ensemble
    starts: Starts
    n_attempts: npt.NDArray[np.int32]

    @property
    def trained(self) -> Trained:
        names = ("loss_curve", "train_loss", "train_r2", "validation_loss", "n_epochs")
        kept = {name: getattr(self.starts, name) for name in names}
        collapsed = self.starts.outcome == COLLAPSED
        return Trained(self.ensemble, **kept, n_attempts=self.n_attempts, collapsed=collapsed)
