"""CV+ (Barber et al. 2021): bounds from each fold's networks and their errors on the rows that they left out.

They need no distribution. Variances are those of the calibrated interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array, Float32
from extranets.engine import Machine
from extranets.held_out import errors_on
from extranets.model_file import require, storable
from extranets.networks import Ensemble
from extranets.onnx_graph import Bounds, Value, concatenate
from extranets.predictor.conformal import warn_if_infinite
from extranets.predictor.graph_parts import in_units, network_predictions, plus_bounds
from extranets.predictor.intervals.calibrated import Calibrated
from extranets.predictor.part import Evidence, Folds, Interval, Number, Source
from extranets.predictor.sources.networks import TrainedNetworks
from extranets.predictor.units import Units
from extranets.uncertainty.conformal import conformal_quantile, cv_plus_interval


@storable("KeptFolds")
@dataclass(frozen=True)
class CvPlus(Interval):
    """What is kept of the folds. Shapes: fold_of_row ``(n_train,)``, residuals ``(n_train, n_outputs)``, absolute."""

    name: ClassVar[str] = "cv+"
    needs_rows: ClassVar[bool] = True
    on_request: ClassVar[bool] = True
    needs_every_row: ClassVar[bool] = True
    own_bounds: ClassVar[bool] = True
    missing: ClassVar[str] = "was set after fit, which kept no folds' networks; call fit again."

    calibrated: Calibrated
    ensembles: list[Ensemble]
    fold_of_row: npt.NDArray[np.intp]
    residuals: Array

    @classmethod
    def learn(cls, evidence: Evidence, noise: Array) -> CvPlus:
        if evidence.folds is None:
            raise ValueError(f"interval='cv+' {cls.missing}")
        folds = evidence.folds
        return cls(Calibrated.learn(evidence, noise), folds.ensembles, folds.plan.fold_of_row, _residuals(folds))

    def relearned(self, evidence: Evidence, noise: Array) -> CvPlus:
        return replace(self, calibrated=Calibrated.learn(evidence, noise))

    def widened(self, widening: Array) -> CvPlus:
        return replace(self, calibrated=self.calibrated.widened(widening))

    def variances(self, spread: Number, noise: Number, n_members: float) -> tuple[Number, Number]:
        return self.calibrated.variances(spread, noise, n_members)

    def centres(self, X: Float32, source: Source, machine: Machine) -> npt.NDArray[np.floating]:
        return np.stack([engine.moments(ensemble, **machine)(X)[0] for ensemble in self.ensembles])

    def bounds(self, centres: npt.NDArray[np.floating], units: Units, levels: Array) -> Array:
        outputs = range(self.residuals.shape[1])
        bounds = [cv_plus_interval(centres[:, :, o], self.fold_of_row, self.residuals[:, o], levels) for o in outputs]
        return np.stack([_in_units(each, units, o) for o, each in enumerate(bounds)], axis=1)

    def graph_bounds(self, x: Value, source: Source, units: Units, levels: Array) -> Bounds:
        means = [in_units(network_predictions(x, ensemble).mean(0), units.y) for ensemble in self.ensembles]
        by_fold = concatenate([mean.unsqueeze(0) for mean in means], axis=0).transpose(2, 1, 0)
        self.warn_if_infinite(conformal_quantile(self.residuals, levels), levels)
        return plus_bounds(by_fold.take(self.fold_of_row, axis=2), self.residuals * units.y.scale, levels)

    def warn_if_infinite(self, bounds: Array, levels: Array) -> None:
        warn_if_infinite(bounds, levels, len(self.residuals), "Fit to more rows.")

    def _check_stored(self) -> None:
        n = len(self.residuals)
        require(self.residuals.ndim == 2 and n >= 1, "residuals have the wrong shape")
        require((np.isfinite(self.residuals) & (self.residuals >= 0)).all(), "residuals are negative or not finite")
        require(self.fold_of_row.shape == (n,), "fold_of_row does not fit the residuals")
        folds = (self.fold_of_row >= 0) & (self.fold_of_row < len(self.ensembles))
        require(folds.all(), "fold_of_row points at folds that are not there")

    def check_fits(self, source: Source) -> None:
        require(isinstance(source, TrainedNetworks), "folds are kept of networks that predict in another way")
        assert isinstance(source, TrainedNetworks)  # for mypy
        self.calibrated.check_fits(source)
        own = source.recipe.architecture
        same = all(ensemble.members.architecture == own for ensemble in self.ensembles)
        require(same, "the folds' networks have another architecture")
        require(self.residuals.shape[1] == source.n_outputs, "the folds' residuals do not fit the outputs")


def _residuals(folds: Folds) -> Array:
    """Absolute errors of every training row. Shape: ``(n_train, n_outputs)``."""
    residuals = np.empty(folds.sample.y.shape)
    for fold, ensemble in enumerate(folds.ensembles):
        rows = np.flatnonzero(folds.plan.fold_of_row == fold)
        residuals[rows] = np.abs(errors_on(folds.moments_of(ensemble), folds.sample, rows).residual)
    return residuals


def _in_units(bounds: Array, units: Units, output: int) -> Array:
    return bounds * units.y.scale[output] + units.y.centre[output]
