"""Percentile interval (Efron 1979; first construction of Section 3.2): quantiles of the resampled networks' predictions.

It holds no noise term: it is an interval for the regression function, and new targets fall outside it far more often than
its level says. Variances are those of the Normal interval around the full-sample network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.engine import Machine
from extranets.model_file import storable
from extranets.onnx_graph import Bounds, Value, percentile_bounds
from extranets.predictor.graph_parts import in_units
from extranets.predictor.intervals.bootstrap_normal import BootstrapNormal
from extranets.predictor.part import Source
from extranets.predictor.sources.resampled import Resampled
from extranets.predictor.strata import Beside
from extranets.predictor.units import Units


@storable("BootstrapPercentile")
@dataclass(frozen=True)
class BootstrapPercentile(BootstrapNormal):
    """Bounds from the networks alone."""

    name: ClassVar[str] = "percentile"
    own_bounds: ClassVar[bool] = True

    def centres(self, X: Float32, source: Source, machine: Machine) -> npt.NDArray[np.floating]:
        return source.members(X, machine)

    def bounds(self, centres: npt.NDArray[np.floating], units: Units, levels: Array, beside: Beside) -> Array:
        return percentiles(units.y.undo(centres), levels)

    def graph_bounds(self, x: Value, source: Source, units: Units, levels: Array) -> Bounds:
        assert isinstance(source, Resampled)  # which the bootstrap's `source_kind` sees to
        return percentile_bounds(in_units(source.graph_members(x), units.y), source.n_members, levels)


def percentiles(members: Array, levels: Array) -> Array:
    """Empirical quantiles. Shape: members ``(n_members, ...)``, levels ``(k,)`` -> ``(..., k)``."""
    return np.moveaxis(np.quantile(members, levels, axis=0), 0, -1)
