"""Weights of several models by their errors on rows that none of them was trained on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array

PENALTY = 1e-3  # on squared weights, in units of each model's own squared error: of two that are alike, both get half


def stacking_weights(residuals: Array, weight: Array) -> Array:
    """Weights, not negative and with sum one, whose weighted mean of the models has the smallest squared error.

    Several outputs share the weights; each counts by its squared errors.

    Shape: residuals ``(n_models, n, n_outputs)``, weight ``(n,)`` -> ``(n_models,)``.

    Examples
    --------
    >>> errors = np.array([[1.0, -1.0, 2.0, 0.0], [-1.0, 1.0, -2.0, 0.1], [9.0, 7.0, 8.0, 9.0]])
    >>> stacking_weights(errors[:, :, None], np.ones(4)).round(2)
    array([0.5, 0.5, 0. ])
    """
    from scipy.optimize import nnls

    products = error_products(residuals, weight)
    size = np.sqrt(np.diagonal(products))
    perfect = size == 0
    if perfect.any():  # as all are of a constant target
        return perfect / perfect.sum()
    # In units of each model's own error, so that one that is far off does not blur what is known about the others.
    lower = np.linalg.cholesky(products / np.outer(size, size) + PENALTY * np.eye(len(size)))
    # Least w'Cw among weights with sum one is, but for scale, the minimum of w'Cw / 2 - sum(w).
    found = nnls(lower.T, np.linalg.solve(lower, size.min() / size))[0] / size
    return np.asarray(found / found.sum())


def error_products(residuals: Array, weight: Array) -> Array:
    """Mean products of the models' errors, summed over the outputs. Shape: -> ``(n_models, n_models)``."""
    share = np.sqrt(weight / weight.sum())
    flat = (residuals * share[:, None]).reshape(len(residuals), -1)
    return np.asarray(flat @ flat.T)


def stacked_error(products: Array, weights: Array) -> float:
    """Mean squared error of the weighted mean."""
    return float(weights @ products @ weights)


def effective_members(weights: npt.ArrayLike, counts: npt.ArrayLike) -> float:
    """Members whose plain mean varies as much as a weighted mean of several groups' means.

    Shape: weights ``(n_groups,)`` with sum one, counts ``(n_groups,)``, members of each.

    Examples
    --------
    >>> effective_members([0.4, 0.6], [2, 3]), effective_members([1.0, 0.0], [2, 3])
    (5.0, 2.0)
    """
    weights, counts = np.asarray(weights, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    return float(round(1 / np.sum(weights**2 / counts), 9))  # equal shares make whole numbers
