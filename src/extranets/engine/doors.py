"""The doors to the networks' arithmetic, whichever device does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Literal, Protocol, TypedDict

import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.engine import in_windows, native
from extranets.engine.checkpoints import Checkpoint
from extranets.engine.data import TrainingData
from extranets.engine.native import TrainingDiverged
from extranets.engine.options import Options, Trained, Training
from extranets.engine.passes import Passes
from extranets.engine.pieces import Place, train_in_pieces
from extranets.engine.windows import WindowedData, is_windowed
from extranets.engine.workers import Workers
from extranets.networks import Ensemble, Members

Device = Literal["cpu", "cuda"]
DEVICES: tuple[Device, ...] = ("cpu", "cuda")


class Machine(TypedDict):
    """Which device does the work: keyword arguments of :func:`train`, :func:`forward` and :func:`moments`."""

    device: Device
    n_threads: int  # on the CPU


class Moments(Protocol):
    """What makes predictions: moments over members, over stochastic passes, or a method's own formulas."""

    @property
    def n_members(self) -> float:
        """Members or passes that a prediction averages; of a weighted mean, as many as would vary as much."""

    def __call__(self, X: Float32) -> tuple[Array, Array, Array | None]:
        """Mean, variance over the members (divided by their number), and the noise variance where it is predicted.

        Shape: ``(n, k)`` -> ``(n, n_outputs)`` each.
        """


def train(
    members: Members,
    data: TrainingData | WindowedData,
    options: Options,
    seed: int,
    *,
    device: Device = "cpu",
    n_threads: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Trained:
    """Train every member; the result does not depend on ``n_threads`` or on which other members are there.

    Parameters
    ----------
    device : {"cpu", "cuda"}
        Where to train. Streams and arithmetic are the same, so that results agree to float32 rounding over short runs.
    progress : callable, optional
        Called on the calling thread several times a second with the share of the work that is done, at last with 1.

    Raises
    ------
    TrainingDiverged
        If every allowed start of some member ended with a loss that is not finite.
    ValueError
        If data, members and options do not fit each other.
    """
    alone = [Training(members, data, options, seed)]
    found = train_all(alone, device=device, n_threads=n_threads, progress=progress)[0]
    if isinstance(found, TrainingDiverged):
        raise found
    return found


def train_all(
    trainings: Sequence[Training],
    *,
    device: Device = "cpu",
    n_threads: int = 1,
    progress: Callable[[float], object] | None = None,
) -> list[Trained | TrainingDiverged]:
    """Train several ensembles in one call, each with its own networks, rows and options.

    Every result is what :func:`train` gives for its training alone, to the last bit. On the CPU the members of all trainings
    wait in one queue, so that no thread idles before all are done. A GPU does one training after the other. Within
    ``joblib.parallel_config`` with a named backend, its workers train; within :func:`keeping`, results are kept in a folder.

    Parameters
    ----------
    device : {"cpu", "cuda"}
        As in :func:`train`.
    progress : callable, optional
        As in :func:`train`: the share of the work of all trainings.

    Returns
    -------
    list of Trained or TrainingDiverged
        In the order of ``trainings``. What :func:`train` would raise stands in the place of its training.

    Examples
    --------
    >>> from extranets.networks import Architecture, draw_members
    >>> data = TrainingData([[0], [1], [2]], [0, 1, 4])
    >>> members = [draw_members(Architecture(1, (n,), 1, 1), 1.0, seed=0, ids=[0, 1]) for n in (4, 8)]
    >>> small, large = train_all([Training(each, data, Options(n_epochs=5), seed=0) for each in members])
    >>> len(small.ensemble.parameters), len(large.ensemble.parameters)
    (26, 50)
    """
    if any(map(is_windowed, trainings)):
        if device == "cuda":
            raise ValueError("Networks that train on a table in windows are trained on the CPU: set device='cpu'.")
        return in_windows.train_all(trainings, n_threads=n_threads, progress=progress)
    here = _train_on_gpu if device == "cuda" else native.train_all
    workers, checkpoint = Workers.worth_asking(trainings), Checkpoint.active()
    if workers is None and checkpoint is None:
        return here(trainings, n_threads=n_threads, progress=progress)
    return train_in_pieces(trainings, Place(device, n_threads, here, workers, checkpoint), progress)


def _train_on_gpu(
    trainings: Sequence[Training], *, n_threads: int = 1, progress: Callable[[float], object] | None = None
) -> list[Trained | TrainingDiverged]:
    return list(_cuda().train_all(trainings, progress=progress))


def forward(
    ensemble: Ensemble,
    X: npt.ArrayLike,
    passes: Passes | None = None,
    *,
    device: Device = "cpu",
    n_threads: int = 1,
) -> Float32:
    """Heads of every member, or of every stochastic pass.

    Shape: X ``(n, n_inputs)`` -> ``(n_members or n_passes, n, n_heads)``.
    """
    if device == "cuda":
        return _cuda().forward(ensemble, X, passes)
    return native.forward(ensemble, X, passes, n_threads=n_threads)


def moments(ensemble: Ensemble, passes: Passes | None = None, *, device: Device = "cpu", n_threads: int = 1) -> Moments:
    """Mean and variance over the members, or over stochastic passes, without holding their predictions.

    Made once for an ensemble, called for as many blocks of rows as there are.
    """
    if device == "cuda":
        return _cuda().Moments(ensemble, passes)
    return native.Moments(ensemble, passes, n_threads=n_threads)


def _cuda() -> ModuleType:
    from extranets.engine import cuda  # most processes have no use for it

    return cuda
