"""The specification of variational inference: one posterior, NumPy, float64, plain and slow.

Every weight and bias is normal and independent of all others, ``w = mean + exp(log_std) * draw``. The prior is
N(prior_mean, prior_variance) for all of them; the noise is normal with one variance per output. What is minimised, divided by the number of rows, is

    sum over rows of weight * E[negative log-likelihood] + KL(posterior || prior),

the negative evidence lower bound, in which a row of weight 2 counts like two rows. The expectation is estimated with one
draw of all weights per mini-batch; the KL divergence (Graves's complexity cost) and the best prior variance have closed
forms.

There are two ways to learn log_std. *Reparameterised*: the gradient of the drawn loss, g * draw * std. The prior's mean is zero,
and during the first half of the steps the complexity cost counts only in part: while the noise variance is still large, it would
push weights to zero that never come back. *Graves* (2011, "Practical variational inference for neural networks"): half the
curvature of the loss is the slope of its expectation in std^2 (his equation 16), and the squared gradients of single rows stand
for the curvature (his equation 17); the prior's mean is learned (his equation 12), and the complexity cost counts in full from
the first step. His optimiser was another one; here both have Adam.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets._random import Purpose, normals, shuffled
from extranets.engine.options import LOG_VARIANCE_LIMIT
from extranets.engine.reference import (
    Adam,
    Layers,
    Problem,
    backward,
    flatten,
    forward,
    initial_layers,
    unflatten,
)
from extranets.networks import Architecture

INITIAL_STD = 0.05  # small against Glorot's first weights; as in native/variational.hpp
WARM_UP = 0.5  # share of the steps until the complexity cost counts in full


@dataclass
class Variational:
    """A posterior during training. Shapes: mean, log_std ``(n_parameters,)`` in canonical layout, log_noise ``(n_outputs,)``."""

    architecture: Architecture
    widths: npt.ArrayLike
    mean: Array
    log_std: Array
    log_noise: Array
    prior_variance: float = 1.0
    prior_mean: float = 0.0
    graves: bool = False


def initial(
    architecture: Architecture, widths: npt.ArrayLike, seed: int, member: int, graves: bool = False
) -> Variational:
    mean = flatten(initial_layers(architecture, widths, seed, member))
    log_std = np.full(len(mean), math.log(INITIAL_STD))
    posterior = Variational(architecture, widths, mean, log_std, np.zeros(architecture.n_outputs), graves=graves)
    fit_prior(posterior)
    return posterior


def fit_prior(q: Variational) -> None:
    """Put the prior where the KL divergence is smallest; a prior that is not Graves's keeps its mean of zero."""
    q.prior_mean = float(np.mean(q.mean)) if q.graves else 0.0
    q.prior_variance = best_prior_variance(q)


def best_prior_variance(q: Variational) -> float:
    """Where the KL divergence is smallest; kept within limits because it may run to zero where there is no signal."""
    limit = math.exp(LOG_VARIANCE_LIMIT)
    return float(np.clip(np.mean((q.mean - q.prior_mean) ** 2 + np.exp(2 * q.log_std)), 1 / limit, limit))


def kl_divergence(q: Variational) -> float:
    """KL(posterior || prior), summed over the parameters."""
    relative = ((q.mean - q.prior_mean) ** 2 + np.exp(2 * q.log_std)) / q.prior_variance
    return float(np.sum(0.5 * (relative - 1 + math.log(q.prior_variance)) - q.log_std))


def nll_and_gradients(q: Variational, draw: Array, X: Array, y: Array, weight: Array) -> tuple[float, Array, Array]:
    """Mean over rows of weight * negative log-likelihood (without its constant) at one draw of the weights.

    Gradients: with respect to the drawn weights, flat, and to log_noise.
    Shapes: draw ``(n_parameters,)``, X ``(n, n_inputs)``, y ``(n, n_outputs)``, weight ``(n,)``.
    """
    layers = unflatten(q.mean + np.exp(q.log_std) * draw, q.architecture, q.widths)
    activations = forward(layers, X)
    error, scale = activations[-1] - y, weight[:, None] / len(X)
    precision = np.exp(-q.log_noise)
    square = error**2 * precision
    value = float(np.sum(0.5 * scale * (q.log_noise + square)))
    d_log_noise = np.sum(0.5 * scale * (1 - square), axis=0)
    return value, flatten(backward(layers, activations, scale * error * precision)), d_log_noise


def objective_and_gradients(
    q: Variational, draw: Array, X: Array, y: Array, weight: Array, kl_weight: float
) -> tuple[float, Array, Array, Array]:
    """What one mini-batch sees: likelihood term + kl_weight * KL, and its gradients for mean, log_std and log_noise."""
    nll, d_weights, d_log_noise = nll_and_gradients(q, draw, X, y, weight)
    std = np.exp(q.log_std)
    slope = std**2 * mean_squared_gradient(q, draw, X, y, weight) if q.graves else d_weights * draw * std
    d_mean = d_weights + kl_weight * (q.mean - q.prior_mean) / q.prior_variance
    d_log_std = slope + kl_weight * (std**2 / q.prior_variance - 1)
    return nll + kl_weight * kl_divergence(q), d_mean, d_log_std, d_log_noise


def mean_squared_gradient(q: Variational, draw: Array, X: Array, y: Array, weight: Array) -> Array:
    """Mean over rows of weight * squared gradient of the row's negative log-likelihood, flat: Graves's diagonal curvature."""
    one = np.ones(1)
    rows = [nll_and_gradients(q, draw, X[i : i + 1], y[i : i + 1], one)[1] for i in range(len(X))]
    return np.asarray(weight @ np.square(rows) / len(X))


def warmth(step: int, n_steps: int) -> float:
    """How much of the complexity cost counts at a step: rises from 0 to 1 during the warm-up."""
    return min(1.0, step / (WARM_UP * n_steps))


def training_step(
    problem: Problem, q: Variational, numbers: Layers, adam: Adam, rows: npt.NDArray[np.uint32], step: int, n_steps: int
) -> float:
    """One mini-batch: draw, gradients, Adam. Returns the summed likelihood term."""
    draw = normals(problem.seed, problem.member, Purpose.WEIGHTS, len(q.mean), part=step)
    kl_weight = (1.0 if q.graves else warmth(step, n_steps)) / len(problem.train_rows)
    data = problem.X[rows], problem.y[rows], problem.weight[rows]
    value, d_mean, d_log_std, d_log_noise = objective_and_gradients(q, draw, *data, kl_weight)
    nll = value - kl_weight * kl_divergence(q)
    adam.step(numbers, [(d_mean, d_log_std), (d_log_noise, np.empty(0))], step, n_steps)
    np.clip(q.log_noise, -LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT, out=q.log_noise)
    return len(rows) * nll


def train(
    problem: Problem, architecture: Architecture, widths: npt.ArrayLike, graves: bool = False
) -> tuple[Variational, list[float]]:
    """The posterior and the loss curve: mean of the batches' likelihood terms, plus the complexity cost after the epoch.

    The prior is set once per epoch, so that within an epoch all batches have the same objective, and after the last one it is
    the best for the posterior that is returned.
    """
    o, rows = problem.options, problem.train_rows
    batch = min(o.batch_size, len(rows))
    per_epoch = -(-len(rows) // batch)
    n_steps = o.n_epochs * per_epoch
    q = initial(architecture, widths, problem.seed, problem.member, graves)
    numbers = [(q.mean, q.log_std), (q.log_noise, np.empty(0))]  # Adam takes pairs
    adam = Adam(numbers, o)
    curve: list[float] = []
    for epoch in range(o.n_epochs):
        order = shuffled(rows, problem.seed, problem.member, Purpose.SHUFFLE, part=epoch)
        total = 0.0
        for step in range(epoch * per_epoch, (epoch + 1) * per_epoch):
            begin = (step - epoch * per_epoch) * batch
            total += training_step(problem, q, numbers, adam, order[begin : begin + batch], step, n_steps)
        fit_prior(q)
        curve.append((total + kl_divergence(q)) / len(rows))
    return q, curve
