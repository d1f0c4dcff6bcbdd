"""Degrees of freedom of Student's t from held-out errors."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.predictor.distributions import Normal, Student, student
from extranets.predictor.distributions.student import FEWEST_DOF, FEWEST_ROWS, FEWEST_SMALL_DOF, MOST_DOF, fit_dof
from extranets.uncertainty import predictive


def t_errors(dof, n, seed=0):
    """Of standard deviation one."""
    return np.random.default_rng(seed).standard_t(dof, size=(n, 1)) * np.sqrt((dof - 2) / dof)


def fitted(errors, weight=None):
    return fit_dof(errors, np.ones(len(errors)) if weight is None else weight)


@pytest.mark.parametrize("dof", [4.0, 6.0, 10.0])
def test_degrees_of_freedom_are_found(dof):
    """Over 200 repetitions with 2,000 errors 1 / dof had a standard deviation of 0.021 to 0.027; three, for a mean of ten."""
    found = [1 / fitted(t_errors(dof, 2000, seed))[0] for seed in range(10)]
    assert np.mean(found) == pytest.approx(1 / dof, abs=3 * 0.027 / np.sqrt(10))


def test_degrees_of_freedom_are_the_likeliest():
    """scipy's density of the same errors is nowhere higher, on a grid."""
    errors = t_errors(5.0, 1500)
    scaled = errors / np.sqrt(np.mean(errors**2))

    def likelihood(dof):
        return float(predictive.distribution(np.zeros(1), np.ones(1), dof).logpdf(scaled).mean())

    best = likelihood(fitted(errors)[0])
    grid = [likelihood(dof) for dof in np.geomspace(FEWEST_DOF, MOST_DOF, 60)]
    assert max(grid) <= best < max(grid) + 1e-3


def test_normal_errors_have_many():
    """Over 200 repetitions with 2,000 errors 99 % had more than 25."""
    for seed in range(5):
        assert fitted(np.random.default_rng(seed).normal(size=(2000, 1)))[0] > 22


def test_the_scale_of_errors_does_not_count():
    errors = t_errors(4.0, 500)
    assert fitted(1e3 * errors)[0] == pytest.approx(fitted(errors)[0], rel=1e-6)


def test_weights_count_as_repetition():
    errors, counts = t_errors(4.0, 400), np.arange(400) % 4
    weighted = fit_dof(errors, counts.astype(float))
    np.testing.assert_allclose(weighted, fitted(errors.repeat(counts, axis=0)), rtol=1e-4)
    assert weighted[0] != pytest.approx(fitted(errors)[0], rel=0.01)


def test_each_output_has_its_own():
    errors = np.column_stack([t_errors(3.0, 1000)[:, 0], np.random.default_rng(1).normal(size=1000), np.zeros(1000)])
    found = fitted(errors)
    assert found[0] < 5 and found[1] > 15
    assert found[2] == MOST_DOF  # a constant output, predicted without error
    np.testing.assert_array_equal(found[:1], fitted(errors[:, :1]))


def learned(errors):
    return Student.learn(errors, np.ones(len(errors)))


def test_tails_are_fitted_where_errors_are_many():
    errors = t_errors(4.0, FEWEST_ROWS)
    shape, widening = learned(errors)
    np.testing.assert_array_equal(shape.degrees, fitted(errors))
    np.testing.assert_array_equal(widening, 1.0)


@pytest.mark.parametrize("n_rows", [2, 5, 6, 48, FEWEST_ROWS - 1])
def test_of_few_errors_only_their_number_counts(n_rows):
    """Degrees of freedom and variance are those of a sample of so many rows from a Normal distribution."""
    shape, widening = learned(np.column_stack([t_errors(4.0, n_rows), np.zeros(n_rows)]))
    expected = max(n_rows - 2, FEWEST_SMALL_DOF)
    np.testing.assert_array_equal(shape.degrees, [expected, expected])
    np.testing.assert_allclose(widening, expected / (expected - 2))


def test_without_held_out_rows_it_is_normal():
    assert Student.without_rows() == Normal()


def test_degrees_of_freedom_stay_within_their_limits():
    cauchy = np.random.default_rng(0).standard_cauchy(size=(1000, 1))
    assert FEWEST_DOF <= fitted(cauchy)[0] < FEWEST_DOF + 0.01
    uniform = np.random.default_rng(0).uniform(-1, 1, size=(1000, 1))  # lighter tails than Normal
    assert MOST_DOF - 5 < fitted(uniform)[0] <= MOST_DOF


def test_of_very_many_rows_some_are_enough(monkeypatch):
    errors, weight = t_errors(4.0, 1001), np.random.default_rng(1).uniform(size=1001)
    monkeypatch.setattr(student, "MOST_ROWS", 500)
    np.testing.assert_array_equal(fit_dof(errors, weight), [student._fit_one(errors[::3, 0] ** 2, weight[::3])])
