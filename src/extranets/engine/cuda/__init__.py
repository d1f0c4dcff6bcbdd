"""The engine on an NVIDIA GPU: the same streams and the same arithmetic as on the CPU, equal to float32 rounding.

One block of threads trains one member; ``kernels/`` holds its arithmetic, ``training`` what happens to whole ensembles.
Results are plain host arrays: a model that was trained here loads and predicts on machines without a GPU.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets.engine.cuda import training
from extranets.engine.cuda.checks import check_training
from extranets.engine.cuda.gpu import NoGpu, the_gpu
from extranets.engine.cuda.prediction import Passes
from extranets.engine.cuda.starts import Result
from extranets.engine.native import adversarial_steps, float32, in_any_start, raise_if_diverged, training_arrays
from extranets.engine.options import Options, Trained, joined
from extranets.networks import Ensemble, Members

__all__ = ["Moments", "NoGpu", "forward", "the_gpu", "train"]

_MEMORY_SHARE = 0.8  # of what is free
_one_at_a_time = threading.Lock()  # trainings in several threads would count on the same free memory


def train(
    members: Members,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    options: Options,
    seed: int,
    *,
    sample_weight: npt.ArrayLike | None = None,
    adversarial: npt.ArrayLike | None = None,
    counts: npt.NDArray[np.uint16] | None = None,
    count_rows: npt.ArrayLike | None = None,
    progress: Callable[[float], object] | None = None,
) -> Trained:
    """As :func:`extranets.engine.native.train`."""
    arrays = training_arrays(members, X, y, sample_weight, counts, count_rows)
    arrays["adversarial"] = None if adversarial is None else adversarial_steps(adversarial)
    check_training(members, arrays, options)
    with _one_at_a_time:
        results = _train_all(members, arrays, options, seed, progress or (lambda share: None))
    raise_if_diverged(members, np.concatenate([result.starts.outcome for result in results]), in_any_start(options))
    return joined([result.trained for result in results])


def _train_all(
    members: Members, arrays: dict[str, Any], options: Options, seed: int, report: Callable[[float], object]
) -> list[Result]:
    """As many members at once as the GPU's memory has room for, fewer if that was too many."""
    gpu, results = the_gpu(), []
    begin, at_once = 0, members_at_once(members, arrays, options)
    while begin < len(members):
        some = slice(begin, min(begin + at_once, len(members)))
        before, share = begin / len(members), (some.stop - begin) / len(members)

        def partly(done: float, before: float = before, share: float = share) -> None:
            report(before + share * done)

        try:
            results.append(training.train(gpu, members[some], _of_members(arrays, some), options, seed, partly))
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


def _of_members(arrays: dict[str, Any], some: slice) -> dict[str, Any]:
    per_member = ("members", "widths", "count_rows")
    return {**arrays, **{name: arrays[name][some] for name in per_member if arrays[name] is not None}}


def members_at_once(members: Members, arrays: dict[str, Any], options: Options) -> int:
    free = _MEMORY_SHARE * the_gpu().free_bytes() - arrays["X"].nbytes - arrays["y"].nbytes
    return max(1, min(len(members), int(free / training.bytes_per_member(members, arrays, options))))


def forward(
    ensemble: Ensemble,
    X: npt.ArrayLike,
    *,
    n_passes: int | None = None,
    dropout_keep: float = 1.0,
    input_keep: float = 1.0,
    seed: int = 0,
) -> npt.NDArray[np.float32]:
    """As :func:`extranets.engine.native.forward`."""
    X = float32(X)
    passes = Passes(the_gpu(), ensemble, n_passes, dropout_keep, input_keep, seed)
    out = np.empty((passes.n_passes, len(X), passes.architecture.n_heads), dtype=np.float32)
    for rows, heads in passes.blocks(X):
        out[:, rows] = the_gpu().host(heads)
    return out


class Moments:
    """As :class:`extranets.engine.native.Moments`."""

    def __init__(
        self,
        ensemble: Ensemble,
        *,
        n_passes: int | None = None,
        dropout_keep: float = 1.0,
        input_keep: float = 1.0,
        seed: int = 0,
    ) -> None:
        self._passes = Passes(the_gpu(), ensemble, n_passes, dropout_keep, input_keep, seed)
        self.n_members = self._passes.n_passes

    def __call__(
        self, X: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64] | None]:
        X = float32(X)
        architecture = self._passes.architecture
        mean, variance, noise = (np.empty((len(X), architecture.n_outputs)) for _ in range(3))
        for rows, heads in self._passes.blocks(X):
            mean[rows], variance[rows], noise[rows] = self._passes.moments(heads)
        return mean, variance, noise if architecture.learns_noise else None
