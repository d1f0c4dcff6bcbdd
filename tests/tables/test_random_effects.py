"""Effects of levels: shrinkage, variances and slopes, on simulated columns with known effects."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.tables.random_effects import Moments, Slope, Term, Variances, find_structure, fit_effects

N_USERS, N_FILMS, N_RATINGS = 400, 150, 12_000
NONE = np.empty((N_RATINGS, 0))


def drawn(variances, noise, *, nested=False, seed=0):
    """Two columns, crossed at random or the first one groups of the second, and a target with normal effects of both."""
    random = np.random.default_rng(seed)
    films = random.integers(0, N_FILMS, N_RATINGS)
    users = random.integers(0, 30, N_FILMS)[films] if nested else random.integers(0, N_USERS, N_RATINGS)
    terms = [Term(users, 30 if nested else N_USERS), Term(films, N_FILMS)]
    effects = [np.sqrt(v) * random.normal(size=term.n_levels) for v, term in zip(variances, terms, strict=True)]
    target = sum(term.in_rows(effect) for term, effect in zip(terms, effects, strict=True))
    return terms, effects, 5 + target + np.sqrt(noise) * random.normal(size=N_RATINGS)


def test_few_rows_are_shrunken_towards_the_mean_and_many_are_not():
    """With one column, an effect is n / (n + noise / variance) of how far the level's mean is from the mean of all levels."""
    sizes = np.array([1, 2, 10, 1000])
    codes = np.repeat(np.arange(4), sizes)
    target = np.array([3.0, -3.0, 3.0, 0.0])[codes]
    (effects,) = fit_effects([Term(codes, 4)], Variances(np.array([0.5]), 1.0), target, np.ones(len(codes))).effects
    share = sizes / (sizes + 2.0)
    # The generalised least squares mean: a mean of the levels' means, weighted by their shares.
    mean = share @ np.array([3.0, -3.0, 3.0, 0.0]) / share.sum()
    np.testing.assert_allclose(effects, share * (np.array([3.0, -3.0, 3.0, 0.0]) - mean), atol=1e-9)
    assert abs(effects[0]) < abs(effects[2])


def test_effects_of_two_columns_solve_the_mixed_model_equations():
    """Henderson's equations, dense, with a fixed mean: the best linear unbiased prediction."""
    random = np.random.default_rng(0)
    a, b, weight = random.integers(0, 6, 200), random.integers(0, 9, 200), random.integers(0, 4, 200) * 1.0
    target = random.normal(size=6)[a] + random.normal(size=9)[b] + random.normal(size=200)
    found = fit_effects([Term(a, 6), Term(b, 9)], Variances(np.array([1.5, 0.4]), 0.8), target, weight).effects
    Z = np.column_stack([np.ones(200), np.eye(6)[a], np.eye(9)[b]])
    penalty = np.diag([0.0, *[0.8 / 1.5] * 6, *[0.8 / 0.4] * 9])
    exact = np.linalg.solve((Z.T * weight) @ Z + penalty, (Z.T * weight) @ target)
    np.testing.assert_allclose(np.concatenate(found), exact[1:], atol=0.01)


@pytest.mark.parametrize("nested", [False, True])
def test_variances_of_simulated_effects_are_recovered(nested):
    """Means over 20 simulations. A variance of k normal effects has a standard error of sqrt(2 / k) of itself, if the effects were
    seen; here means of n rows of each level are seen, with noise / n on top, and films as part of the groups' means."""
    truth, noise, simulations = np.array([0.5, 0.8]), 1.5, 20
    found = [
        Moments(terms, np.ones(N_RATINGS)).variances(target)
        for terms, _, target in (drawn(truth, noise, nested=nested, seed=seed) for seed in range(simulations))
    ]
    levels = np.array([30 if nested else N_USERS, N_FILMS])
    seen = truth + noise * levels / N_RATINGS + np.array([truth[1] * 30 / N_FILMS if nested else 0, 0])
    error = seen * np.sqrt(2 / levels / simulations)
    # Groups of unequal sizes tell less than as many of equal sizes; 4 errors, and a quarter more, leave room for that.
    assert (np.abs(np.mean([each.terms for each in found], axis=0) - truth) < 5 * error).all()
    assert abs(np.mean([each.noise for each in found]) - noise) < 5 * noise * np.sqrt(2 / N_RATINGS / simulations)


def test_a_column_without_effects_has_a_variance_near_zero():
    terms, _, target = drawn([0.0, 0.5], 1.0)
    variances = Moments(terms, np.ones(N_RATINGS)).variances(target).terms
    # The mean square of 400 means of 30 rows has an expectation of noise / 30 and a standard error of sqrt(2 / 400) of that.
    assert variances[0] < 5 * np.sqrt(2 / N_USERS) * 1.0 * N_USERS / N_RATINGS


def test_of_two_columns_that_say_the_same_one_gets_all():
    codes = np.repeat(np.arange(100), 20)
    random = np.random.default_rng(0)
    target = random.normal(size=100)[codes] + random.normal(size=2000)
    terms = [Term(codes, 100), Term(codes[::-1].max() - codes, 100)]
    variances = Moments(terms, np.ones(2000)).variances(target)
    assert variances.terms.min() == 0 and 0.5 < variances.terms.max() < 2 and variances.noise > 0.8


def test_weights_count_as_repeated_rows_and_zero_weights_not_at_all():
    random = np.random.default_rng(0)
    terms, _, target = drawn([0.5, 0.5], 1.0)
    weight = random.integers(0, 3, N_RATINGS)
    rows = np.repeat(np.arange(N_RATINGS), weight)
    repeated = [Term(term.codes[rows], term.n_levels) for term in terms]
    numbers = random.normal(size=(N_RATINGS, 1))
    weighted = find_structure(terms, numbers, target, weight * 1.0)
    again = find_structure(repeated, numbers[rows], target[rows], np.ones(len(rows)))
    np.testing.assert_allclose(weighted.variances.terms, again.variances.terms, rtol=1e-9)
    assert weighted.variances.noise == pytest.approx(again.variances.noise) and weighted.slopes == again.slopes
    first = weighted.effects(terms, numbers, target, weight * 1.0)
    second = again.effects(repeated, numbers[rows], target[rows], np.ones(len(rows)))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one[0], other[0], atol=1e-9)


def test_a_number_that_means_more_in_some_levels_is_found_and_one_that_means_the_same_is_not():
    random = np.random.default_rng(0)
    terms, _, target = drawn([0.5, 0.5], 1.0)
    numbers = random.normal(size=(N_RATINGS, 3))
    slopes = random.normal(size=N_FILMS)
    target = target + slopes[terms[1].codes] * numbers[:, 2]
    found = find_structure(terms, numbers, target, np.ones(N_RATINGS))
    assert found.slopes == [Slope(1, 2)] and 0.6 < found.variances.terms[2] < 1.5
    effects = found.effects(terms, numbers, target, np.ones(N_RATINGS))
    # 80 rows of each film: the error of a slope is about sqrt(1 / 80) = 0.11.
    assert [len(of_column) for of_column in effects] == [1, 2] and np.std(effects[1][1] - slopes) < 0.15


def test_a_target_without_noise_or_without_rows_is_no_trouble():
    terms, _, _ = drawn([0.5, 0.5], 1.0)
    for target, weight in (
        (np.zeros(N_RATINGS), np.ones(N_RATINGS)),
        (np.arange(N_RATINGS) * 1.0, np.zeros(N_RATINGS)),
    ):
        for effects in fit_effects(terms, Variances(np.ones(2), 0.0), target, weight).effects:
            assert (effects == 0).all()
    exact = terms[0].codes * 1.0
    structure = find_structure(terms, NONE, exact, np.ones(N_RATINGS))
    effects = structure.effects(terms, NONE, exact, np.ones(N_RATINGS))[0][0]
    np.testing.assert_allclose(effects, np.arange(N_USERS) - np.mean(np.arange(N_USERS)), atol=2)
