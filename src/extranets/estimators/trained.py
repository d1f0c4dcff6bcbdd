"""Estimators whose networks Adam trains: their shared parameters, and what a fit leaves of the training."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array, Float32
from extranets._progress import thread_count
from extranets._random import draw_seed
from extranets._warnings import warn_user
from extranets.engine import Machine, Moments
from extranets.estimators.base import NetsRegressor
from extranets.estimators.settings import Settings
from extranets.estimators.training import Trainer
from extranets.held_out import Sample, errors_on_all
from extranets.networks import Ensemble
from extranets.predictor.intervals import INTERVALS
from extranets.predictor.noise import ConstantNoise, HeadNoise
from extranets.predictor.part import Noise, Source
from extranets.predictor.sources import TrainedNetworks
from extranets.predictor.sources.networks import OfNetworks
from extranets.uncertainty.noise import leaves_too_few_degrees, training_variance


@dataclass(eq=False, repr=False)
class AdamRegressor(NetsRegressor):
    """Parameters of Adam."""

    _: KW_ONLY
    learning_rate_init: float = 0.01
    learning_rate_schedule: Literal["constant", "linear", "cosine"] = "linear"
    max_iter: int | Literal["auto"] = "auto"
    batch_size: int = 32
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7


@dataclass(eq=False, repr=False)
class TrainedRegressor(AdamRegressor):
    """Parameters of training, and attributes that tell how it went."""

    _: KW_ONLY
    numeric_encoding: Literal["piecewise_linear", "periodic"] | None = None
    n_bins: int = 16
    alpha: float = 0.0
    max_grad_norm: float | None = None
    early_stopping: bool | Literal["auto"] = "auto"
    validation_fraction: float = 0.1
    n_iter_no_change: int = 20
    tol: float = 1e-4
    n_starts: int = 1
    max_restarts: int = 5
    collapse_r2: float = 1e-4
    device: engine.Device = "cpu"

    @property
    def ensemble_(self) -> Ensemble:
        return self._networks.ensemble

    @property
    def restarts_(self) -> npt.NDArray[np.int32]:
        return self._networks.restarts

    @property
    def loss_curve_(self) -> Float32:
        return self._networks.loss_curve

    @property
    def n_iter_(self) -> int:
        return self._networks.n_iter

    @property
    def _networks(self) -> TrainedNetworks:
        return networks_of(self.model_.source)

    # -- for the estimators' own steps ---------------------------------------------------------------------------------

    def _trainer(self, settings: Settings, seed: int, purpose: str = "") -> Trainer:
        return Trainer(settings, seed, self._machine(), self._watch, purpose)

    def _machine(self) -> Machine:
        return {"device": self.device, "n_threads": thread_count(self.n_jobs)}

    def _grows(self) -> bool:
        return bool(self.get_params(deep=False).get("warm_start")) and self.__sklearn_is_fitted__()

    def _old_networks(self) -> TrainedNetworks | None:
        """What a warm start goes on from."""
        return self._networks if self._grows() else None

    def _seed(self) -> int:
        return self._networks.recipe.seed if self._grows() else draw_seed(self.random_state)


def networks_of(source: Source) -> TrainedNetworks:
    """The networks inside a source."""
    found = source.networks if isinstance(source, OfNetworks) else source
    assert isinstance(found, TrainedNetworks)  # estimators of this kind have no other sources
    return found


def check_rows_for(interval: str, noise: str) -> None:
    """Refuse an interval that needs held-out rows where there are none."""
    if INTERVALS[interval].needs_rows and noise == "train":
        raise ValueError(
            f"interval={interval!r} needs errors on rows that were not trained on; use noise='cv' or noise='holdout', or "
            "another interval with noise='train'."
        )


def noise_without_rows(source: Source, sample: Sample, n_parameters: float, machine: Machine) -> Noise:
    """Noise where no rows are held out: the networks' own prediction, else the variance of training residuals."""
    if source.learns_noise:
        return HeadNoise.of(source.n_outputs)
    return ConstantNoise(training_noise(source.moments(machine), sample, n_parameters, honest="cv"))


def training_noise(moments: Moments, sample: Sample, n_parameters: float | Array, *, honest: str) -> Array:
    """Variance of training residuals; ``honest`` is what to use instead. Shape: -> ``(n_outputs,)``."""
    warn_of_few_degrees(n_parameters, len(sample.y), honest=honest)
    errors = errors_on_all(moments, sample)
    return training_variance(errors.residual, errors.weight, n_parameters)


def warn_of_few_degrees(n_parameters: float | Array, n_rows: int, *, honest: str) -> None:
    """Warn where training residuals say little about the noise."""
    if leaves_too_few_degrees(n_parameters, n_rows):
        warn_user(
            f"noise='train': a network has {np.max(n_parameters):.0f} parameters and there are {n_rows} rows, so training "
            f"residuals say little about the noise; use noise={honest!r}."
        )
