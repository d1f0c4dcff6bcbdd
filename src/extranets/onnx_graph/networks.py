"""ReLU networks and their moments: all members in one product per layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from extranets._arrays import Float32
from extranets.encodings import Encoding, PiecewiseLinear
from extranets.networks import Architecture, Ensemble
from extranets.onnx_graph.graph import Value, concatenate


def stacked_layers(ensemble: Ensemble) -> list[tuple[Float32, Float32]]:
    """Weights ``(n_members, n_in, n_out)`` and biases ``(n_members, 1, n_out)`` of every layer.

    Narrow members are filled up with units whose weights are zero on both sides. This changes no sum.
    """
    members = ensemble.members
    widest = members.architecture.layer_sizes(members.widths.max(axis=0))
    layers = [
        (np.zeros((len(members), n_in, n_out), np.float32), np.zeros((len(members), 1, n_out), np.float32))
        for n_in, n_out in widest
    ]
    for member, at in enumerate(members.offsets[:-1].tolist()):
        sizes = members.architecture.layer_sizes(members.widths[member])
        for (weights, biases), (n_in, n_out) in zip(layers, sizes, strict=True):
            end = at + n_in * n_out
            weights[member, :n_in, :n_out] = ensemble.parameters[at:end].reshape(n_in, n_out)
            biases[member, 0, :n_out] = ensemble.parameters[end : end + n_out]
            at = end + n_out
    return layers


def encoded(x: Value, encoding: Encoding | None) -> Value:
    """What the first layer reads: the columns, then their entries, column after column. Shape: ``(n, k)`` -> ``(n, n_first)``."""
    if encoding is None or not len(encoding.columns):
        return x
    spread = x.take(np.repeat(encoding.columns, encoding.n_entries), axis=1)
    if isinstance(encoding, PiecewiseLinear):
        edges = encoding.edges_of_columns()
        starts, gaps = np.concatenate([e[:-1] for e in edges]), np.concatenate([np.diff(e) for e in edges])
        return concatenate([x, ((spread - starts) / gaps).apply("Clip", np.float32(0), np.float32(1))], axis=1)
    # sin(a + pi/2) is cos(a)
    angles = np.tile(np.float32(2 * np.pi) * np.tile(encoding.frequencies, 2), len(encoding.columns))
    quarter = np.repeat(np.array([0, np.pi / 2], dtype=np.float32), len(encoding.frequencies))
    return concatenate([x, (spread * angles + np.tile(quarter, len(encoding.columns))).apply("Sin")], axis=1)


def heads(x: Value, ensemble: Ensemble, factors: Sequence[npt.NDArray] | None = None) -> Value:
    """Heads of every member, or of one network's stochastic passes.

    ``factors[l]``, of shape ``(n_passes, 1, n_in)``, multiplies what layer ``l`` reads: 0 or 1/keep under inverted dropout.

    Shape: x ``(n, n_inputs)`` float32 -> ``(n_members or n_passes, n, n_heads)`` float64, for sums over many members.
    """
    layers = stacked_layers(ensemble)
    x = encoded(x, ensemble.members.architecture.encoding)
    for index, (weights, biases) in enumerate(layers):
        if index > 0:
            x = x.apply("Relu")
        if factors is not None and (factors[index] != 1).any():
            x = x * factors[index]
        x = x @ weights + biases
    return x.cast(np.float64)


def predictions(heads: Value, architecture: Architecture) -> Value:
    """The heads that are means. Shape: ``(n_members, n, n_heads)`` -> ``(n_members, n, n_outputs)``."""
    return heads.take(np.arange(architecture.n_outputs), axis=2) if architecture.learns_noise else heads


def moments(heads: Value, architecture: Architecture, log_variance_limit: float) -> tuple[Value, Value, Value | None]:
    """Mean and variance (1/T) over the members, and the mean predicted variance where the heads hold log-variances.

    A log-variance counts as no farther from zero than ``log_variance_limit``.

    Shape: heads ``(n_members, n, n_heads)`` -> ``(n, n_outputs)`` each.
    """
    means = predictions(heads, architecture)
    mean = means.mean(0)
    deviation = means - mean
    noise = None
    if architecture.learns_noise:
        logs = heads.take(np.arange(architecture.n_outputs, architecture.n_heads), axis=2)
        noise = logs.apply("Clip", -log_variance_limit, log_variance_limit).apply("Exp").mean(0)
    return mean, (deviation * deviation).mean(0), noise
