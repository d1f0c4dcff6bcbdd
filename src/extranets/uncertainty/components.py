"""The parts of a predictive distribution, and what is known about errors on rows that were not trained on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from extranets._arrays import Array


class Components(NamedTuple):
    """Predictive mean and variances, all of shape ``(n_samples,)`` or ``(n_samples, n_outputs)``, in the target's units.

    ``epistemic`` is the variance of the ensemble's mean, ``aleatoric`` that of the noise, ``total`` their sum.
    """

    mean: Array
    epistemic: Array
    aleatoric: Array

    @property
    def total(self) -> Array:
        return self.epistemic + self.aleatoric

    @property
    def std(self) -> Array:
        return np.sqrt(self.total)


class HeldOut(NamedTuple):
    """Errors of an ensemble on rows that its members did not train on.

    Shapes: ``residual``, ``spread`` and ``noise`` ``(n, n_outputs)``, ``weight`` ``(n,)``.

    ``residual`` is prediction less target, ``spread`` the members' variance with divisor T, ``noise`` the variance that the members predict for the noise (ones
    where they predict none), ``n_members`` how many members each prediction averages: one number, or ``(n, 1)``.
    """

    residual: Array
    spread: Array
    noise: Array
    weight: Array
    n_members: float | Array

    def every(self, step: int) -> HeldOut:
        """One row of so many."""
        rows = slice(None, None, step)
        members = self.n_members[rows] if isinstance(self.n_members, np.ndarray) else self.n_members
        return HeldOut(self.residual[rows], self.spread[rows], self.noise[rows], self.weight[rows], members)


def unbiased(spread: Any, n_members: float | Array) -> Any:
    """Member variance with divisor T - 1; zero for a single member. ``spread`` is an array, or a value of an ONNX graph."""
    return spread * np.where(np.asarray(n_members) > 1, n_members / np.maximum(np.asarray(n_members) - 1, 1), 0.0)
