"""Without 1/T: sigma_omega^2(x) + sigma_e^2, as if the members' errors were all the same (c = sigma_omega^2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from extranets.model_file import storable
from extranets.predictor.part import Interval, Number


@storable("Total")
@dataclass(frozen=True)
class Total(Interval):
    """As if the members' errors were all the same."""

    name: ClassVar[str] = "total"

    def variances(self, spread: Number, noise: Number, n_members: float) -> tuple[Number, Number]:
        return spread, noise
