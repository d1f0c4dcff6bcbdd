"""What a fit leaves behind for a warm start to go on from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets.networks import Architecture, Ensemble


@dataclass(frozen=True)
class Recipe:
    """What the final members depend on besides their number. A warm start must find it unchanged."""

    architecture: Architecture
    options: engine.Options
    seed: int
    sampling: tuple[Any, ...]  # masks, and which rows are held out or resampled
    data: bytes  # the table's fingerprint


@dataclass(frozen=True)
class Fitted:
    """The final members and how they came about: what a warm start goes on from."""

    recipe: Recipe
    n_members: int  # before members with an empty layer were dropped
    ensemble: Ensemble
    restarts: npt.NDArray[np.int32]
    loss_curve: npt.NDArray[np.float32]

    @property
    def n_null(self) -> int:
        return self.n_members - len(self.ensemble)
