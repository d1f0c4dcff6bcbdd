"""One network with the curvature of its fit: what the delta method predicts with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array, Float32
from extranets.engine import Machine, Moments
from extranets.model_file import require, storable
from extranets.networks import Ensemble
from extranets.onnx_graph import Value, leverage
from extranets.predictor.graph_parts import network_predictions
from extranets.predictor.sources.curvature import Curvature
from extranets.predictor.sources.networks import OfNetworks

BLOCK_SIZE = 2**22  # gradients at once: 16 MiB


def gradient_blocks(network: Ensemble, head: int, X: Float32, n_threads: int) -> Iterator[tuple[slice, Float32]]:
    """Rows and their gradients, ``(n_block, n_parameters)``, so few at a time that memory does not grow with rows."""
    step = max(1, BLOCK_SIZE // len(network.parameters))
    for begin in range(0, len(X), step):
        rows = slice(begin, begin + step)
        yield rows, engine.jacobian(network, 0, X[rows], head=head, n_threads=n_threads)


def curvature_of(
    network: Ensemble, output: int, X: Float32, weight: Array, damping: float | None, n_threads: int
) -> Curvature:
    """From the rows that the network was trained on. Shape: X ``(n, k)``, weight ``(n,)``."""
    n = len(network.parameters)
    information = np.zeros((n, n))
    root_weight = np.sqrt(weight)[:, None]
    for rows, gradients in gradient_blocks(network, output, X, n_threads):
        weighted = gradients * root_weight[rows]
        information += weighted.T @ weighted
    return Curvature.of(information, damping)


@dataclass(frozen=True)
class DeltaMoments:
    """The network's prediction, with the leverage S(x) in the place of a spread."""

    network: Ensemble
    curvatures: list[Curvature]  # one for each output
    machine: Machine
    n_members: int = 1

    def __call__(self, X: Float32) -> tuple[Array, Array, None]:
        mean = engine.moments(self.network, **self.machine)(X)[0]
        leverage = np.empty_like(mean)
        for output, curvature in enumerate(self.curvatures):
            for rows, gradients in gradient_blocks(self.network, output, X, self.machine["n_threads"]):
                leverage[rows, output] = curvature.leverage(gradients)
        return mean, leverage, None


@storable("Linearised")
@dataclass(frozen=True)
class Linearised(OfNetworks):
    """One curvature for each output."""

    curvatures: list[Curvature]

    @property
    def n_members(self) -> int:
        return 1

    def moments(self, machine: Machine) -> Moments:
        return DeltaMoments(self.networks.ensemble, self.curvatures, machine)

    def mean_moments(self, machine: Machine) -> Moments:
        return self.networks.moments(machine)

    def members(self, X: Float32, machine: Machine) -> npt.NDArray[np.floating]:
        return self.networks.members(X, machine)

    def deviations(self, X: Float32, machine: Machine) -> Array:
        """One direction for each of the weights' own: the leverage is the sum of their squares."""
        network = self.networks.ensemble
        found = np.empty((len(network.parameters), len(X), self.n_outputs))
        for output, curvature in enumerate(self.curvatures):
            for rows, gradients in gradient_blocks(network, output, X, machine["n_threads"]):
                found[:, rows, output] = (gradients @ curvature.root).T
        return found

    def graph(self, x: Value) -> tuple[Value, Value, None]:
        network = self.networks.ensemble
        roots = np.stack([curvature.root for curvature in self.curvatures])
        return network_predictions(x, network).mean(0), leverage(x, network, roots), None

    def _check_stored(self) -> None:
        network = self.networks.ensemble
        require(len(network) == 1 and not self.learns_noise, "not one network")
        require(network.members.architecture.encoding is None, "a curvature of a network with an encoding")
        require(len(self.curvatures) == self.n_outputs, "not one curvature for each output")
        sizes = {len(curvature.root) for curvature in self.curvatures}
        require(sizes == {len(network.parameters)}, "the curvature does not fit the network")
