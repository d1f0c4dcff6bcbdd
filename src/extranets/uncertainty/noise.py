"""Estimates of the residual variance sigma_e^2 that do not use test targets."""

from __future__ import annotations

import numpy as np

from extranets._arrays import Array
from extranets.uncertainty.components import HeldOut, unbiased

LEAST_SHARE = 0.05  # of the mean squared residual: corrections leave at least this much


def held_out_variance(held: HeldOut, n_members: float) -> Array:
    """Mean squared held-out residual, as it would be for an ensemble of ``n_members``.

    Out-of-fold ensembles are smaller than the final one, so their errors hold more of the members' variance: with M
    members instead of T the excess is spread * (1/M - 1/T), which is taken out.

    Shape: -> ``(n_outputs,)``.
    """
    squares = np.average(held.residual**2, axis=0, weights=held.weight)
    excess = unbiased(held.spread, held.n_members) * (1 / held.n_members - 1 / n_members)
    return np.maximum(squares - np.average(excess, axis=0, weights=held.weight), LEAST_SHARE * squares)


def training_variance(residual: Array, weight: Array, n_parameters: float | Array) -> Array:
    """Training residual variance, divided by the residual degrees of freedom n - n_parameters.

    Networks with more than half as many parameters as there are rows leave too few degrees of freedom; the divisor is then
    n / 2, and the figure says little.

    Shape: residual ``(n, n_outputs)``, weight ``(n,)``, n_parameters one number or ``(n_outputs,)`` -> ``(n_outputs,)``.
    """
    n = len(residual)
    return np.average(residual**2, axis=0, weights=weight) * (n / (n - np.minimum(n_parameters, n / 2)))


def leaves_too_few_degrees(n_parameters: float | Array, n_rows: int) -> bool:
    """Whether :func:`training_variance` had to cut the correction short."""
    return bool(np.max(n_parameters) > n_rows / 2)
