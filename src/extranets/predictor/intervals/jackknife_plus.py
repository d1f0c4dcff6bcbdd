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
from extranets.predictor.conformal import FROM_BEFORE
from extranets.predictor.graph_parts import in_units as graph_units
from extranets.predictor.intervals.bootstrap_averaged import BootstrapAveraged
from extranets.predictor.intervals.plus import PlusBounds, in_units
from extranets.predictor.part import Source
from extranets.predictor.strata import Beside, Portion, Strata
from extranets.predictor.units import Units
from extranets.uncertainty.plus import jackknife_after_bootstrap_bounds


@storable("JackknifePlus")
@dataclass(frozen=True)
class JackknifePlus(PlusBounds, BootstrapAveraged):
    """What is kept of the samples. Shapes: in_bag ``(n_members, n)``, residuals ``(n, n_outputs)``, prediction less target,
    standardised."""

    name: ClassVar[str] = "jackknife+"
    missing: ClassVar[str] = "was set after fit, which kept no samples; call fit again."

    in_bag: npt.NDArray[np.bool_]
    residuals: Array
    strata: Strata = FROM_BEFORE

    def stratified(self, strata: Strata) -> JackknifePlus:
        return self._stratified(strata)

    @property
    def telling(self) -> npt.NDArray[np.bool_]:
        return np.asarray(~self.in_bag.all(axis=0))

    def centres(self, X: Float32, source: Source, machine: Machine) -> npt.NDArray[np.floating]:
        return source.members(X, machine)

    def bounds(self, centres: npt.NDArray[np.floating], units: Units, levels: Array, beside: Beside) -> Array:
        return in_units(self.levels_of(centres, levels, beside), units)

    def portion_bounds(self, centres: npt.NDArray[np.floating], portion: Portion, output: int, levels: Array) -> Array:
        tails, residuals = self.strata.as_tails, self.residuals[portion.known, output]
        errors = np.abs(residuals) if tails == "joint" else -residuals
        in_bag = self.in_bag[:, portion.known]
        return jackknife_after_bootstrap_bounds(centres, in_bag, errors, levels, tails=tails, **portion.weighing)

    def graph_bounds(self, x: Value, source: Source, units: Units, levels: Array) -> Bounds:
        out = ~self.in_bag
        usable = out.any(axis=0)
        shares = out[:, usable] / out[:, usable].sum(axis=0)
        members = graph_units(source.graph_members(x), units.y)
        return self.graph_of(members.transpose(2, 1, 0) @ shares, -self.residuals[usable] * units.y.scale, levels)

    def _check_stored(self) -> None:
        require(self.residuals.ndim == 2 and self.in_bag.ndim == 2, "residuals or in_bag do not have two axes")
        require(self.in_bag.shape[1] == len(self.residuals), "in_bag does not fit the residuals")
        self.strata.check_stored(len(self.residuals))
        usable = self.telling
        require(usable.any() and np.isfinite(self.residuals[usable]).all(), "residuals out of the bag are not finite")

    def check_fits(self, source: Source) -> None:
        shapes = self.in_bag.shape[0], self.residuals.shape[1]
        require(shapes == (source.n_members, source.n_outputs), "the jackknife+ does not fit the networks")
