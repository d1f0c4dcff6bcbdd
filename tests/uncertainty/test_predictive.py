"""Normal and Student's t around a mean with a standard deviation, against scipy; degrees of freedom from errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from extranets.uncertainty import predictive
from extranets.uncertainty.predictive import FEWEST_DOF, FEWEST_ROWS, MOST_DOF

MEAN, STD = np.array([1.0, -2.0, 30.0]), np.array([0.5, 2.0, 10.0])
LEVELS = [0.005, 0.05, 0.5, 0.8, 0.999]


def reference(dof):
    """scipy's own distribution with our mean and standard deviation."""
    return stats.norm(MEAN, STD) if dof is None else stats.t(dof, MEAN, STD / stats.t(dof).std())


@pytest.mark.parametrize("dof", [None, 2.5, 4.0, 30.0])
def test_quantiles_interval_and_distribution_are_those_of_scipy(dof):
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
def test_multiples_have_variance_one(dof):
    """The mean square of a million quantiles at even levels; more extreme ones add less than a thousandth."""
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


# -- degrees of freedom ------------------------------------------------------------------------------------------------


def t_errors(dof, n, seed=0):
    """Errors with standard deviation one."""
    return np.random.default_rng(seed).standard_t(dof, size=(n, 1)) * np.sqrt((dof - 2) / dof)


def fitted(errors, weight=None):
    return predictive.fit_dof(errors, np.ones(len(errors)) if weight is None else weight)


@pytest.mark.parametrize("dof", [4.0, 6.0, 10.0])
def test_degrees_of_freedom_are_found(dof):
    """Over 200 repetitions with 2,000 errors 1 / dof had a standard deviation of 0.021 to 0.027; three, for a mean of ten."""
    found = [1 / fitted(t_errors(dof, 2000, seed))[0] for seed in range(10)]
    assert np.mean(found) == pytest.approx(1 / dof, abs=3 * 0.027 / np.sqrt(10))


def test_fitted_degrees_of_freedom_are_the_most_likely():
    """By scipy's density, no value on a grid is more likely."""
    errors = t_errors(5.0, 1500)
    scaled = errors / np.sqrt(np.mean(errors**2))

    def likelihood(dof):
        return float(predictive.distribution(np.zeros(1), np.ones(1), dof).logpdf(scaled).mean())

    best = likelihood(fitted(errors)[0])
    grid = [likelihood(dof) for dof in np.geomspace(FEWEST_DOF, MOST_DOF, 60)]
    assert max(grid) <= best < max(grid) + 1e-3


def test_normal_errors_have_many_degrees_of_freedom():
    """Over 200 repetitions with 2,000 errors 99 % had more than 25."""
    for seed in range(5):
        assert fitted(np.random.default_rng(seed).normal(size=(2000, 1)))[0] > 22


def test_degrees_of_freedom_do_not_depend_on_the_scale_of_errors():
    errors = t_errors(4.0, 500)
    assert fitted(1e3 * errors)[0] == pytest.approx(fitted(errors)[0], rel=1e-6)


def test_a_weight_counts_as_repetitions():
    errors, counts = t_errors(4.0, 400), np.arange(400) % 4
    weighted = predictive.fit_dof(errors, counts.astype(float))
    np.testing.assert_allclose(weighted, fitted(errors.repeat(counts, axis=0)), rtol=1e-4)
    assert weighted[0] != pytest.approx(fitted(errors)[0], rel=0.01)


def test_each_output_has_its_own_degrees_of_freedom():
    errors = np.column_stack([t_errors(3.0, 1000)[:, 0], np.random.default_rng(1).normal(size=1000), np.zeros(1000)])
    found = fitted(errors)
    assert found[0] < 5 and found[1] > 15
    assert found[2] == MOST_DOF  # a constant output, predicted without error
    np.testing.assert_array_equal(found[:1], fitted(errors[:, :1]))


def test_too_few_rows_give_no_degrees_of_freedom():
    errors = t_errors(4.0, FEWEST_ROWS)
    assert fitted(errors[:-1]) is None
    assert fitted(errors).shape == (1,)


def test_fitted_degrees_of_freedom_stay_within_their_limits():
    cauchy = np.random.default_rng(0).standard_cauchy(size=(1000, 1))
    assert FEWEST_DOF <= fitted(cauchy)[0] < FEWEST_DOF + 0.01
    uniform = np.random.default_rng(0).uniform(-1, 1, size=(1000, 1))  # lighter tails than Normal
    assert MOST_DOF - 5 < fitted(uniform)[0] <= MOST_DOF


def test_only_some_of_very_many_rows_are_used(monkeypatch):
    errors, weight = t_errors(4.0, 1001), np.random.default_rng(1).uniform(size=1001)
    monkeypatch.setattr(predictive, "MOST_ROWS", 500)
    np.testing.assert_array_equal(
        predictive.fit_dof(errors, weight), [predictive._fit_one(errors[::3, 0] ** 2, weight[::3])]
    )
