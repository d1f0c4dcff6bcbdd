"""Predictive distributions of rows: one shape, around a latent mean of each row, seen through the link to the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from extranets._arrays import Array
from extranets.predictor.link import PLAIN, Link
from extranets.predictor.part import Distribution
from extranets.predictor.points import N_POINTS, crps_of_points, point_levels, standard_points
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
        """Mean and variances in the target's units.

        Limits move the mean alone. Of powers, mean and variance are those of the distribution, and the variance is divided as that
        of the latent target is.
        """
        plain = self.latent._replace(mean=self.link.target(self.latent.mean))
        if self.link.powers is None:
            return plain
        mean, variance = (np.empty_like(plain.mean) for _ in range(2))
        for rows in self._blocks():
            mean[rows], variance[rows] = self.part(rows)._moments()
        share = np.divide(
            self.latent.epistemic, self.latent.total, out=np.zeros_like(mean), where=self.latent.total > 0
        )
        found = Components(mean, share * variance, (1 - share) * variance)
        return Components(*(np.where(self.link.powers.curved, *both) for both in zip(found, plain, strict=True)))

    def _moments(self) -> tuple[Array, Array]:
        """Mean and variance of the target, by points that stand for the distribution."""
        points, shares = standard_points(self.shape)
        if self.latent.mean.ndim == 1:
            points = points[0]
        values = self.link.target(self.latent.mean[..., None] + self.latent.std[..., None] * points, trailing=1)
        mean = values @ shares
        return mean, (values - mean[..., None]) ** 2 @ shares

    def _blocks(self) -> Iterator[slice]:
        """Rows whose points fit into memory together."""
        step = max(1, BLOCK_VALUES // (N_POINTS * max(1, self.latent.mean[:1].size)))
        return (slice(begin, begin + step) for begin in range(0, len(self.latent.mean), step))

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
        own = self.shape.log_likelihood(self.link.latent(y), self.latent.mean, std, weight)
        return own + float(np.average(self.link.log_slope(y), axis=0, weights=weight).mean())

    def crps(self, y: Array, weight: Array | None = None) -> float:
        if self.link.is_plain:
            return self.shape.crps(y, self.latent.mean, self.latent.std, weight)
        levels, shares = point_levels()
        scores = np.empty(y.shape)
        for rows in self._blocks():
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
