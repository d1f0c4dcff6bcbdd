"""The paper's construction: sigma_omega^2(x) / T + sigma_e^2 (Algorithm 1; equation "predictionEnsemble1")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from extranets.model_file import storable
from extranets.predictor.part import Interval, Number


@storable("Paper")
@dataclass(frozen=True)
class Paper(Interval):
    """As if the members' errors were independent."""

    name: ClassVar[str] = "paper"

    def variances(self, spread: Number, noise: Number, n_members: float) -> tuple[Number, Number]:
        return spread / n_members, noise
