"""What a fit leaves behind for a warm start to go on from."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets.model_file import require, storable
from extranets.networks import Architecture, Ensemble

FIT_INFO_TYPES = {"n_rows": int, "n_features": int, "seconds": float, "finished": str}


def fit_info(shape: tuple[int, int], begin: float) -> dict[str, Any]:
    """What a fit to a table of this shape was that began at ``begin`` on the clock of `time.monotonic`."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"n_rows": shape[0], "n_features": shape[1], "seconds": time.monotonic() - begin, "finished": now}


def check_seed(seed: int) -> None:
    require(type(seed) is int and 0 <= seed < 2**64, "the seed is no integer of 64 bits")


@storable("Recipe")
@dataclass(frozen=True)
class Recipe:
    """What the final members depend on besides their number. A warm start must find it unchanged."""

    architecture: Architecture
    options: engine.Options
    seed: int
    sampling: tuple[Any, ...]  # masks, and which rows are held out or resampled
    data: bytes  # the table's fingerprint

    def _check_stored(self) -> None:
        check_seed(self.seed)
        plain = (entry is None or isinstance(entry, str | Number) for entry in self.sampling)
        require(all(plain), "sampling holds more than texts and numbers")


@storable("Fitted")
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

    def _check_stored(self) -> None:
        n = len(self.ensemble)
        require(self.recipe.architecture == self.ensemble.members.architecture, "two architectures")
        require(self.n_members >= n, "more members than were drawn")
        require(self.restarts.shape == (n,), "restarts do not fit the members")
        require(self.loss_curve.ndim == 2 and len(self.loss_curve) == n, "loss_curve does not fit the members")
