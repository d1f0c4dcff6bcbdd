"""Bias, variance, covariance and ambiguity."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from extranets.uncertainty.decomposition import (
    MspeDecomposition,
    ambiguity,
    ambiguity_identity,
    bernoulli_variance,
    member_correlation,
    mspe_decomposition,
)


def correlated(n_repetitions, n_members, n_rows, bias, shared, own, seed=0):
    """Members around a truth, with covariance shared^2 and variance shared^2 + own^2 over repetitions."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n_rows) * 10
    members = truth + bias + shared * rng.normal(size=(n_repetitions, 1, n_rows))
    return members + own * rng.normal(size=(n_repetitions, n_members, n_rows)), truth


def test_ambiguity_is_the_variance_around_the_mean():
    members = np.random.default_rng(0).normal(size=(7, 5, 2))
    np.testing.assert_allclose(ambiguity(members), members.var(axis=0))


def test_weighted_ambiguity_counts_a_member_of_weight_two_twice():
    a, b = np.random.default_rng(0).normal(size=(2, 4))
    np.testing.assert_allclose(ambiguity([a, b], [2, 1]), ambiguity([a, a, b]))


@pytest.mark.parametrize("shape", [(9,), (9, 3)])
@pytest.mark.parametrize("weights", [None, np.arange(6.0), np.full(6, 0.1)])
def test_ensemble_error_is_mean_member_error_minus_ambiguity(shape, weights):
    rng = np.random.default_rng(1)
    members, y = rng.normal(size=(6, *shape)), rng.normal(size=shape)
    parts = ambiguity_identity(y, members, weights)
    np.testing.assert_allclose(parts.ensemble_error, parts.mean_member_error - parts.ambiguity, rtol=0, atol=1e-14)
    np.testing.assert_allclose(parts.ensemble_error, (np.average(members, axis=0, weights=weights) - y) ** 2)
    assert (parts.ambiguity > 0).all() and parts.ambiguity.shape == shape


def test_one_member_has_no_ambiguity():
    parts = ambiguity_identity([1.0, 2.0], [[3.0, 5.0]])
    np.testing.assert_array_equal(parts.ambiguity, 0)
    np.testing.assert_array_equal(parts.ensemble_error, parts.mean_member_error)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("shape", [(3, 2, 5), (8, 6, 4), (8, 6, 4, 2)])
def test_parts_add_up_to_the_mean_squared_error(shape, ddof):
    rng = np.random.default_rng(2)
    members, truth = rng.normal(size=shape), rng.normal(size=shape[2:])
    members[:, 0] *= 5  # the identity holds for members with different moments too
    error = ((members.mean(axis=1) - truth) ** 2).mean(axis=0)
    parts = mspe_decomposition(members, truth, ddof=ddof)
    np.testing.assert_allclose(parts.mspe(shape[1]), error, rtol=0, atol=1e-13)


@pytest.mark.parametrize("ddof", [0, 1])
def test_variance_and_covariance_are_those_of_numpy(ddof):
    members = np.random.default_rng(3).normal(size=(10, 4, 3)) + np.random.default_rng(4).normal(size=(10, 1, 3))
    parts = mspe_decomposition(members, np.zeros(3), ddof=ddof)
    for row in range(3):
        matrix = np.cov(members[:, :, row], rowvar=False, ddof=ddof)
        pairs = [matrix[t, s] for t, s in itertools.permutations(range(4), 2)]
        assert parts.variance[row] == pytest.approx(np.diag(matrix).mean())
        assert parts.covariance[row] == pytest.approx(np.mean(pairs))


def test_plain_bias_is_the_squared_mean_error():
    members, truth = correlated(5, 3, 4, bias=2.0, shared=1.0, own=1.0)
    parts = mspe_decomposition(members, truth, ddof=0)
    np.testing.assert_allclose(parts.bias2, (members.mean(axis=(0, 1)) - truth) ** 2)


def test_estimates_are_unbiased_with_few_repetitions():
    """3 repetitions, bias^2 1, variance 5, covariance 4; plain moments miss by a third. 40,000 rows, 4 standard errors."""
    parts = mspe_decomposition(*correlated(3, 4, 40_000, bias=1.0, shared=2.0, own=1.0))
    for estimate, expected in zip(parts, (1.0, 5.0, 4.0), strict=True):
        assert abs(estimate.mean() - expected) < 4 * estimate.std() / np.sqrt(40_000)
    error = 4 * np.std(parts.covariance - 0.8 * parts.variance) / np.sqrt(40_000) / 5  # delta method for the ratio
    assert abs(parts.true_correlation - 0.8) < error


def test_mspe_of_another_ensemble_size_is_predicted():
    """From 4 members to 20, bias^2 1 + 1/20 + 4. 40,000 rows, 4 standard errors."""
    predicted = mspe_decomposition(*correlated(6, 4, 40_000, bias=1.0, shared=2.0, own=1.0)).mspe(20)
    assert abs(predicted.mean() - 5.05) < 4 * predicted.std() / np.sqrt(40_000)


def test_mspe_follows_its_formula():
    parts = MspeDecomposition(np.array([1.0]), np.array([8.0]), np.array([2.0]))
    np.testing.assert_allclose(parts.mspe(1), 9.0)
    np.testing.assert_allclose(parts.mspe(4), 1 + 8 / 4 + 3 / 4 * 2)
    with pytest.raises(ValueError, match="n_members must be at least 1; got 0"):
        parts.mspe(0)


def test_identical_members_have_correlation_one_and_gain_nothing():
    one, truth = correlated(6, 1, 5, bias=0.5, shared=1.0, own=0.0)
    parts = mspe_decomposition(np.repeat(one, 3, axis=1), truth)
    assert parts.true_correlation == pytest.approx(1.0)
    np.testing.assert_allclose(parts.mspe(30), parts.mspe(1))


def test_true_correlation_weighs_rows_by_variance():
    parts = MspeDecomposition(np.zeros(2), np.array([9.0, 1e-12]), np.array([1.8, -1e-12]))
    assert parts.true_correlation == pytest.approx(0.2)


def test_members_that_never_vary_have_no_correlation():
    parts = mspe_decomposition(np.ones((3, 2, 4)), np.zeros(4))
    assert np.isnan(parts.true_correlation)
    np.testing.assert_array_equal(parts.mspe(2), 1.0)


def test_correlation_matrix_is_that_of_numpy():
    members = np.random.default_rng(5).normal(size=(5, 40)) * [[1.0], [1e-200], [1e200], [3.0], [4.0]]
    matrix = member_correlation(members)
    np.testing.assert_allclose(matrix, np.corrcoef(members / np.abs(members).max(axis=1, keepdims=True)), atol=1e-14)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 1.0)


def test_two_repetitions_and_two_rows_are_enough():
    np.testing.assert_allclose(member_correlation([[1.0, 2.0], [5.0, 3.0]]), [[1, -1], [-1, 1]])
    parts = mspe_decomposition(np.array([[[0.0], [1.0]], [[2.0], [5.0]]]), np.zeros(1))
    # members 0, 2 and 1, 5: variances 2 and 8, covariance 4
    assert (parts.variance[0], parts.covariance[0]) == pytest.approx((5, 4))


def test_rounding_makes_no_correlation_larger_than_one():
    rng = np.random.default_rng(0)
    for _ in range(100):
        one = rng.normal(size=7)
        matrix = member_correlation([one, 3 * one, -7 * one])
        assert np.abs(matrix).max() == 1 and np.allclose(matrix, [[1, 1, -1], [1, 1, -1], [-1, -1, 1]])


def test_constant_member_has_undefined_correlations():
    matrix = member_correlation([[1.0, 2.0, 4.0], [0.1, 0.1, 0.1], [3.0, 2.0, 0.0]])
    assert np.isnan(matrix[1]).all() and np.isnan(matrix[:, 1]).all()
    np.testing.assert_allclose(matrix[np.ix_([0, 2], [0, 2])], [[1, -1], [-1, 1]])


def test_similar_predictions_do_not_mean_correlated_errors():
    """What the docstring warns of: independent errors around a common target."""
    members, truth = correlated(200, 3, 50, bias=0.0, shared=0.0, own=1.0)
    assert member_correlation(members[0]).min() > 0.9
    assert abs(mspe_decomposition(members, truth).true_correlation) < 4 / np.sqrt(200 * 50 * 3)


def test_bernoulli_variance_is_p_times_one_minus_p():
    p = np.linspace(0, 1, 101)
    values = bernoulli_variance(p)
    np.testing.assert_allclose(values, p - p**2, atol=1e-16)
    assert p[values.argmax()] == 0.5 and float(bernoulli_variance(0.95)) == pytest.approx(0.0475)


@pytest.mark.parametrize("p", [-0.1, 1.1, np.nan])
def test_bernoulli_variance_refuses_numbers_that_are_not_probabilities(p):
    with pytest.raises(ValueError, match="p must be a probability"):
        bernoulli_variance(p)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ambiguity(np.ones(3)), r"members must have shape \(n_members, n_rows\).*add an axis"),
        (lambda: ambiguity(np.ones((3, 2)), [1, 1]), "weights must hold one non-negative number for each of the 3"),
        (lambda: ambiguity(np.ones((2, 2)), [1, -1]), "weights must hold"),
        (lambda: ambiguity(np.ones((2, 2)), [0, 0]), "not all zero"),
        (lambda: ambiguity_identity(np.ones((2, 1)), np.ones((3, 2))), r"y must have shape \(2,\).*got \(2, 1\)"),
        (lambda: mspe_decomposition(np.ones((3, 4)), np.ones(4)), "members must have shape .n_repetitions, n_members"),
        (lambda: mspe_decomposition(np.ones((1, 3, 4)), np.ones(4)), "at least two repetitions"),
        (lambda: mspe_decomposition(np.ones((3, 1, 4)), np.ones(4)), "two members, for a covariance"),
        (lambda: mspe_decomposition(np.ones((3, 2, 4)), np.ones(3)), r"truth must have shape \(4,\)"),
        (lambda: mspe_decomposition(np.ones((3, 2, 4)), np.ones(4), ddof=2), "ddof must be 0"),
        (lambda: member_correlation(np.ones((3, 2, 4))), "Take one output at a time"),
        (lambda: member_correlation(np.ones((3, 1))), "at least two rows"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
