"""The bootstrap's noise: a residual variance for each of the centres that its intervals have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from extranets._arrays import Array
from extranets.engine import Machine
from extranets.held_out import Sample, errors_on_all
from extranets.model_file import require, storable
from extranets.predictor.part import Choice, Interval, Noise, Source, check_variances
from extranets.predictor.sources.resampled import CENTRES, Resampled
from extranets.uncertainty.components import HeldOut
from extranets.uncertainty.noise import held_out_variance, training_variance


@storable("CentredNoise")
@dataclass(frozen=True)
class CentredNoise(Noise):
    """Variances of shape ``(n_outputs,)`` by centre, and the centre in use."""

    differs: ClassVar[bool] = False

    variances: dict[str, Array]
    centre: str = "mean"

    @classmethod
    def learn(cls, held: HeldOut, n_members: float) -> CentredNoise:
        """From out-of-bag errors: a single network errs by the whole spread, a mean of T by 1/T of it."""
        return cls({name: held_out_variance(held, n_members if name == "mean" else 1) for name in CENTRES})

    @classmethod
    def of_training(cls, source: Resampled, sample: Sample, machine: Machine, n_parameters: float) -> CentredNoise:
        """Mean squared errors of every centre on the sample's rows, corrected for degrees of freedom."""
        variances = {}
        for name in CENTRES:
            errors = errors_on_all(replace(source, centre=name).moments(machine), sample)
            variances[name] = training_variance(errors.residual, errors.weight, n_parameters)
        return cls(variances)

    @property
    def factor(self) -> Array:  # type: ignore[override]
        return self.variances[self.centre]

    def choosing(self, choice: Choice, interval: type[Interval]) -> CentredNoise:
        return self if interval.centre == self.centre else replace(self, centre=interval.centre)

    def widened(self, widening: Array) -> CentredNoise:
        return replace(self, variances={name: each * widening for name, each in self.variances.items()})

    def relearned(self, source: Source, sample: Sample, machine: Machine) -> tuple[CentredNoise, HeldOut]:
        assert isinstance(source, Resampled)  # which `check_fits` sees to
        return self.of_training(source, sample, machine, 0.0), errors_on_all(source.moments(machine), sample)

    def check_fits(self, source: Source) -> None:
        require(isinstance(source, Resampled) and not source.learns_noise, "the networks do not fit the noise")
        require(self.variances.keys() == CENTRES.keys() and self.centre in CENTRES, "noise of other centres")
        for name, variance in self.variances.items():
            check_variances(variance, (source.n_outputs,), f"noise of {name!r}")
