"""``distribution="auto"``: Student's t, or the errors' own shape where that is likelier on errors it was not learned from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.predictor.distributions.empirical import Empirical
from extranets.predictor.distributions.student import Student
from extranets.predictor.part import Distribution

N_FOLDS = 5
FEWEST_ROWS = 20  # fewer errors are no ground for a choice
MARGIN = 0.5  # standard errors of the mean gain in log-likelihood
LEAST_GAIN = 1e-3  # for each row: less is not worth another shape


def learn_likeliest(errors: Array, weight: Array) -> tuple[Distribution, Array]:
    """As `Distribution.learn`. All outputs have one kind."""
    kind = Empirical if len(errors) >= FEWEST_ROWS and _gains(errors, weight) else Student
    return kind.learn(errors, weight)


def _gains(errors: Array, weight: Array) -> bool:
    """Whether the errors' own shape has the larger log-likelihood on folds that are left out, by more than chance."""
    fold, gain = np.arange(len(errors)) % N_FOLDS, np.zeros(len(errors))
    for each in range(N_FOLDS):
        out = fold == each
        own, student = (_log_densities(kind, errors, weight, out) for kind in (Empirical, Student))
        gain[out] = own - student
    share = weight / weight.sum()
    mean = float(share @ gain)
    return mean > max(LEAST_GAIN, MARGIN * float(np.sqrt(share**2 @ (gain - mean) ** 2)))


def _log_densities(kind: type[Distribution], errors: Array, weight: Array, out: npt.NDArray[np.bool_]) -> Array:
    """Of errors that are left out, by a shape that is learned from the others; the sum over outputs."""
    shape, widening = kind.learn(errors[~out], weight[~out])
    left = errors[out]
    densities: Array = shape.frozen(np.zeros(left.shape), np.broadcast_to(np.sqrt(widening), left.shape)).logpdf(left)
    return densities.sum(axis=1)
