"""The specification of probabilistic back-propagation: one posterior, NumPy, float64, row by row.

Every weight of a ReLU network with one output has a Gaussian posterior; the precisions of the noise and of the weights'
prior have gamma posteriors. One row at a time, the moments of the output go forward, the gradients of the row's log
evidence go back, and every weight takes the mean and variance of its updated posterior (Hernández-Lobato & Adams, 2015,
"Probabilistic Backpropagation for Scalable Learning of Bayesian Neural Networks").

Read it top to bottom: start, forward moments, gradients, the update for one row, the prior, training, prediction. The
native engine (``native/pbp.hpp``) draws the same random words in the same order and follows the same path to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx

from extranets._arrays import Array
from extranets._random import Purpose, normals, shuffled
from extranets.engine.data import TrainingData
from extranets.networks import Architecture

Gamma = tuple[float, float]  # shape and rate of a gamma distribution

START: Gamma = (6.0, 6.0)  # of both precisions, for standardised targets
SMALLEST_VARIANCE = 1e-100  # an update of a weight to less than this is left out
LARGEST_CAVITY = 1e6  # a prior factor is left alone where the rest of the posterior is wider than this
LARGEST_MOVE = 5.0  # ... or where a new one would move the weight by more than this many of its standard deviations


# --- start ------------------------------------------------------------------------------------------------------------


def first_means(architecture: Architecture, seed: int, member: int) -> Array:
    """Standard normal numbers over the square root of the layer's inputs, from the member's own stream.

    The order is that of :class:`~extranets.networks.Ensemble`: for each layer the weights ``(inputs, outputs)``, then the
    biases. A bias is the weight of an extra input, the constant 1.
    """
    drawn = normals(seed, member, Purpose.INIT, architecture.n_parameters(architecture.hidden))
    at = 0
    for n_in, n_out in architecture.layer_sizes(architecture.hidden):
        drawn[at : at + (n_in + 1) * n_out] /= math.sqrt(n_in + 1)
        at += (n_in + 1) * n_out
    return drawn


def first_variance(prior: Gamma = START) -> float:
    """The mean of a weight's variance under the gamma distribution of its precision."""
    return prior[1] / (prior[0] - 1)


@dataclass
class Posterior:
    """Means and variances of all weights, and views of them layer by layer, each ``(inputs + 1, outputs)``."""

    mean: Array
    variance: Array
    noise: Gamma
    prior: Gamma
    layers: list[tuple[Array, Array]]


def make_posterior(
    architecture: Architecture, mean: Array, variance: Array, noise: Gamma = START, prior: Gamma = START
) -> Posterior:
    layers, at = [], 0
    for n_in, n_out in architecture.layer_sizes(architecture.hidden):
        part, shape = slice(at, at + (n_in + 1) * n_out), (n_in + 1, n_out)
        layers.append((mean[part].reshape(shape), variance[part].reshape(shape)))
        at = part.stop
    return Posterior(mean, variance, noise, prior, layers)


# --- forward moments --------------------------------------------------------------------------------------------------


@dataclass
class Rectified:
    """Moments of ``max(0, a)`` for Gaussian ``a``, and their derivatives with respect to the moments of ``a``."""

    mean: Array
    variance: Array
    mean_by_mean: Array
    mean_by_variance: Array
    variance_by_mean: Array
    variance_by_variance: Array


def rectified(mean: Array, variance: Array) -> Rectified:
    """Written with what lies beyond |alpha|, alpha = mean / deviation, so that no digits cancel on either side.

    ``excess`` is E[max(0, e - |alpha|)] for a standard normal ``e``, and ``square`` that of the square.
    """
    deviation = np.sqrt(variance)
    alpha = mean / deviation
    distance = np.abs(alpha)
    density = np.exp(-0.5 * distance**2) / math.sqrt(2 * math.pi)
    mills = math.sqrt(math.pi / 2) * erfcx(distance / math.sqrt(2))
    tail = density * mills
    excess = density * (1 - distance * mills)
    square = tail - distance * excess
    positive = alpha > 0
    above = np.where(positive, 1 - tail, tail)  # probability of a > 0
    scaled_mean = np.maximum(alpha, 0) + excess
    scaled_variance = np.where(positive, 1 - square - 2 * distance * excess, square) - excess**2
    out_mean = deviation * scaled_mean
    return Rectified(
        mean=out_mean,
        variance=variance * scaled_variance,
        mean_by_mean=above,
        mean_by_variance=density / (2 * deviation),
        variance_by_mean=2 * out_mean * np.where(positive, tail, 1 - tail),
        variance_by_variance=above - scaled_mean * density,
    )


@dataclass
class Input:
    """Mean and variance of a layer's inputs, the constant 1 last, all divided by the root of their number."""

    scale: float
    mean: Array
    variance: Array


def as_input(mean: Array, variance: Array | float) -> Input:
    n = len(mean)
    scale = 1 / math.sqrt(n + 1)
    moments = np.empty((2, n + 1))
    moments[0, :n], moments[0, n] = scale * mean, scale
    moments[1, :n], moments[1, n] = scale**2 * variance, 0
    return Input(scale, moments[0], moments[1])


def weighted_sums(weights: tuple[Array, Array], source: Input) -> tuple[Array, Array]:
    """Mean and variance of the sums of independent products."""
    mean, variance = weights
    spread = (source.variance + source.mean**2) @ variance + source.variance @ mean**2
    return source.mean @ mean, spread


@dataclass
class Pass:
    """What a forward pass leaves behind for the gradients."""

    inputs: list[Input]
    hidden: list[Rectified]
    mean: float
    variance: float


def forward(posterior: Posterior, x: Array) -> Pass:
    inputs, hidden = [as_input(x, 0.0)], []
    for weights in posterior.layers[:-1]:
        hidden.append(rectified(*weighted_sums(weights, inputs[-1])))
        inputs.append(as_input(hidden[-1].mean, hidden[-1].variance))
    mean, variance = weighted_sums(posterior.layers[-1], inputs[-1])
    return Pass(inputs, hidden, float(mean[0]), float(variance[0]))


# --- gradients --------------------------------------------------------------------------------------------------------


def log_evidence(y: float, mean: float, variance: float) -> tuple[float, float, float]:
    """log N(y | mean, variance) without its constant, and its derivatives with respect to mean and variance."""
    error = y - mean
    value = -0.5 * (math.log(variance) + error**2 / variance)
    return value, error / variance, 0.5 * (error**2 / variance - 1) / variance


def gradients(posterior: Posterior, trace: Pass, by_mean: float, by_variance: float) -> list[tuple[Array, Array]]:
    """Derivatives with respect to all means and variances of the weights, from those with respect to the output's."""
    d_mean, d_variance = np.array([by_mean]), np.array([by_variance])
    found = []
    for index in range(len(posterior.layers) - 1, -1, -1):
        (mean, variance), source = posterior.layers[index], trace.inputs[index]
        second_moment = source.variance + source.mean**2
        by_means = source.mean[:, None] * d_mean + 2 * mean * (source.variance[:, None] * d_variance)
        found.append((by_means, second_moment[:, None] * d_variance))
        if index > 0:
            by_input = source.scale * (mean @ d_mean + 2 * source.mean * (variance @ d_variance))[:-1]
            by_spread = source.scale**2 * ((variance + mean**2) @ d_variance)[:-1]
            below = trace.hidden[index - 1]
            d_mean = by_input * below.mean_by_mean + by_spread * below.variance_by_mean
            d_variance = by_input * below.mean_by_variance + by_spread * below.variance_by_variance
    return found[::-1]


# --- the update for one row -------------------------------------------------------------------------------------------


def updated_gamma(gamma: Gamma, variance: float, error: float, weight: float = 1.0) -> Gamma | None:
    """Gamma distribution of a precision after an error with variance ``variance + 1 / (weight * precision)``.

    The evidence Z(a) is a Gaussian density with the precision's part of the variance at its mean, b / (a - 1). With
    Z1 = Z(a + 1) and Z2 = Z(a + 2), the new distribution has the first two moments

        E[precision] = Z1 / Z * a / b,    E[precision^2] = Z2 / Z * a (a + 1) / b^2.

    That is solved for the new a and b in a form that keeps its digits when a is large: the ratios of evidences differ
    from 1 by 1/a only, and their ratio by 1/a^2.

    None where the shape would fall below its start. A Gaussian evidence takes an outlier for a reason to know less, and a
    few of them would leave nothing: without this limit small samples let the weights' variance grow without bounds.
    """
    a, b = gamma
    rate = b / weight
    middle = variance + rate / a  # the variance in Z1
    share = rate / a / middle
    first = share / (a - 1)  # variance in Z: middle * (1 + first)
    c = 1 / ((a - 1) * (a + 1))
    product = share * (2 - share) * c  # variances in Z and Z2: the product is middle^2 * (1 + product)
    squared = error**2 / middle
    log_ratio = squared * share * (1 - share) * c / (1 + product) - 0.5 * math.log1p(product)  # of Z Z2 / Z1^2
    factor = 1 + (a + 1) * _bounded(math.expm1, log_ratio)
    new_a = a / factor
    new_b = b / (factor * math.sqrt(1 + first)) * _bounded(math.exp, 0.5 * squared * first / (1 + first))
    return (new_a, new_b) if new_a >= START[0] and 0 < new_b < math.inf else None


def _bounded(function: Callable[[float], float], x: float) -> float:
    """Infinity where the result is too large, as in C, where Python would raise."""
    return function(x) if x < 709 else math.inf


def update(posterior: Posterior, x: Array, y: float, weight: float = 1.0) -> None:
    """Assumed density filtering with one row. What would get invalid moments keeps its old ones."""
    trace = forward(posterior, x)
    a, b = posterior.noise
    _, by_mean, by_variance = log_evidence(y, trace.mean, trace.variance + b / weight / (a - 1))
    found = gradients(posterior, trace, by_mean, by_variance)
    for (mean, variance), (d_mean, d_variance) in zip(posterior.layers, found, strict=True):
        new_mean = mean + variance * d_mean
        new_variance = variance - variance**2 * (d_mean**2 - 2 * d_variance)
        valid = (new_variance > SMALLEST_VARIANCE) & np.isfinite(new_variance) & np.isfinite(new_mean)
        np.copyto(mean, new_mean, where=valid)
        np.copyto(variance, new_variance, where=valid)
    posterior.noise = updated_gamma(posterior.noise, trace.variance, y - trace.mean, weight) or posterior.noise


# --- the prior --------------------------------------------------------------------------------------------------------


@dataclass
class Factors:
    """What the prior contributes to each weight's posterior and to the gamma distribution of the prior's precision.

    ``precision`` of the weight (its mean is zero), and what is added to ``a`` and ``b``.
    """

    precision: Array
    a: Array
    b: Array


def first_factors(n: int, prior: Gamma = START) -> Factors:
    return Factors(np.full(n, 1 / first_variance(prior)), np.zeros(n), np.zeros(n))


def refine_prior(posterior: Posterior, factors: Factors) -> None:
    """Expectation propagation for the prior, weight by weight in the order of storage.

    A weight's old factor is taken out of the posterior (the cavity), the exact prior is put in its place, and the moments
    of the result are kept. The exact prior is a Gaussian with mean zero and the mean variance under the cavity's gamma
    distribution, so that precisions add up.

    A weight that the rows say little about has a cavity that is wide and far from zero, and its old factor alone keeps it in
    place. With a wider prior the weight would move far out, the prior would grow wider still to explain it, and the next
    weight would follow: predictions of samples with uneven noise were wrong by many times the target's range. So such a
    weight keeps its factor.
    """
    for i in range(len(posterior.mean)):
        precision = float(1 / posterior.variance[i] - factors.precision[i])
        a, b = posterior.prior[0] - float(factors.a[i]), posterior.prior[1] - float(factors.b[i])
        if not (precision > 1 / LARGEST_CAVITY and a > 1 and b > 0):
            continue
        mean, deviation = float(posterior.mean[i]), math.sqrt(posterior.variance[i])
        shift = float(posterior.mean[i] / posterior.variance[i])
        factor = (a - 1) / b
        variance = 1 / (precision + factor)
        if not abs(shift * variance - mean) <= LARGEST_MOVE * deviation:
            continue
        factors.precision[i], posterior.variance[i], posterior.mean[i] = factor, variance, shift * variance
        refined = updated_gamma((a, b), 1 / precision, shift / precision)
        if refined is not None:
            posterior.prior = refined
            factors.a[i], factors.b[i] = refined[0] - a, refined[1] - b


# --- training and prediction ------------------------------------------------------------------------------------------


def train(
    posterior: Posterior,
    data: TrainingData,
    n_passes: int,
    seed: int,
    member: int,
    *,
    target: int = 0,
    sample: int = -1,
) -> None:
    """Update ``posterior`` in place: ``n_passes`` times all rows in random order, then the prior.

    ``target`` is the column of y that is learned. ``sample`` is the row of ``counts`` that says how often each row of the
    data is seen in a pass; -1 means once. Row i has noise variance ``sigma^2 / weight[i]``, so a row with weight 0 says nothing and is
    left out.
    """
    X, y = data.X.astype(np.float64), data.y[:, target].astype(np.float64)
    weight = np.ones(len(X)) if data.weight is None else data.weight.astype(np.float64)
    rows = np.repeat(np.arange(len(X), dtype=np.uint32), np.where(weight > 0, data.row_counts(sample), 0))
    factors = first_factors(len(posterior.mean), posterior.prior)
    for index in range(n_passes):
        for row in shuffled(rows, seed, member, Purpose.SHUFFLE, part=index):
            update(posterior, X[row], float(y[row]), float(weight[row]))
        refine_prior(posterior, factors)


def moments(posterior: Posterior, X: npt.ArrayLike) -> tuple[Array, Array]:
    """Mean and variance of the network's output, without noise.

    Shape: X ``(n, n_inputs)`` -> two arrays ``(n,)``.
    """
    passes = [forward(posterior, x) for x in np.asarray(X, dtype=np.float64)]
    return np.array([p.mean for p in passes]), np.array([p.variance for p in passes])
