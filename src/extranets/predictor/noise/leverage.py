"""The delta method's noise: squared errors on unseen rows have mean noise * (1 + S(x)), S(x) being the leverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from extranets._arrays import Array
from extranets.engine import Machine
from extranets.held_out import Sample, errors_on_all
from extranets.model_file import require, storable
from extranets.predictor.part import Noise, Source
from extranets.predictor.sources.linearised import Linearised
from extranets.uncertainty.components import HeldOut


@storable("LeverageNoise")
@dataclass(frozen=True)
class LeverageNoise(Noise):
    """Shape: factor ``(n_outputs,)``, the variance itself."""

    differs: ClassVar[bool] = False

    factor: Array

    @classmethod
    def learn(cls, held: HeldOut) -> LeverageNoise:
        """From errors in which ``spread`` is the leverage."""
        return cls(np.average(held.residual**2 / (1 + held.spread), axis=0, weights=held.weight))

    def relearned(self, source: Source, sample: Sample, machine: Machine) -> tuple[LeverageNoise, HeldOut]:
        held = errors_on_all(source.moments(machine), sample)
        return self.learn(held), held

    def check_fits(self, source: Source) -> None:
        super().check_fits(source)
        require(isinstance(source, Linearised), "the networks have no leverage")
