"""Networks that Adam trained: their mean predicts. Also what a warm start goes on from."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Float32
from extranets.engine import Machine, Moments
from extranets.model_file import require, storable
from extranets.networks import Architecture, Ensemble
from extranets.onnx_graph import Value
from extranets.predictor.graph_parts import network_moments
from extranets.predictor.part import Source

MOST_PASSES = (
    10_000  # the spread of so many is right to 1 %; more, from a file that nobody vouches for, would take minutes
)


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


@storable("TrainedNetworks")
@dataclass(frozen=True)
class TrainedNetworks(Source):
    """The final members and how they came about.

    Shapes: restarts ``(n_members,)``, loss_curve ``(n_members, n_epochs)``, NaN after an early stop.
    """

    recipe: Recipe
    n_drawn: int  # members, before those with an empty layer were dropped
    ensemble: Ensemble
    restarts: npt.NDArray[np.int32]
    loss_curve: Float32

    @property
    def n_features(self) -> int:
        return self.recipe.architecture.n_inputs

    @property
    def n_outputs(self) -> int:
        return self.recipe.architecture.n_outputs

    @property
    def n_members(self) -> int:
        return len(self.ensemble)

    @property
    def learns_noise(self) -> bool:
        return self.recipe.architecture.learns_noise

    @property
    def n_iter(self) -> int:
        """Epochs of the longest training."""
        return int((~np.isnan(self.loss_curve)).sum(axis=1).max())

    def moments(self, machine: Machine) -> Moments:
        return engine.moments(self.ensemble, **machine)

    def members(self, X: Float32, machine: Machine) -> npt.NDArray[np.floating]:
        return engine.forward(self.ensemble, X, **machine)[:, :, : self.n_outputs]

    def graph(self, x: Value) -> tuple[Value, Value, Value | None]:
        return network_moments(x, self.ensemble)

    def _check_stored(self) -> None:
        n = len(self.ensemble)
        require(self.recipe.architecture == self.ensemble.members.architecture, "two architectures")
        require(self.n_drawn >= n, "more members than were drawn")
        ids = self.ensemble.members.ids
        require((ids[1:] > ids[:-1]).all() and ids[-1] < self.n_drawn, "ids are not those of members that were drawn")
        require(self.restarts.shape == (n,), "restarts do not fit the members")
        require((self.restarts >= 0).all(), "restarts are negative")
        require(self.loss_curve.ndim == 2 and len(self.loss_curve) == n, "loss_curve does not fit the members")


@dataclass(frozen=True)
class OfNetworks(Source):
    """What predicts with trained networks in a way of its own."""

    networks: TrainedNetworks

    @property
    def n_features(self) -> int:
        return self.networks.n_features

    @property
    def n_outputs(self) -> int:
        return self.networks.n_outputs

    @property
    def learns_noise(self) -> bool:
        return self.networks.learns_noise


def check_seed(seed: int) -> None:
    require(type(seed) is int and 0 <= seed < 2**64, "the seed is not an integer of 64 bits")


def check_passes(n_passes: int) -> None:
    require(1 <= n_passes <= MOST_PASSES, f"n_passes is not between 1 and {MOST_PASSES:,}")
