"""Networks of one kind, each of which left a fold of the rows out: together they predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array, Float32
from extranets.engine import Machine, Moments
from extranets.model_file import require, storable
from extranets.networks import Ensemble
from extranets.onnx_graph import Value
from extranets.predictor.graph_parts import network_moments, network_predictions
from extranets.predictor.part import Source

LIMITS = (0.1, 1e6)  # smallest and largest that a file may hold
FARTHEST = np.float32(1e15)  # beyond, squares would overflow; what is drawn in has reached its limit long before


def drawn_in(X: Float32, limit: float) -> Float32:
    """Standardised columns whose far values are drawn in: all are between ``-limit`` and ``limit``, in their order.

    Networks go on straight beyond the rows that they know, so a single value that is far out in a column with a long tail can
    make a prediction that is far off. Near zero nothing changes.

    Examples
    --------
    >>> drawn_in(np.array([[0.1, 1.0, 3.0, 40.0]], dtype=np.float32), 3.0).round(2).tolist()
    [[0.10000000149011612, 0.949999988079071, 2.119999885559082, 2.990000009536743]]
    """
    X = np.clip(X, -FARTHEST, FARTHEST)
    return np.asarray(X / np.sqrt(1 + (X / np.float32(limit)) ** 2), dtype=np.float32)


@dataclass(frozen=True)
class DrawnInMoments:
    """Moments of networks whose inputs are drawn in first."""

    moments: Moments
    limit: float

    @property
    def n_members(self) -> float:
        return self.moments.n_members

    def __call__(self, X: Float32) -> tuple[Array, Array, Array | None]:
        return self.moments(drawn_in(X, self.limit))


@storable("FoldNetworks")
@dataclass(frozen=True)
class FoldNetworks(Source):
    """Their mean predicts; their variance is the spread.

    ``limit`` is where their inputs are drawn in to; None: they are taken as they are.
    """

    ensemble: Ensemble
    limit: float | None = None

    @property
    def n_features(self) -> int:
        return self.ensemble.members.architecture.n_inputs

    @property
    def n_outputs(self) -> int:
        return self.ensemble.members.architecture.n_outputs

    @property
    def n_members(self) -> int:
        return len(self.ensemble)

    def moments(self, machine: Machine) -> Moments:
        moments = engine.moments(self.ensemble, **machine)
        return moments if self.limit is None else DrawnInMoments(moments, self.limit)

    def members(self, X: Float32, machine: Machine) -> npt.NDArray[np.floating]:
        return engine.forward(self.ensemble, X if self.limit is None else drawn_in(X, self.limit), **machine)

    def graph(self, x: Value) -> tuple[Value, Value, Value | None]:
        return network_moments(self._drawn_in(x), self.ensemble)

    def graph_members(self, x: Value) -> Value:
        return network_predictions(self._drawn_in(x), self.ensemble)

    def _drawn_in(self, x: Value) -> Value:
        """As :func:`drawn_in` does it."""
        if self.limit is None:
            return x
        x = x.apply("Clip", -FARTHEST, FARTHEST)
        share = x / np.float32(self.limit)
        return x / (share * share + np.float32(1)).apply("Sqrt")

    def _check_stored(self) -> None:
        require(self.limit is None or LIMITS[0] <= self.limit <= LIMITS[1], "a limit of inputs that cannot be meant")
        require(not self.ensemble.members.architecture.learns_noise, "not networks of means")
