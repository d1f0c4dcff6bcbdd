"""How much each column matters to networks, and networks that read columns times that.

Of many columns, most may say nothing about the target. Networks fit noise through each of them, and weight decay cannot tell
which they are. So networks that were trained quickly tell how far their predictions move with each column, and further networks
get columns times that: a column that hardly matters would need large weights, which their decay prevents. Afterwards the factors go
into the weights, so that a network reads columns as they are.

A network's inputs from bins are not scaled, only the column itself beside them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from extranets._arrays import Array, Float32
from extranets.encodings import PiecewiseLinear
from extranets.engine import reference
from extranets.networks import Architecture, Ensemble

ROWS = 300  # on which predictions are looked at
LEAST = -13.0  # logarithm of the smallest factor: a column times zero would have no bins


def relevance(ensemble: Ensemble, X: Float32) -> Array:
    """Mean squared slope of the predictions along every column, times the column's variance, in units of the columns' mean.

    Shape: X ``(n, k)``, as the networks read it, without an encoding -> ``(k,)``.

    Examples
    --------
    Networks that are linear in their first column, and do not read their second:

    >>> from extranets.networks import Architecture, draw_members
    >>> members = draw_members(Architecture(2, (), 1, 1), 1.0, seed=0, ids=[0])
    >>> linear = Ensemble(members, np.array([2.0, 0.0, 1.0], dtype=np.float32))
    >>> relevance(linear, np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)).tolist()
    [2.0, 0.0]
    """
    some = X[:: -(-len(X) // ROWS)].astype(np.float64)
    moved = _squared_slopes(ensemble, some) * X.var(axis=0)
    mean = moved.mean()
    return moved / mean if mean > 0 else np.ones_like(moved)


def factors_from(relevances: Array) -> Array:
    """What columns are multiplied by: powers of two, so that no product is rounded. Shape: ``(n_ensembles, k)`` -> ``(k,)``.

    Examples
    --------
    >>> factors_from(np.array([[15.0, 1.0, 0.0], [17.0, 1.0, 0.0]])).tolist()
    [4.0, 1.0, 0.0001220703125]
    """
    with np.errstate(divide="ignore"):
        exponents = np.log2(relevances.mean(axis=0)) / 2
    return np.asarray(2.0 ** np.maximum(np.rint(exponents), LEAST))


def of_all_folds(factors: Array) -> Array:
    """One row of factors in the middle of those of the folds. Shape: ``(n_folds, k)`` -> ``(1, k)``."""
    return np.asarray(2.0 ** np.rint(np.log2(factors).mean(axis=0, keepdims=True)))


def _squared_slopes(ensemble: Ensemble, X: Array) -> Array:
    """Mean over networks and rows, sum over outputs. Shape: ``(n, k)`` -> ``(k,)``."""
    members = ensemble.members
    architecture, offsets = members.architecture, members.offsets
    total = np.zeros(X.shape[1])
    for member in range(len(ensemble)):
        own = ensemble.parameters[offsets[member] : offsets[member + 1]]
        layers = reference.unflatten(own, architecture, members.widths[member])
        activations = reference.forward(layers, X)
        for output in np.eye(architecture.n_outputs):
            slopes = reference.input_gradient(layers, activations, np.tile(output, (len(X), 1)))
            total += (slopes**2).mean(axis=0)
    return total / len(ensemble)


def reading_scaled(architecture: Architecture, factors: Array) -> Architecture:
    """For columns times factors: the same bins of scaled columns. Shape: factors ``(k,)``."""
    encoding = architecture.encoding
    if encoding is None:
        return architecture
    assert isinstance(encoding, PiecewiseLinear)
    by_edge = np.repeat(factors[encoding.columns], np.diff(encoding.offsets)).astype(np.float32)
    return replace(architecture, encoding=replace(encoding, edges=encoding.edges * by_edge))


def reading_as_it_is(ensemble: Ensemble, architecture: Architecture, factors: Array) -> Ensemble:
    """Networks that were trained on columns times factors, with the factors in their first layer's weights instead.

    Shape: factors ``(k,)``.
    """
    members, parameters = replace(ensemble.members, architecture=architecture), ensemble.parameters.copy()
    n_inputs = architecture.n_inputs
    for begin, widths in zip(members.offsets[:-1].tolist(), members.widths, strict=True):
        width = architecture.layer_sizes(widths)[0][1]
        weights = parameters[begin : begin + n_inputs * width].reshape(n_inputs, width)  # those of bins come after
        weights *= factors[:, None].astype(np.float32)
    return Ensemble(members, parameters)
