"""Which transform of the target a table deserves, by held-out scores of quick models.

One small network for each fold predicts the target and all its transforms together, ridge regressions do so, too, and each transform
gets the mixture of both that suits it. Their errors on rows that they left out make predictive distributions: around the latent mean, with a
variance that follows it, and the errors' own shape. Brought back to the target's units, these are judged by CRPS and by the interval
score at 90 %, each relative to those of the target as it is. A transform is taken if the mean of both is clearly better, and the
squared error of its mean is no worse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets._random import Purpose, generator
from extranets.engine import Machine
from extranets.held_out import Plan, Sample
from extranets.parting import Parting, fold_of_row
from extranets.predictor.limits import Limits
from extranets.predictor.link import Link
from extranets.predictor.points import crps_of_points
from extranets.predictor.powers import IDENTITY, NAMES, Powers
from extranets.predictor.units import Scaling
from extranets.stacking.growing import Growing, Watch
from extranets.stacking.kinds import Kind
from extranets.uncertainty.stacking import stacking_weights

POWERS = (IDENTITY, NAMES["sqrt"], NAMES["log"])  # that are tried
KIND, KEEP_PROB, N_FOLDS = Kind(2, 0.3, 0.25), 0.9, 5  # one of the quick ones
FEWEST_ROWS, MOST_ROWS = 100, 4000
LEAST_RATIO = 3.0  # of the largest to the least target, shifted: below, every transform is next to a straight line
MARGIN, LEAST_GAIN = 2.5, 0.01  # standard errors of the gain, and its least share of the scores
MOST_LOSS = 0.005  # of squared error
N_LEVELS, TAIL = 100, 0.05
OFFSET = 0.003  # of the mean square, added to squares before logarithms are taken


@dataclass(frozen=True)
class Judged:
    """Scores of one transform, for each row. Shape: ``(n,)``."""

    crps: Array
    interval: Array
    square: Array


def likely_powers(
    X: Float32, y: Array, weight: Array, parting: Parting | None, limits: Limits | None, machine: Machine, watch: Watch
) -> Powers | None:
    """None where the target stays as it is. Shape: X ``(n, k)``, standardised, y ``(n, n_outputs)``, weight ``(n,)``.

    The random numbers are always the same, so that the choice depends on the table alone.
    """
    tried = [output for output in range(y.shape[1]) if _is_worth_trying(y[:, [output]], weight)]
    if not tried or len(y) < FEWEST_ROWS:
        return None
    rows = np.sort(generator(0, Purpose.ROWS, part=4).permutation(len(y))[:MOST_ROWS])
    sample = Sample(X[rows], np.empty((len(rows), 0), np.float32), weight[rows], parting=_part(parting, rows))
    is_tried = np.isin(np.arange(y.shape[1]), tried)
    links = [Link(limits, Powers.of(np.where(is_tried, power, IDENTITY), y, weight)) for power in POWERS]
    latent = np.stack([link.latent(y[rows])[:, tried] for link in links], axis=2)  # (n, n_tried, n_powers)
    held, mean = _held_out_means(sample, latent, machine, watch)
    chosen = np.full(y.shape[1], IDENTITY)
    for place, output in enumerate(tried):
        values = [(y[rows[held], output], latent[held, place, k], mean[:, place, k]) for k in range(len(links))]
        found = [judged(link.of(output), *own, weight[rows[held]]) for link, own in zip(links, values, strict=True)]
        chosen[output] = POWERS[best(found, weight[rows[held]])]
    return None if (chosen == IDENTITY).all() else Powers.of(chosen, y, weight)


def _is_worth_trying(y: Array, weight: Array) -> bool:
    """Whether the target is never negative and differs enough. Shape: y ``(n, 1)``."""
    if y.min() < 0 or y.max() <= 0:
        return False
    shift = Powers.of(np.zeros(1), y, weight).shift[0]
    return bool(y.max() + shift > LEAST_RATIO * (y.min() + shift))


def _part(parting: Parting | None, rows: npt.NDArray[np.intp]) -> Parting | None:
    return None if parting is None else parting.part(rows)


def _held_out_means(
    sample: Sample, latent: Array, machine: Machine, watch: Watch
) -> tuple[npt.NDArray[np.intp], Array]:
    """Rows that were left out, and predictions of them by models that did so. Shape: latent ``(n, t, p)`` -> ``(m,)``, ``(m, t, p)``."""
    columns = latent.reshape(len(latent), -1)
    scaling = Scaling.of(columns, sample.weight, "y")
    folds = fold_of_row(len(columns), N_FOLDS, 0, sample.parting)
    looks_back = sample.parting is not None and sample.parting.looks_back
    plan = Plan(folds, int(folds.max()) + 1, 1, looks_back=looks_back)
    growing = Growing(replace(sample, y=scaling.apply(columns)), plan, KEEP_PROB, 0, machine, watch)
    found = [growing.linear(), *growing.train([(KIND, range(plan.n_folds))], "Trying transforms of the target")]
    held = plan.held_rows()
    none = -growing.sample.y[held].astype(np.float64)  # errors of the mean, where nothing could be fitted
    residuals = np.stack([part.residual[held] for part in found if part is not None] or [none])
    own = [residuals[:, :, [column]] for column in range(columns.shape[1])]
    weights = [stacking_weights(each, sample.weight[held]) for each in own]
    mixed = np.column_stack([np.tensordot(*both, axes=1) for both in zip(weights, own, strict=True)])
    return held, scaling.undo(mixed + growing.sample.y[held]).reshape(-1, *latent.shape[1:])


def judged(link: Link, y: Array, latent: Array, mean: Array, weight: Array) -> Judged:
    """Predictive distributions by a transform. Shape: ``(n,)`` each; the link is that of one output."""
    error = latent - mean
    std = spread_along(mean, error, weight)
    ratio = np.divide(error, std, out=np.zeros_like(error), where=std > 0)
    levels = (np.arange(N_LEVELS) + 0.5) / N_LEVELS
    multiples = np.quantile(ratio, [*levels, TAIL, 1 - TAIL])
    points = link.target(mean[:, None] + std[:, None] * multiples, trailing=1)
    points, lower, upper = points[:, :-2], points[:, -2], points[:, -1]
    outside = np.maximum(np.maximum(lower - y, y - upper), 0)
    crps = crps_of_points(points, np.full(N_LEVELS, 1 / N_LEVELS), y)
    return Judged(crps, upper - lower + outside / TAIL, (points.mean(axis=1) - y) ** 2)


def spread_along(mean: Array, error: Array, weight: Array) -> Array:
    """Standard deviation of errors as it follows their means: its logarithm is a parabola. Shape: ``(n,)``."""
    squares = error**2
    level = np.average(squares, weights=weight)
    if level <= 0:
        return np.zeros_like(error)
    place = (mean - mean.mean()) / (mean.std() or 1.0)
    basis, root = np.column_stack([np.ones_like(place), place, place**2]), np.sqrt(weight)
    slopes = np.linalg.lstsq(basis * root[:, None], np.log(squares + OFFSET * level) * root, rcond=None)[0]
    shape = np.exp(np.clip(basis[:, 1:] @ slopes[1:], -10, 10))
    return np.asarray(np.sqrt(shape * np.average(squares / shape, weights=weight)))


def best(found: list[Judged], weight: Array) -> int:
    """Which of them to take: the first, unless another is clearly better."""
    share, first = weight / weight.sum(), found[0]
    most = (1 + MOST_LOSS) * (share @ first.square)
    return int(np.argmax([_gain(first, each, share) if share @ each.square <= most else 0.0 for each in found]))


def _gain(before: Judged, after: Judged, share: Array) -> float:
    """By which share both scores become better, on average; 0 where chance may explain it."""
    pairs = ((before.crps, after.crps), (before.interval, after.interval))
    levels = [share @ old for old, _ in pairs]
    if min(levels) <= 0:
        return 0.0  # nothing to gain
    rows = sum(0.5 * (old - new) / level for (old, new), level in zip(pairs, levels, strict=True))
    mean = float(share @ rows)
    error = float(np.sqrt(share**2 @ (rows - mean) ** 2))
    return mean if mean > max(LEAST_GAIN, MARGIN * error) else 0.0
