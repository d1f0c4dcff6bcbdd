"""Probabilistic back-propagation: a Gaussian posterior for every weight of a network with one output.

``reference_pbp`` says what is computed. Members are independent: each has its own streams, its own column of the targets
and its own sample of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import extranets.engine._native as _native
from extranets._arrays import Array
from extranets._random import Purpose, normal_blocks
from extranets.engine.data import TrainingData, float32
from extranets.engine.native import data_arrays
from extranets.engine.reference_pbp import START, first_means, first_variance
from extranets.model_file import require, storable
from extranets.networks import Architecture, Ensemble, draw_members


@storable("PBPPosterior")
@dataclass(frozen=True)
class Posterior:
    """The posteriors of some members that share an architecture.

    Shapes: ``mean`` and ``variance`` of the weights ``(n_members, n_weights)``, in the order of
    :class:`~extranets.networks.Ensemble`; ``noise`` and ``prior`` ``(n_members, 2)``: shape a and rate b of the gamma
    distributions of the precision of the noise and of the weights.
    """

    architecture: Architecture
    mean: Array
    variance: Array
    noise: Array
    prior: Array

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def noise_variance(self) -> Array:
        """Expected variance of the noise, ``(n_members,)``."""
        return self.noise[:, 1] / (self.noise[:, 0] - 1)

    def _check_stored(self) -> None:
        architecture, n = self.architecture, len(self)
        require(architecture.n_outputs == architecture.n_heads == 1, "a network must have one output")
        shape = (n, architecture.n_parameters(architecture.hidden))
        require(n >= 1 and self.mean.shape == shape, "mean does not fit the architecture")
        require(self.variance.shape == shape, "variance does not fit the architecture")
        require(
            self.noise.shape == self.prior.shape == (n, 2), "noise and prior must have two numbers for each network"
        )
        require(np.isfinite(self.mean).all(), "mean is not finite")
        for name in ("variance", "noise", "prior"):
            values = getattr(self, name)
            require((np.isfinite(values) & (values >= 0)).all(), f"{name} is negative or not finite")


def start(architecture: Architecture, ids: npt.ArrayLike, seed: int) -> Posterior:
    """The posteriors before training: random means, and gamma distributions that suit standardised targets."""
    means = [first_means(architecture, seed, int(member)) for member in np.asarray(ids)]
    n = (len(means), architecture.n_parameters(architecture.hidden))
    gammas = np.tile(START, (len(means), 1))
    return Posterior(architecture, np.reshape(means, n), np.full(n, first_variance()), gammas, gammas.copy())


def train(
    data: TrainingData,
    hidden: tuple[int, ...],
    *,
    ids: npt.ArrayLike,
    targets: npt.ArrayLike,
    n_passes: int = 40,
    seed: int,
    n_threads: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Posterior:
    """Train every member; the result does not depend on ``n_threads`` or on which other members are there.

    Parameters
    ----------
    data : TrainingData
        Standardised inputs and targets. Row i has noise variance ``sigma^2 / weight[i]``; a row with weight 0 is left
        out. ``adversarial`` must be None.
    hidden : tuple of int
        Units of each hidden layer; empty for a linear model.
    ids : array of shape (n_members,)
        The members' streams.
    targets : array of shape (n_members,)
        The column of ``y`` that a member learns.
    n_passes : int, default=40
        How often all rows are seen.
    progress : callable, optional
        Called on the calling thread about twenty times a second with the share of the work that is done.
    """
    if data.adversarial is not None:
        raise ValueError("probabilistic back-propagation has no adversarial rows; adversarial must be None")
    ids = np.ascontiguousarray(ids, dtype=np.uint32)
    posterior = start(Architecture(data.X.shape[1], tuple(hidden), 1, 1), ids, seed)
    _native.pbp_train(
        **data_arrays(data),
        members=ids,
        targets=np.ascontiguousarray(targets, dtype=np.int32),
        hidden=_hidden(posterior),
        n_passes=n_passes,
        seed=seed,
        mean=posterior.mean,
        variance=posterior.variance,
        noise=posterior.noise,
        prior=posterior.prior,
        n_threads=n_threads,
        progress=progress,
    )
    return posterior


def moments(posterior: Posterior, X: npt.ArrayLike, *, n_threads: int = 1) -> tuple[Array, Array]:
    """Mean and variance of every member's output, without noise.

    Shape: X ``(n, n_inputs)`` -> two arrays ``(n_members, n)``.
    """
    X = float32(X)
    mean, variance = np.empty((len(posterior), len(X))), np.empty((len(posterior), len(X)))
    _native.pbp_moments(
        hidden=_hidden(posterior),
        weight_mean=np.ascontiguousarray(posterior.mean),
        weight_variance=np.ascontiguousarray(posterior.variance),
        X=X,
        mean=mean,
        variance=variance,
        n_threads=n_threads,
    )
    return mean, variance


def sample(posterior: Posterior, member: int, n_samples: int, seed: int) -> Ensemble:
    """Networks drawn from the posterior of one member (an index). Drawing more keeps the earlier ones."""
    architecture = posterior.architecture
    sizes = architecture.layer_sizes(architecture.hidden)
    # The ensemble's layers have no factor 1 / sqrt(inputs + 1); it goes into the weights.
    factor = np.concatenate([np.full((n_in + 1) * n_out, 1 / np.sqrt(n_in + 1)) for n_in, n_out in sizes])
    ids = np.arange(n_samples, dtype=np.uint32)
    weights = np.empty((n_samples, len(factor)), dtype=np.float32)
    std = np.sqrt(posterior.variance[member])
    for some, draws in normal_blocks(seed, ids, Purpose.PASS, len(factor), part=member):
        weights[some] = (posterior.mean[member] + std * draws) * factor
    return Ensemble(draw_members(architecture, 1.0, seed, ids), weights.ravel())


def _hidden(posterior: Posterior) -> npt.NDArray[np.int32]:
    return np.array(posterior.architecture.hidden, dtype=np.int32)
