"""Several sources with weights: their weighted mean predicts.

The spread is that of a network drawn from one of them, each source being as likely as its weight says: the mean of their spreads
plus the spread of their means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.engine import Machine, Moments
from extranets.model_file import require, storable
from extranets.onnx_graph import Value, concatenate
from extranets.predictor.part import Choice, Interval, Source
from extranets.uncertainty.stacking import effective_members

Triple = tuple[Any, Any, Any]  # mean, spread, and predicted noise or None: arrays or values of a graph


def mixed(weights: list[float], parts: list[Triple]) -> Triple:
    """Moments of a mixture. Shape: ``(n, n_outputs)`` each."""
    if len(parts) == 1:
        return parts[0]
    means, spreads, noises = zip(*parts, strict=True)
    mean = _weighted(weights, means)
    between = [(each - mean) * (each - mean) for each in means]
    spread = _weighted(weights, [own + moved for own, moved in zip(spreads, between, strict=True)])
    return mean, spread, None if noises[0] is None else _weighted(weights, noises)


def _weighted(weights: list[float], values: Any) -> Any:
    return reduce(add, [value * weight for weight, value in zip(weights, values, strict=True)])


@dataclass(frozen=True)
class StackedMoments:
    """Moments of a mixture of sources."""

    weights: list[float]
    parts: list[Moments]

    @property
    def n_members(self) -> float:
        return effective_members(self.weights, [part.n_members for part in self.parts])

    def __call__(self, X: Float32) -> tuple[Array, Array, Array | None]:
        return mixed(self.weights, [part(X) for part in self.parts])


@storable("Stack")
@dataclass(frozen=True)
class Stack(Source):
    """Shape: weights ``(n_sources,)``, not negative, with sum one."""

    sources: list[Source]
    weights: Array

    @property
    def n_features(self) -> int:
        return self.sources[0].n_features

    @property
    def n_outputs(self) -> int:
        return self.sources[0].n_outputs

    @property
    def n_members(self) -> float:
        return effective_members(self.weights, [source.n_members for source in self.sources])

    @property
    def learns_noise(self) -> bool:
        return self.sources[0].learns_noise

    def choosing(self, choice: Choice, interval: type[Interval]) -> Stack:
        return replace(self, sources=[source.choosing(choice, interval) for source in self.sources])

    def construction(self) -> dict[str, Any]:
        return reduce(lambda known, source: known | source.construction(), self.sources, {})

    def moments(self, machine: Machine) -> Moments:
        return StackedMoments(self.weights.tolist(), [source.moments(machine) for source in self.sources])

    def mean_moments(self, machine: Machine) -> Moments:
        return StackedMoments(self.weights.tolist(), [source.mean_moments(machine) for source in self.sources])

    def members(self, X: Float32, machine: Machine) -> npt.NDArray[np.floating]:
        return np.concatenate([source.members(X, machine) for source in self.sources])

    def deviations(self, X: Float32, machine: Machine) -> Array:
        """Within each source, and of its mean from all."""
        shares = np.sqrt(self.weights)
        means = np.stack([source.mean_moments(machine)(X)[0] for source in self.sources]).astype(np.float64)
        between = shares[:, None, None] * (means - np.tensordot(self.weights, means, 1))
        within = [share * source.deviations(X, machine) for share, source in zip(shares, self.sources, strict=True)]
        return np.concatenate([between, *within])

    def graph(self, x: Value) -> tuple[Value, Value, Value | None]:
        return mixed(self.weights.tolist(), [source.graph(x) for source in self.sources])

    def graph_members(self, x: Value) -> Value:
        return concatenate([source.graph_members(x) for source in self.sources], axis=0)

    def _check_stored(self) -> None:
        require(len(self.sources) >= 1 and self.weights.shape == (len(self.sources),), "not one weight for each source")
        require((self.weights >= 0).all() and abs(self.weights.sum() - 1) < 1e-6, "weights do not make one")
        alike = {(source.n_features, source.n_outputs, source.learns_noise) for source in self.sources}
        require(len(alike) == 1, "sources that do not go together")
