"""The three constructions and Normal bounds."""

from __future__ import annotations

import numpy as np
from extranets.uncertainty.intervals import calibrated, paper, total
from scipy import stats

from extranets.uncertainty import predictive
from extranets.uncertainty.components import HeldOut

SPREAD = np.array([[1.0], [4.0]])
NOISE = np.array([[2.0]])


def test_paper_divides_the_spread_by_the_number_of_members():
    epistemic, aleatoric = paper.variances(SPREAD, NOISE, 10, np.ones((2, 1)))
    np.testing.assert_allclose(epistemic, [[0.1], [0.4]])
    np.testing.assert_array_equal(aleatoric, NOISE)


def test_total_does_not_divide_the_spread():
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


def test_a_useless_spread_gets_the_smallest_weight():
    """a = 1/T, by which a mean of T members varies. Given that a, b maximises the likelihood (its gradient is zero)."""
    for n_members in (50, 200):
        held = held_out(0.0, 1.0)
        a, b = calibrated.fit_factors(held, np.ones((40_000, 1)), n_members)[:, 0]
        np.testing.assert_allclose(a, 1 / n_members)
        variance = held.spread / 49 + b  # 1/50 of the unbiased spread
        slope = np.mean(1 / variance - held.residual**2 / variance**2)
        assert abs(slope) < 1e-4 and 0.9 < b < 1


def test_the_spread_keeps_its_scale_where_residuals_say_nothing_about_it():
    """The spread is a millionth of the noise: a stays at 1, minus the correction for a larger final ensemble."""
    held = held_out(0.0, 1.0)
    held = held._replace(spread=held.spread * 1e-6)
    a, b = calibrated.fit_factors(held, np.ones((40_000, 1)), 100)[:, 0]
    assert abs(a - (1 - 1 / 50 + 1 / 100)) < 1e-2
    assert abs(b - np.mean(held.residual**2)) < 1e-3


def test_the_prior_is_worth_one_observation():
    """With equal spreads and noises, residuals determine a + b only; the prior alone determines the share of a."""
    n = 200
    held = HeldOut(np.full((n, 1), 2.0), np.full((n, 1), 3 / 4), np.ones((n, 1)), np.ones(n), 4)
    a, b = calibrated.fit_factors(held, np.ones((n, 1)), 4)[:, 0]
    np.testing.assert_allclose([a, b], [1.0, 3.0], rtol=1e-3)  # a + b = 4, and the prior's a = 1
    few = held_out(3.0, 0.0, n=400)
    a, b = calibrated.fit_factors(few, np.ones((400, 1)), 50)[:, 0]
    spread = few.spread[:, 0] * 50 / 49
    variance = a * spread + b
    slope = np.sum(spread * (1 / variance - few.residual[:, 0] ** 2 / variance**2)) / 2
    np.testing.assert_allclose(-slope, np.log(a) / a, rtol=0.05)  # of the log-likelihood, and of (log a)^2 / 2


def test_only_the_ratios_of_weights_matter():
    held = held_out(1.0, 1.0, n=300)
    heavy = held._replace(weight=np.full(300, 2.0))
    once, other = (calibrated.fit_factors(each, np.ones((300, 1)), 50) for each in (held, heavy))
    np.testing.assert_allclose(other, once, rtol=1e-6)


def test_factor_is_lowered_for_a_larger_final_ensemble():
    """Held-out ensembles of 10 carry spread/10 themselves; 50 members carry spread/50."""
    held = held_out(0.5, 0.2, n_members=10)
    same = calibrated.fit_factors(held, np.ones((40_000, 1)), 10)
    larger = calibrated.fit_factors(held, np.ones((40_000, 1)), 50)
    np.testing.assert_allclose(same[0] - larger[0], 1 / 10 - 1 / 50)
    np.testing.assert_array_equal(same[1], larger[1])


def test_residuals_of_zero_are_accepted():
    held = HeldOut(np.zeros((5, 1)), np.zeros((5, 1)), np.ones((5, 1)), np.ones(5), 3)
    assert np.isfinite(calibrated.fit_factors(held, np.zeros((5, 1)), 3)).all()


def test_normal_bounds_match_scipy():
    mean, std = np.array([0.0, 5.0]), np.array([1.0, 2.0])
    bounds = predictive.interval(mean, std, [0.5, 0.9])
    for k, level in enumerate([0.5, 0.9]):
        np.testing.assert_allclose(bounds[:, :, k].T, stats.norm(mean, std).interval(level))
    np.testing.assert_allclose(predictive.quantiles(mean, std, [0.1])[:, 0], stats.norm(mean, std).ppf(0.1))
