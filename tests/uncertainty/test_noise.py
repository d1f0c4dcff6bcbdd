"""Estimates of the residual variance."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.uncertainty.components import HeldOut
from extranets.uncertainty.noise import held_out_variance, leaves_too_few_degrees, training_variance


def simulated(n, n_members, noise_sd, member_sd, seed=0):
    """Independent members around the truth: what the correction for a smaller ensemble assumes."""
    rng = np.random.default_rng(seed)
    members = rng.normal(size=(n_members, n, 1), scale=member_sd)
    residual = members.mean(axis=0) - rng.normal(size=(n, 1), scale=noise_sd)
    return HeldOut(residual, members.var(axis=0), np.ones((n, 1)), np.ones(n), n_members)


def test_small_fold_ensembles_are_corrected_to_the_full_size():
    """Noise 1, member variance 4: MSE is 1 + 4/5 with 5 members and 1 + 4/50 with 50. 40,000 rows, 4 standard errors."""
    held = simulated(40_000, 5, 1.0, 2.0)
    raw = (held.residual**2).mean()
    error = 4 * 1.8 * np.sqrt(2 / 40_000)
    assert abs(raw - 1.8) < error
    assert abs(held_out_variance(held, 50)[0] - 1.08) < error
    assert held_out_variance(held, 5)[0] == pytest.approx(raw)


def test_correction_leaves_a_twentieth():
    held = HeldOut(np.full((10, 1), 0.1), np.full((10, 1), 100.0), np.ones((10, 1)), np.ones(10), 2)
    assert held_out_variance(held, 50)[0] == pytest.approx(0.05 * 0.1**2)


def test_weights_count():
    residual = np.array([[1.0], [3.0]])
    held = HeldOut(residual, np.zeros((2, 1)), np.ones((2, 1)), np.array([3.0, 1.0]), 1)
    assert held_out_variance(held, 1)[0] == pytest.approx((3 * 1 + 9) / 4)


def test_training_variance_is_unbiased_for_least_squares():
    """20 regressors, 60 rows, noise 1: RSS/n would give 2/3. Mean over 400 samples, 4 standard errors."""
    rng = np.random.default_rng(0)
    estimates = []
    for _ in range(400):
        X, noise = rng.normal(size=(60, 20)), rng.normal(size=60)
        residual = noise - X @ np.linalg.lstsq(X, noise, rcond=None)[0]
        estimates.append(training_variance(residual[:, None], np.ones(60), 20)[0])
    assert abs(np.mean(estimates) - 1) < 4 * np.std(estimates) / np.sqrt(400)


def test_too_many_parameters_for_the_rows_are_noticed():
    assert leaves_too_few_degrees(80, 100) and leaves_too_few_degrees(np.array([10, 51]), 100)
    assert not leaves_too_few_degrees(50, 100)
    residual, weight = np.ones((100, 1)), np.ones(100)
    np.testing.assert_allclose(training_variance(residual, weight, 80), 2.0)  # the divisor is n / 2 at least
