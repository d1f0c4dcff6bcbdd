"""a * sigma_omega^2(x) + b * sigma_e^2 with a >= 1/T and b > 0 learned from held-out residuals.

The paper divides the spread by T (independent members), others do not (identical members). Held-out residuals tell which
is nearer the truth: a and b maximise their Gaussian likelihood. Where members agree on all held-out rows, residuals say
next to nothing about a, but far from the training rows, where members disagree, the width depends on it. Two things keep
it sensible there. A mean of T members varies by 1/T of their spread whatever the residuals say, so a is no smaller; and a
prior, worth one observation, takes the spread at its word: log a is Normal around 0 with standard deviation 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from extranets._arrays import Array
from extranets._blas import one_blas_thread
from extranets.model_file import storable
from extranets.predictor.part import Evidence, Interval, Number, Source, check_variances
from extranets.uncertainty.components import HeldOut, unbiased

FEW_ROWS, LEAST_NOISE = 100, 0.5  # of fewer errors at least this share counts as noise: spread fits a handful by chance
MOST_ROWS = 100_000  # that the factors are fitted to: two numbers need no more


@storable("Calibrated")
@dataclass(frozen=True)
class Calibrated(Interval):
    """Shape: factors ``(2, n_outputs)``: a, then b."""

    name: ClassVar[str] = "calibrated"
    needs_rows: ClassVar[bool] = True
    missing: ClassVar[str] = "was set after a fit that held out no rows; call fit or estimate_noise."

    factors: Array

    @classmethod
    def learn(cls, evidence: Evidence, noise: Array) -> Calibrated:
        return cls(fit_factors(evidence.held, noise, evidence.n_members))

    def variances(self, spread: Number, noise: Number, n_members: float) -> tuple[Number, Number]:
        return self.factors[0] * unbiased(spread, n_members), self.factors[1] * noise

    def relearned(self, evidence: Evidence, noise: Array) -> Calibrated:
        return self.learn(evidence, noise)

    def widened(self, widening: Array) -> Calibrated:
        return Calibrated(np.stack([self.factors[0] * widening, self.factors[1]]))  # b's term has the noise as a factor

    def check_fits(self, source: Source) -> None:
        check_variances(self.factors, (2, source.n_outputs), "calibration")


def fit_factors(held: HeldOut, noise: Array, n_members: float) -> Array:
    """The factors a and b for every output.

    ``noise`` is the variance that b multiplies: the residual variance, or what the members predicted. Held-out ensembles
    of M members carry spread/M of their own, the least that a can be for them; the final T members carry spread/T, so a is
    lowered by the difference.

    Shape: noise ``(n, n_outputs)`` -> ``(2, n_outputs)``.
    """
    some = slice(None, None, -(-len(held.weight) // MOST_ROWS))
    squares, spread = held.residual[some] ** 2, unbiased(held.spread[some], held.n_members)
    noise, weight = noise[some], held.weight[some]
    own = float(np.mean(1 / np.asarray(held.n_members)))
    columns = [_fit_one(squares[:, o], spread[:, o], noise[:, o], weight, own) for o in range(squares.shape[1])]
    factors = np.array(columns).T
    factors[0] -= own - 1 / n_members
    return factors


def _fit_one(squares: Array, spread: Array, noise: Array, weight: Array, least_a: float) -> tuple[float, float]:
    from scipy.optimize import minimize

    level = float(np.average(squares, weights=weight))
    if level <= 0:
        return 1.0, 1.0
    mean_spread, mean_noise = np.average(spread, weights=weight), np.average(noise, weights=weight)
    # Both terms are scaled to the size of the squared residuals, so that the optimiser sees numbers near one.
    s = spread / mean_spread if mean_spread > 0 else np.zeros_like(spread)
    e = noise / mean_noise if mean_noise > 0 else np.ones_like(noise)
    r, w = squares / level, weight / weight.sum()
    unit = mean_spread / level if mean_spread > 0 else 1.0  # theta[0] where a is 1
    prior = float(w @ w)  # one part in the number of rows that the weights are worth

    def loss(theta: Array) -> tuple[float, Array]:
        """Twice the negative log-posterior for one row."""
        variance = np.maximum(theta[0] * s + theta[1] * e, 1e-9)
        slope = w * (1 / variance - r / variance**2)
        log_a = np.log(theta[0] / unit)
        value = np.sum(w * (np.log(variance) + r / variance)) + prior * log_a**2
        return float(value), np.array([slope @ s + 2 * prior * log_a / theta[0], slope @ e])

    least = np.array([least_a * unit, LEAST_NOISE if len(squares) < FEW_ROWS else 1e-6])
    starts = [np.maximum(start, least) for start in [(0.5, 0.5), (unit, 1.0), (0.9, 0.1)]]
    bounds = [(each, None) for each in least]
    with one_blas_thread():
        fits = [minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    a, b = min(fits, key=lambda fit: float(fit.fun)).x
    return float(a / unit), float(b * level / mean_noise) if mean_noise > 0 else 1.0
