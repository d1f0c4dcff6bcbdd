"""What CV+ and jackknife+ share: bounds from every training row's own error, by tail, by group and with weights.

They need no distribution; a distribution that belongs to them is made of the bounds of many levels.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.onnx_graph import Bounds, Value
from extranets.predictor.conformal import warn_if_infinite
from extranets.predictor.graph_parts import plus_bounds
from extranets.predictor.part import Interval
from extranets.predictor.strata import Beside, Portion, Strata
from extranets.predictor.units import Units
from extranets.uncertainty.conformal import conformal_quantile

if TYPE_CHECKING:
    from typing_extensions import Self  # typing has it from Python 3.11 on


class PlusBounds(Interval):
    """Shape: residuals ``(n_train, n_outputs)``."""

    needs_rows: ClassVar[bool] = True
    on_request: ClassVar[bool] = True
    own_bounds: ClassVar[bool] = True
    predictive: ClassVar[bool] = True

    residuals: Array
    strata: Strata

    @property
    def telling(self) -> npt.NDArray[np.bool_]:
        """Training rows whose residuals say something. Shape: ``(n_train,)``."""
        return np.ones(len(self.residuals), dtype=bool)

    @abstractmethod
    def portion_bounds(self, centres: npt.NDArray[np.floating], portion: Portion, output: int, levels: Array) -> Array:
        """Of one portion's new rows, in the units of the residuals. Shape: centres ``(n_centres, n)`` -> ``(n, k)``."""

    @abstractmethod
    def stratified(self, strata: Strata) -> Self:
        """With bounds by tail, by group, or with weights."""

    def _stratified(self, strata: Strata) -> Self:
        strata.check_stored(len(self.residuals))
        changed: Self = replace(cast(Any, self), strata=strata)
        return changed

    def levels_of(self, centres: npt.NDArray[np.floating], levels: Array, beside: Beside) -> Array:
        """Shape: centres ``(n_centres, n, n_outputs)`` -> ``(n, n_outputs, k)``."""
        self.strata.check_new(beside)
        found = np.empty((centres.shape[1], centres.shape[2], len(levels)))
        found[:] = np.where(levels < 0.5, -np.inf, np.inf)  # rows of unknown groups: nothing can be promised
        for portion in self.strata.portions(beside):
            if self.telling[portion.known].any():
                for output in range(centres.shape[2]):
                    own = centres[:, portion.new, output]
                    found[portion.new, output] = self.portion_bounds(own, portion, output, levels)
        return found

    def graph_of(self, centres: Value, errors: Array, levels: Array) -> Bounds:
        """Shape: centres ``(n_outputs, n, n_train)``, errors ``(n_train, n_outputs)``, both in the target's units."""
        if not self.strata.plain:
            what = "groups" if self.strata.names is not None else "weights"
            raise ValueError(
                f"A graph takes features alone, and these intervals need {what} of the new rows. Call "
                f"conformalize_training_rows without {what} before to_onnx."
            )
        joint = self.strata.tails == "joint"
        known = conformal_quantile(np.abs(errors), levels if joint else (1 + levels) / 2)
        warn_if_infinite(known, levels, f"{len(errors)} rows are too few", "Fit to more rows.")
        return plus_bounds(centres, errors, levels, joint)

    def warn_if_infinite(self, bounds: Array, levels: Array, beside: Beside) -> None:
        rows = np.asarray(np.isinf(bounds).reshape(len(bounds), -1).any(axis=1))
        if rows.any():
            too_few = self.strata.too_few(rows, beside, len(self.residuals))
            warn_if_infinite(bounds, levels, too_few, "Fit to more rows.")


def in_units(bounds: Array, units: Units) -> Array:
    """Shape: ``(n, n_outputs, k)``, standardised."""
    return bounds * units.y.scale[:, None] + units.y.centre[:, None]
