"""Noise that the networks predict themselves, with a second head for each output (``loss="gaussian_nll"``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from extranets._arrays import Array, Float32
from extranets.engine import Machine
from extranets.held_out import Sample, errors_on_all
from extranets.model_file import require, storable
from extranets.onnx_graph import Value
from extranets.predictor.part import Noise, Source
from extranets.uncertainty.components import HeldOut


@storable("HeadNoise")
@dataclass(frozen=True)
class HeadNoise(Noise):
    """Shape: factor ``(n_outputs,)``, of what the networks predict."""

    differs: ClassVar[bool] = True

    factor: Array

    @classmethod
    def of(cls, n_outputs: int) -> HeadNoise:
        """As the networks predict it."""
        return cls(np.ones(n_outputs))

    def _shape(self, X: Float32, predicted: Array | None, machine: Machine) -> Array | None:
        return predicted

    def _graph_shape(self, x: Value, predicted: Value | None) -> Value | None:
        return predicted

    def relearned(self, source: Source, sample: Sample, machine: Machine) -> tuple[HeadNoise, HeldOut]:
        return self.of(len(self.factor)), errors_on_all(source.moments(machine), sample)

    def check_fits(self, source: Source) -> None:
        super().check_fits(source)
        require(source.learns_noise, "the networks do not fit the noise")
