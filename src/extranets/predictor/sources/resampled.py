"""The bootstrap's networks: one that was trained on all rows, and those that were trained on resampled rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array, Float32
from extranets.engine import Machine, Moments
from extranets.model_file import require, storable
from extranets.networks import Ensemble
from extranets.onnx_graph import Value
from extranets.predictor.graph_parts import network_moments, network_predictions
from extranets.predictor.part import Choice, Interval
from extranets.predictor.sources.networks import OfNetworks

# What predicts, from the full-sample network and the mean of the resampled ones; for arrays and for values of a graph.
CENTRES: dict[str, Callable[[Any, Any], Any]] = {
    "mean": lambda full, mean: mean,
    "full": lambda full, mean: full,
    "corrected": lambda full, mean: 2 * full - mean,
}


@dataclass(frozen=True)
class CentredMoments:
    """Spread of the resampled networks, and the centre that an interval asks for."""

    full: Moments
    resampled: Moments
    centre: Callable[[Array, Array], Array]

    @property
    def n_members(self) -> float:
        return self.resampled.n_members

    def __call__(self, X: Float32) -> tuple[Array, Array, None]:
        mean, spread, _ = self.resampled(X)
        return self.centre(self.full(X)[0], mean), spread, None


@storable("Resampled")
@dataclass(frozen=True)
class Resampled(OfNetworks):
    """The first member of ``networks`` saw every row once, the others saw their samples."""

    centre: str = "mean"

    @property
    def full(self) -> Ensemble:
        return self.networks.ensemble[:1]

    @property
    def resampled(self) -> Ensemble:
        return self.networks.ensemble[1:]

    @property
    def n_members(self) -> int:
        return len(self.networks.ensemble) - 1

    def choosing(self, choice: Choice, interval: type[Interval]) -> Resampled:
        return self if interval.centre == self.centre else replace(self, centre=interval.centre)

    def moments(self, machine: Machine) -> Moments:
        full, resampled = (engine.moments(networks, **machine) for networks in (self.full, self.resampled))
        return CentredMoments(full, resampled, CENTRES[self.centre])

    def members(self, X: Float32, machine: Machine) -> npt.NDArray[np.floating]:
        return engine.forward(self.resampled, X, **machine)[:, :, : self.n_outputs]

    def graph(self, x: Value) -> tuple[Value, Value, None]:
        mean, spread, _ = network_moments(x, self.resampled)
        full = network_predictions(x, self.full).mean(0)
        return CENTRES[self.centre](full, mean), spread, None

    def graph_members(self, x: Value) -> Value:
        return network_predictions(x, self.resampled)

    def _check_stored(self) -> None:
        require(len(self.networks.ensemble) >= 2 and not self.learns_noise, "the networks are not those of a bootstrap")
        require(self.centre in CENTRES, "there is no such centre")
