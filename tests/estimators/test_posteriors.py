"""VariationalRegressor and PBPRegressor: networks whose weights are distributions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from extranets import PBPRegressor, VariationalRegressor
from extranets.data import linear_process


@pytest.fixture(scope="module")
def table():
    return linear_process(400, random_state=1).split(300)


@pytest.fixture(scope="module")
def straight():
    """400 rows of y = x b + e, SD(e) = 2."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    return X, 10 + X @ [3.0, -2.0, 1.0] + 2 * rng.standard_normal(400)


@pytest.mark.parametrize(
    ("regressor", "passes", "tolerance"),
    [
        (VariationalRegressor(()), 1, 0.2),
        (PBPRegressor((), max_iter=1), 1, 0.5),  # its first rows count less: the noise starts at the variance of y
        (PBPRegressor(()), 40, 0.2),
    ],
    ids=["variational", "pbp, one pass", "pbp, 40 passes"],
)
def test_a_linear_network_is_bayesian_linear_regression(regressor, passes, tolerance, straight):
    """Much data and a wide prior: least squares, its standard errors, and the residual variance.

    Every further pass of probabilistic back-propagation takes the rows for new ones.
    """
    X, y = straight
    model = regressor.set_params(random_state=0, n_passes=4000).fit(X, y)
    ols = LinearRegression().fit(X, y)
    residual = np.mean((y - ols.predict(X)) ** 2)
    A = np.column_stack([np.ones(400), X])
    leverage = np.sum(A @ np.linalg.inv(A.T @ A) * A, axis=1)
    parts = model.predict_components(X)
    # The posterior's mean lies well within the posterior's standard deviation of least squares ...
    np.testing.assert_array_less(np.abs(parts.mean - ols.predict(X)), 1.0 * np.sqrt(residual * leverage))
    # ... and as features are nearly uncorrelated, independent weights have nearly the exact variance.
    assert np.median(passes * parts.epistemic / (residual * leverage)) == pytest.approx(1, abs=tolerance)
    # A residual variance has a standard error of sqrt(2 / 400) = 7 %.
    assert model.noise_variance_ == pytest.approx(residual, rel=0.14)


def test_drawn_networks_have_the_moments_that_pbp_computes(table):
    """With one hidden layer the rectified moments are exact: sums of independent Gaussians go into each unit."""
    model = PBPRegressor((6,), max_iter=5, n_passes=10_000, random_state=0).fit(*table[:2])
    X = table[2][:8]
    members, parts = model.predict_members(X), model.predict_components(X)
    std = np.sqrt(parts.epistemic)
    np.testing.assert_array_less(np.abs(members.mean(axis=0) - parts.mean), 4.5 * std / np.sqrt(10_000))
    kurtosis = np.mean((members - members.mean(axis=0)) ** 4, axis=0) / members.var(axis=0) ** 2
    error = np.sqrt((kurtosis - 1) / 10_000)  # relative, of a variance over 10,000 draws
    np.testing.assert_array_less(np.abs(members.var(axis=0) / parts.epistemic - 1), 4.5 * error)


def test_an_output_of_pbp_does_not_depend_on_the_others(table):
    X, y = table[:2]
    one = PBPRegressor(max_iter=5, random_state=0).fit(X, y)
    two = PBPRegressor(max_iter=5, random_state=0).fit(X, np.column_stack([y, y**2]))
    np.testing.assert_allclose(one.predict(table[2]), two.predict(table[2])[:, 0], rtol=1e-6)
    np.testing.assert_allclose(one.predict_members(table[2]), two.predict_members(table[2])[:, :, 0], rtol=1e-4)


@pytest.mark.parametrize("regressor", [VariationalRegressor, PBPRegressor])
def test_more_draws_keep_the_earlier_ones(regressor, table):
    model = regressor(max_iter=10, n_passes=15, random_state=0).fit(*table[:2])
    few = model.predict_members(table[2])
    many = model.set_params(n_passes=40).predict_members(table[2])
    assert len(few) == 15 and len(many) == 40
    np.testing.assert_array_equal(many[:15], few)


def test_variational_predictions_are_moments_of_the_drawn_networks(table):
    model = VariationalRegressor(max_iter=50, random_state=0).fit(*table[:2])
    members, parts = model.predict_members(table[2]), model.predict_components(table[2])
    np.testing.assert_allclose(parts.mean, members.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(parts.epistemic, members.var(axis=0), rtol=1e-4)
    np.testing.assert_allclose(parts.aleatoric, model.noise_variance_)


def test_learned_quantities_are_in_the_targets_units(straight):
    X, y = straight
    for regressor in (VariationalRegressor(max_iter=100), PBPRegressor(max_iter=10)):
        plain = regressor.set_params(random_state=0).fit(X, y).noise_variance_
        assert regressor.fit(X, 100 * y).noise_variance_ == pytest.approx(1e4 * plain, rel=1e-3)


def uneven(n, data_seed):
    """y = sin(2 x1) with noise of standard deviation 0.3 exp(x0)."""
    rng = np.random.default_rng(data_seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 1]) + 0.3 * np.exp(X[:, 0]) * rng.normal(size=n)


def test_uneven_noise_does_not_set_the_weights_of_pbp_free():
    """Nearly all weights are a few prior deviations large; one that escapes its prior ends at hundreds to thousands."""
    X, y = uneven(200, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for seed in range(12):
            model = PBPRegressor(random_state=seed).fit(X, y)
            assert model.score(X, y) > 0 and np.abs(model.posterior_.mean).max() < 300


def fitted_with_warnings(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(warning.message) for warning in caught if warning.category is ConvergenceWarning]


def test_pbp_warns_where_it_predicts_worse_than_a_constant(straight):
    """An outlier, at different places in the order of the rows."""
    X, y = straight[0][:60], straight[1][:60].copy()
    y[7] += 100
    warned = []
    for seed in range(10):
        model = PBPRegressor(max_iter=3, random_state=seed)
        messages = fitted_with_warnings(model, X, y)
        warned.append(len(messages) == 1 and "are worse than their mean" in messages[0])
        assert warned[-1] == (model.score(X, y) < 0)
    assert 0 < sum(warned) < 10
    (message,) = fitted_with_warnings(
        PBPRegressor(random_state=warned.index(True), max_iter=3), X, np.column_stack([y, X])
    )
    assert "of output 0 are worse" in message


def test_variational_inference_warns_of_a_network_that_it_has_pruned():
    """Half of the variance of y is noise: 200 rows are too few for 50 units, and enough for ten."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (200, 2))
    y = np.sin(2 * X[:, 1]) + 0.7 * rng.normal(size=200)
    model = VariationalRegressor(random_state=0)
    (message,) = fitted_with_warnings(model, X, y)
    assert "has pruned the network" in message and model.score(X, y) < 0.15
    assert not fitted_with_warnings(model.set_params(hidden_layer_sizes=(10,)), X, y) and model.score(X, y) > 0.3
    (message,) = fitted_with_warnings(model, X, np.column_stack([X[:, 0], rng.normal(size=200)]))
    assert "of output 1 hardly vary" in message
    assert not fitted_with_warnings(model, X, np.ones(200))  # a constant is explained
