"""Split conformal and CV+ intervals: exact order statistics, and coverage under heavy-tailed noise."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from extranets.uncertainty import conformal
from extranets.uncertainty.conformal import (
    conformal_interval,
    conformal_quantile,
    conformal_scores,
    cv_plus_interval,
    jackknife_after_bootstrap_interval,
)


def test_scores_are_residuals_in_units_of_the_standard_deviation():
    np.testing.assert_allclose(conformal_scores([[1.0, -4.0]], [[3.0, 2.0]], [[0.5, 3.0]]), [[4.0, 2.0]])
    np.testing.assert_allclose(conformal_scores([1.0, -4.0], [3.0, 2.0]), [2.0, 6.0])


@pytest.mark.parametrize("n", [1, 8, 9, 10, 19, 99, 100])
@pytest.mark.parametrize("coverage", ["0.07", "0.5", "0.55", "0.57", "0.9", "0.95", "0.99"])
def test_quantile_has_the_exact_rank(n, coverage):
    """Compared with exact fractions: in floating point, 100 * 0.55 is above 55 and 100 * 0.07 above 7."""
    rank = math.ceil((n + 1) * Fraction(coverage))
    scores = np.random.default_rng(n).permutation(n) + 1.0
    assert conformal_quantile(scores, float(coverage)) == (rank if rank <= n else np.inf)


def test_quantiles_are_taken_by_output_and_level():
    scores = np.random.default_rng(0).exponential(size=(40, 3))
    levels = [0.9, 0.5, 0.99]
    quantile = conformal_quantile(scores, levels)
    assert quantile.shape == (3, 3)
    for output in range(3):
        assert [conformal_quantile(scores[:, output], level) for level in levels] == list(quantile[output])
    np.testing.assert_array_equal(quantile[:, 2], np.inf)
    np.testing.assert_array_equal(conformal_quantile(scores, 0.5), np.sort(scores, axis=0)[20])  # ceil(20.5) = 21st


@pytest.mark.parametrize("outputs", [(), (3,)])
@pytest.mark.parametrize("levels", [(), (2,)])
def test_intervals_have_the_stated_shapes_and_bounds(outputs, levels):
    rng = np.random.default_rng(0)
    mean, std, quantile = (
        rng.normal(size=(5, *outputs)),
        rng.uniform(1, 2, (5, *outputs)),
        rng.uniform(size=outputs + levels),
    )
    bounds = conformal_interval(mean, std, quantile)
    assert bounds.shape == (5, *outputs, 2, *levels)
    lower, upper = np.moveaxis(bounds, 1 + len(outputs), 0)
    trailing = (..., None) if levels else ...
    np.testing.assert_allclose(upper, mean[trailing] + quantile * std[trailing])
    np.testing.assert_allclose(lower, mean[trailing] - quantile * std[trailing])


def test_infinite_quantile_gives_the_whole_line():
    np.testing.assert_array_equal(conformal_interval([1.0], 2.0, np.inf), [[-np.inf, np.inf]])


def test_a_row_is_inside_exactly_if_its_score_is_at_most_the_quantile():
    rng = np.random.default_rng(1)
    y, mean, std = rng.standard_cauchy(500), rng.normal(size=500), rng.uniform(0.1, 3, 500)
    scores = conformal_scores(y, mean, std)
    lower, upper = conformal_interval(mean, std, 1.3).T
    np.testing.assert_array_equal((lower <= y) & (y <= upper), scores <= 1.3)


@pytest.mark.parametrize(("n", "coverage"), [(37, 0.9), (99, 0.95), (20, 0.5), (9, 0.9)])
def test_split_conformal_coverage_is_exact(n, coverage):
    """Cauchy noise, a wrong mean and a wrong scale: ceil((n + 1) coverage) / (n + 1). 5,000 samples, 4 standard errors."""
    rng = np.random.default_rng(n)
    x = rng.uniform(-1, 1, (n + 50, 5_000))
    y = 3 * x**2 + (0.2 + np.abs(x)) * rng.standard_cauchy(x.shape)
    mean, std = 1 + x, 1 + x**2
    quantile = conformal_quantile(conformal_scores(y[:n], mean[:n], std[:n]), coverage)
    bounds = conformal_interval(mean[n:], std[n:], quantile)
    covered = ((bounds[..., 0] <= y[n:]) & (y[n:] <= bounds[..., 1])).mean(axis=0)
    expected = math.ceil((n + 1) * Fraction(str(coverage))) / (n + 1)
    assert abs(covered.mean() - expected) < 4 * covered.std() / np.sqrt(5_000)


def plainly(means, folds, residuals, coverage, stds):
    """CV+ by its definition, one new row at a time."""
    n = len(residuals)
    rank = math.ceil((n + 1) * Fraction(str(coverage)))
    bounds = []
    for row in range(means.shape[1]):
        low = sorted(means[k, row] - stds[k, row] * r for k, r in zip(folds, residuals, strict=True))
        high = sorted(means[k, row] + stds[k, row] * r for k, r in zip(folds, residuals, strict=True))
        bounds.append((low[n - rank], high[rank - 1]) if rank <= n else (-np.inf, np.inf))
    return np.array(bounds)


def cv_plus_case(n_train, n_new, n_folds=4, seed=0):
    rng = np.random.default_rng(seed)
    means, stds = rng.normal(size=(n_folds, n_new)), rng.uniform(0.5, 2, (n_folds, n_new))
    return means, rng.integers(n_folds, size=n_train), np.abs(rng.standard_cauchy(n_train)), stds


@pytest.mark.parametrize("block", [1, 100, 2**21])
@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("scaled", [False, True])
def test_cv_plus_follows_its_definition_in_blocks_of_any_size(monkeypatch, block, coverage, scaled):
    monkeypatch.setattr(conformal, "BLOCK_SIZE", block)
    means, folds, residuals, stds = cv_plus_case(23, 17)
    bounds = cv_plus_interval(means, folds, residuals, coverage, fold_stds_at_x=stds if scaled else None)
    expected = plainly(means, folds, residuals, coverage, stds if scaled else np.ones_like(stds))
    np.testing.assert_allclose(bounds, expected, rtol=1e-14)


def test_cv_plus_takes_several_levels():
    means, folds, residuals, _ = cv_plus_case(23, 6)
    levels = [0.9, 0.5, 0.99]
    bounds = cv_plus_interval(means, folds, residuals, levels)
    assert bounds.shape == (6, 2, 3)
    for column, level in enumerate(levels):
        np.testing.assert_array_equal(bounds[..., column], cv_plus_interval(means, folds, residuals, level))


def test_folds_that_agree_give_the_split_conformal_interval():
    rng = np.random.default_rng(2)
    mean, residuals = rng.normal(size=8), rng.exponential(size=50)
    bounds = cv_plus_interval(np.tile(mean, (5, 1)), np.arange(50) % 5, residuals, 0.8)
    np.testing.assert_allclose(bounds, conformal_interval(mean, 1.0, conformal_quantile(residuals, 0.8)))


def test_cv_plus_memory_does_not_grow_with_the_product(monkeypatch):
    """2,000 x 2,000 values would take 32 MB; blocks of 2^16 values take half a megabyte each."""
    monkeypatch.setattr(conformal, "BLOCK_SIZE", 2**16)
    means, folds, residuals, _ = cv_plus_case(2_000, 2_000)
    tracemalloc.start()
    cv_plus_interval(means, folds, residuals, 0.9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6


def least_squares(X, y):
    return np.linalg.solve(X.T @ X + 0.1 * np.eye(X.shape[1]), X.T @ y)


def cv_plus_coverage(rng, n_train, n_new, n_folds, coverage):
    """Share of new rows covered, for ridge regression on four features with Student noise of 2 degrees of freedom."""
    X = rng.normal(size=(n_train + n_new, 4))
    y = X.sum(axis=1) + X[:, 0] ** 2 + rng.standard_t(2, size=len(X))
    folds, train, new = np.arange(n_train) % n_folds, X[:n_train], X[n_train:]
    coefficients = np.array([least_squares(train[folds != k], y[:n_train][folds != k]) for k in range(n_folds)])
    residuals = conformal_scores(y[:n_train], (train * coefficients[folds]).sum(axis=1))
    lower, upper = cv_plus_interval(coefficients @ new.T, folds, residuals, coverage).T
    return np.mean((lower <= y[n_train:]) & (y[n_train:] <= upper))


@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_cv_plus_covers_at_least_as_promised(coverage):
    """60 rows, 6 folds, 1,000 samples: no less than promised, and near nominal.

    The promise is 1 - 2 alpha - sqrt(2 / n). Out-of-fold fits see 10 rows fewer than a final fit would, but intervals are made
    from the same fits, so what remains is the difference between folds: less than 0.02, beyond 4 standard errors.
    """
    rng = np.random.default_rng(3)
    covered = np.array([cv_plus_coverage(rng, 60, 20, 6, coverage) for _ in range(1_000)])
    error = 4 * covered.std() / np.sqrt(len(covered))
    assert covered.mean() > 1 - 2 * (1 - coverage) + error
    assert abs(covered.mean() - coverage) < 0.02 + error


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: conformal_scores(np.ones(3), np.ones((3, 1))), r"y and mean .* same shape; got \(3,\) and \(3, 1\)"),
        (lambda: conformal_scores([1.0], [1.0], [0.0]), "std must be positive and finite; raise values of zero"),
        (lambda: conformal_scores([1.0, 2.0], [1.0, 2.0], [1.0]), r"std must be one number or have shape \(2,\)"),
        (lambda: conformal_quantile([1.0, np.nan], 0.9), "scores are empty or contain NaN"),
        (lambda: conformal_quantile([], 0.9), "scores are empty or contain NaN; give at least one row"),
        (lambda: conformal_quantile(np.ones((2, 2, 2)), 0.9), r"scores must have shape \(n,\) or"),
        (lambda: conformal_quantile([1.0], 1.0), r"coverage must lie strictly between 0 and 1.*got 1\.0"),
        (lambda: conformal_quantile([1.0], [0.5, np.nan]), "coverage must lie"),
        (lambda: conformal_interval(np.ones((4, 2)), 1.0, np.ones(3)), "quantile has shape .3,. and mean .4, 2."),
        (lambda: conformal_interval(np.ones((4, 2)), 1.0, 1.0), "use conformal_quantile"),
        (lambda: cv_plus_interval(np.ones(3), [0], [1.0], 0.9), r"fold_means_at_x must have shape \(n_folds, n_new\)"),
        (lambda: cv_plus_interval(np.ones((2, 3)), [0, 1], [1.0, -1.0], 0.9), "residuals .* be absolute values"),
        (
            lambda: cv_plus_interval(np.ones((2, 3)), [0], [1.0, 1.0], 0.9),
            "fold_of_row must hold one integer for each of the 2",
        ),
        (lambda: cv_plus_interval(np.ones((2, 3)), [0.0, 1.0], [1.0, 1.0], 0.9), "fold_of_row must hold one integer"),
        (
            lambda: cv_plus_interval(np.ones((2, 3)), [0, 2], [1.0, 1.0], 0.9),
            "fold_of_row must lie between 0 and 1.*0 to 2",
        ),
        (lambda: cv_plus_interval(np.ones((2, 3)), [0, -1], [1.0, 1.0], 0.9), "fold_of_row must lie between"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -- jackknife+-after-bootstrap ----------------------------------------------------------------------------------------


def brute_force_jackknife(members, in_bag, residuals, coverage):
    lower, upper = [], []
    usable = [i for i in range(len(residuals)) if not in_bag[:, i].all()]
    rank = int(np.ceil((len(usable) + 1) * coverage))
    for x in range(members.shape[1]):
        centres = [members[~in_bag[:, i], x].mean() for i in usable]
        upper.append(sorted(c + residuals[i] for c, i in zip(centres, usable, strict=True))[rank - 1])
        lower.append(sorted((c - residuals[i] for c, i in zip(centres, usable, strict=True)), reverse=True)[rank - 1])
    return np.stack([lower, upper], axis=1)


def test_jackknife_after_bootstrap_matches_plain_loops(monkeypatch):
    rng = np.random.default_rng(0)
    members, in_bag = rng.standard_normal((6, 9)), rng.random((6, 40)) < 0.6
    in_bag[:, 3] = True  # a row that every member drew
    residuals = np.abs(rng.standard_normal(40))
    residuals[3] = np.nan
    expected = brute_force_jackknife(members, in_bag, residuals, 0.8)
    np.testing.assert_allclose(jackknife_after_bootstrap_interval(members, in_bag, residuals, 0.8), expected)
    monkeypatch.setattr("extranets.uncertainty.conformal.BLOCK_SIZE", 80)  # two new rows at a time
    several = jackknife_after_bootstrap_interval(members, in_bag, residuals, [0.5, 0.8])
    np.testing.assert_allclose(several[:, :, 1], expected)
    assert (np.diff(several, axis=2)[:, 1] >= 0).all()


def test_jackknife_after_bootstrap_covers_any_distribution():
    """Bagged means of 25 skewed rows, 3,000 repetitions: at least 1 - 2 alpha is promised, about 1 - alpha is usual."""
    rng = np.random.default_rng(1)
    n, T, hits, repetitions = 25, 20, 0, 3000
    for _ in range(repetitions):
        y = rng.exponential(size=n + 1) ** 2
        drawn = rng.integers(0, n, (T, n))
        in_bag = np.array([np.bincount(rows, minlength=n) > 0 for rows in drawn])
        members = y[:n][drawn].mean(axis=1)
        left_out = np.maximum((~in_bag).sum(axis=0), 1)
        residuals = np.abs(y[:n] - (members[:, None] * ~in_bag).sum(axis=0) / left_out)
        lower, upper = jackknife_after_bootstrap_interval(members[:, None], in_bag, residuals, 0.9)[0]
        hits += lower <= y[n] <= upper
    # standard error sqrt(.9 * .1 / 3000) = .0055
    assert 0.9 - 3 * 0.0055 < hits / repetitions < 0.97


def test_jackknife_after_bootstrap_names_arrays_of_wrong_shape():
    with pytest.raises(ValueError, match="n_members, n_train"):
        jackknife_after_bootstrap_interval(np.zeros((3, 2)), np.zeros((2, 5), dtype=bool), np.zeros(5), 0.9)
    with pytest.raises(ValueError, match="residuals"):
        jackknife_after_bootstrap_interval(np.zeros((3, 2)), np.zeros((3, 5), dtype=bool), np.full(5, np.nan), 0.9)
