"""DeltaMethodRegressor against least squares, against the formula, and where J'J is singular."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from extranets import DeltaMethodRegressor, engine
from extranets.data import linear_process, nonlinear_process
from extranets.predictor.sources import linearised


def least_squares_interval(X, y, new, coverage):
    """Prediction interval of ordinary least squares, with Normal quantiles as in the paper."""
    A, a = np.column_stack([np.ones(len(X)), X]), np.column_stack([np.ones(len(new)), new])
    beta, rss = np.linalg.lstsq(A, y, rcond=None)[:2]
    variance = rss[0] / (len(y) - A.shape[1])
    leverage = np.sum(a @ np.linalg.inv(A.T @ A) * a, axis=1)
    half = stats.norm.ppf((1 + coverage) / 2) * np.sqrt(variance * (1 + leverage))
    return np.stack([a @ beta - half, a @ beta + half], axis=1)


def test_a_linear_network_has_the_interval_of_least_squares():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) * [1, 5, 0.1] + [0, 10, 0]
    y = X @ [2.0, -1.0, 30.0] + rng.standard_normal(40) * 3
    new = rng.standard_normal((20, 3)) * [2, 10, 0.2] + [0, 10, 0]
    model = DeltaMethodRegressor((), noise="train", max_iter=3000, batch_size=40, random_state=0).fit(X, y)
    expected = least_squares_interval(X, y, new, 0.95)
    np.testing.assert_allclose(model.predict_interval(new, 0.95), expected, atol=2e-3 * y.std())
    assert model.damping_[0] == 0 and model.n_effective_parameters_[0] == pytest.approx(4)


def test_leverage_is_the_papers_formula(monkeypatch):
    monkeypatch.setattr(linearised, "BLOCK_SIZE", 2000)  # many blocks
    X, y, new, _ = nonlinear_process(500, random_state=0).split(400)
    model = DeltaMethodRegressor((4,), random_state=0).fit(X, y)
    J, f = (
        engine.jacobian(model.ensemble_, 0, model.model_.units.x.apply(rows)).astype(np.float64) for rows in (X, new)
    )
    inverse = np.linalg.inv(J.T @ J + model.damping_[0] * np.eye(J.shape[1]))
    S = np.sum(f @ inverse * f, axis=1)
    parts = model.predict_components(new)
    np.testing.assert_allclose(parts.epistemic / model.noise_variance_, S, rtol=1e-3)
    np.testing.assert_allclose(parts.aleatoric, model.noise_variance_)
    # The scale of a ReLU unit cannot be determined: four parameters less.
    assert model.n_effective_parameters_[0] == pytest.approx(J.shape[1] - 4, abs=0.5)


def test_weights_act_as_repetition_in_the_curvature():
    X, y = linear_process(60, random_state=0).split(50)[:2]
    counts = np.random.RandomState(0).randint(1, 4, len(y))
    model = DeltaMethodRegressor((), noise="train", max_iter=3000, batch_size=1000, random_state=0)
    weighted = model.fit(X, y, sample_weight=counts).n_effective_parameters_, model.predict_components(X)
    repeated = model.fit(X.repeat(counts, axis=0), y.repeat(counts)).predict_components(X)
    ratio = [parts.epistemic / parts.aleatoric for parts in (weighted[1], repeated)]
    # sample weights have mean one: fifty rows of weight w / mean(w)
    np.testing.assert_allclose(ratio[0] / counts.mean(), ratio[1], rtol=1e-3)


def test_two_outputs_have_their_own_leverage():
    X, y, new, _ = nonlinear_process(300, random_state=0).split(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the other output's weights are no reason to warn
        model = DeltaMethodRegressor((), random_state=0).fit(X, np.column_stack([y, y**2]))
    parts = model.predict_components(new)
    assert parts.epistemic.shape == (100, 2)
    np.testing.assert_allclose(
        parts.epistemic[:, 0] / parts.aleatoric[:, 0], parts.epistemic[:, 1] / parts.aleatoric[:, 1], rtol=1e-3
    )


def test_more_weights_than_rows_are_warned_of():
    X, y = nonlinear_process(100, random_state=0).split(60)[:2]
    with pytest.warns(
        UserWarning, match=r"near singular: the training rows do not determine \d+ of 351 directions"
    ) as caught:
        model = DeltaMethodRegressor((50,), random_state=0).fit(X, y)
    assert caught[0].filename == __file__  # the user's line, not one of ours
    assert np.isfinite(model.predict_var(X)).all() and model.damping_[0] > 0


def test_damping_of_the_users_choice_narrows_the_interval():
    X, y = nonlinear_process(300, random_state=0).split(250)[:2]
    weak, strong = (DeltaMethodRegressor((5,), damping=d, random_state=0).fit(X, y) for d in (1.0, 100.0))
    assert strong.damping_[0] == 100 and strong.n_effective_parameters_[0] < weak.n_effective_parameters_[0]
    assert (strong.predict_components(X).epistemic < weak.predict_components(X).epistemic).all()


def test_a_network_too_large_for_the_method_is_refused():
    X, y = linear_process(60, random_state=0).split(50)[:2]
    with pytest.raises(ValueError, match="at most 10000 parameters"):
        DeltaMethodRegressor((200, 200)).fit(X, y)


def test_rows_that_are_held_out_do_not_count_as_trained_on():
    X, y = linear_process(70, random_state=0).split(60)[:2]
    half = DeltaMethodRegressor((), noise="holdout", holdout_fraction=0.5, random_state=0).fit(X, y)
    full = DeltaMethodRegressor((), noise="train", random_state=0).fit(X, y)
    leverage = [np.mean(m.predict_components(X).epistemic / m.noise_variance_) for m in (half, full)]
    assert leverage[1] == pytest.approx(6 / 60, rel=1e-4)
    assert leverage[0] > 1.8 * leverage[1]


def test_held_out_noise_leaves_the_estimation_error_out():
    """Out-of-fold errors hold noise * (1 + S); their mean over 40 tables of 30 rows is the noise, 4, not 4 * (1 + S)."""
    noises = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((30, 4))
        y = X.sum(axis=1) + 2 * rng.standard_normal(30)
        noises.append(DeltaMethodRegressor((), max_iter=600, random_state=seed).fit(X, y).noise_variance_)
    # one table's figure has a relative standard error of about sqrt(2 / 30) = .26, the mean of 40 of .04
    assert np.mean(noises) == pytest.approx(4, rel=3 * 0.04)
