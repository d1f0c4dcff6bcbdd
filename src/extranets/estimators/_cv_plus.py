"""What ``interval="cv+"`` keeps: each fold's networks, and the training rows' errors under the networks that left them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets.estimators._held_out import Moments, Plan, Sample, errors_on
from extranets.networks import Ensemble
from extranets.uncertainty.components import Array
from extranets.uncertainty.conformal import cv_plus_interval

MomentsOf = Callable[[Ensemble], Moments]


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
