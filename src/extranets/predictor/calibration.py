"""What held-out errors say about a model: the noise, the factors of its intervals, the shape of its distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from extranets._arrays import Array
from extranets.predictor.intervals import Calibrated
from extranets.predictor.part import Distribution, Evidence, Interval, LearnShape, Noise
from extranets.predictor.predictive import Predictive
from extranets.uncertainty.components import unbiased

EXPECTED = ("rmse", "interval_score", "coverage")  # scores that are expected on new rows
EXPECTED_LEVEL = 0.9  # of the intervals that they judge


@dataclass(frozen=True)
class Calibration:
    """Parts of a predictor that held-out errors decide on."""

    noise: Noise
    intervals: dict[str, Interval]
    distribution: Distribution


def calibrate(
    evidence: Evidence,
    noise: Noise,
    intervals: Mapping[str, Interval],
    learn_shape: LearnShape,
) -> Calibration:
    """The distribution's shape, and what it asks of the noise and the intervals, which were learned before.

    The shape is that of one interval's errors, so that it is still right when the interval is changed after fit.
    """
    own = intervals.get(Calibrated.name, next(iter(intervals.values())))
    std = held_out_std(own, noise, evidence)
    error = -evidence.held.residual  # how far the target is above its prediction
    errors = np.divide(error, std, out=np.zeros_like(std), where=std > 0)
    shape, widening = learn_shape(errors, evidence.held.weight)
    widened = {name: each.widened(widening) for name, each in intervals.items()}
    return Calibration(noise.widened(widening), widened, shape)


def learn_intervals(
    kinds: Sequence[type[Interval]], evidence: Evidence, noise: Noise, asked: str | None = None
) -> dict[str, Interval]:
    """Every interval that an estimator has, by name; those that store much only if `asked` names them."""
    variance = evidence.held.noise * noise.factor
    return {kind.name: kind.learn(evidence, variance) for kind in kinds if not kind.on_request or kind.name == asked}


def held_out_std(interval: Interval, noise: Noise, evidence: Evidence) -> Array:
    """Standard deviations that an interval gives the held-out rows' errors, with what their smaller ensembles add.

    Shape: -> ``(n, n_outputs)``.
    """
    held, n_members = evidence.held, evidence.n_members
    own = unbiased(held.spread, held.n_members)
    spread = own * (1 - 1 / n_members)  # of the final members, with divisor n_members
    epistemic, aleatoric = interval.variances(spread, held.noise * noise.factor, n_members)
    return np.sqrt(epistemic + aleatoric + own * (1 / held.n_members - 1 / n_members))


def expected_scores(predictive: Predictive, y: Array, weight: Array) -> dict[str, Array]:
    """What to expect on new rows, from held-out ones. Shape: y ``(n, n_outputs)`` -> ``(n_outputs,)`` each."""
    above = (1 + EXPECTED_LEVEL) / 2
    lower, upper = np.moveaxis(predictive.quantiles(np.array([1 - above, above])), -1, 0)
    outside = np.maximum(np.maximum(lower - y, y - upper), 0)
    score = upper - lower + 2 / (1 - EXPECTED_LEVEL) * outside
    squares = (y - predictive.components().mean) ** 2
    values = dict(zip(EXPECTED, (squares, score, (outside == 0).astype(np.float64)), strict=True))
    means = {name: np.average(each, axis=0, weights=weight) for name, each in values.items()}
    return {**means, "rmse": np.sqrt(means["rmse"])}
