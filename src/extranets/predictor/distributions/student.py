"""Student's t, scaled to the standard deviation that is predicted, so that its degrees of freedom change the shape alone.

They are fitted to errors on held-out rows. Of few errors, the degrees of freedom stand for the uncertainty of the noise's variance
instead: those of a sample of so many rows from a Normal distribution, whose predictive distribution has a larger variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import gammaln

from extranets._arrays import Array
from extranets.metrics import crps_student_t, student_t_log_likelihood
from extranets.model_file import require, storable
from extranets.predictor.distributions.normal import Normal
from extranets.predictor.part import Distribution, Source
from extranets.uncertainty import predictive

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen

FEWEST_ROWS = 100  # held-out errors that say something about tails
FEWEST_DOF, MOST_DOF = 2.5, 200.0  # the variance is finite above 2; at 200 the shape is Normal for all purposes
FEWEST_SMALL_DOF = 3.0
MOST_ROWS = 100_000  # used to fit degrees of freedom: one number needs no more


@storable("Student")
@dataclass(frozen=True)
class Student(Distribution):
    """Student's t, whose degrees of freedom are fitted to errors on held-out rows. Below 100 of them it allows for the
    uncertainty of the noise instead, as for a sample of so many rows from a Normal distribution; without any it is Normal.

    Shape: degrees ``(n_outputs,)``.
    """

    name: ClassVar[str] = "student"

    degrees: Array

    @classmethod
    def learn(cls, errors: Array, weight: Array) -> tuple[Student, Array]:
        n_rows, n_outputs = errors.shape
        if n_rows < FEWEST_ROWS:
            # Two numbers were fitted to the errors.
            degrees = np.full(n_outputs, float(max(n_rows - 2, FEWEST_SMALL_DOF)))
            return cls(degrees), degrees / (degrees - 2)
        return cls(fit_dof(errors, weight)), np.ones(n_outputs)

    @classmethod
    def without_rows(cls) -> Normal:
        return Normal()

    def multiples(self, levels: Array) -> Array:
        return predictive.multiples(levels, self.degrees)

    def describe(self) -> str:
        return f"Student's t with {', '.join(f'{each:.3g}' for each in self.degrees)} degrees of freedom"

    def log_likelihood(self, y: Array, mean: Array, std: Array, weight: Array | None = None) -> float:
        return student_t_log_likelihood(y, mean, std, self._dof_of(y), sample_weight=weight)

    def crps(self, y: Array, mean: Array, std: Array, weight: Array | None = None) -> float:
        return crps_student_t(y, mean, std, self._dof_of(y), sample_weight=weight)

    def _dof_of(self, y: Array) -> float | Array:
        return float(self.degrees[0]) if y.ndim == 1 else self.degrees

    def frozen(self, mean: Array, std: Array) -> rv_continuous_frozen:
        return predictive.distribution(mean, std, self._dof_of(mean) if mean.ndim else float(self.degrees[0]))

    @property
    def dof(self) -> Array:
        return self.degrees

    def check_fits(self, source: Source) -> None:
        require(self.degrees.shape == (source.n_outputs,), "degrees of freedom do not fit the outputs")

    def _check_stored(self) -> None:
        require((np.isfinite(self.degrees) & (self.degrees > 2)).all(), "degrees of freedom are not above 2")


def fit_dof(errors: Array, weight: Array) -> Array:
    """Degrees of freedom that errors in units of their standard deviations deserve, by maximum likelihood.

    Shape: errors ``(n, n_outputs)``, weight ``(n,)`` -> ``(n_outputs,)``.
    """
    some = slice(None, None, -(-len(errors) // MOST_ROWS))
    return np.array([_fit_one(column, weight[some]) for column in (errors[some] ** 2).T])


def _fit_one(squares: Array, weight: Array) -> float:
    from scipy.optimize import minimize_scalar

    level = float(np.average(squares, weights=weight))
    if level <= 0:
        return MOST_DOF  # a constant output
    squares, share = squares / level, weight / weight.sum()

    def loss(inverse: float) -> float:
        dof = 1 / inverse
        constant = gammaln((dof + 1) / 2) - gammaln(dof / 2) - 0.5 * np.log(np.pi * (dof - 2))
        return float((dof + 1) / 2 * (share @ np.log1p(squares / (dof - 2))) - constant)

    # Likelihood is smooth and has one minimum in 1 / dof, where Normal is at 0.
    found = minimize_scalar(loss, bounds=(1 / MOST_DOF, 1 / FEWEST_DOF), method="bounded", options={"xatol": 1e-4})
    return float(1 / found.x)
