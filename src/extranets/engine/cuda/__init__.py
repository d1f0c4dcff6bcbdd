"""The engine on an NVIDIA GPU: the same streams and the same arithmetic as on the CPU, equal to float32 rounding.

One block of threads trains one member; ``kernels/`` holds its arithmetic, ``training`` what happens to whole ensembles.
Results are plain host arrays: a model that was trained here loads and predicts on machines without a GPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.engine.cuda import training
from extranets.engine.cuda.checks import check_training
from extranets.engine.cuda.gpu import NoGpu, the_gpu
from extranets.engine.cuda.prediction import EnsembleOnGpu
from extranets.engine.cuda.starts import Result
from extranets.engine.data import TrainingData, float32
from extranets.engine.native import TrainingDiverged, diverged, in_any_start
from extranets.engine.options import Options, Trained, Training, joined
from extranets.engine.passes import Passes
from extranets.networks import Ensemble, Members

__all__ = ["Moments", "NoGpu", "forward", "the_gpu", "train_all"]

_MEMORY_SHARE = 0.8  # of what is free
_one_at_a_time = threading.Lock()  # trainings in several threads would count on the same free memory


def train_all(
    trainings: Sequence[Training], *, progress: Callable[[float], object] | None = None
) -> list[Trained | TrainingDiverged]:
    """As :func:`extranets.engine.native.train_all`, one training after the other."""
    for each in trainings:
        check_training(each.members, each.options)
    report = _Rising(progress or (lambda share: None))
    found, done, whole = [], 0.0, sum(map(_cost, trainings))
    with _one_at_a_time:
        for each in trainings:
            share = _cost(each) / whole
            found.append(_train(each, _part_of(report, done, share)))
            done += share
    report(1.0)
    return found


def _cost(one: Training) -> float:
    """Roughly the time of a training whose members work side by side: that of its steps."""
    options, n_rows = one.options, len(one.data.X)
    return options.n_starts * options.n_epochs * max(1, n_rows / options.batch_size)


class _Rising:
    """Progress that never falls, though a start that will be replaced was none."""

    def __init__(self, report: Callable[[float], object]) -> None:
        self.report, self.shown = report, 0.0

    def __call__(self, done: float) -> None:
        self.shown = min(1.0, max(self.shown, done))
        self.report(self.shown)


def _part_of(report: Callable[[float], object], before: float, share: float) -> Callable[[float], object]:
    """The progress of a share of the work, which begins when ``before`` is done."""
    return lambda done: report(before + share * done)


def _train(one: Training, report: Callable[[float], object]) -> Trained | TrainingDiverged:
    results = _members_trained(one, report)
    outcomes = np.concatenate([result.starts.outcome for result in results])
    error = diverged(one.members, outcomes, in_any_start(one.options))
    return error or joined([result.trained for result in results])


def _members_trained(one: Training, report: Callable[[float], object]) -> list[Result]:
    """As many members at once as the GPU's memory has room for, fewer if that was too many."""
    members, data, options = one.members, one.data, one.options
    gpu, results = the_gpu(), []
    begin, at_once, n = 0, members_at_once(members, data, options), len(members)
    while begin < n:
        some = slice(begin, min(begin + at_once, n))
        partly = _part_of(report, begin / n, (some.stop - begin) / n)
        try:
            results.append(training.train(gpu, members[some], data.of_members(some), options, one.seed, partly))
        except gpu.OutOfMemory:
            gpu.release()
            if at_once == 1:
                raise MemoryError(
                    "The GPU's memory has no room for one network. Use a smaller batch_size or hidden_layer_sizes, or "
                    "device='cpu'."
                ) from None
            at_once = -(-at_once // 2)
        else:
            begin = some.stop
    return results


def members_at_once(members: Members, data: TrainingData, options: Options) -> int:
    free = _MEMORY_SHARE * the_gpu().free_bytes() - data.X.nbytes - data.y.nbytes
    return max(1, min(len(members), int(free / training.bytes_per_member(members, data, options))))


def forward(ensemble: Ensemble, X: npt.ArrayLike, passes: Passes | None = None) -> Float32:
    """As :func:`extranets.engine.native.forward`."""
    X = float32(X)
    predictor = EnsembleOnGpu(the_gpu(), ensemble, passes)
    out = np.empty((predictor.n_passes, len(X), predictor.architecture.n_heads), dtype=np.float32)
    for rows, heads in predictor.blocks(X):
        out[:, rows] = the_gpu().host(heads)
    return out


class Moments:
    """As :class:`extranets.engine.native.Moments`."""

    def __init__(self, ensemble: Ensemble, passes: Passes | None = None) -> None:
        self._predictor = EnsembleOnGpu(the_gpu(), ensemble, passes)
        self.n_members = self._predictor.n_passes

    def __call__(self, X: npt.ArrayLike) -> tuple[Array, Array, Array | None]:
        X = float32(X)
        architecture = self._predictor.architecture
        mean, variance, noise = (np.empty((len(X), architecture.n_outputs)) for _ in range(3))
        for rows, heads in self._predictor.blocks(X):
            mean[rows], variance[rows], noise[rows] = self._predictor.moments(heads)
        return mean, variance, noise if architecture.learns_noise else None
