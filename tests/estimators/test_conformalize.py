"""Split conformal intervals of a fitted estimator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from extranets import ExtraNetsRegressor
from extranets.data import linear_process


def quick(**changes):
    return ExtraNetsRegressor(**{"n_estimators": 6, "max_iter": 30, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def table():
    return linear_process(700, random_state=1).split(300)


def heavy_tailed(rng, n):
    """Noise of a t distribution with two degrees of freedom, wider where the first column is positive."""
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + np.where(X[:, 0] > 0, 2.0, 0.5) * rng.standard_t(2, n)


def test_coverage_is_exact_whatever_the_noise():
    """400 samples of 39 held-out and 100 new rows. With continuous scores the expected coverage is ceil(40 c) / 40 exactly;
    the mean over the samples must lie within four Monte Carlo standard errors of it."""
    rng = np.random.default_rng(0)
    model = quick().fit(*heavy_tailed(rng, 300))
    covered = []
    for _ in range(400):
        X, y = heavy_tailed(rng, 139)
        bounds = model.conformalize(X[:39], y[:39]).predict_interval(X[39:], [0.6, 0.9])
        covered.append(((bounds[:, 0] <= y[39:, None]) & (y[39:, None] <= bounds[:, 1])).mean(axis=0))
    error = np.std(covered, axis=0) / np.sqrt(400)
    exact = [math.ceil(40 * 0.6) / 40, math.ceil(40 * 0.9) / 40]
    assert (np.abs(np.mean(covered, axis=0) - exact) < 4 * error).all()


def test_widths_are_a_multiple_of_the_predicted_sd(table):
    X_train, y_train, X, y = table
    model = quick().fit(X_train, y_train)
    mean, std = model.predict(X[200:], return_std=True)
    bounds = model.conformalize(X[:200], y[:200]).predict_interval(X[200:], 0.9)
    half = (bounds[:, 1] - bounds[:, 0]) / 2
    np.testing.assert_allclose(bounds.mean(axis=1), mean)
    np.testing.assert_allclose(half / std, half[0] / std[0])
    assert half.std() > 0
    scores = np.sort(np.abs(y[:200] - model.predict(X[:200])) / model.predict(X[:200], return_std=True)[1])
    assert half[0] / std[0] == pytest.approx(scores[math.ceil(201 * 0.9) - 1])


def test_other_answers_do_not_change(table):
    X_train, y_train, X, y = table
    model = quick().fit(X_train, y_train)
    before = model.predict_quantiles(X), model.predict_var(X)
    model.conformalize(X, y)
    np.testing.assert_array_equal(model.predict_quantiles(X), before[0])
    np.testing.assert_array_equal(model.predict_var(X), before[1])


def test_fit_and_estimate_noise_forget_it(table):
    X_train, y_train, X, y = table
    model = quick().fit(X_train, y_train)
    normal = model.predict_interval(X)
    assert not np.allclose(model.conformalize(X, y + 3).predict_interval(X), normal)
    np.testing.assert_array_equal(model.fit(X_train, y_train).predict_interval(X), normal)
    renewed = model.conformalize(X, y + 3).estimate_noise(X, y).predict_interval(X)
    np.testing.assert_array_equal(renewed, quick().fit(X_train, y_train).estimate_noise(X, y).predict_interval(X))


def test_several_outputs_get_their_own_multiples(table):
    X_train, y_train, X, y = table
    model = quick().fit(X_train, np.stack([y_train, y_train], axis=1))
    bounds = model.conformalize(X, np.stack([y, y + 5], axis=1)).predict_interval(X, [0.5, 0.9])
    assert bounds.shape == (400, 2, 2, 2)
    width = (bounds[:, :, 1] - bounds[:, :, 0]).mean(axis=0)
    assert (width[1] > width[0]).all()


def test_bad_rows_are_refused_and_too_few_are_warned_of(table):
    X_train, y_train, X, y = table
    with pytest.raises(NotFittedError):
        quick().conformalize(X, y)
    model = quick().fit(X_train, y_train)
    with pytest.raises(ValueError, match=r"y contains NaN \(row 0\)"):
        model.conformalize(X, np.full(400, np.nan))
    with pytest.warns(UserWarning, match=r"50 rows are too few to promise a coverage of 0.99"):
        bounds = model.conformalize(X[:50], y[:50]).predict_interval(X, [0.9, 0.99])
    assert np.isfinite(bounds[:, :, 0]).all() and np.isinf(bounds[:, :, 1]).all()
    with pytest.raises(ValueError, match="call conformalize again"):
        model.set_params(interval="paper").predict_interval(X)
