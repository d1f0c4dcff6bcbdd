"""How networks are trained, and what training gives back. Shared by all engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.model_file import storable
from extranets.networks import Ensemble, Members

Loss = Literal["squared_error", "gaussian_nll"]
Schedule = Literal["constant", "linear", "cosine"]

LOSSES: tuple[Loss, ...] = ("squared_error", "gaussian_nll")  # positions are the codes in native/contract.hpp
SCHEDULES: tuple[Schedule, ...] = ("constant", "linear", "cosine")

MOST_COUNT = 1 << 30  # of epochs, rows of a batch or starts: the engine counts in 32 bits
LOG_VARIANCE_LIMIT = 14.0  # as in native/loss.hpp


def check_keep(dropout_keep: float, input_keep: float) -> None:
    for name, keep in (("dropout_keep", dropout_keep), ("input_keep", input_keep)):
        if not 0 < keep <= 1:
            raise ValueError(f"{name} must be above 0 and at most 1, got {keep}")


@storable("Options")
@dataclass(frozen=True)
class Options:
    """Everything that training depends on besides data, members and seed.

    Attributes
    ----------
    warm_up_epochs : int
        Epochs at the start in which the Gaussian loss holds the variance at one, so that the variance does not explain
        away errors that the mean has not learned yet (Nix and Weigend, 1994). Early stopping begins after them.
    dropout_keep : float
        Keep probability of inverted dropout on the hidden units during training; 1 means none.
    input_keep : float
        The same for the inputs.
    max_grad_norm : float
        Largest Euclidean norm of a step's gradient; 0 means no clipping.
    validation_fraction : float
        Share of each member's rows that is held out for early stopping; 0 means none.
    n_starts : int
        Trainings per member, of which the one with the smallest training loss is kept.
    max_restarts : int
        How many starts with a non-finite loss or a collapsed network are replaced.
    collapse_r2 : float
        A network with a training R^2 below this counts as collapsed; for the Gaussian loss, the generalised R^2.
    """

    loss: Loss = "squared_error"
    n_epochs: int = 40
    batch_size: int = 32
    learning_rate: float = 0.01
    schedule: Schedule = "constant"
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-7
    weight_decay: float = 0.0
    warm_up_epochs: int = 0
    dropout_keep: float = 1.0
    input_keep: float = 1.0
    max_grad_norm: float = 0.0
    validation_fraction: float = 0.0
    patience: int = 10
    tolerance: float = 1e-4
    n_starts: int = 1
    max_restarts: int = 0
    collapse_r2: float = float("-inf")

    def __post_init__(self) -> None:
        check_keep(self.dropout_keep, self.input_keep)
        if self.warm_up_epochs < 0:
            raise ValueError(f"warm_up_epochs must not be negative, got {self.warm_up_epochs}")
        if self.warm_up_epochs > 0 and self.loss != "gaussian_nll":
            raise ValueError(f"warm_up_epochs is for loss='gaussian_nll'; {self.loss!r} has no variance to hold")


@dataclass(frozen=True)
class Stretch:
    """One part of a training: an epoch of other rows than those of the parts before, on from where these have ended.

    ``parameters`` and Adam's moments, ``first`` and ``second``, are read, unless ``steps`` is 0, and written, all in the layout of
    :class:`~extranets.networks.Ensemble`. Only the last part, which ends with the last step, tells loss and R^2 of the network on
    its rows; of others they are NaN.

    Attributes
    ----------
    number : int
        Of the part, counted from 0; it names the shuffle of the rows.
    attempts, steps, n_steps : integer arrays of shape (m,)
        Of each member: which start this is, mini-batches before this part, and mini-batches of all parts.
    """

    parameters: Float32
    first: Float32
    second: Float32
    number: int
    attempts: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]
    n_steps: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Training:
    """One ensemble to train: which networks, on which rows, and how; with a stretch, one part of that.

    Raises
    ------
    ValueError
        If the members cannot be trained on these rows.

    Examples
    --------
    >>> from extranets.engine import TrainingData
    >>> from extranets.networks import Architecture, draw_members
    >>> members = draw_members(Architecture(1, (8,), 1, 1), 0.9, seed=0, ids=[0, 1, 2])
    >>> len(Training(members, TrainingData([[0], [1], [2]], [0, 1, 4]), Options(n_epochs=5), seed=0).members)
    3
    """

    members: Members
    data: Any  # TrainingData, or WindowedData for rows that memory cannot hold
    options: Options
    seed: int
    stretch: Stretch | None = None

    def __post_init__(self) -> None:
        self.data.check_members(self.members)


@dataclass(frozen=True)
class Trained:
    """A trained ensemble and how the training went, one entry per member.

    Shapes: ``loss_curve (m, n_epochs)`` (NaN after an early stop), all other arrays ``(m,)``.
    """

    ensemble: Ensemble
    loss_curve: Float32
    train_loss: Array
    train_r2: Array
    validation_loss: Array
    n_epochs: npt.NDArray[np.int32]
    n_attempts: npt.NDArray[np.int32]
    collapsed: npt.NDArray[np.bool_]


def joined(parts: Sequence[Trained]) -> Trained:
    """The results of several calls as one. No member depends on which others are trained in the same call."""
    ensemble = sum((part.ensemble for part in parts[1:]), parts[0].ensemble)
    names = [each.name for each in fields(Trained) if each.name != "ensemble"]
    return Trained(ensemble, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
