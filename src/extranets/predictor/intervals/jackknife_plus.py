"""Jackknife+-after-bootstrap (Kim et al. 2020): bounds from errors on the rows that resampled networks did not draw.

They need no distribution. Variances are those of the interval around the mean of the resampled networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.engine import Machine
from extranets.model_file import require, storable
from extranets.onnx_graph import Bounds, Value
from extranets.predictor.conformal import warn_if_infinite
from extranets.predictor.graph_parts import in_units, plus_bounds
from extranets.predictor.intervals.bootstrap_averaged import BootstrapAveraged
from extranets.predictor.part import Source
from extranets.predictor.units import Units
from extranets.uncertainty.conformal import conformal_quantile, jackknife_after_bootstrap_interval


@storable("JackknifePlus")
@dataclass(frozen=True)
class JackknifePlus(BootstrapAveraged):
    """What is kept of the samples. Shapes: in_bag ``(n_members, n)``, residuals ``(n, n_outputs)``, standardised."""

    name: ClassVar[str] = "jackknife+"
    needs_rows: ClassVar[bool] = True
    on_request: ClassVar[bool] = True
    own_bounds: ClassVar[bool] = True
    missing: ClassVar[str] = "was set after fit, which kept no samples; call fit again."

    in_bag: npt.NDArray[np.bool_]
    residuals: Array

    def centres(self, X: Float32, source: Source, machine: Machine) -> npt.NDArray[np.floating]:
        return source.members(X, machine)

    def bounds(self, centres: npt.NDArray[np.floating], units: Units, levels: Array) -> Array:
        members = units.y.undo(centres)
        absolute = np.abs(self.residuals) * units.y.scale
        outputs = range(absolute.shape[1])
        bounds = [
            jackknife_after_bootstrap_interval(members[:, :, o], self.in_bag, absolute[:, o], levels) for o in outputs
        ]
        return np.stack(bounds, axis=1)

    def graph_bounds(self, x: Value, source: Source, units: Units, levels: Array) -> Bounds:
        out = ~self.in_bag
        usable = out.any(axis=0)
        shares = out[:, usable] / out[:, usable].sum(axis=0)
        absolute = np.abs(self.residuals[usable]) * units.y.scale
        warn_if_infinite(conformal_quantile(absolute, levels), levels, len(absolute), "Fit to more rows.")
        members = in_units(source.graph_members(x), units.y)
        return plus_bounds(members.transpose(2, 1, 0) @ shares, absolute, levels)

    def warn_if_infinite(self, bounds: Array, levels: Array) -> None:
        warn_if_infinite(bounds, levels, len(self.residuals), "Fit to more rows.")

    def _check_stored(self) -> None:
        require(self.residuals.ndim == 2 and self.in_bag.ndim == 2, "residuals or in_bag do not have two axes")
        require(self.in_bag.shape[1] == len(self.residuals), "in_bag does not fit the residuals")
        usable = ~self.in_bag.all(axis=0)
        require(usable.any() and np.isfinite(self.residuals[usable]).all(), "residuals out of the bag are not finite")

    def check_fits(self, source: Source) -> None:
        shapes = self.in_bag.shape[0], self.residuals.shape[1]
        require(shapes == (source.n_members, source.n_outputs), "the jackknife+ does not fit the networks")
