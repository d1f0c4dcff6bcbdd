"""Weights of several models, and how many members a weighted mean is worth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from extranets.uncertainty.stacking import PENALTY, effective_members, error_products, stacked_error, stacking_weights


def residuals(n_models=6, n=80, n_outputs=2, seed=0):
    """Errors that share a part, as those of models for the same targets do."""
    random = np.random.default_rng(seed)
    shared = random.normal(size=(1, n, n_outputs))
    own = random.uniform(0.2, 2, size=(n_models, 1, 1)) * random.normal(size=(n_models, n, n_outputs))
    return shared + own, random.uniform(0.1, 3, size=n)


def penalised(products, weights):
    return weights @ products @ weights + PENALTY * np.diagonal(products) @ weights**2


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_models", [2, 3, 12])
def test_weights_are_those_of_the_smallest_error(n_models, seed):
    """Against a general optimiser. It stops within 1e-12 of the minimum, which a convex function lies above."""
    errors, weight = residuals(n_models, seed=seed)
    products, found = error_products(errors, weight), stacking_weights(errors, weight)
    assert (found >= 0).all() and found.sum() == pytest.approx(1, abs=1e-12)
    best = minimize(
        lambda w: penalised(products, w),
        np.full(n_models, 1 / n_models),
        jac=lambda w: 2 * (products @ w + PENALTY * np.diagonal(products) * w),
        method="SLSQP",
        bounds=[(0, 1)] * n_models,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert best.success
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    assert penalised(products, found) <= best.fun * (1 + 1e-9)


def test_a_weighted_mean_has_the_error_that_is_said():
    errors, weight = residuals()
    weights = stacking_weights(errors, weight)
    mean = np.tensordot(weights, errors, axes=1)
    expected = np.average((mean**2).sum(axis=1), weights=weight)
    assert stacked_error(error_products(errors, weight), weights) == pytest.approx(expected)


def test_it_is_no_worse_than_its_best_model():
    """But for the penalty, which adds its share of an error at most."""
    for seed in range(20):
        errors, weight = residuals(4, n=15, seed=seed)
        products = error_products(errors, weight)
        assert stacked_error(products, stacking_weights(errors, weight)) <= (1 + PENALTY) * np.diagonal(products).min()


@pytest.mark.parametrize("copies", [2, 3, 5])
def test_models_that_are_alike_share_their_weight(copies):
    errors, weight = residuals(3)
    found = stacking_weights(np.concatenate([errors, np.repeat(errors[:1], copies - 1, axis=0)]), weight)
    np.testing.assert_allclose(found[3:], found[0], rtol=1e-6)
    assert found[0] > 0


@pytest.mark.parametrize("factor", [1e2, 1e6, 1e12])
def test_a_model_that_is_far_off_does_not_matter(factor):
    """Neither gets it a weight that counts, nor does it change the others'.

    By chance it correlates with them, by 1 / sqrt(160) or so, and may take 1 / 160 of their error away; 4 times that.
    """
    errors, weight = residuals(4)
    off = factor * np.random.default_rng(1).normal(size=(1, *errors.shape[1:]))
    found = stacking_weights(np.concatenate([errors, off]), weight)
    assert found[-1] < 1 / factor
    np.testing.assert_allclose(found[:-1], stacking_weights(errors, weight), atol=4 / 160)


def test_units_do_not_matter():
    errors, weight = residuals()
    np.testing.assert_allclose(stacking_weights(1e-6 * errors, 7 * weight), stacking_weights(errors, weight), rtol=1e-6)


def test_rows_of_more_weight_count_more():
    errors = np.array([[[0.1], [3.0]], [[3.0], [0.1]]])
    first, second = stacking_weights(errors, np.array([100.0, 1.0]))
    assert first > 0.9 and second < 0.1
    np.testing.assert_allclose(stacking_weights(errors, np.ones(2)), [0.5, 0.5])


def test_one_model_has_all_of_the_weight():
    errors, weight = residuals(1)
    np.testing.assert_array_equal(stacking_weights(errors, weight), [1.0])


def test_models_without_errors_share_the_weight():
    """As all models of a constant target do."""
    errors, weight = residuals(3)
    np.testing.assert_allclose(stacking_weights(0 * errors, weight), 1 / 3)
    errors[[0, 2]] = 0
    np.testing.assert_array_equal(stacking_weights(errors, weight), [0.5, 0.0, 0.5])


def test_a_row_or_fewer_rows_than_models():
    errors, weight = residuals(5, n=1, n_outputs=1)
    found = stacking_weights(errors, weight)
    assert (found >= 0).all() and found.sum() == pytest.approx(1)


# -- effective members ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("weights", "counts"), [([0.5, 0.5], [3, 3]), ([0.7, 0.2, 0.1], [5, 1, 10]), ([1.0], [4])])
def test_effective_members_are_those_whose_plain_mean_varies_as_much(weights, counts):
    """Independent members of variance 1. A variance of 40,000 Normal draws has a relative standard error of sqrt(2 / 40,000)."""
    random, n = np.random.default_rng(0), 40_000
    means = [random.normal(size=(count, n)).mean(axis=0) for count in counts]
    variance = np.tensordot(weights, means, axes=1).var()
    assert abs(variance * effective_members(weights, counts) - 1) < 4 * np.sqrt(2 / n)


def test_effective_members_of_equal_shares_are_all():
    assert effective_members([0.2, 0.8], [1, 4]) == 5
    assert effective_members([1.0, 0.0], [2, 100]) == 2
    assert effective_members([0.9, 0.1], [5, 5]) < 10
