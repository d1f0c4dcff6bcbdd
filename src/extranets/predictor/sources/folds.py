"""Networks of one kind, each of which left a fold of the rows out: together they predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Float32
from extranets.engine import Machine, Moments
from extranets.model_file import require, storable
from extranets.networks import Ensemble
from extranets.onnx_graph import Value
from extranets.predictor.graph_parts import network_moments, network_predictions
from extranets.predictor.part import Source


@storable("FoldNetworks")
@dataclass(frozen=True)
class FoldNetworks(Source):
    """Their mean predicts; their variance is the spread."""

    ensemble: Ensemble

    @property
    def n_features(self) -> int:
        return self.ensemble.members.architecture.n_inputs

    @property
    def n_outputs(self) -> int:
        return self.ensemble.members.architecture.n_outputs

    @property
    def n_members(self) -> int:
        return len(self.ensemble)

    def moments(self, machine: Machine) -> Moments:
        return engine.moments(self.ensemble, **machine)

    def members(self, X: Float32, machine: Machine) -> npt.NDArray[np.floating]:
        return engine.forward(self.ensemble, X, **machine)

    def graph(self, x: Value) -> tuple[Value, Value, Value | None]:
        return network_moments(x, self.ensemble)

    def graph_members(self, x: Value) -> Value:
        return network_predictions(x, self.ensemble)

    def _check_stored(self) -> None:
        require(not self.ensemble.members.architecture.learns_noise, "not networks of means")
