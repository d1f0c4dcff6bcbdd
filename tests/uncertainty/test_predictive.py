"""Normal and Student's t around a mean with a standard deviation, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from extranets.uncertainty import predictive

MEAN, STD = np.array([1.0, -2.0, 30.0]), np.array([0.5, 2.0, 10.0])
LEVELS = [0.005, 0.05, 0.5, 0.8, 0.999]


def reference(dof):
    """scipy's own distribution with our mean and standard deviation."""
    return stats.norm(MEAN, STD) if dof is None else stats.t(dof, MEAN, STD / stats.t(dof).std())


@pytest.mark.parametrize("dof", [None, 2.5, 4.0, 30.0])
def test_quantiles_interval_and_distribution_are_scipys(dof):
    expected = reference(dof)
    quantiles = predictive.quantiles(MEAN, STD, LEVELS, dof)
    np.testing.assert_allclose(quantiles, np.stack([expected.ppf(level) for level in LEVELS], axis=1), rtol=1e-9)
    bounds = predictive.interval(MEAN, STD, [0.5, 0.99], dof)
    np.testing.assert_allclose(bounds[:, :, 1].T, expected.interval(0.99), rtol=1e-9)
    np.testing.assert_allclose(bounds[:, :, 0].T, expected.interval(0.5), rtol=1e-9)
    ours = predictive.distribution(MEAN, STD, dof)
    np.testing.assert_allclose(ours.logpdf(MEAN + 3), expected.logpdf(MEAN + 3))
    np.testing.assert_allclose([ours.mean(), ours.std()], [MEAN, STD])


@pytest.mark.parametrize("dof", [None, 7.0, 200.0])
def test_the_variance_is_one_in_units_of_itself(dof):
    """The mean square of a million quantiles at even levels; more extreme ones hold less than a thousandth."""
    levels = (np.arange(1_000_000) + 0.5) / 1_000_000
    assert np.mean(predictive.multiples(levels, dof) ** 2) == pytest.approx(1.0, abs=1e-3)


def test_outputs_have_degrees_of_freedom_of_their_own():
    mean, std, dof = np.zeros((4, 2)), np.ones((4, 2)), np.array([3.0, 50.0])
    bounds = predictive.interval(mean, std, [0.8, 0.99], dof)
    assert bounds.shape == (4, 2, 2, 2)
    for output, each in enumerate(dof):
        np.testing.assert_allclose(bounds[:, output], predictive.interval(mean[:, 0], std[:, 0], [0.8, 0.99], each))
    np.testing.assert_allclose(predictive.distribution(mean, std, dof).ppf(0.9), bounds[:, :, 1, 0])


def test_heavier_tails_are_narrower_in_the_middle_and_wider_outside():
    middle, outside = predictive.multiples([0.75, 0.999], 3.0), predictive.multiples([0.75, 0.999])
    assert middle[0] < outside[0] and middle[1] > outside[1]


def test_a_standard_deviation_of_zero_is_a_point():
    for dof in (None, 5.0):
        at = predictive.distribution(np.array([2.0]), np.array([0.0]), dof)
        assert (at.cdf([1.9]), at.cdf([2.1])) == (0.0, 1.0)
        np.testing.assert_array_equal(predictive.interval(np.array([2.0]), np.array([0.0]), [0.9], dof), 2.0)


def test_levels_whose_tail_is_lost_to_rounding_are_refused():
    """Up to the nearest one that is computed, both ends are as far out; 1 - 1e-16 would reach to infinity on one side."""
    near = predictive.NEAREST_LEVEL
    for dof in (None, 2.5):
        lower, upper = predictive.interval(np.zeros(1), np.ones(1), [1 - near, near], dof)[0]
        np.testing.assert_allclose(-lower, upper, rtol=1e-3)
    for level in (1 - 1e-16, 1 - near / 2, near / 2, 1e-300):
        with pytest.raises(
            ValueError, match=r"coverage lies too near 0 or 1.* from 1e-12 to 1 - 1e-12 can be computed"
        ):
            predictive.interval(MEAN, STD, [0.9, level])
