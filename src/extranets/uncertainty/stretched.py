"""Any continuous shape of a distribution, as a Student's t that is stretched more in some places than in others.

A value of Student's t (mean 0, standard deviation 1) becomes a value of the shape. The map is linear between quantiles at fixed
levels, and beyond the outermost ones it goes on as it comes there, so each side has the t's kind of tail in a width of its own.
Quantiles, distribution function, density, mean and variance are closed formulas.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, ndtr, stdtr

from extranets._arrays import Array
from extranets.uncertainty.predictive import multiples, shrink

LEVELS = ndtr(np.linspace(-3, 3, 101))  # of the quantiles: from 0.13 % to 99.87 %, denser in the tails


def log_density(values: Array, dof: float) -> Array:
    """Of Student's t at mean 0 and standard deviation 1.

    Examples
    --------
    >>> np.exp(log_density(np.array([0.0]), 4.0)).round(4).tolist()
    [0.5303]
    """
    constant = betaln(0.5, dof / 2) + 0.5 * np.log(dof - 2)
    with np.errstate(divide="ignore"):
        distance = 2 * np.log(np.abs(values)) - np.log(dof - 2)
    return -(dof + 1) / 2 * np.logaddexp(0, distance) - constant


def _student_quantiles(levels: npt.ArrayLike, dof: float) -> Array:
    return multiples(np.ravel(levels), dof).reshape(np.shape(levels))


class Points(NamedTuple):
    """Where the pieces of the map begin and end."""

    t: Array
    values: Array


class Stretched:
    """One shape. Methods take arrays of any shape.

    Parameters
    ----------
    dof : degrees of freedom of Student's t, above 2
    values : array of shape (101,), strictly ascending
        Quantiles at ``LEVELS``.

    Examples
    --------
    >>> plain = Stretched(4.0, multiples(LEVELS, 4.0))  # not stretched at all
    >>> plain.quantiles(np.array([0.5, 0.975])).round(3).tolist()
    [0.0, 1.963]
    >>> mean, variance = plain.moments()
    >>> round(abs(mean), 9), round(variance, 9)
    (0.0, 1.0)
    """

    def __init__(self, dof: float, values: Array) -> None:
        self.dof = float(dof)
        self.points = Points(multiples(LEVELS, self.dof), values)

    @cached_property
    def slopes(self) -> Array:
        """Of each piece, how much wider it is than Student's t there. Shape: ``(100,)``."""
        slopes: Array = np.diff(self.points.values) / np.diff(self.points.t)
        return slopes

    def quantiles(self, levels: npt.ArrayLike) -> Array:
        return self._stretched(_student_quantiles(levels, self.dof))

    def upper_quantiles(self, tails: npt.ArrayLike) -> Array:
        """At 1 less the levels, where they would be rounded."""
        return self._stretched(-_student_quantiles(tails, self.dof))

    def _stretched(self, t: Array) -> Array:
        piece = self._piece(self.points.t, t)
        values: Array = self.points.values[piece] + self.slopes[piece] * (t - self.points.t[piece])
        return values

    def cdf(self, values: Array) -> Array:
        t, _ = self._unstretched(values)
        below: Array = stdtr(self.dof, t / shrink(self.dof))
        return below

    def sf(self, values: Array) -> Array:
        t, _ = self._unstretched(values)
        above: Array = stdtr(self.dof, -t / shrink(self.dof))  # the lower tail, where floats are dense
        return above

    def log_density(self, values: Array) -> Array:
        t, slope = self._unstretched(values)
        return log_density(t, self.dof) - np.log(slope)

    def moments(self) -> tuple[float, float]:
        """Mean and variance: of a line over each piece, by the mass and the first two moments of Student's t there."""
        d, scale = self.dof, shrink(self.dof)
        inner = self.points.t[1:-1] / scale  # the outer pieces have no end
        edge = (d + inner**2) * np.exp(log_density(self.points.t[1:-1], d)) * scale
        below = stdtr(d, inner)
        mass = np.diff(below, prepend=0.0, append=1.0)
        first = np.diff(-edge / (d - 1), prepend=0.0, append=0.0) * scale
        second = np.diff((d * below - inner * edge) / (d - 2), prepend=0.0, append=d / (d - 2)) * scale**2
        slope = self.slopes
        start = self.points.values[:-1] - slope * self.points.t[:-1]
        mean = float(np.sum(start * mass + slope * first))
        square = float(np.sum(start**2 * mass + 2 * start * slope * first + slope**2 * second))
        return mean, square - mean * mean

    def _unstretched(self, values: Array) -> tuple[Array, Array]:
        """Student's t there, and the slope of the piece."""
        piece = self._piece(self.points.values, values)
        slope = self.slopes[piece]
        return self.points.t[piece] + (values - self.points.values[piece]) / slope, slope

    @staticmethod
    def _piece(starts: Array, at: Array) -> npt.NDArray[np.intp]:
        return np.clip(np.searchsorted(starts, at, side="right") - 1, 0, len(starts) - 2)
