"""Networks whose weights are Gaussian: by variational inference, whose predictions average weights that are drawn, and by
probabilistic back-propagation, whose moments are formulas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array, Float32
from extranets.engine import Machine, Moments, pbp, variational
from extranets.model_file import require, storable
from extranets.networks import Ensemble
from extranets.onnx_graph import Value, gaussian_moments
from extranets.predictor.graph_parts import network_moments
from extranets.predictor.part import Choice, Interval, Source
from extranets.predictor.sources.networks import check_passes, check_seed


@storable("WeightSamples")
@dataclass(frozen=True)
class WeightSamples(Source):
    """Networks that are drawn from the posterior of variational inference."""

    posterior: variational.Posterior
    seed: int
    n_passes: int

    @property
    def ensemble(self) -> Ensemble:
        return variational.sample(self.posterior, 0, self.n_passes, self.seed)

    @property
    def n_features(self) -> int:
        return self.posterior.members.architecture.n_inputs

    @property
    def n_outputs(self) -> int:
        return self.posterior.members.architecture.n_outputs

    @property
    def n_members(self) -> int:
        return self.n_passes

    def choosing(self, choice: Choice, interval: type[Interval]) -> WeightSamples:
        return self if choice.n_passes is None else replace(self, n_passes=int(choice.n_passes))

    def construction(self) -> dict[str, Any]:
        return {"n_passes": self.n_passes}

    def moments(self, machine: Machine) -> Moments:
        return engine.moments(self.ensemble, **machine)

    def members(self, X: Float32, machine: Machine) -> npt.NDArray[np.floating]:
        return engine.forward(self.ensemble, X, **machine)

    def graph(self, x: Value) -> tuple[Value, Value, Value | None]:
        return network_moments(x, self.ensemble)

    def _check_stored(self) -> None:
        check_seed(self.seed)
        require(len(self.posterior) == 1, "not one network")
        require(self.posterior.members.architecture.encoding is None, "weights of a network with an encoding")
        check_passes(self.n_passes)


@dataclass(frozen=True)
class FormulaMoments:
    """Mean and variance of the output under the weights' posterior: formulas, no samples."""

    posterior: pbp.Posterior
    n_threads: int
    n_members: int = 1

    def __call__(self, X: Float32) -> tuple[Array, Array, None]:
        mean, variance = pbp.moments(self.posterior, X, n_threads=self.n_threads)
        return mean.T, variance.T, None


@storable("GaussianWeights")
@dataclass(frozen=True)
class GaussianWeights(Source):
    """The posterior of probabilistic back-propagation: a network for each output."""

    posterior: pbp.Posterior
    seed: int
    n_passes: int  # networks that are drawn where members are asked for

    @property
    def n_features(self) -> int:
        return self.posterior.architecture.n_inputs

    @property
    def n_outputs(self) -> int:
        return len(self.posterior)

    @property
    def n_members(self) -> int:
        return 1

    def choosing(self, choice: Choice, interval: type[Interval]) -> GaussianWeights:
        return self if choice.n_passes is None else replace(self, n_passes=int(choice.n_passes))

    def moments(self, machine: Machine) -> Moments:
        return FormulaMoments(self.posterior, machine["n_threads"])

    def members(self, X: Float32, machine: Machine) -> npt.NDArray[np.floating]:
        networks = [pbp.sample(self.posterior, output, self.n_passes, self.seed) for output in range(self.n_outputs)]
        return np.concatenate([engine.forward(network, X, **machine) for network in networks], axis=2)

    def graph(self, x: Value) -> tuple[Value, Value, None]:
        posterior = self.posterior
        return *gaussian_moments(x, posterior.architecture, posterior.mean, posterior.variance), None

    def _check_stored(self) -> None:
        check_seed(self.seed)
        require(self.posterior.architecture.encoding is None, "weights of a network with an encoding")
        check_passes(self.n_passes)
