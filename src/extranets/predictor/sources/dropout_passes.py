"""Monte Carlo dropout: one network that predicts many times, each time with other units dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array, Float32
from extranets._random import Purpose, uniforms
from extranets.engine import Machine, Moments, Passes, reference
from extranets.engine.reference_encoding import column_of_input
from extranets.model_file import require, storable
from extranets.networks import Ensemble
from extranets.onnx_graph import Value
from extranets.predictor.graph_parts import network_moments
from extranets.predictor.part import Choice, Interval
from extranets.predictor.sources.networks import OfNetworks, Recipe, check_passes


@storable("DropoutPasses")
@dataclass(frozen=True)
class DropoutPasses(OfNetworks):
    """Passes come from the fit's own streams, so that predictions are reproducible."""

    n_passes: int

    @property
    def n_members(self) -> int:
        return self.n_passes

    def choosing(self, choice: Choice, interval: type[Interval]) -> DropoutPasses:
        return self if choice.n_passes is None else replace(self, n_passes=int(choice.n_passes))

    def construction(self) -> dict[str, Any]:
        return {"n_passes": self.n_passes}

    def moments(self, machine: Machine) -> Moments:
        return engine.moments(self.networks.ensemble, passes(self.networks.recipe, self.n_passes), **machine)

    def members(self, X: Float32, machine: Machine) -> npt.NDArray[np.floating]:
        heads = engine.forward(self.networks.ensemble, X, passes(self.networks.recipe, self.n_passes), **machine)
        return heads[:, :, : self.n_outputs]

    def graph(self, x: Value) -> tuple[Value, Value, Value | None]:
        network = self.networks.ensemble
        return network_moments(x, network, pass_factors(network, self.n_passes, self.networks.recipe))

    def _check_stored(self) -> None:
        require(len(self.networks.ensemble) == 1, "not one network")
        check_passes(self.n_passes)


def passes(recipe: Recipe, n_passes: int) -> Passes:
    """Those of a network that was trained in this way."""
    return Passes(n_passes, recipe.options.dropout_keep, recipe.options.input_keep, recipe.seed)


def pass_factors(network: Ensemble, n_passes: int, recipe: Recipe) -> list[Array]:
    """What every pass multiplies the inputs, and then the units of each hidden layer, by.

    Shape: ``(n_passes, 1, n_units)`` for each of them.
    """
    members = network.members
    layers = reference.unflatten(network.parameters, members.architecture, members.widths[0])
    keeps = recipe.options.dropout_keep, recipe.options.input_keep
    columns = column_of_input(members.architecture.encoding, members.architecture.n_inputs)

    def of_pass(index: int) -> list[Array]:
        draw = partial(uniforms, recipe.seed, index, Purpose.PASS)
        return reference.dropout_factors(draw, layers, 1, *keeps, columns)

    return [np.stack(factors) for factors in zip(*map(of_pass, range(n_passes)), strict=True)]
