"""The Normal distribution. There is nothing to learn about its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from extranets._arrays import Array
from extranets.metrics import crps_gaussian, gaussian_log_likelihood
from extranets.model_file import storable
from extranets.predictor.part import Distribution
from extranets.uncertainty import predictive

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen


@storable("Normal")
@dataclass(frozen=True)
class Normal(Distribution):
    """A Normal distribution."""

    name: ClassVar[str] = "normal"

    @classmethod
    def learn(cls, errors: Array, weight: Array) -> tuple[Normal, Array]:
        return cls(), np.ones(errors.shape[1])

    @classmethod
    def without_rows(cls) -> Normal:
        return cls()

    def multiples(self, levels: Array) -> Array:
        return predictive.multiples(levels)[None, :]

    def describe(self) -> str:
        return "Normal"

    def log_likelihood(self, y: Array, mean: Array, std: Array, weight: Array | None = None) -> float:
        return gaussian_log_likelihood(y, mean, std, sample_weight=weight)

    def crps(self, y: Array, mean: Array, std: Array, weight: Array | None = None) -> float:
        return crps_gaussian(y, mean, std, sample_weight=weight)

    def frozen(self, mean: Array, std: Array) -> rv_continuous_frozen:
        return predictive.distribution(mean, std)
