"""Normal interval around the full-sample network (equation "pred2b" of Section 3.2): f(x) with sigma*_omega^2(x) + sigma_e^2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from extranets.model_file import storable
from extranets.predictor.part import Interval, Number


@storable("BootstrapNormal")
@dataclass(frozen=True)
class BootstrapNormal(Interval):
    """The spread of the resampled networks stands for that of the one network."""

    name: ClassVar[str] = "normal"
    centre: ClassVar[str] = "full"

    def variances(self, spread: Number, noise: Number, n_members: float) -> tuple[Number, Number]:
        return spread, noise
