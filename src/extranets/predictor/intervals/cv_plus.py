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
from extranets.predictor.conformal import FROM_BEFORE
from extranets.predictor.graph_parts import in_units, network_predictions
from extranets.predictor.intervals import plus
from extranets.predictor.intervals.calibrated import Calibrated
from extranets.predictor.part import Evidence, Folds, Number, Source
from extranets.predictor.sources.networks import TrainedNetworks
from extranets.predictor.strata import Beside, Portion, Strata
from extranets.predictor.units import Units
from extranets.uncertainty.plus import cv_plus_bounds


@storable("KeptFolds")
@dataclass(frozen=True)
class CvPlus(plus.PlusBounds):
    """What is kept of the folds. Shapes: fold_of_row ``(n_train,)``, residuals ``(n_train, n_outputs)``, target less prediction, or
    absolute in files of versions that knew no separate tails."""

    name: ClassVar[str] = "cv+"
    needs_every_row: ClassVar[bool] = True
    missing: ClassVar[str] = "was set after fit, which kept no folds' networks; call fit again."

    calibrated: Calibrated
    ensembles: list[Ensemble]
    fold_of_row: npt.NDArray[np.intp]
    residuals: Array
    signed: bool = False
    strata: Strata = FROM_BEFORE

    @classmethod
    def learn(cls, evidence: Evidence, noise: Array) -> CvPlus:
        if evidence.folds is None:
            raise ValueError(f"interval='cv+' {cls.missing}")
        folds = evidence.folds
        return cls(Calibrated.learn(evidence, noise), folds.ensembles, folds.plan.fold_of_row, _residuals(folds), True)

    def relearned(self, evidence: Evidence, noise: Array) -> CvPlus:
        return replace(self, calibrated=Calibrated.learn(evidence, noise))

    def widened(self, widening: Array) -> CvPlus:
        return replace(self, calibrated=self.calibrated.widened(widening))

    def variances(self, spread: Number, noise: Number, n_members: float) -> tuple[Number, Number]:
        return self.calibrated.variances(spread, noise, n_members)

    def centres(self, X: Float32, source: Source, machine: Machine) -> npt.NDArray[np.floating]:
        return np.stack([engine.moments(ensemble, **machine)(X)[0] for ensemble in self.ensembles])

    def stratified(self, strata: Strata) -> CvPlus:
        if strata.tails == "separate" and not self.signed:
            raise ValueError(
                "The model comes from a file that holds no signs of residuals; use tails='joint', or fit again."
            )
        return self._stratified(strata)

    def bounds(self, centres: npt.NDArray[np.floating], units: Units, levels: Array, beside: Beside) -> Array:
        return plus.in_units(self.levels_of(centres, levels, beside), units)

    def portion_bounds(self, centres: npt.NDArray[np.floating], portion: Portion, output: int, levels: Array) -> Array:
        tails = self.strata.as_tails
        residuals = self._reach if tails == "joint" else self.residuals
        folds, errors = self.fold_of_row[portion.known], residuals[portion.known, output]
        return cv_plus_bounds(centres, folds, errors, levels, tails=tails, **portion.weighing)

    @property
    def _reach(self) -> Array:
        return np.abs(self.residuals)

    def graph_bounds(self, x: Value, source: Source, units: Units, levels: Array) -> Bounds:
        means = [in_units(network_predictions(x, ensemble).mean(0), units.y) for ensemble in self.ensembles]
        by_fold = concatenate([mean.unsqueeze(0) for mean in means], axis=0).transpose(2, 1, 0)
        centres = by_fold.take(self.fold_of_row, axis=2)
        return self.graph_of(centres, self.residuals * units.y.scale, levels)

    def _check_stored(self) -> None:
        n = len(self.residuals)
        require(self.residuals.ndim == 2 and n >= 1, "residuals have the wrong shape")
        require(np.isfinite(self.residuals).all(), "residuals are not finite")
        require(self.signed or (self.residuals >= 0).all(), "absolute residuals are negative")
        require(self.signed or self.strata.tails == "joint", "separate tails without signs of residuals")
        self.strata.check_stored(n)
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
    """Errors of every training row, target less prediction. Shape: ``(n_train, n_outputs)``."""
    residuals = np.empty(folds.sample.y.shape)
    for fold, ensemble in enumerate(folds.ensembles):
        rows = np.flatnonzero(folds.plan.fold_of_row == fold)
        residuals[rows] = -errors_on(folds.moments_of(ensemble), folds.sample, rows).residual
    return residuals
