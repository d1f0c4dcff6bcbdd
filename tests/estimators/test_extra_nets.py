"""ExtraNetsRegressor: what it predicts, what it reports and what it refuses."""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from extranets import ExtraNetsRegressor, engine
from extranets._progress import thread_count
from extranets._random import draw_seed
from extranets.data import linear_process, nonlinear_process
from extranets.engine import TrainingData
from extranets.estimators.automatic import choices
from extranets.estimators.settings import resolve
from extranets.held_out import Sample, cross_validation, hold_out
from extranets.networks import draw_members
from extranets.uncertainty.noise import held_out_variance

HONEST = {"noise": "cv", "interval": "calibrated", "learning_rate_schedule": "linear"}


def quick(**changes):
    """The paper's networks with constant Normal noise, but with rows held out: quick, and easy to compute by hand."""
    return ExtraNetsRegressor.from_preset("paper", **{**HONEST, "n_estimators": 8, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def table():
    return linear_process(400, random_state=1).split(300)


@pytest.fixture(scope="module")
def model(table):
    return quick().fit(*table[:2])


# -- predictions -------------------------------------------------------------------------------------------------------


def test_prediction_is_the_mean_of_the_members(model, table):
    members = model.predict_members(table[2])
    assert members.shape == (8, 100)
    np.testing.assert_allclose(model.predict(table[2]), members.mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize("interval", ["paper", "total", "calibrated"])
def test_components_follow_the_construction(table, interval):
    X_train, y_train, X_test, _ = table
    model = quick(interval=interval).fit(X_train, y_train)
    members, parts = model.predict_members(X_test), model.predict_components(X_test)
    a, b = model.calibration_
    assert a > 0 and b > 0
    expected = {
        "paper": members.var(axis=0) / 8,
        "total": members.var(axis=0),
        "calibrated": a * members.var(axis=0, ddof=1),
    }[interval]
    np.testing.assert_allclose(parts.epistemic, expected, rtol=1e-4)
    np.testing.assert_allclose(
        parts.aleatoric, (b if interval == "calibrated" else 1.0) * model.noise_variance_, rtol=1e-12
    )
    np.testing.assert_allclose(model.predict_var(X_test), parts.epistemic + parts.aleatoric)
    np.testing.assert_allclose(model.predict(X_test, return_std=True)[1] ** 2, parts.total)


def test_interval_quantiles_and_distribution_agree(model, table):
    X = table[2]
    dist = model.predict_dist(X)
    lower, upper = model.predict_interval(X, 0.8).T
    np.testing.assert_allclose(dist.cdf(lower), 0.1)
    np.testing.assert_allclose(dist.cdf(upper), 0.9)
    np.testing.assert_allclose(model.predict_quantiles(X, [0.1, 0.9]), np.stack([lower, upper], axis=1))
    np.testing.assert_allclose(dist.mean(), model.predict(X))
    np.testing.assert_allclose(dist.var(), model.predict_var(X))
    np.testing.assert_allclose(dist.interval(0.8), (lower, upper))
    np.testing.assert_allclose(dist.pdf(lower), stats.norm.pdf(lower, dist.mean(), dist.std()))


def test_interval_shapes(model, table):
    X = table[2]
    both = model.predict_interval(X, [0.5, 0.9])
    assert both.shape == (100, 2, 2)
    np.testing.assert_array_equal(both[:, :, 1], model.predict_interval(X, 0.9))
    assert (both[:, 0, 1] < both[:, 0, 0]).all() and (both[:, 1, 1] > both[:, 1, 0]).all()
    assert model.predict_quantiles(X, 0.5).shape == (100,)


def test_samples_follow_the_distribution(model, table):
    """4,000 draws for each of three rows: mean within 5 standard errors, standard deviation within 6 %."""
    X = table[2][:3]
    draws = model.sample_y(X, 4000, random_state=0)
    mean, std = model.predict(X, return_std=True)
    assert draws.shape == (3, 4000)
    assert (np.abs(draws.mean(axis=1) - mean) < 5 * std / np.sqrt(4000)).all()
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.06)
    np.testing.assert_array_equal(draws, model.sample_y(X, 4000, random_state=0))


def test_everything_is_in_the_targets_units(table):
    """Shifting and scaling y shifts and scales all answers; shifting and scaling X changes nothing."""
    X_train, y_train, X_test, _ = table
    plain = quick().fit(X_train, y_train)
    moved = quick().fit(X_train * [1e3, 1, 1, 1, 1e-3] + 7, 10 * y_train + 1000)
    other = moved.predict_interval(X_test * [1e3, 1, 1, 1, 1e-3] + 7)
    np.testing.assert_allclose(other, 10 * plain.predict_interval(X_test) + 1000, rtol=1e-3)
    assert moved.noise_variance_ == pytest.approx(100 * plain.noise_variance_, rel=1e-2)


def test_one_full_network_is_its_own_ensemble(table):
    model = quick(n_estimators=1, keep_prob=1.0, interval="paper").fit(*table[:2])
    np.testing.assert_allclose(model.predict(table[2]), model.predict_members(table[2])[0], rtol=1e-6)
    assert (model.predict_components(table[2]).epistemic == 0).all()


def test_several_outputs(table):
    X_train, y_train, X_test, _ = table
    Y = np.stack([y_train, -3 * y_train, np.ones_like(y_train)], axis=1)
    model = quick().fit(X_train, Y)
    assert model.predict(X_test).shape == (100, 3)
    assert model.predict_members(X_test).shape == (8, 100, 3)
    assert model.predict_interval(X_test, [0.5, 0.9]).shape == (100, 3, 2, 2)
    assert model.predict_quantiles(X_test, [0.5]).shape == (100, 3, 1)
    assert model.sample_y(X_test, 4).shape == (100, 3, 4)
    assert model.noise_variance_.shape == (3,) and model.calibration_.shape == (2, 3)
    assert model.noise_variance_[1] > model.noise_variance_[0] > model.noise_variance_[2]
    np.testing.assert_array_equal(model.predict(X_test)[:, 2], 1.0)


def test_one_column_target_stays_two_dimensional(table):
    X_train, y_train, X_test, _ = table
    column = quick().fit(X_train, y_train[:, None])
    assert column.predict(X_test).shape == (100, 1)
    np.testing.assert_array_equal(column.predict(X_test)[:, 0], quick().fit(X_train, y_train).predict(X_test))


# -- noise -------------------------------------------------------------------------------------------------------------


def known_noise(n=2000, sd=0.5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] - 2 * X[:, 1] + sd * rng.normal(size=n)


@pytest.mark.parametrize("noise", ["cv", "holdout", "train"])
def test_noise_variance_is_found(noise):
    """A linear signal with noise 0.25, 2,000 rows. The estimate from 400 held-out rows has standard error 7 %; four of those."""
    X, y = known_noise()
    model = quick(noise=noise, interval="paper", hidden_layer_sizes=(5,)).fit(X, y)
    assert abs(model.noise_variance_ / 0.25 - 1) < 0.28


def test_degrees_of_freedom_are_counted_per_output():
    """Ten regressors, 100 rows, noise 1, three outputs: RSS / n would give 0.89. Mean of 30 estimates, four standard errors."""
    rng = np.random.default_rng(0)
    estimates = []
    for seed in range(30):
        X, Y = rng.normal(size=(100, 10)), rng.normal(size=(100, 3))
        linear = quick(
            n_estimators=1, hidden_layer_sizes=(), noise="train", interval="paper", max_iter=150, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimates.append(linear.fit(X, Y).noise_variance_)
    mean, error = np.mean(estimates), np.std(estimates) / np.sqrt(np.size(estimates))
    assert abs(mean - 1) < 4 * error
    assert mean - 0.89 > 4 * error


def test_weights_count_in_the_noise():
    """Noise sd 0.1 in half of the rows, 1 in the other: the weighted mean of squares, within 20 %."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    loud = np.arange(4000) % 2 == 1
    y = X[:, 0] + np.where(loud, 1.0, 0.1) * rng.normal(size=4000)
    for loud_weight in (0.1, 1.0):
        weight = np.where(loud, loud_weight, 1.0)
        model = quick(hidden_layer_sizes=(5,)).fit(X, y, sample_weight=weight)
        assert model.noise_variance_ == pytest.approx(np.average(np.where(loud, 1.0, 0.01), weights=weight), rel=0.2)


def test_folds_are_corrected_to_the_size_of_the_ensemble(table):
    """The estimator hands its own size, not that of a fold, to the estimates. Too few rows for a learning curve."""
    X_train, y_train = table[0][:39], table[1][:39]
    model = quick(n_estimators=30).fit(X_train, y_train)
    seed = draw_seed(0)
    plan = cross_validation(39, 5, 30, seed)
    assert plan.members_per_fold == 6
    sample = Sample(model.model_.units.x.apply(X_train), model.model_.units.y.apply(y_train[:, None]), np.ones(39))
    members = draw_members(model.ensemble_.members.architecture, 0.95, seed, plan.extra_ids())
    folds = engine.train(
        members,
        TrainingData(sample.X, sample.y, counts=plan.counts(), count_rows=plan.fold_of_member(members.ids)),
        resolve(model.get_params(), 39).options(),
        seed,
    )
    held = plan.errors(model.ensemble_, folds.ensemble, sample, engine.moments)
    unit = y_train.var()
    assert model.noise_variance_ == pytest.approx(held_out_variance(held, 30)[0] * unit)
    assert model.noise_variance_ < held_out_variance(held, 6)[0] * unit


def test_out_of_fold_noise_is_honest_where_training_residuals_are_not():
    """Noise only: networks with 50 units fit some of it. Out-of-fold residuals are at least the variance of y; training ones are not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 8)), rng.normal(size=150)
    model = quick(interval="paper", max_iter=200).fit(X, y)
    assert np.mean((y - model.predict(X)) ** 2) < 0.7 * y.var() < y.var() < model.noise_variance_


def test_learned_noise_follows_x():
    """Noise sd 0.1 left of zero and 1 right of it: the predicted variances differ by far more than a factor of ten."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 1))
    y = np.where(X[:, 0] < 0, 0.1, 1.0) * rng.normal(size=3000)
    model = quick(loss="gaussian_nll", interval="paper").fit(X, y)
    assert model.noise_variance_ is None
    left, right = model.predict_components([[-0.5], [0.5]]).aleatoric
    assert 0.005 < left < 0.02 and 0.7 < right < 1.4
    calibrated = quick(loss="gaussian_nll").fit(X, y)
    assert calibrated.predict_var([[0.5]])[0] > 10 * calibrated.predict_var([[-0.5]])[0]


@pytest.mark.parametrize("seed", range(3))
def test_far_from_the_rows_intervals_grow_with_the_disagreement(seed):
    """A plane and noise: networks agree wherever there are rows, so errors there say nothing about the spread's weight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    model = quick(random_state=seed).fit(X, X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=300))
    corners = 30.0 * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    spread = model.predict_members(corners).var(axis=0, ddof=1)
    assert (model.predict_components(corners).epistemic > 0.2 * spread).all()
    near, far = (np.ptp(model.predict_interval(rows), axis=1) for rows in (X[:4], corners))
    assert far.min() > 1.5 * near.max()


def test_estimate_noise_is_the_mean_squared_residual(table):
    X_train, y_train, X_new, y_new = table
    model = quick(interval="paper").fit(X_train, y_train)
    before = model.predict(X_new)
    assert model.estimate_noise(X_new, y_new) is model
    assert model.noise_variance_ == pytest.approx(np.mean((y_new - before) ** 2), rel=1e-5)
    np.testing.assert_array_equal(model.predict(X_new), before)
    with pytest.raises(ValueError, match="predict the noise"):
        quick(loss="gaussian_nll", interval="paper").fit(X_train, y_train).estimate_noise(X_new, y_new)
    with pytest.raises(ValueError, match="noise_model='constant'"):
        quick(noise_model="auto", interval="paper").fit(X_train, y_train).estimate_noise(X_new, y_new)


def test_estimate_noise_checks_its_input(model, table):
    X, y = table[2], table[3]
    with pytest.raises(NotFittedError):
        quick().estimate_noise(X, y)
    with pytest.raises(ValueError, match=r"y contains NaN \(row 0\)"):
        model.estimate_noise(X, np.full(100, np.nan))
    with pytest.raises(ValueError, match="y has 2 outputs"):
        model.estimate_noise(X, np.stack([y, y], axis=1))


def test_the_construction_can_be_changed_after_fit(table):
    X_train, y_train, X_test, _ = table
    model = quick(interval="paper").fit(X_train, y_train).set_params(interval="calibrated")
    np.testing.assert_array_equal(
        model.predict_interval(X_test), quick().fit(X_train, y_train).predict_interval(X_test)
    )
    without = quick(interval="paper", noise="train", hidden_layer_sizes=(5,)).fit(X_train, y_train)
    assert without.calibration_ is None
    with pytest.raises(ValueError, match="held out no rows"):
        without.set_params(interval="calibrated").predict_interval(X_test)


def test_holdout_rows_are_not_trained_on(table):
    """The noise is the mean squared residual of exactly the held-out rows, and larger than that of the others."""
    X_train, y_train, *_ = table
    model = quick(noise="holdout", interval="paper").fit(X_train, y_train)
    held = hold_out(300, 0.2, draw_seed(0)).fold_of_row == 0
    assert held.sum() == 60
    residual = (model.predict(X_train) - y_train)[held]
    assert model.noise_variance_ == pytest.approx(np.mean(residual**2), rel=1e-4)
    assert model.noise_variance_ > 1.2 * np.mean((model.predict(X_train) - y_train)[~held] ** 2)


# -- fitting -----------------------------------------------------------------------------------------------------------


def test_results_do_not_depend_on_threads(table):
    one, two = (quick(n_jobs=n).fit(*table[:2]).predict_interval(table[2]) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"noise": "holdout"},
        {"loss": "gaussian_nll"},
        {"null_members": "drop", "keep_prob": 0.3, "hidden_layer_sizes": (3,)},
    ],
)
def test_warm_start_equals_a_fresh_fit(table, changes):
    X_train, y_train, X_test, _ = table
    grown = quick(n_estimators=12, warm_start=True, **changes).fit(X_train, y_train)
    old = grown.predict_members(X_test)
    grown.set_params(n_estimators=20).fit(X_train, y_train)
    np.testing.assert_array_equal(grown.predict_members(X_test)[: len(old)], old)
    fresh = quick(n_estimators=20, **changes).fit(X_train, y_train)
    np.testing.assert_array_equal(grown.predict_interval(X_test), fresh.predict_interval(X_test))
    assert grown.n_null_ == fresh.n_null_


def test_warm_start_refuses_to_shrink(table):
    with pytest.raises(ValueError, match="cannot remove networks: the last fit has 4 more than n_estimators asks for"):
        quick(warm_start=True).fit(*table[:2]).set_params(n_estimators=4).fit(*table[:2])


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_layer_sizes": (7,)},
        {"noise": "holdout"},
        {"keep_prob": 0.5},
        {"max_iter": 41},
        {"loss": "gaussian_nll"},
    ],
    ids=str,
)
def test_warm_start_refuses_any_other_change(table, changes):
    """Old networks that saw all rows must not be scored as if they had left the hold-out out, for one."""
    model = quick(warm_start=True).fit(*table[:2])
    with pytest.raises(ValueError, match="only n_estimators may change"):
        model.set_params(n_estimators=9, **changes).fit(*table[:2])


def test_warm_start_refuses_other_data(table):
    X, y = table[:2]
    model = quick(warm_start=True).fit(X, y)
    for other in [(X[:-1], y[:-1]), (X, y + 1), (X * 2, y)]:
        with pytest.raises(ValueError, match="not the data"):
            model.set_params(n_estimators=9).fit(*other)


def test_every_parameter_reaches_the_engine():
    model = ExtraNetsRegressor(
        loss="gaussian_nll", learning_rate_init=0.02, learning_rate_schedule="cosine", max_iter=7, batch_size=9, alpha=0.3,
        beta_1=0.8, beta_2=0.95, epsilon=1e-5, max_grad_norm=0.7, early_stopping=True, validation_fraction=0.3,
        n_iter_no_change=4, tol=0.01, n_starts=3, max_restarts=2, collapse_r2=0.2,
    )  # fmt: skip
    assert resolve(model.get_params(), 100, **choices(model.get_params(), 100, "medium", None)).options() == engine.Options(
        loss="gaussian_nll", n_epochs=7, batch_size=9, learning_rate=0.02, schedule="cosine", beta1=0.8, beta2=0.95,
        epsilon=1e-5, weight_decay=0.3, max_grad_norm=0.7, validation_fraction=0.3, patience=4, tolerance=0.01, n_starts=3,
        max_restarts=2, collapse_r2=0.2,
    )  # fmt: skip
    model.set_params(early_stopping=False)
    assert resolve(model.get_params(), 100, **choices(model.get_params(), 100, "medium", None)).validation_fraction == 0


def test_threads_follow_n_jobs_and_the_environment(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = joblib.cpu_count()
    assert thread_count(None) == thread_count(-1) == cores
    assert thread_count(3) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_count(None) == 1 and thread_count(2) == 2
    with pytest.raises(ValueError, match="n_jobs=0"):
        thread_count(0)
    with pytest.raises(ValueError, match="n_jobs=2147483648 is more than"):
        thread_count(2**31)


def test_early_stopping_stops_and_reports(table):
    model = quick(early_stopping=True, n_iter_no_change=2, max_iter=500, learning_rate_schedule="constant").fit(
        *table[:2]
    )
    assert model.n_iter_ < 500
    assert model.loss_curve_.shape == (8, 500) and np.isnan(model.loss_curve_[:, -1]).all()


def test_collapsed_networks_are_restarted_and_reported():
    X_train, y_train, X_test, y_test = nonlinear_process(600, random_state=0).split(500)
    narrow = quick(
        hidden_layer_sizes=(3, 2), n_estimators=30, max_restarts=20, collapse_r2=0.2, max_iter=80, noise="holdout"
    )
    model = narrow.fit(X_train, y_train)
    assert model.restarts_.shape == (30,) and model.restarts_.sum() > 0
    spread = model.predict_members(X_test).std(axis=1)
    assert (spread > 0.1 * y_test.std()).all()


def test_hopeless_collapse_is_a_warning():
    X = np.random.default_rng(0).normal(size=(500, 1))
    y = np.random.default_rng(1).normal(size=500)
    with pytest.warns(
        ConvergenceWarning, match=r"networks still had a training R\^2 below collapse_r2=0.5 after 1 restarts"
    ):
        quick(collapse_r2=0.5, max_restarts=1, max_iter=2).fit(X, y)


def test_folds_keep_their_members_when_null_members_are_dropped(table):
    """All ten fold members of one unit each, kept with probability 0.3, would often be null; they are redrawn instead."""
    for seed in range(5):
        model = quick(n_estimators=3, hidden_layer_sizes=(1,), keep_prob=0.7, null_members="drop", random_state=seed)
        assert np.isfinite(model.fit(*table[:2]).noise_variance_)


def test_null_members_are_dropped_and_counted(table):
    model = quick(n_estimators=40, hidden_layer_sizes=(2,), keep_prob=0.5, null_members="drop").fit(*table[:2])
    assert 0 < model.n_null_ < 25
    assert len(model.predict_members(table[2])) == 40 - model.n_null_


def test_progress_line(table, capsys):
    quick(verbose=1).fit(*table[:2])
    line = capsys.readouterr().err
    assert "Training" in line and "networks" in line and "100 %" in line and line.endswith("\n")


def test_rows_of_weight_zero_are_as_good_as_left_out(table):
    X_train, y_train, X_test, _ = table
    weight = np.ones(300)
    weight[::4] = 0
    weighted = quick().fit(X_train, y_train, sample_weight=weight)
    without = quick().fit(X_train[weight > 0], y_train[weight > 0])
    np.testing.assert_array_equal(weighted.predict_interval(X_test), without.predict_interval(X_test))


# -- tables ------------------------------------------------------------------------------------------------------------


def test_frames_and_sparse_matrices_give_the_same_answer(table):
    X_train, y_train, X_test, _ = table
    names = list("abcde")
    expected = quick().fit(X_train, y_train).predict_interval(X_test)
    for make in (
        lambda a: pd.DataFrame(a, columns=names),
        lambda a: pl.DataFrame(a, schema=names),
        sparse.csr_matrix,
        sparse.csc_array,
    ):
        np.testing.assert_array_equal(quick().fit(make(X_train), y_train).predict_interval(make(X_test)), expected)


def test_interval_as_frame(table):
    X_train, y_train, X_test, _ = table
    frame = pd.DataFrame(X_test, columns=list("abcde"), index=np.arange(100) + 7)
    model = quick().fit(pd.DataFrame(X_train, columns=list("abcde")), y_train)
    out = model.predict_interval(frame, [0.9, 0.975], as_frame=True)
    assert list(out.columns) == ["prediction", "lower_90", "upper_90", "lower_97.5", "upper_97.5"]
    assert (out.index == frame.index).all()
    np.testing.assert_array_equal(out[["lower_90", "upper_90"]], model.predict_interval(frame, 0.9))
    assert isinstance(model.predict_interval(pl.DataFrame(X_test, schema=list("abcde")), as_frame=True), pl.DataFrame)
    both = quick().fit(X_train, np.stack([y_train, y_train], axis=1)).predict_interval(X_test, as_frame=True)
    assert list(both.columns) == [
        "prediction_0",
        "lower_90_0",
        "upper_90_0",
        "prediction_1",
        "lower_90_1",
        "upper_90_1",
    ]


def test_interval_as_frame_of_a_plain_list():
    out = quick().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).predict_interval([[0.5], [1.5]], as_frame=True)
    assert list(out.columns) == ["prediction", "lower_90", "upper_90"] and len(out) == 2


def test_unknown_features_are_named(table):
    X_train, y_train, X_test, _ = table
    model = quick().fit(pd.DataFrame(X_train, columns=list("abcde")), y_train)
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*z"):
        model.predict(pd.DataFrame(X_test, columns=list("abcdz")))


# -- bad input ---------------------------------------------------------------------------------------------------------


def with_value(value, row=3, column=2):
    X = np.arange(40, dtype=float).reshape(10, 4)
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (with_value(np.nan), np.arange(10.0), r"X contains NaN \(row 3, column 2\)"),
        (with_value(-np.inf), np.arange(10.0), r"X contains infinity \(row 3, column 2\)"),
        (
            pd.DataFrame(with_value(np.nan), columns=list("abcd")),
            np.arange(10.0),
            r"X contains NaN \(row 3, column 'c'\)",
        ),
        (sparse.csr_matrix(with_value(np.nan)), np.arange(10.0), r"X contains NaN \(row 3, column 2\)"),
        (with_value(0), np.array([*range(9), np.nan]), r"y contains NaN \(row 9\)"),
        (with_value(0), np.arange(9.0), "inconsistent numbers of samples"),
        (np.arange(10.0), np.arange(10.0), "Expected 2D array"),
        (with_value(0)[:1], [1.0], "minimum of 2 is required"),
        (
            pd.DataFrame({"price": [1.0, 2.0], "city": ["Rome", "Bonn"]}),
            [1.0, 2.0],
            "Columns 'city' of X are not numeric",
        ),
        (
            pl.DataFrame({"price": [1.0, 2.0], "city": ["Rome", "Bonn"]}),
            [1.0, 2.0],
            "Columns 'city' of X are not numeric",
        ),
    ],
    ids=["nan", "inf", "named", "sparse", "target", "length", "one-dimensional", "one row", "text", "polars text"],
)
def test_bad_tables_are_refused_by_name(X, y, message):
    model = quick()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    "changes",
    [
        {"keep_prob": 0.0}, {"keep_prob": 1.1}, {"keep_prob": "most"}, {"n_estimators": 0}, {"hidden_layer_sizes": (5, -1)},
        {"hidden_layer_sizes": (2.5,)}, {"hidden_layer_sizes": (2,) * 64}, {"max_iter": 0}, {"batch_size": 0},
        {"learning_rate_init": 0}, {"noise": "test"}, {"interval": "wide"}, {"loss": "absolute"}, {"n_folds": 1},
        {"holdout_fraction": 1.0}, {"alpha": -1}, {"max_grad_norm": 0}, {"learning_rate_schedule": "step"},
        {"noise": "train", "interval": "calibrated"},
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused_by_name(table, changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        quick(**changes).fit(*table[:2])


@pytest.mark.parametrize(
    "coverage", [0, 1, -0.1, 90, [0.5, 1.0], [], [[0.8, 0.9]], [[0.8], [0.8, 0.9]], "0.9", ["0.9"], None, np.nan]
)
def test_bad_coverage_is_refused(model, table, coverage):
    with pytest.raises(ValueError, match="coverage must lie strictly between 0 and 1"):
        model.predict_interval(table[2], coverage)


def test_a_frame_has_no_room_for_a_level_twice(model, table):
    with pytest.raises(ValueError, match="coverage holds a level twice"):
        model.predict_interval(table[2], [0.9, 0.5, 0.9], as_frame=True)


def test_targets_and_tables_that_are_no_arrays_are_refused_by_name(table):
    X, y = table[:2]
    column = sparse.csr_matrix(y[:, None])
    with pytest.raises(TypeError, match=r"y is sparse.*y\.toarray\(\)"):
        quick().fit(X, column)
    lazy = pl.DataFrame(X).lazy()
    for arguments, name in [((lazy, y), "X"), ((X, lazy), "y")]:
        with pytest.raises(TypeError, match=rf"{name} is a polars LazyFrame.*{name}\.collect\(\)"):
            quick().fit(*arguments)
    with pytest.raises(TypeError, match=r"X\.collect\(\)"):
        quick().fit(X, y).predict(lazy)


@pytest.mark.parametrize("size", [1e308, 5e-324])
def test_weights_may_be_as_large_or_small_as_numbers_are(table, size):
    X_train, y_train, X_test, _ = table
    weighted = quick().fit(X_train, y_train, sample_weight=np.full(len(y_train), size))
    np.testing.assert_array_equal(weighted.predict(X_test), quick().fit(X_train, y_train).predict(X_test))


def test_a_failed_refit_leaves_no_old_fit(table):
    model = quick().fit(*table[:2])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(with_value(np.nan), np.arange(10.0))
    with pytest.raises(NotFittedError):
        model.predict(table[2])


@pytest.mark.parametrize("step", ["noise.constant.held_out_variance", "predictor.expected_scores"])
def test_a_fit_that_fails_late_leaves_no_fit(table, monkeypatch, step):
    """Whatever goes wrong after training, Ctrl-C included, must not leave networks without noise."""

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"extranets.predictor.{step}", interrupt)
    model = quick()
    with pytest.raises(KeyboardInterrupt):
        model.fit(*table[:2])
    with pytest.raises(NotFittedError):
        model.predict(table[2])


@pytest.mark.parametrize(
    ("noise", "interval", "name"), [("cv", "calibrated", "network 0"), ("train", "paper", "network 0")]
)
def test_divergence_names_the_network(table, noise, interval, name):
    model = quick(learning_rate_init=1e35, max_restarts=0, noise=noise, interval=interval)
    with pytest.raises(ArithmeticError, match=rf"networks was not finite.*\(first: {name}\).*learning_rate_init"):
        model.fit(*table[:2])


def test_divergence_names_the_fold(table):
    """Too few rows for trials; the final networks come first among those that are trained."""
    with pytest.raises(ArithmeticError, match=r"\(first: network 0\)"):
        quick(learning_rate_init=1e35, max_restarts=0).fit(table[0][:30], table[1][:30])


def test_values_beyond_all_measure_are_refused(model, table):
    X, y = table[:2]
    with pytest.raises(ValueError, match=r"Row 1, column 2 lies 1\.\d+e\+40 standard deviations"):
        model.predict([[0, 0, 0, 0, 0], [0, 0, 1e40, 0, 0]])
    with pytest.raises(ValueError, match=r"Column 0 of X has a standard deviation of \d"):
        quick().fit(X * 1e200, y)
    with pytest.raises(ValueError, match="Column 0 of y"):
        quick().fit(X, y * 1e-170)


def test_construction_is_checked_when_it_is_used(table):
    model = quick().fit(*table[:2]).set_params(interval="bogus")
    with pytest.raises(ValueError, match=r"'interval' parameter.*must be a str among.*Got 'bogus'"):
        model.predict_interval(table[2])


def test_a_constant_output_is_no_collapse(table):
    X, y = table[:2]
    model = quick(loss="gaussian_nll", interval="paper").fit(X, np.stack([y, np.ones_like(y)], axis=1))
    assert model.restarts_.sum() == 0
    np.testing.assert_array_equal(model.predict(X)[:, 1], 1.0)


def test_constant_target_and_constant_columns():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(50, 1)), np.full((50, 1), 1e8)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = quick().fit(X, np.full(50, 42.0))
    np.testing.assert_array_equal(model.predict_interval(X), 42.0)
    np.testing.assert_array_equal(model.predict_dist(X).cdf([41.0] * 25 + [43.0] * 25), [0.0] * 25 + [1.0] * 25)


def test_a_column_that_was_constant_is_ignored_later():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(50, 1)), np.full((50, 1), 3.0)]
    model = quick().fit(X, X[:, 0])
    changed = X.copy()
    changed[:, 1] = 1e6
    np.testing.assert_array_equal(model.predict(changed), model.predict(X))


def test_two_rows_are_enough():
    model = quick().fit([[0.0], [1.0]], [0.0, 1.0])
    assert np.isfinite(model.predict_interval([[0.5]])).all()


# -- the same data -----------------------------------------------------------------------------------------------------


def test_warm_start_notices_targets_that_changed_places():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (60, 3)).astype(float), rng.integers(0, 9, 60).astype(float)
    model = quick(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="not the data"):
        model.set_params(n_estimators=10).fit(X, y[::-1])


def test_warm_start_does_not_care_how_the_same_table_is_stored(table):
    X, y, new, _ = table
    frame = pd.DataFrame(X)
    grown = quick(warm_start=True).fit(np.asfortranarray(X), y).set_params(n_estimators=10).fit(X, y)
    np.testing.assert_array_equal(grown.predict(new), quick(n_estimators=10).fit(frame.to_numpy(), y).predict(new))


def test_warm_start_does_not_mix_networks_that_saw_and_did_not_see_the_rows_held_out(table):
    model = quick(loss="gaussian_nll", noise="holdout", interval="total", warm_start=True).fit(*table[:2])
    with pytest.raises(ValueError, match="only n_estimators may change"):
        model.set_params(interval="calibrated").fit(*table[:2])


def test_gaussian_networks_stop_early_unless_told_otherwise(table):
    assert resolve(quick(loss="gaussian_nll").get_params(), 300).options().validation_fraction == 0.1
    assert (
        resolve(quick(loss="gaussian_nll", early_stopping=False).get_params(), 300).options().validation_fraction == 0
    )
    assert resolve(quick().get_params(), 300).options().validation_fraction == 0
