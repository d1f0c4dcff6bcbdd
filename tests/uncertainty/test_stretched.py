"""Stretched Student's t: closed formulas beside numerical integrals of the density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from extranets.uncertainty.predictive import distribution, multiples
from extranets.uncertainty.stretched import LEVELS, Stretched, log_density

DEGREES = [2.6, 5.0, 200.0]


def skewed(dof):
    """Narrow on the left, wide on the right, with kinks; neither mean nor variance are set."""
    t = multiples(LEVELS, dof)
    return Stretched(dof, np.where(t < 0, 0.2 * t, 1.7 * t) + 0.1 * np.sin(t))


def test_both_sides_have_the_same_levels():
    np.testing.assert_allclose(LEVELS, 1 - LEVELS[::-1], atol=1e-15)
    assert 0.001 < LEVELS[0] < 0.002 and (np.diff(LEVELS) > 0).all()


@pytest.mark.parametrize("dof", DEGREES)
def test_what_is_not_stretched_is_students_t(dof):
    plain = Stretched(dof, multiples(LEVELS, dof))
    at, values = distribution(np.zeros(()), np.ones(()), dof), np.array([-60.0, -3.1, -0.2, 0.0, 0.7, 2.9, 9.0])
    np.testing.assert_allclose(plain.cdf(values), at.cdf(values), rtol=1e-10)
    np.testing.assert_allclose(plain.sf(values), at.sf(values), rtol=1e-10)
    np.testing.assert_allclose(plain.log_density(values), at.logpdf(values), rtol=1e-9)
    np.testing.assert_allclose(log_density(values, dof), at.logpdf(values), rtol=1e-9)
    np.testing.assert_allclose(plain.quantiles([1e-9, 0.3]), at.ppf([1e-9, 0.3]), rtol=1e-10)
    np.testing.assert_allclose(plain.moments(), (0, 1), atol=1e-12)


@pytest.mark.parametrize("dof", DEGREES)
def test_quantiles_at_the_levels_are_those_that_were_given(dof):
    shape = skewed(dof)
    np.testing.assert_allclose(shape.quantiles(LEVELS), shape.points.values, rtol=1e-12)
    assert (np.diff(shape.points.values) > 0).all()


@pytest.mark.parametrize("dof", DEGREES)
def test_quantiles_and_tails_undo_each_other(dof):
    shape, levels = skewed(dof), np.array([1e-12, 1e-4, 0.03, 0.5, 0.88])
    np.testing.assert_allclose(shape.cdf(shape.quantiles(levels)), levels, rtol=1e-6)
    np.testing.assert_allclose(shape.sf(shape.upper_quantiles(levels)), levels, rtol=1e-6)
    np.testing.assert_allclose(shape.upper_quantiles(levels[1:]), shape.quantiles(1 - levels[1:]), rtol=1e-9)


@pytest.mark.parametrize("dof", [5.0, 200.0])
def test_moments_are_those_of_the_density(dof):
    """By half a million steps between quantiles at 1e-12; beyond them lies 1e-6 of the variance with five degrees of freedom."""
    shape = skewed(dof)
    x = np.linspace(shape.quantiles(1e-12), shape.upper_quantiles(1e-12), 500_001)
    density = np.exp(shape.log_density(x)) * (x[1] - x[0])
    mean = density @ x
    assert density.sum() == pytest.approx(1, abs=1e-3)  # kinks fall between steps
    assert shape.moments() == pytest.approx((mean, density @ (x - mean) ** 2), rel=1e-3)


def test_both_tails_are_students_own_in_widths_of_their_own():
    """Beyond the outermost levels, distances from them are so many times those of Student's t."""
    shape, t = skewed(4.0), stats.t(4)
    scale = np.sqrt(2 / 4)
    for quantiles, width in ((shape.quantiles, shape.slopes[0]), (shape.upper_quantiles, -shape.slopes[-1])):
        found = np.diff(quantiles([1e-3, 1e-5, 1e-7]))[-1:]
        np.testing.assert_allclose(found, width * scale * np.diff(t.ppf([1e-5, 1e-7])), rtol=1e-9)
