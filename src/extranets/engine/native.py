"""The compiled engine behind plain functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

import extranets.engine._native as _native
from extranets._arrays import Array, Float32
from extranets.encodings import PiecewiseLinear
from extranets.engine.data import TrainingData, float32
from extranets.engine.options import LOSSES, SCHEDULES, Options, Stretch, Trained, Training
from extranets.engine.passes import Passes
from extranets.networks import Architecture, Ensemble, Members

VARIANT_VARIABLE = "EXTRANETS_VARIANT"

if os.environ.get(VARIANT_VARIABLE):
    _native.use_variant(os.environ[VARIANT_VARIABLE])

NOT_FINITE = 2  # Outcome in native/contract.hpp
COLLAPSED = 1
_PIECEWISE_LINEAR, _PERIODIC = 0, 1  # EncodingKind


class TrainingDiverged(ArithmeticError):
    """Every allowed start of some members ended with a loss that is not finite. ``members`` holds their ids."""

    def __init__(self, message: str, members: Sequence[int] = ()) -> None:
        super().__init__(message)  # pickled with the message alone; `members` travels with the attributes
        self.members = members


def native_options(options: Options, seed: int) -> Any:
    out = _native.Options()
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name == "loss":
            value = LOSSES.index(value)
        elif field.name == "schedule":
            value = SCHEDULES.index(value)
        setattr(out, field.name, value)
    out.seed = seed
    return out


def _encoding(architecture: Architecture) -> Any:
    """An encoding as the extension takes it; None if no column is encoded."""
    encoding = architecture.encoding
    if encoding is None or len(encoding.columns) == 0:
        return None
    columns = np.ascontiguousarray(encoding.columns, dtype=np.int32)
    first = np.append(0, np.cumsum(encoding.n_entries)).astype(np.int32)
    if isinstance(encoding, PiecewiseLinear):
        return _native.Encoding(_PIECEWISE_LINEAR, columns, first, float32(encoding.edges))
    return _native.Encoding(_PERIODIC, columns, first, float32(encoding.frequencies))


def data_arrays(data: TrainingData) -> dict[str, Any]:
    """Rows as the extension takes them."""
    return {name: getattr(data, name) for name in ("X", "y", "weight", "counts", "count_rows")}


def member_arrays(members: Members) -> dict[str, Any]:
    """Members as the extension takes them, and where each of them has its parameters."""
    return {
        "members": np.ascontiguousarray(members.ids, dtype=np.uint32),
        "widths": np.ascontiguousarray(members.widths, dtype=np.int32),
        "offsets": members.offsets,
    }


class Results:
    """Where the extension writes what it has found about the members of one training."""

    def __init__(self, training: Training) -> None:
        n, stretch = len(training.members), training.stretch
        size = training.members.offsets[-1]
        self.parameters = np.empty(size, dtype=np.float32) if stretch is None else stretch.parameters
        self.loss_curve = np.empty((n, training.options.n_epochs), dtype=np.float32)
        self.scalars = np.empty((n, 3))
        self.integers = np.empty((n, 3), dtype=np.int32)

    def of(self, training: Training) -> Trained | TrainingDiverged:
        n_epochs, n_attempts, outcomes = self.integers.T
        error = diverged(training.members, outcomes, in_any_start(training.options))
        return error or Trained(
            Ensemble(training.members, self.parameters),
            self.loss_curve,
            train_loss=self.scalars[:, 0],
            train_r2=self.scalars[:, 1],
            validation_loss=self.scalars[:, 2],
            n_epochs=n_epochs,
            n_attempts=n_attempts,
            collapsed=outcomes == COLLAPSED,
        )


def _native_training(training: Training, results: Results) -> Any:
    return _native.Training(
        **data_arrays(training.data),
        **member_arrays(training.members),
        adversarial=training.data.adversarial,
        encoding=_encoding(training.members.architecture),
        options=native_options(training.options, training.seed),
        **vars(results),
        **({} if training.stretch is None else _stretch_arrays(training.stretch)),
    )


def _stretch_arrays(stretch: Stretch) -> dict[str, Any]:
    number = np.full_like(stretch.steps, stretch.number)
    table = np.column_stack([stretch.attempts, number, stretch.steps, stretch.n_steps])
    return {
        "first": stretch.first,
        "second": stretch.second,
        "stretches": np.ascontiguousarray(table, dtype=np.int64),
    }


def train_all(
    trainings: Sequence[Training], *, n_threads: int = 1, progress: Callable[[float], object] | None = None
) -> list[Trained | TrainingDiverged]:
    """As :func:`extranets.engine.train_all`, on the cores of this machine."""
    results = run_all(trainings, n_threads=n_threads, progress=progress)
    return [found.of(training) for training, found in zip(trainings, results, strict=True)]


def run_all(
    trainings: Sequence[Training], *, n_threads: int = 1, progress: Callable[[float], object] | None = None
) -> list[Results]:
    """The same, with what was found about each member, those that diverged among them."""
    results = [Results(training) for training in trainings]
    pairs = list(zip(trainings, results, strict=True))
    _native.train_all([_native_training(*pair) for pair in pairs], n_threads, progress)
    return results


def in_any_start(options: Options) -> str:
    n_starts = options.n_starts + options.max_restarts
    return f"in any of {n_starts} starts. Lower learning_rate_init, or set max_grad_norm=1.0"


def diverged(members: Members, outcomes: npt.NDArray[np.int32], end_of_sentence: str) -> TrainingDiverged | None:
    """The error that names the members whose loss was not finite; None where all were."""
    ids = [int(i) for i in members.ids[outcomes == NOT_FINITE]]
    return _diverged(len(members), ids, end_of_sentence) if ids else None


def diverged_members(members: Members, ids: Sequence[int], options: Options) -> TrainingDiverged:
    """The same for members that are known by their ids."""
    return _diverged(len(members), ids, in_any_start(options))


def _diverged(n_members: int, ids: Sequence[int], end_of_sentence: str) -> TrainingDiverged:
    names = ", ".join(map(str, ids[:10])) + (", ..." if len(ids) > 10 else "")
    return TrainingDiverged(
        f"The loss of {len(ids)} of {n_members} networks (member {names}) was not finite {end_of_sentence}.", ids
    )


def _packed(ensemble: Ensemble) -> Any:
    a = ensemble.members.architecture
    widths = np.ascontiguousarray(ensemble.members.widths, dtype=np.int32)
    return _native.Packed(a.n_inputs, a.n_outputs, a.n_heads, widths, float32(ensemble.parameters), _encoding(a))


def _packed_passes(ensemble: Ensemble, passes: Passes | None) -> Any:
    packed = _packed(ensemble)
    if passes is not None:
        packed.set_passes(list(range(passes.n_passes)), passes.dropout_keep, passes.input_keep, passes.seed)
    return packed


def forward(ensemble: Ensemble, X: npt.ArrayLike, passes: Passes | None = None, *, n_threads: int = 1) -> Float32:
    """As :func:`extranets.engine.forward`."""
    X = float32(X)
    n = len(ensemble) if passes is None else passes.n_passes
    out = np.empty((n, len(X), ensemble.members.architecture.n_heads), dtype=np.float32)
    _packed_passes(ensemble, passes).forward(X=X, out=out, n_threads=n_threads)
    return out


class Moments:
    """As :func:`extranets.engine.moments`: row by row, so that no member's predictions are held."""

    def __init__(self, ensemble: Ensemble, passes: Passes | None = None, *, n_threads: int = 1) -> None:
        self._packed = _packed_passes(ensemble, passes)
        self.n_members = len(ensemble) if passes is None else passes.n_passes
        self._architecture = ensemble.members.architecture
        self._n_threads = n_threads

    def __call__(self, X: npt.ArrayLike) -> tuple[Array, Array, Array | None]:
        """Mean, variance (divided by the number of members), and the mean predicted variance under the Gaussian loss (else None).

        Shape: X ``(n, n_inputs)`` -> three arrays ``(n, n_outputs)``.
        """
        X = float32(X)
        shape = (len(X), self._architecture.n_outputs)
        mean, variance = np.empty(shape), np.empty(shape)
        noise = np.empty(shape) if self._architecture.learns_noise else None
        self._packed.moments(X=X, mean=mean, variance=variance, mean_variance=noise, n_threads=self._n_threads)
        return mean, variance, noise


def random_words(seed: int, member: int, purpose: int, n: int) -> npt.NDArray[np.uint32]:
    """The first ``n`` words of a member's stream, as :func:`extranets._random.words` gives them, only faster."""
    out = np.empty(n, dtype=np.uint32)
    _native.random_words(seed, member, int(purpose), 0, 0, out)
    return out


def jacobian(ensemble: Ensemble, member: int, X: npt.ArrayLike, *, head: int = 0, n_threads: int = 1) -> Float32:
    """Gradient of one head of one member with respect to its parameters.

    Shape: X ``(n, n_inputs)`` -> ``(n, n_parameters)``; call it block by block when that is large.
    """
    X = float32(X)
    one = ensemble[member : member + 1]
    out = np.empty((len(X), len(one.parameters)), dtype=np.float32)
    _packed(one).jacobian(X=X, head=head, out=out, n_threads=n_threads)
    return out


def gradient(ensemble: Ensemble, member: int, data: TrainingData, options: Options) -> tuple[float, Float32]:
    """Mean loss over all rows, each once, and its gradient; without dropout and adversarial rows."""
    one = ensemble[member : member + 1]
    out = np.empty(len(one.parameters), dtype=np.float32)
    loss = _native.gradient(
        X=data.X,
        y=data.y,
        weight=data.weight,
        widths=np.ascontiguousarray(one.members.widths[0], dtype=np.int32),
        parameters=float32(one.parameters),
        encoding=_encoding(one.members.architecture),
        options=native_options(options, 0),
        out=out,
    )
    return loss, out
