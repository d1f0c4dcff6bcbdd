"""Interval around the mean of the resampled networks (equation "pred2d" of Section 3.2): sigma*_omega^2(x) / T + sigma_e^2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from extranets.model_file import storable
from extranets.predictor.part import Interval, Number


@storable("BootstrapAveraged")
@dataclass(frozen=True)
class BootstrapAveraged(Interval):
    """As if the resampled networks' errors were independent."""

    name: ClassVar[str] = "averaged"

    def variances(self, spread: Number, noise: Number, n_members: float) -> tuple[Number, Number]:
        return spread / n_members, noise
