"""Points with weights that stand for a predictive distribution: for its mean, variance and CRPS where no formula is known."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from extranets._arrays import Array
from extranets.predictor.part import Distribution

FARTHEST, N_POINTS = 6.0, 240  # of points that stand for a distribution, in standard deviations of a Normal one


def point_levels() -> tuple[Array, Array]:
    """Levels whose quantiles stand for a whole distribution, dense in the tails, and their weights. Shape: ``(240,)`` each."""
    places = np.linspace(-FARTHEST, FARTHEST, N_POINTS)
    weights = np.exp(-(places**2) / 2)
    return ndtr(places), weights / weights.sum()


def standard_points(shape: Distribution) -> tuple[Array, Array]:
    """Points that stand for a shape, with mean 0 and standard deviation 1, and their weights.

    Shape: ``(n_outputs or 1, 240)``, ``(240,)``.
    """
    levels, shares = point_levels()
    points = shape.multiples(levels)
    centred = points - (points @ shares)[:, None]
    return centred / np.sqrt(centred**2 @ shares)[:, None], shares


def crps_of_points(points: Array, shares: Array, y: Array) -> Array:
    """Of distributions that have these points, ascending, with these shares. Shape: ``(..., k)``, ``(k,)``, ``(...)`` -> ``(...)``."""
    distance = np.abs(points - y[..., None]) @ shares
    half_gap = points @ (shares * (2 * np.cumsum(shares) - shares - 1))
    return np.asarray(distance - half_gap)
