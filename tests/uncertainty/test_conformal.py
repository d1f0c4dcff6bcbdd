"""Split conformal intervals: exact order statistics, weights, and coverage under heavy-tailed noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from extranets.uncertainty.conformal import (
    conformal_interval,
    conformal_quantile,
    conformal_scores,
    conformal_tails,
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


@pytest.mark.parametrize("n", [1, 9, 19, 20, 99])
@pytest.mark.parametrize("level", ["0.05", "0.95", "0.025", "0.3"])
def test_each_tail_has_the_exact_rank(n, level):
    """The next one outward: of n + 1 places, at least a share of ``level`` lies below an upper bound, and at most below a lower one."""
    errors = np.random.default_rng(n).permutation(n) + 1.0
    share = (n + 1) * Fraction(level)
    rank = math.ceil(share) if Fraction(level) > Fraction(1, 2) else math.floor(share)
    expected = rank if 1 <= rank <= n else np.inf if rank > n else -np.inf
    assert conformal_tails(errors, [float(level)])[0] == expected


def test_joint_tails_are_quantiles_of_absolute_errors():
    errors = np.random.default_rng(0).normal(1, 2, size=(40, 2))
    found = conformal_tails(errors, [0.05, 0.5, 0.95], tails="joint")
    quantile = conformal_quantile(np.abs(errors), 0.9)
    np.testing.assert_array_equal(found, np.stack([-quantile, np.zeros(2), quantile], axis=1))


def weighted_plainly(scores, coverage, weights, own):
    """The smallest score up to which the weights have their share of all."""
    total = sum(weights) + own
    for score in sorted(scores):
        if sum(w for s, w in zip(scores, weights, strict=True) if s <= score) >= coverage * total:
            return score
    return np.inf


@pytest.mark.parametrize("coverage", [0.2, 0.5, 0.9])
def test_weighted_quantiles_follow_their_definition(coverage):
    rng = np.random.default_rng(1)
    scores, weights, own = (
        rng.normal(size=(30, 2)),
        rng.exponential(size=30) * (rng.random(30) < 0.8),
        rng.exponential(size=8),
    )
    found = conformal_quantile(scores, [coverage, 0.99], weights=weights, new_weights=own)
    assert found.shape == (8, 2, 2)
    expected = [[weighted_plainly(scores[:, o], coverage, weights, each) for o in range(2)] for each in own]
    np.testing.assert_array_equal(found[:, :, 0], expected)
    assert np.isinf(conformal_quantile(scores, 0.9, weights=weights, new_weights=[100.0])).all()


@pytest.mark.parametrize("n", [9, 10, 99])
def test_equal_weights_change_nothing(n):
    scores, levels = np.random.default_rng(n).normal(size=n), [0.1, 0.3, 0.5, 0.55, 0.9, 0.99]
    found = conformal_quantile(scores, levels, weights=np.full(n, 0.3), new_weights=[0.3])
    np.testing.assert_array_equal(found[0], conformal_quantile(scores, levels))


def test_weights_keep_the_promise_under_a_covariate_shift():
    """Errors grow with x, and new rows are drawn with a density that is x times as large. 4,000 samples of 60 rows.

    Tibshirani et al. promise at least the level. The mean over samples has a standard error of 0.003.
    """
    rng = np.random.default_rng(2)
    covered, plain = [], []
    for _ in range(4000):
        x, new = rng.random(60), np.sqrt(rng.random(5))  # the density of new rows is 2 x
        scores, new_scores = np.abs(x * rng.standard_cauchy(60)), np.abs(new * rng.standard_cauchy(5))
        covered.append((new_scores <= conformal_quantile(scores, 0.8, weights=x, new_weights=new)).mean())
        plain.append((new_scores <= conformal_quantile(scores, 0.8)).mean())
    error = np.std(covered) / np.sqrt(4000)
    assert 0.8 - 4 * error < np.mean(covered) < 0.83
    assert np.mean(plain) < 0.8 - 8 * error


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
        (lambda: conformal_quantile([1.0], 0.0), r"coverage must lie strictly between 0 and 1.*got 0\.0"),
        (lambda: conformal_quantile([1.0], [0.5, np.nan]), "coverage must lie"),
        (
            lambda: conformal_quantile([1.0, 2.0], 0.5, weights=[1.0], new_weights=[1.0]),
            r"one for each of the 2 rows; got shape \(1,\)",
        ),
        (
            lambda: conformal_quantile([1.0, 2.0], 0.5, weights=[1.0, -1.0], new_weights=[1.0]),
            "weights must be finite and not negative; got -1.0 in row 1",
        ),
        (lambda: conformal_quantile([1.0], 0.5, weights=[0.0], new_weights=[1.0]), "weights are all zero"),
        (lambda: conformal_quantile([1.0], 0.5, weights=[1.0], new_weights=[np.nan]), "new_weights must be finite"),
        (lambda: conformal_interval(np.ones((4, 2)), 1.0, np.ones(3)), "quantile has shape .3,. and mean .4, 2."),
        (lambda: conformal_interval(np.ones((4, 2)), 1.0, 1.0), "use conformal_quantile"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
