"""The doors to the networks' arithmetic, whichever device does it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal, Protocol, TypedDict

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.engine import native
from extranets.engine.options import Options, Trained
from extranets.networks import Ensemble, Members

Device = Literal["cpu", "cuda"]
DEVICES: tuple[Device, ...] = ("cpu", "cuda")


class Machine(TypedDict):
    """What does the work: how :func:`train`, :func:`forward` and :func:`moments` are told."""

    device: Device
    n_threads: int  # on the CPU


class Moments(Protocol):
    """What makes predictions: moments over members, over stochastic passes, or a method's own formulas."""

    @property
    def n_members(self) -> int:
        """Members or passes that a prediction averages."""

    def __call__(self, X: npt.NDArray[np.float32]) -> tuple[Array, Array, Array | None]:
        """Mean, spread (1/T), and the noise variance where it is predicted.

        Shape: ``(n, k)`` -> ``(n, n_outputs)`` each.
        """


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
    device: Device = "cpu",
    n_threads: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Trained:
    """Train every member; the result does not depend on ``n_threads`` or on which other members are there.

    Parameters
    ----------
    adversarial : array of shape (n_inputs,), optional
        Adversarial training (Lakshminarayanan et al., 2017): every row of a mini-batch joins it a second time, each
        input moved by this step, in the units of ``X``, to where the row's loss grows.
    counts : array of shape (n_samples_drawn, n_rows), optional
        How often each row stands in a sample: bootstrap counts, or 0 for rows of a held-out fold.
    count_rows : array of shape (n_members,), optional
        Which row of ``counts`` a member trains on; -1 means every row once.
    device : {"cpu", "cuda"}
        Where to train. Streams and arithmetic are the same, so that results agree to float32 rounding over short runs.
    progress : callable, optional
        Called on the calling thread several times a second with the share of the work that is done.

    Raises
    ------
    TrainingDiverged
        If a member's loss was not finite in any of its allowed starts.
    """
    given: dict[str, Any] = {
        "sample_weight": sample_weight,
        "adversarial": adversarial,
        "counts": counts,
        "count_rows": count_rows,
        "progress": progress,
    }
    if device == "cuda":
        return _cuda().train(members, X, y, options, seed, **given)
    return native.train(members, X, y, options, seed, **given, n_threads=n_threads)


def forward(
    ensemble: Ensemble,
    X: npt.ArrayLike,
    *,
    device: Device = "cpu",
    n_threads: int = 1,
    n_passes: int | None = None,
    dropout_keep: float = 1.0,
    input_keep: float = 1.0,
    seed: int = 0,
) -> npt.NDArray[np.float32]:
    """Heads of every member, or of ``n_passes`` stochastic passes with inverted dropout on hidden units and inputs.

    Pass ``p`` uses member ``p mod n_members`` and one mask for all rows, drawn from the stream of ``p``.

    Shape: X ``(n, n_inputs)`` -> ``(n_members or n_passes, n, n_heads)``.
    """
    thinning: dict[str, Any] = {
        "n_passes": n_passes,
        "dropout_keep": dropout_keep,
        "input_keep": input_keep,
        "seed": seed,
    }
    if device == "cuda":
        return _cuda().forward(ensemble, X, **thinning)
    return native.forward(ensemble, X, n_threads=n_threads, **thinning)


def moments(
    ensemble: Ensemble,
    *,
    device: Device = "cpu",
    n_threads: int = 1,
    n_passes: int | None = None,
    dropout_keep: float = 1.0,
    input_keep: float = 1.0,
    seed: int = 0,
) -> Moments:
    """Mean and variance over the members, or over the passes of :func:`forward`, without holding their predictions.

    Made once for an ensemble, called for as many blocks of rows as there are; a pass has the same mask in every call.
    """
    thinning: dict[str, Any] = {
        "n_passes": n_passes,
        "dropout_keep": dropout_keep,
        "input_keep": input_keep,
        "seed": seed,
    }
    if device == "cuda":
        return _cuda().Moments(ensemble, **thinning)
    return native.Moments(ensemble, n_threads=n_threads, **thinning)


def _cuda() -> ModuleType:
    from extranets.engine import cuda  # most processes have no use for it

    return cuda
