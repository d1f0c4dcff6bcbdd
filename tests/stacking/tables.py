"""Small standardised samples, and what trains on them."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from extranets.held_out import Plan, Sample
from extranets.stacking import Growing

MACHINE = {"device": "cpu", "n_threads": 1}


def silent(title, ahead=None, minor=False):
    return nullcontext()


def sample_of(X, y, weight=None):
    """Standardised, as an estimator does it. Shape: y ``(n,)`` or ``(n, n_outputs)``."""
    y = np.reshape(y, (len(y), -1))
    weight = np.ones(len(y)) if weight is None else weight / np.mean(weight)
    return Sample(_standardised(X, weight), _standardised(y, weight), weight)


def _standardised(values, weight):
    centre = np.average(values, axis=0, weights=weight)
    scale = np.sqrt(np.average((values - centre) ** 2, axis=0, weights=weight))
    return ((values - centre) / np.where(scale > 0, scale, 1)).astype(np.float32)


def linear_table(n=120, k=4, n_outputs=1, noise=0.5, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, k))
    return X, X @ random.normal(size=(k, n_outputs)) + noise * random.normal(size=(n, n_outputs))


def wavy_table(n=300, seed=0):
    """Far from linear, with little noise."""
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, size=(n, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * random.normal(size=n)


def in_folds(n, n_folds, n_members=1, seed=0):
    return Plan(np.random.default_rng(seed).permutation(n) % n_folds, n_folds, n_members)


def growing(sample, plan, keep_prob=0.9, seed=3, watch=silent):
    return Growing(sample, plan, keep_prob, seed, MACHINE, watch)
