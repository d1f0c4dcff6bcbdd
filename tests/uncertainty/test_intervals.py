"""The three constructions and Normal bounds."""

from __future__ import annotations

import numpy as np
from scipy import stats

from extranets.uncertainty import predictive
from extranets.uncertainty.components import HeldOut
from extranets.uncertainty.intervals import calibrated, paper, total

SPREAD = np.array([[1.0], [4.0]])
NOISE = np.array([[2.0]])


def test_paper_divides_the_spread_by_the_number_of_members():
    epistemic, aleatoric = paper.variances(SPREAD, NOISE, 10, np.ones((2, 1)))
    np.testing.assert_allclose(epistemic, [[0.1], [0.4]])
    np.testing.assert_array_equal(aleatoric, NOISE)


def test_total_does_not():
    epistemic, aleatoric = total.variances(SPREAD, NOISE, 10, np.ones((2, 1)))
    np.testing.assert_array_equal(epistemic, SPREAD)
    np.testing.assert_array_equal(aleatoric, NOISE)


def test_calibrated_uses_its_factors_on_the_unbiased_spread():
    epistemic, aleatoric = calibrated.variances(SPREAD, NOISE, 5, np.array([[0.5], [3.0]]))
    np.testing.assert_allclose(epistemic, 0.5 * SPREAD * 5 / 4)
    np.testing.assert_allclose(aleatoric, 3 * NOISE)


def held_out(a, b, n=40_000, n_members=50, seed=0):
    """Residuals with variance a * spread + b, spread varying over three orders of magnitude."""
    rng = np.random.default_rng(seed)
    spread = 10.0 ** rng.uniform(-2, 1, (n, 1))
    residual = rng.normal(size=(n, 1)) * np.sqrt(a * spread + b)
    return HeldOut(residual, spread * (n_members - 1) / n_members, np.ones((n, 1)), np.ones(n), n_members)


def test_factors_are_recovered_from_residuals():
    """Within four standard errors, from the Fisher information 1/2 E[grad v grad v' / v^2] of a Normal with variance v."""
    for a, b in [(0.5, 0.2), (2.0, 1.0), (0.1, 3.0)]:
        held = held_out(a, b)
        spread = held.spread[:, 0] * 50 / 49
        gradient = np.stack([spread, np.ones_like(spread)]) / (a * spread + b)
        error = np.sqrt(np.diag(np.linalg.inv(0.5 * gradient @ gradient.T)))
        factors = calibrated.fit_factors(held, np.ones((40_000, 1)), 50)[:, 0]
        assert (np.abs(factors - [a, b]) < 4 * error).all()


def test_useless_spread_gets_no_weight():
    rng = np.random.default_rng(1)
    held = held_out(0.0, 1.0)._replace(residual=rng.normal(size=(40_000, 1)))
    a, b = calibrated.fit_factors(held, np.ones((40_000, 1)), 50)[:, 0]
    assert a < 0.01 and abs(b - 1) < 4 * np.sqrt(2 / 40_000) + 0.01


def test_factor_is_lowered_for_a_larger_final_ensemble():
    """Held-out ensembles of 10 carry spread/10 themselves; 50 members carry spread/50."""
    held = held_out(0.5, 0.2, n_members=10)
    same = calibrated.fit_factors(held, np.ones((40_000, 1)), 10)
    larger = calibrated.fit_factors(held, np.ones((40_000, 1)), 50)
    np.testing.assert_allclose(same[0] - larger[0], 1 / 10 - 1 / 50)
    np.testing.assert_array_equal(same[1], larger[1])


def test_no_error_at_all_is_no_trouble():
    held = HeldOut(np.zeros((5, 1)), np.zeros((5, 1)), np.ones((5, 1)), np.ones(5), 3)
    assert np.isfinite(calibrated.fit_factors(held, np.zeros((5, 1)), 3)).all()


def test_normal_bounds_match_scipy():
    mean, std = np.array([0.0, 5.0]), np.array([1.0, 2.0])
    bounds = predictive.interval(mean, std, [0.5, 0.9])
    for k, level in enumerate([0.5, 0.9]):
        np.testing.assert_allclose(bounds[:, :, k].T, stats.norm(mean, std).interval(level))
    np.testing.assert_allclose(predictive.quantiles(mean, std, [0.1])[:, 0], stats.norm(mean, std).ppf(0.1))
