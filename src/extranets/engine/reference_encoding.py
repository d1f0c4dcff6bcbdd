"""The specification of the numeric encodings: the wide table, built outright, and derivatives of its entries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.encodings import Encoding, PiecewiseLinear


def encoded(encoding: Encoding | None, X: Array) -> Array:
    """What the first layer reads: the table, then the encoded columns' entries, column after column.

    Shape: X ``(n, n_inputs)`` -> ``(n, n_first)``.
    """
    if encoding is None:
        return X
    if isinstance(encoding, PiecewiseLinear):
        entries = [_positions(X[:, c], e) for c, e in zip(encoding.columns, _edges(encoding), strict=True)]
    else:
        angles = [_angles(X[:, c], encoding.frequencies) for c in encoding.columns]
        entries = [np.hstack([np.sin(angle), np.cos(angle)]) for angle in angles]
    return np.hstack([X, *entries])


def _edges(encoding: PiecewiseLinear) -> list[Array]:
    return [edges.astype(np.float64) for edges in encoding.edges_of_columns()]


def _positions(x: Array, edges: Array) -> Array:
    """Position of x within every bin. Shape: x ``(n,)``, edges ``(n_bins + 1,)`` -> ``(n, n_bins)``."""
    return np.clip((x[:, None] - edges[:-1]) / np.diff(edges), 0, 1)


def _angles(x: Array, frequencies: Float32) -> Array:
    return 2 * np.pi * x[:, None] * frequencies.astype(np.float64)


def slopes(encoding: Encoding, X: Array) -> list[Array]:
    """Derivatives of every encoded column's entries. On an edge: that of the bin above; outside of all bins: zero.

    Shape: X ``(n, n_inputs)`` -> one array ``(n, n_entries)`` for each encoded column.
    """
    if isinstance(encoding, PiecewiseLinear):
        return [_bin_slopes(X[:, c], e) for c, e in zip(encoding.columns, _edges(encoding), strict=True)]
    pace = 2 * np.pi * encoding.frequencies.astype(np.float64)
    angles = [_angles(X[:, c], encoding.frequencies) for c in encoding.columns]
    return [np.hstack([pace * np.cos(angle), -pace * np.sin(angle)]) for angle in angles]


def _bin_slopes(x: Array, edges: Array) -> Array:
    n_bins = len(edges) - 1
    bins = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, n_bins - 1)
    inside = (x >= edges[0]) & (x <= edges[-1])
    return np.where((np.arange(n_bins) == bins[:, None]) & inside[:, None], 1 / np.diff(edges), 0.0)


def column_gradient(encoding: Encoding | None, X: Array, gradient: Array) -> Array:
    """Gradient with respect to the table's columns, from that with respect to the first layer's inputs.

    Shape: X ``(n, n_inputs)``, gradient ``(n, n_first)`` -> ``(n, n_inputs)``.
    """
    if encoding is None:
        return gradient
    n_inputs = X.shape[1]
    out = gradient[:, :n_inputs].copy()
    parts = np.split(gradient[:, n_inputs:], np.cumsum(encoding.n_entries)[:-1], axis=1)
    for column, part, slope in zip(encoding.columns, parts, slopes(encoding, X), strict=True):
        out[:, column] += np.sum(part * slope, axis=1)
    return out


def column_of_input(encoding: Encoding | None, n_inputs: int) -> npt.NDArray[np.intp]:
    """Which column of the table each input of the first layer comes from. Shape: ``(n_first,)``."""
    columns = np.arange(n_inputs)
    return columns if encoding is None else np.append(columns, np.repeat(encoding.columns, encoding.n_entries))
