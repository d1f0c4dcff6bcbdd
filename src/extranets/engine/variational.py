"""Gaussian posteriors of networks: trained by the compiled engine, sampled in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

import extranets.engine._native as _native
from extranets._arrays import Float32
from extranets._random import Purpose, normal_blocks
from extranets.engine.data import TrainingData
from extranets.engine.native import data_arrays, diverged, member_arrays, native_options
from extranets.engine.options import Options
from extranets.model_file import require, storable
from extranets.networks import Ensemble, Members

USED_OPTIONS = {"n_epochs", "batch_size", "learning_rate", "schedule", "beta1", "beta2", "epsilon"}


@storable("VariationalPosterior")
@dataclass(frozen=True)
class Posterior:
    """Independent normal weights and biases of every member.

    Shapes: ``mean`` and ``std`` as ``Ensemble.parameters``, ``noise_variance (m, n_outputs)``, ``prior_variance (m,)``,
    ``loss_curve (m, n_epochs)``.
    """

    members: Members
    mean: Float32
    std: Float32
    noise_variance: Float32
    prior_variance: Float32
    loss_curve: Float32

    def __len__(self) -> int:
        return len(self.members)

    def _check_stored(self) -> None:
        architecture, n = self.members.architecture, len(self)
        require(not architecture.learns_noise, "n_heads must be n_outputs")
        require(self.mean.shape == self.std.shape == (self.members.n_parameters,), "mean or std do not fit the members")
        require(self.noise_variance.shape == (n, architecture.n_outputs), "noise_variance does not fit the members")
        require(self.prior_variance.shape == (n,), "prior_variance does not fit the members")
        require(self.loss_curve.ndim == 2 and len(self.loss_curve) == n, "loss_curve does not fit the members")
        require(np.isfinite(self.mean).all(), "mean is not finite")
        for name in ("std", "noise_variance", "prior_variance"):
            values = getattr(self, name)
            require((np.isfinite(values) & (values >= 0)).all(), f"{name} is negative or not finite")


def _check(members: Members, data: TrainingData, options: Options) -> None:
    data.check_members(members)
    if members.architecture.learns_noise:
        raise ValueError("variational inference has one noise variance per output: n_heads must be n_outputs")
    if members.architecture.encoding is not None:
        raise ValueError("variational inference takes the table's columns as they are: encoding must be None")
    other = [f.name for f in fields(Options) if f.name not in USED_OPTIONS and getattr(options, f.name) != f.default]
    if other:
        raise ValueError(f"variational inference does not use the option {other[0]!r}; leave its default")
    if data.adversarial is not None:
        raise ValueError("variational inference has no adversarial rows; adversarial must be None")


def train(
    members: Members,
    data: TrainingData,
    options: Options,
    seed: int,
    *,
    graves: bool = False,
    n_threads: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Posterior:
    """Variational inference for every member; ``reference_variational`` says what is minimised, and how ``graves`` differs.

    The other parameters are those of :func:`extranets.engine.train`. A weight of 2 counts like the row twice, so weights should be
    near 1 on average: their sum decides how much the data count against the prior.

    Raises
    ------
    TrainingDiverged
        If a member's loss was not finite.
    ValueError
        If an option is set that has no meaning here, or the data do not fit the members.
    """
    _check(members, data, options)
    n, n_parameters = len(members), members.offsets[-1]
    shapes = {
        "mean": n_parameters,
        "std": n_parameters,
        "noise_variance": (n, members.architecture.n_outputs),
        "prior_variance": n,
        "loss_curve": (n, options.n_epochs),
    }
    out = {name: np.empty(shape, dtype=np.float32) for name, shape in shapes.items()}
    outcomes = np.empty(n, dtype=np.int32)
    _native.train_variational(
        **data_arrays(data),
        **member_arrays(members),
        **out,
        options=native_options(options, seed),
        outcomes=outcomes,
        graves=graves,
        n_threads=n_threads,
        progress=progress,
    )
    error = diverged(members, outcomes, "under variational inference. Lower learning_rate_init")
    if error is not None:
        raise error
    return Posterior(members, **out)


def sample(posterior: Posterior, member: int, n_samples: int, seed: int, first: int = 0) -> Ensemble:
    """Networks drawn from the posterior of one member (an index, not an id): samples ``first`` to ``first + n_samples``.

    Every sample has a stream of its own, so that drawing more keeps the earlier ones.
    """
    members = posterior.members
    part = slice(*members.offsets[member : member + 2])
    mean, std = posterior.mean[part], posterior.std[part]
    ids = np.arange(first, first + n_samples, dtype=np.uint32)
    weights = np.empty((n_samples, len(mean)), dtype=np.float32)
    for some, draws in normal_blocks(seed, ids, Purpose.PASS, len(mean), part=int(members.ids[member])):
        weights[some] = mean + std * draws
    again = np.full(n_samples, member)
    drawn = Members(members.architecture, ids, members.widths[again], members.masks[again])
    return Ensemble(drawn, weights.ravel())
