"""Noise that is the same everywhere: one residual variance for each output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from extranets._arrays import Array
from extranets.engine import Machine
from extranets.held_out import Sample, errors_on_all
from extranets.model_file import require, storable
from extranets.predictor.part import Noise, Source
from extranets.uncertainty.components import HeldOut
from extranets.uncertainty.noise import held_out_variance


@storable("ConstantNoise")
@dataclass(frozen=True)
class ConstantNoise(Noise):
    """Shape: factor ``(n_outputs,)``, the variance itself."""

    differs: ClassVar[bool] = False

    factor: Array

    @classmethod
    def learn(cls, held: HeldOut, n_members: float) -> ConstantNoise:
        """As it would be for an ensemble of ``n_members``."""
        return cls(held_out_variance(held, n_members))

    def relearned(self, source: Source, sample: Sample, machine: Machine) -> tuple[ConstantNoise, HeldOut]:
        held = errors_on_all(source.moments(machine), sample)
        return self.learn(held, source.n_members), held

    def check_fits(self, source: Source) -> None:
        super().check_fits(source)
        require(not source.learns_noise, "the networks do not fit the noise")
