"""The shape of held-out errors themselves, each tail its own, as far as they can tell it from Student's t.

Three steps for each output. Errors are smoothed: a quantile is the mean of the errors around its rank, from as many ranks as are
as likely to be the right one. Beyond the tenth error from each end, where single errors would decide, the tail is Student's t in
the width that the errors beyond have on average. And the quantiles are drawn towards those of the Student's t that is fitted to
the same errors: all the way where the distance of Cramer and von Mises between both is one that chance explains, less the larger
it is. So symmetric errors keep Student's t, and a handful of errors cannot make a shape of their own.

What is stored: quantiles at fixed levels, and the degrees of freedom of the t between and beyond them (`uncertainty.stretched`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import stdtr

from extranets._arrays import Array
from extranets.model_file import require, storable
from extranets.predictor.distributions.normal import Normal
from extranets.predictor.distributions.student import Student
from extranets.predictor.part import Distribution, Source
from extranets.uncertainty.predictive import SMALLEST_STD, multiples, shrink
from extranets.uncertainty.stretched import LEVELS, Stretched

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen

TAIL_ERRORS, LARGEST_TAIL = 10, 0.1  # errors that make a tail, and the share of few errors that does
CHANCE = 0.15  # a distance that Normal errors exceed in 2 % of tables, after their mean and variance are set
MOST_TRUST = 0.995  # the density stays below two hundred times that of Student's t
MOMENT_ERROR = 1e-6  # of a stored shape's mean and variance


@storable("Empirical")
@dataclass(frozen=True)
class Empirical(Distribution):
    """The shape of the held-out errors, each tail its own, as far as they can tell it from Student's t.

    Shape: degrees ``(n_outputs,)``, values ``(n_outputs, 101)``: the quantiles at ``stretched.LEVELS``.
    """

    name: ClassVar[str] = "empirical"

    degrees: Array
    values: Array

    @classmethod
    def learn(cls, errors: Array, weight: Array) -> tuple[Empirical, Array]:
        student, widening = Student.learn(errors, weight)
        shapes = [_shape_of(*each, weight) for each in zip(errors.T, student.degrees, strict=True)]
        mean, variance = np.transpose([shape.moments() for shape in shapes])
        values = np.stack([shape.points.values for shape in shapes])
        return cls(student.degrees, (values - mean[:, None]) / np.sqrt(variance)[:, None]), widening * variance

    @classmethod
    def without_rows(cls) -> Normal:
        return Normal()

    def multiples(self, levels: Array) -> Array:
        return np.stack([shape.quantiles(levels) for shape in self.shapes])

    def describe(self) -> str:
        ends = self.multiples(np.array([0.05, 0.95]))
        words = " and ".join(f"{low:.2f} to {high:.2f}" for low, high in ends)
        return f"the shape of held-out errors with 90 % of it from {words} standard deviations"

    def frozen(self, mean: Array, std: Array) -> rv_continuous_frozen:
        from extranets.predictor.distributions.stretched_student import StretchedStudent  # which loads much of scipy

        output = np.arange(len(self.degrees)) if np.ndim(mean) > 1 else 0
        shapes = StretchedStudent(degrees=self.degrees, values=self.values)
        return shapes(output, loc=mean, scale=np.maximum(std, SMALLEST_STD))

    @cached_property
    def shapes(self) -> list[Stretched]:
        return [Stretched(*each) for each in zip(self.degrees, self.values, strict=True)]

    def check_fits(self, source: Source) -> None:
        require(self.degrees.shape == (source.n_outputs,), "degrees of freedom do not fit the outputs")

    def _check_stored(self) -> None:
        require(self.degrees.ndim == 1, "degrees of freedom have the wrong shape")
        require((np.isfinite(self.degrees) & (self.degrees > 2)).all(), "degrees of freedom are not above 2")
        require(self.values.shape == (len(self.degrees), len(LEVELS)), "quantiles have the wrong shape")
        require(np.isfinite(self.values).all(), "quantiles are not finite")
        require((np.diff(self.values) > 0).all(), "quantiles do not ascend")
        with np.errstate(over="ignore", invalid="ignore"):
            moments = np.array([shape.moments() for shape in self.shapes])
            require(bool((np.abs(moments - [0, 1]) < MOMENT_ERROR).all()), "mean and variance are not 0 and 1")


def _shape_of(errors: Array, dof: float, weight: Array) -> Stretched:
    """Of one output, before its mean and variance are set. Shape: errors, weight ``(n,)``."""
    student = Stretched(dof, multiples(LEVELS, dof))
    order = np.argsort(errors, kind="stable")
    share = weight[order] / weight.sum()
    centred = errors[order] - share @ errors[order]
    std = np.sqrt(share @ centred**2)
    if not std > 0:
        return student  # a constant output
    ranked = Ranked(centred / std, share)
    trust = trust_in(ranked, dof)
    own = with_tails(ranked.smoothed(LEVELS), ranked, student)
    return Stretched(dof, trust * own + (1 - trust) * student.points.values)


@dataclass(frozen=True)
class Ranked:
    """Errors with mean 0 and standard deviation 1, ascending, and the share of each. Shape: ``(n,)`` each."""

    errors: Array
    share: Array

    @cached_property
    def n(self) -> float:
        """How many errors of equal weights would say as much."""
        return float(1 / (self.share @ self.share))

    def smoothed(self, levels: Array) -> Array:
        """Quantiles: means of the errors whose ranks lie around that of a level. Shape: ``(k,)``, ascending.

        A new error is below the i-th of n in i of n + 1 cases, which says where a level lies among the ranks. Around it, the
        window has the standard deviation of the rank that belongs to this level in a sample of n.
        """
        centre = np.clip(levels + (levels - 0.5) / self.n, 0.5 / self.n, 1 - 0.5 / self.n)
        half = np.sqrt(3 * centre * (1 - centre) / self.n)
        half = np.clip(half, 0.5 / self.n, np.minimum(centre, 1 - centre))
        rank = np.concatenate([[0.0], np.cumsum(self.share)])
        total = np.concatenate([[0.0], np.cumsum(self.share * self.errors)])
        low, high = centre - half, centre + half
        return (np.interp(high, rank / rank[-1], total) - np.interp(low, rank / rank[-1], total)) / (high - low)


def trust_in(ranked: Ranked, dof: float) -> float:
    """Weight of the errors' own shape beside Student's t.

    From the distance of Cramer and von Mises: the mean squared difference of both distribution functions, times n.
    """
    below = stdtr(dof, ranked.errors / shrink(dof))
    observed = np.cumsum(ranked.share) - ranked.share / 2
    distance = ranked.n * float(ranked.share @ (below - observed) ** 2) + 1 / (12 * ranked.n)
    return float(np.clip(1 - (CHANCE / distance) ** 2, 0, MOST_TRUST))


def with_tails(values: Array, ranked: Ranked, student: Stretched) -> Array:
    """Quantiles with tails in place of those beyond the outermost errors. Shape: ``(101,)``.

    A tail begins where ten errors lie beyond, or a tenth of them. It is as wide as Student's t times how much farther than
    those of Student's t the errors lie beyond its beginning, on average. One more error counts that is as far as Student's t says.
    """
    share = np.clip(TAIL_ERRORS / ranked.n, LEVELS[1], LARGEST_TAIL)
    start = int(np.searchsorted(LEVELS, share))
    t = student.points.t
    excess = student_excess(student, start)
    found = values.copy()
    for side, begin in ((-1, start), (1, len(LEVELS) - 1 - start)):
        beyond = np.maximum(side * (ranked.errors - values[begin]), 0)
        mass = float(ranked.share @ (beyond > 0))
        width = (ranked.n * float(ranked.share @ beyond) / excess + 1) / (ranked.n * mass + 1)
        outer = slice(None, begin) if side < 0 else slice(begin + 1, None)
        found[outer] = values[begin] + width * (t[outer] - t[begin])
    return found


def student_excess(student: Stretched, start: int) -> float:
    """Mean distance of Student's t from its quantile at one of the levels, beyond it."""
    d, scale = student.dof, shrink(student.dof)
    t = student.points.t[start] / scale
    density = float(np.exp(student.log_density(student.points.t[start]))) * scale
    return float(scale * ((d + t**2) / (d - 1) * density / LEVELS[start] + t))
