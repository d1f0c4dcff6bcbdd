"""The delta method's leverage: gradients by one network's weights, in units of those at the training rows."""

from __future__ import annotations

import numpy as np

from extranets._arrays import Array
from extranets.networks import Ensemble
from extranets.onnx_graph.graph import Value, concatenate
from extranets.onnx_graph.networks import stacked_layers


def leverage(x: Value, network: Ensemble, roots: Array) -> Value:
    """Sum of squares of ``gradient @ root`` for every output of a network without log-variances.

    Shape: x ``(n, n_inputs)`` float32, roots ``(n_outputs, n_parameters, n_parameters)`` -> ``(n, n_outputs)`` float64.
    """
    scaled = gradients(x, network).cast(np.float64) @ roots
    return (scaled * scaled).sum(2).transpose(1, 0)


def gradients(x: Value, network: Ensemble) -> Value:
    """Gradients of all heads, in the order of ``Ensemble.parameters``.

    Shape: x ``(n, n_inputs)`` -> ``(n_heads, n, n_parameters)``.
    """
    layers = [(weights[0], biases[0]) for weights, biases in stacked_layers(network)]
    below = [x]
    for weights, biases in layers[:-1]:
        below.append((below[-1] @ weights + biases).apply("Relu"))
    n_heads = network.members.architecture.n_heads
    rows = (x.take([0], axis=1) * 0.0).unsqueeze(0)  # (1, n, 1), so that there is a gradient for every row
    delta = rows + np.eye(n_heads)[:, None, :]
    parts: list[Value] = []
    for (weights, _), active in reversed(list(zip(layers, below, strict=True))):
        n_in, n_out = weights.shape
        products = active.unsqueeze(2) * delta.unsqueeze(2)
        parts = [products.reshape(0, 0, n_in * n_out), delta, *parts]
        delta = (delta @ weights.T) * active.compare("Greater", 0.0).cast(np.float32)
    return concatenate(parts, axis=2)
