"""What ``interval="cv+"`` keeps: each fold's networks, and the training rows' errors under the networks that left them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.engine import Moments
from extranets.estimators._held_out import Plan, Sample, errors_on
from extranets.estimators._onnx import in_units, network_predictions, plus_bounds
from extranets.estimators._scaling import Scaling
from extranets.model_file import require, storable
from extranets.networks import Architecture, Ensemble
from extranets.onnx_graph import Bounds, Value, concatenate
from extranets.uncertainty.conformal import cv_plus_interval

MomentsOf = Callable[[Ensemble], Moments]


@storable("CvPlus")
@dataclass(frozen=True)
class CvPlus:
    """Shapes: fold_of_row ``(n_train,)``, residuals ``(n_train, n_outputs)``, absolute."""

    ensembles: list[Ensemble]
    fold_of_row: npt.NDArray[np.intp]
    residuals: Array

    @classmethod
    def of(cls, ensembles: list[Ensemble], plan: Plan, sample: Sample, moments_of: MomentsOf) -> CvPlus:
        residuals = np.empty(sample.y.shape)
        for fold, ensemble in enumerate(ensembles):
            rows = np.flatnonzero(plan.fold_of_row == fold)
            residuals[rows] = np.abs(errors_on(moments_of(ensemble), sample, rows).residual)
        return cls(ensembles, plan.fold_of_row, residuals)

    def interval(self, X: npt.NDArray[np.float32], levels: Array, moments_of: MomentsOf) -> Array:
        """Shape: X ``(n, k)``, standardised -> ``(n, n_outputs, 2, n_levels)``, standardised."""
        means = np.stack([moments_of(ensemble)(X)[0] for ensemble in self.ensembles])
        outputs = range(self.residuals.shape[1])
        bounds = [cv_plus_interval(means[:, :, o], self.fold_of_row, self.residuals[:, o], levels) for o in outputs]
        return np.stack(bounds, axis=1)

    def graph_bounds(self, x: Value, scaling: Scaling, levels: Array) -> Bounds:
        """The same as a part of a graph, in the target's units. Shape: x ``(n, k)``, standardised."""
        means = [in_units(network_predictions(x, ensemble).mean(0), scaling) for ensemble in self.ensembles]
        by_fold = concatenate([mean.unsqueeze(0) for mean in means], axis=0).transpose(2, 1, 0)
        return plus_bounds(by_fold.take(self.fold_of_row, axis=2), self.residuals * scaling.scale, levels)

    def _check_stored(self) -> None:
        n = len(self.residuals)
        require(self.residuals.ndim == 2 and n >= 1, "residuals have the wrong shape")
        require((np.isfinite(self.residuals) & (self.residuals >= 0)).all(), "residuals are negative or not finite")
        require(self.fold_of_row.shape == (n,), "fold_of_row does not fit the residuals")
        folds = (self.fold_of_row >= 0) & (self.fold_of_row < len(self.ensembles))
        require(folds.all(), "fold_of_row points at folds that are not there")

    def check_architecture(self, architecture: Architecture) -> None:
        """Refuse networks that are not those of the estimator."""
        same = all(ensemble.members.architecture == architecture for ensemble in self.ensembles)
        require(same, "the folds' networks have another architecture")
        require(self.residuals.shape[1] == architecture.n_outputs, "the folds' residuals do not fit the outputs")
