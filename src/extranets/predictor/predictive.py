"""Predictive distributions of rows: one shape, around a latent mean of each row, seen through the link to the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from extranets._arrays import Array
from extranets.predictor.link import PLAIN, Link
from extranets.predictor.part import Distribution
from extranets.predictor.points import crps_of_points, point_levels
from extranets.uncertainty.components import Components
from extranets.uncertainty.predictive import SMALLEST_STD

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen

BLOCK_VALUES = 2**20  # points at a time


@dataclass(frozen=True)
class Predictive:
    """Shapes: ``latent`` and targets ``(n,)`` or ``(n, n_outputs)``. Scores are means over rows and outputs."""

    shape: Distribution
    latent: Components
    link: Link = PLAIN

    def describe(self) -> str:
        """In words, for reports."""
        return self.shape.describe() + self.link.describe()

    def components(self) -> Components:
        """Mean and variances in the target's units. Limits move the mean alone."""
        return self.latent._replace(mean=self.link.target(self.latent.mean))

    def quantiles(self, levels: Array) -> Array:
        """Shape: ``(k,)`` -> ``(n[, n_outputs], k)``."""
        return self.link.target(self.latent_quantiles(levels), trailing=1)

    def latent_quantiles(self, levels: Array) -> Array:
        multiples = self.shape.multiples(levels)
        if self.latent.mean.ndim == 1:
            multiples = multiples[0]
        return self.latent.mean[..., None] + self.latent.std[..., None] * multiples

    def frozen(self) -> rv_continuous_frozen:
        """As a frozen distribution of scipy."""
        mean, std = self.latent.mean, self.latent.std
        if self.link.is_plain:
            return self.shape.frozen(mean, std)
        from extranets.predictor.linked import Linked  # which loads much of scipy

        n_outputs, output = (mean.shape[1], np.arange(mean.shape[1])) if mean.ndim > 1 else (1, 0)
        dist = Linked(self.shape, self.link, n_outputs)
        return dist(output, latent_mean=mean, latent_std=np.maximum(std, SMALLEST_STD))

    def standard_errors(self, y: Array) -> Array:
        """Latent errors in units of their predicted standard deviations; NaN where that is zero. Shape: as y."""
        error, std = self.link.latent(y) - self.latent.mean, self.latent.std
        return np.divide(error, std, out=np.full_like(error, np.nan), where=std > 0)

    def log_likelihood(self, y: Array, weight: Array | None = None) -> float:
        """Of the density before limits cut it off, for what lies beyond them is a point without a density."""
        std = np.maximum(self.latent.std, SMALLEST_STD)
        return self.shape.log_likelihood(self.link.latent(y), self.latent.mean, std, weight)

    def crps(self, y: Array, weight: Array | None = None) -> float:
        if self.link.is_plain:
            return self.shape.crps(y, self.latent.mean, self.latent.std, weight)
        levels, shares = point_levels()
        rows_at_once = max(1, BLOCK_VALUES // (len(levels) * max(1, y[:1].size)))
        scores = np.empty(y.shape)
        for begin in range(0, len(y), rows_at_once):
            rows = slice(begin, begin + rows_at_once)
            scores[rows] = crps_of_points(self.part(rows).quantiles(levels), shares, y[rows])
        return float(np.average(scores, axis=0, weights=weight).mean())

    def normal_errors(self, y: Array) -> Array:
        """Errors of a standard Normal distribution that are as likely. Shape: as y."""
        std = np.maximum(self.latent.std, SMALLEST_STD)
        return self.shape.normal_errors(self.link.latent(y), self.latent.mean, std)

    def part(self, rows: slice) -> Predictive:
        return Predictive(self.shape, Components(*(each[rows] for each in self.latent)), self.link)


def together(parts: Sequence[Predictive]) -> Predictive:
    """One for the rows of all, which one model predicted."""
    latent = Components(*map(np.concatenate, zip(*(part.latent for part in parts), strict=True)))
    return Predictive(parts[0].shape, latent, parts[0].link)
