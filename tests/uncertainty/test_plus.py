"""CV+ and jackknife+: exact order statistics by plain loops, and coverage under heavy-tailed noise."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from extranets.uncertainty import plus
from extranets.uncertainty.conformal import conformal_interval, conformal_quantile, conformal_scores
from extranets.uncertainty.plus import cv_plus_bounds, cv_plus_interval, jackknife_after_bootstrap_interval


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
    monkeypatch.setattr(plus, "BLOCK_SIZE", block)
    means, folds, residuals, stds = cv_plus_case(23, 17)
    bounds = cv_plus_interval(means, folds, residuals, coverage, fold_stds_at_x=stds if scaled else None)
    expected = plainly(means, folds, residuals, coverage, stds if scaled else np.ones_like(stds))
    np.testing.assert_allclose(bounds, expected, rtol=1e-14)


def weighted_plainly(values, coverage, weights, own):
    """The smallest value up to which the weights have their share of all."""
    order = np.argsort(values)
    enough = np.cumsum(weights[order]) >= coverage * (weights.sum() + own) * (1 - 1e-12)
    return values[order][enough.argmax()] if enough.any() else np.inf


@pytest.mark.parametrize("tails", ["joint", "separate"])
@pytest.mark.parametrize("block", [1, 2**21])
def test_tails_and_weights_follow_their_definition(monkeypatch, tails, block):
    monkeypatch.setattr(plus, "BLOCK_SIZE", block)
    rng = np.random.default_rng(5)
    means, folds, _, _ = cv_plus_case(23, 7)
    residuals, weights, own = rng.standard_normal(23) + 1, rng.exponential(size=23), rng.exponential(size=7)
    level = 0.8 if tails == "joint" else 0.9
    up, down = (np.abs(residuals), np.abs(residuals)) if tails == "joint" else (residuals, -residuals)
    named = {"tails": tails, "weights": weights, "new_weights": own}
    bounds = cv_plus_interval(means, folds, up, 0.8, **named)
    for row in range(7):
        centre = means[folds, row]
        lower, upper = (weighted_plainly(each, level, weights, own[row]) for each in (down - centre, centre + up))
        np.testing.assert_allclose(bounds[row], [-lower, upper])
    equal = cv_plus_interval(
        means, folds, up, [0.5, 0.8], tails=tails, weights=np.full(23, 2.0), new_weights=np.full(7, 2.0)
    )
    np.testing.assert_array_equal(equal, cv_plus_interval(means, folds, up, [0.5, 0.8], tails=tails))


def test_separate_tails_are_the_quantiles_of_all_folds_errors():
    means, folds, _, _ = cv_plus_case(39, 6)
    errors = np.random.default_rng(6).exponential(size=39) - 1
    values = np.sort(means[folds] + errors[:, None], axis=0)
    bounds = cv_plus_interval(means, folds, errors, 0.8, tails="separate")
    np.testing.assert_allclose(bounds, values[[3, 35]].T)  # of 40 places the 4th and the 36th
    by_level = cv_plus_bounds(means, folds, errors, [0.1, 0.5, 0.9], tails="separate")
    np.testing.assert_allclose(by_level, values[[3, 19, 35]].T)


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
    monkeypatch.setattr(plus, "BLOCK_SIZE", 2**16)
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
def test_errors_of_cv_plus_name_the_argument(call, message):
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
    monkeypatch.setattr("extranets.uncertainty.plus.BLOCK_SIZE", 80)  # two new rows at a time
    several = jackknife_after_bootstrap_interval(members, in_bag, residuals, [0.5, 0.8])
    np.testing.assert_allclose(several[:, :, 1], expected)
    assert (np.diff(several, axis=2)[:, 1] >= 0).all()


def test_jackknife_after_bootstrap_takes_tails_and_weights():
    rng = np.random.default_rng(3)
    members, in_bag, errors = rng.standard_normal((6, 4)), rng.random((6, 40)) < 0.6, rng.standard_normal(40)
    in_bag[:, 3] = True
    weights, own = rng.exponential(size=40), rng.exponential(size=4)
    usable = ~in_bag.all(axis=0)
    centres = np.array([members[~in_bag[:, i]].mean(axis=0) for i in np.flatnonzero(usable)])
    expected = cv_plus_interval(
        centres,
        np.arange(usable.sum()),
        errors[usable],
        0.7,
        tails="separate",
        weights=weights[usable],
        new_weights=own,
    )
    named = {"tails": "separate", "weights": weights, "new_weights": own}
    np.testing.assert_allclose(jackknife_after_bootstrap_interval(members, in_bag, errors, 0.7, **named), expected)


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
