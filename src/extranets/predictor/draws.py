"""Targets of several rows together: their covariance, and draws of whole functions with noise.

What networks do not know, they do not know in the same way for rows that are alike. So a draw is one function: the mean, plus a random
combination of the members' deviations from it, the same for all rows; plus noise, anew for each row. A combination with Normal
weights has the members' covariance between any two rows, and a Normal distribution at each. It is scaled to the row's epistemic variance,
with the factors of the interval and the distance from the training rows.

The sum of function and noise should have the predictive distribution, which need not be Normal. So both are drawn on a Normal
scale, and the level that their sum has there is the level of the draw in the predictive distribution: every row's draws have exactly
that distribution. Correlations shrink a little on the way; the share of the function is enlarged so that two rows with the same
deviations have a correlation of exactly their epistemic share.
"""

from __future__ import annotations

from functools import cached_property
from math import factorial
from typing import Any

import numpy as np
from scipy.special import eval_hermitenorm, ndtr, ndtri

from extranets._arrays import Array, blocks
from extranets._random import Purpose, generator
from extranets.engine import Machine
from extranets.predictor.part import Distribution
from extranets.predictor.predictor import Predictor
from extranets.predictor.strata import NOTHING, Beside

FUNCTIONS, NOISE = 0, 1  # streams of random numbers
DEGREES = 20  # of the polynomials that tell how correlations shrink
POINTS = 10_000
BLOCK_VALUES, FEWEST_SAMPLES = (
    2**20,
    64,
)  # draws at a time, so that memory does not grow with them; and as if there were so many


def covariance(model: Predictor, X: Any, machine: Machine) -> Array:
    """Of targets at these rows. Shape: ``(n, k)`` -> ``(n, n[, n_outputs])``."""
    parts = model.components(X, machine)
    deviations = np.concatenate([_directions(model, X[rows], machine) for rows in blocks(X.shape[0])], axis=1)
    scaled = deviations * np.sqrt(parts.epistemic).reshape(deviations.shape[1:])
    found = np.einsum("kio,kjo->ijo", scaled, scaled, optimize=True)
    row = np.arange(len(found))
    found[row, row] = parts.total.reshape(found.shape[1:])
    return found[..., 0] if model.units.y_is_vector else found


class Draws:
    """Functions that were drawn. Called with rows, it gives targets; rows of several calls are rows of the same functions.

    Parameters
    ----------
    model, machine : what predicts
    n_samples : number of functions
    seed : of all randomness
    """

    def __init__(self, model: Predictor, machine: Machine, n_samples: int, seed: int) -> None:
        self.model, self.machine, self.n_samples = model, machine, n_samples
        self._functions = generator(seed, Purpose.WEIGHTS, part=FUNCTIONS)
        self._noise = generator(seed, Purpose.WEIGHTS, part=NOISE)
        self._weights: Array | None = None
        self._latent = LatentShares(model.distribution, model.n_outputs)

    def __call__(self, X: Any, beside: Beside = NOTHING) -> Array:
        """Shape: ``(n, k)`` -> ``(n[, n_outputs], n_samples)``."""
        step = BLOCK_VALUES // max(self.n_samples, FEWEST_SAMPLES) or 1
        starts = range(0, X.shape[0], step)
        return np.concatenate(
            [self._block(X[each : each + step], beside.part(slice(each, each + step))) for each in starts]
        )

    def _block(self, X: Any, beside: Beside) -> Array:
        parts, dist = self.model.latent(X, self.machine), self.model.frozen(X, self.machine, beside)
        deviations = _directions(self.model, X, self.machine)
        total = parts.total.reshape(deviations.shape[1:])
        share = np.divide(parts.epistemic.reshape(total.shape), total, out=np.zeros_like(total), where=total > 0)
        share *= deviations.any(axis=0)  # where members agree to the last bit, there is no function to draw
        latent = self._latent(share)[..., None]
        functions = np.einsum("kno,ks->nos", deviations, self._weights_of(len(deviations)), optimize=True)
        noise = self._noise.standard_normal((*total.shape, self.n_samples))
        levels = ndtr(np.sqrt(latent) * functions + np.sqrt(1 - latent) * noise)
        if self.model.units.y_is_vector:
            levels = levels[:, 0]
        found: Array = np.moveaxis(dist.ppf(np.moveaxis(levels, -1, 0)), 0, -1)
        return found

    def _weights_of(self, n: int) -> Array:
        """Of each member's deviation in each function. Shape: ``(n, n_samples)``."""
        if self._weights is None:
            self._weights = self._functions.standard_normal((n, self.n_samples))
        return self._weights


class LatentShares:
    """The correlation of Normal variables that have a given correlation when they have become variables of a distribution.

    With the distribution's quantile function as a series of Hermite polynomials, a correlation r becomes the sum of ``c_k^2 r^k``.
    """

    def __init__(self, distribution: Distribution, n_outputs: int) -> None:
        levels = (np.arange(POINTS) + 0.5) / POINTS
        self.multiples = np.broadcast_to(distribution.multiples(levels), (n_outputs, POINTS))
        self.normal = ndtri(levels)

    def __call__(self, shares: Array) -> Array:
        """Shape: ``(n, n_outputs)`` each."""
        columns = [np.interp(column, *each) for column, each in zip(shares.T, self._curves, strict=True)]
        return np.stack(columns, axis=1)

    @cached_property
    def _curves(self) -> list[tuple[Array, Array]]:
        """Correlations of the distribution, and of the Normal variables."""
        latent = np.linspace(0, 1, 201)
        basis = np.stack([eval_hermitenorm(k, self.normal) / np.sqrt(factorial(k)) for k in range(1, DEGREES + 1)])
        squares = (self.multiples @ basis.T / POINTS) ** 2  # (n_outputs, DEGREES)
        rest = np.maximum(self.multiples.var(axis=1) - squares.sum(axis=1), 0)
        squares = np.column_stack([squares, rest])
        squares /= squares.sum(axis=1, keepdims=True)
        powers = latent ** np.arange(1, DEGREES + 2)[:, None]
        return [(each @ powers, latent) for each in squares]


def _directions(model: Predictor, X: Any, machine: Machine) -> Array:
    """Deviations, scaled so that their squares sum up to one; zero where there are none. Shape: -> ``(k, n, n_outputs)``."""
    deviations = model.source.deviations(model.units.x.apply(X), machine)
    length = np.sqrt(np.square(deviations).sum(axis=0))
    return np.divide(deviations, length, out=np.zeros_like(deviations), where=length > 0)
