"""The factors of the calibrated interval, from held-out errors."""

from __future__ import annotations

import numpy as np

from extranets.predictor.intervals import Calibrated
from extranets.predictor.intervals.calibrated import fit_factors
from extranets.uncertainty.components import HeldOut

SPREAD = np.array([[1.0], [4.0]])
NOISE = np.array([[2.0]])


def test_calibrated_uses_its_factors_on_the_unbiased_spread():
    epistemic, aleatoric = Calibrated(np.array([[0.5], [3.0]])).variances(SPREAD, NOISE, 5)
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
        factors = fit_factors(held, np.ones((40_000, 1)), 50)[:, 0]
        assert (np.abs(factors - [a, b]) < 4 * error).all()


def test_a_useless_spread_gets_the_smallest_factor_that_is_allowed():
    """1/T: what a mean of T members varies by. b is what likelihood says with that a (gradient zero)."""
    for n_members in (50, 200):
        held = held_out(0.0, 1.0)
        a, b = fit_factors(held, np.ones((40_000, 1)), n_members)[:, 0]
        np.testing.assert_allclose(a, 1 / n_members)
        variance = held.spread / 49 + b  # 1/50 of the unbiased spread
        slope = np.mean(1 / variance - held.residual**2 / variance**2)
        assert abs(slope) < 1e-4 and 0.9 < b < 1


def test_the_factor_of_the_spread_stays_near_one_where_errors_say_nothing_about_it():
    """Spread of a millionth of the noise: a stays at 1, less what larger final ensembles lose."""
    held = held_out(0.0, 1.0)
    held = held._replace(spread=held.spread * 1e-6)
    a, b = fit_factors(held, np.ones((40_000, 1)), 100)[:, 0]
    assert abs(a - (1 - 1 / 50 + 1 / 100)) < 1e-2
    assert abs(b - np.mean(held.residual**2)) < 1e-3


def test_the_prior_is_worth_one_observation():
    """All spreads and noises alike, a + b is what residuals tell; the best share of a is where the prior's slope is zero."""
    n = 200
    held = HeldOut(np.full((n, 1), 2.0), np.full((n, 1), 3 / 4), np.ones((n, 1)), np.ones(n), 4)
    a, b = fit_factors(held, np.ones((n, 1)), 4)[:, 0]
    np.testing.assert_allclose([a, b], [1.0, 3.0], rtol=1e-3)  # a + b = 4, and nothing against a = 1
    few = held_out(3.0, 0.0, n=400)
    a, b = fit_factors(few, np.ones((400, 1)), 50)[:, 0]
    spread = few.spread[:, 0] * 50 / 49
    variance = a * spread + b
    slope = np.sum(spread * (1 / variance - few.residual[:, 0] ** 2 / variance**2)) / 2
    np.testing.assert_allclose(-slope, np.log(a) / a, rtol=0.05)  # of the log-likelihood, and of (log a)^2 / 2


def test_only_the_ratios_of_weights_matter():
    held = held_out(1.0, 1.0, n=300)
    heavy = held._replace(weight=np.full(300, 2.0))
    once, other = (fit_factors(each, np.ones((300, 1)), 50) for each in (held, heavy))
    np.testing.assert_allclose(other, once, rtol=1e-6)


def test_factor_is_lowered_for_a_larger_final_ensemble():
    """Held-out ensembles of 10 carry spread/10 themselves; 50 members carry spread/50."""
    held = held_out(0.5, 0.2, n_members=10)
    same = fit_factors(held, np.ones((40_000, 1)), 10)
    larger = fit_factors(held, np.ones((40_000, 1)), 50)
    np.testing.assert_allclose(same[0] - larger[0], 1 / 10 - 1 / 50)
    np.testing.assert_array_equal(same[1], larger[1])


def test_factors_are_finite_where_there_is_no_error_at_all():
    held = HeldOut(np.zeros((5, 1)), np.zeros((5, 1)), np.ones((5, 1)), np.ones(5), 3)
    assert np.isfinite(fit_factors(held, np.zeros((5, 1)), 3)).all()
