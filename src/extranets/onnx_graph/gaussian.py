"""Moments of a network whose weights are independent Gaussians, by the formulas of probabilistic back-propagation.

Hernandez-Lobato, J. M. and Adams, R. P. (2015). Probabilistic backpropagation for scalable learning of Bayesian neural
networks. International Conference on Machine Learning.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from extranets._arrays import Array
from extranets.networks import Architecture
from extranets.onnx_graph.graph import Value, where

MILLS_CENTRE = 4.5  # the x at which the series' variable y is 0
MILLS_DEGREE = 20  # accurate to 1e-14


def gaussian_moments(x: Value, architecture: Architecture, mean: Array, variance: Array) -> tuple[Value, Value]:
    """Mean and variance of the outputs of some networks with one output each.

    Shape: x ``(n, n_inputs)``; mean, variance ``(n_networks, n_weights)`` -> ``(n, n_networks)`` each, float64.
    """
    first, *others = layers(architecture, mean, variance)
    moments = weighted_sums(first, x.cast(np.float64), None)
    for layer in others:
        moments = weighted_sums(layer, *rectified(*moments))
    centre, spread = (value.squeeze(2).transpose(1, 0) for value in moments)
    return centre, spread


def layers(architecture: Architecture, mean: Array, variance: Array) -> list[tuple[Array, Array]]:
    """Means and variances of every layer's weights, with the scale of its inputs included: the inputs, and the constant 1
    for the biases, are divided by the square root of their number.

    Shape: ``(n_networks, n_weights)`` -> ``(n_networks, n_in + 1, n_out)``, biases last.
    """
    out, at = [], 0
    for n_in, n_out in architecture.layer_sizes(architecture.hidden):
        part, shape = slice(at, at + (n_in + 1) * n_out), (len(mean), n_in + 1, n_out)
        out.append((mean[:, part].reshape(shape) / math.sqrt(n_in + 1), variance[:, part].reshape(shape) / (n_in + 1)))
        at = part.stop
    return out


def weighted_sums(layer: tuple[Array, Array], centre: Value, spread: Value | None) -> tuple[Value, Value]:
    """Mean and variance of sums of products of independent weights and inputs; ``spread=None``: inputs are known.

    Shape: layer as in :func:`layers`, centre and spread ``([n_networks, ]n, n_in)`` -> ``(n_networks, n, n_out)``.
    """
    mean, variance = layer
    squares = centre * centre if spread is None else centre * centre + spread
    out = squares @ variance[:, :-1] + variance[:, -1:]
    if spread is not None:
        out = out + spread @ mean[:, :-1] ** 2
    return centre @ mean[:, :-1] + mean[:, -1:], out


def rectified(mean: Value, variance: Value) -> tuple[Value, Value]:
    """Mean and variance of ``max(0, a)`` for Gaussian ``a``.

    To lose no digits, it is computed from the tail of a standard normal ``e`` beyond distance = |mean| / deviation:
    ``excess`` is E[max(0, e - distance)], and ``square`` is E[max(0, e - distance)^2].
    """
    deviation = variance.apply("Sqrt")
    alpha = mean / deviation
    distance = alpha.apply("Abs")
    density = (distance * distance * -0.5).apply("Exp") / math.sqrt(2 * math.pi)
    mills = mills_ratio(distance)
    excess = density * (1 - distance * mills)
    square = density * mills - distance * excess
    positive = alpha.compare("Greater", 0.0)
    scaled = where(positive, 1 - square - 2 * distance * excess, square) - excess * excess
    return deviation * (alpha.apply("Relu") + excess), variance * scaled


def mills_ratio(distance: Value) -> Value:
    """The standard normal distribution's tail over its density, for a distance of at least 0."""
    inverse = 1 / (distance + MILLS_CENTRE)
    y = (distance - MILLS_CENTRE) * inverse
    highest, *rest = reversed(mills_series())
    total: Value | float = highest
    for coefficient in rest:
        total = total * y + coefficient
    return total * inverse


def mills_series() -> list[float]:
    """Coefficients in powers of y = (x - c) / (x + c) of (x + c) times Mills' ratio at x, which is smooth on all of [-1, 1]."""
    from scipy.special import erfcx

    def smooth(y: Array) -> Any:
        x = MILLS_CENTRE * (1 + y) / (1 - y)
        return (x + MILLS_CENTRE) * math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))

    chebyshev = np.polynomial.chebyshev
    return chebyshev.cheb2poly(chebyshev.chebinterpolate(smooth, MILLS_DEGREE)).tolist()
