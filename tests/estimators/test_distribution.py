"""Student's t as predictive distribution of ExtraNetsRegressor, and the scores that it expects on new rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

from extranets import ExtraNetsRegressor
from extranets._random import draw_seed
from extranets.held_out import hold_out
from extranets.metrics import interval_score
from extranets.predictor.distributions.student import FEWEST_ROWS


def quick(**changes):
    settings = {"hidden_layer_sizes": (20,), "learning_rate_init": 0.01, "max_iter": 30, "numeric_encoding": None}
    usual = {"n_estimators": 6, "random_state": 0, "distribution": "student"}
    return ExtraNetsRegressor(**{**usual, **settings, **changes})


def heavy(n, dof=3.0, seed=0):
    """A linear signal and noise with heavy tails."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] - X[:, 1] + rng.standard_t(dof, size=n)


@pytest.fixture(scope="module")
def table():
    X, y = heavy(500)
    return X[:400], y[:400], X[400:], y[400:]


@pytest.fixture(scope="module")
def model(table):
    return quick().fit(*table[:2])


# -- Student's t -------------------------------------------------------------------------------------------------------


def test_all_answers_are_of_one_distribution(model, table):
    X = table[2]
    dof = model.degrees_of_freedom_
    mean, std = model.predict(X, return_std=True)
    assert type(dof) is float and 2 < dof < 10
    expected = stats.t(dof, mean, std * np.sqrt((dof - 2) / dof))
    found = model.predict_dist(X)
    np.testing.assert_allclose([found.mean(), found.std()], [mean, std])
    np.testing.assert_allclose(found.logpdf(mean + 1), expected.logpdf(mean + 1))
    np.testing.assert_allclose(model.predict_interval(X, 0.99).T, expected.interval(0.99))
    np.testing.assert_allclose(model.predict_quantiles(X, 0.1), expected.ppf(0.1))
    levels = expected.cdf(model.sample_y(X, 50, random_state=0).T)
    assert stats.kstest(levels.ravel(), "uniform").pvalue > 0.001


def test_the_distribution_can_be_normal(table):
    X_train, y_train, X, _ = table
    normal, student = quick(distribution="normal").fit(X_train, y_train), quick().fit(X_train, y_train)
    assert normal.degrees_of_freedom_ is None and normal.predict_dist(X).dist.name == "norm"
    np.testing.assert_array_equal(normal.predict(X, return_std=True), student.predict(X, return_std=True))


@pytest.mark.parametrize("loss", ["squared_error", "gaussian_nll"])
def test_few_held_out_rows_widen_intervals_because_the_noise_is_uncertain(table, loss):
    """As with a sample of so many rows from a Normal distribution: t quantiles of the standard deviation that was fitted."""
    X, y = table[:2]
    n = FEWEST_ROWS - 1
    settings = {"loss": loss, "noise_model": "auto", "distance_factor": 0}  # a variance that is added is not uncertain
    few, plain = (quick(distribution=d, **settings).fit(X[:n], y[:n]) for d in ("student", "normal"))
    assert few.degrees_of_freedom_ == n - 2
    ratio = np.diff(few.predict_interval(X, 0.9)) / np.diff(plain.predict_interval(X, 0.9))
    np.testing.assert_allclose(ratio, stats.t(n - 2).ppf(0.95) / stats.norm.ppf(0.95))
    assert quick(noise="holdout").fit(X, y).degrees_of_freedom_ == 78  # 80 rows
    assert quick().fit(X[:4], y[:4]).degrees_of_freedom_ == 3


@pytest.mark.parametrize("interval", ["total", "calibrated"])
def test_few_held_out_rows_widen_every_interval(table, interval):
    """Networks that predict the noise, 80 rows held out: the variance of a t with 78 degrees of freedom, 78/76 as large."""
    X, y = table[:2]
    models = [quick(loss="gaussian_nll", noise="holdout", distribution=d).fit(X, y) for d in ("student", "normal")]
    student, normal = (model.set_params(interval=interval).predict_components(X).aleatoric for model in models)
    np.testing.assert_allclose(student / normal, 78 / 76)


def test_with_few_rows_half_of_the_variance_is_constant(table):
    """Six errors can be in line with the spread by chance; half of the variance stays constant."""
    X, y = table[:2]
    for start in range(0, 60, 6):
        model = quick(distribution="normal", noise_model="auto").fit(X[start : start + 6], y[start : start + 6])
        assert model.calibration_[1] * model.noise_variance_ > 0.2 * model.held_out_scores_["rmse"] ** 2


def test_the_distribution_may_be_set_after_fit(table):
    X, y = table[:2]
    model = quick().fit(X, y)
    wide = model.predict_interval(X, 0.99)
    model.set_params(distribution="normal")
    assert model.degrees_of_freedom_ is None
    np.testing.assert_allclose(
        model.predict_interval(X, 0.99), quick(distribution="normal").fit(X, y).predict_interval(X, 0.99)
    )
    np.testing.assert_array_equal(model.set_params(distribution="student").predict_interval(X, 0.99), wide)


def test_normal_without_rows_held_out(table):
    model = quick(noise="train", interval="paper", hidden_layer_sizes=(4,)).fit(*table[:2])
    assert model.degrees_of_freedom_ is None and model.held_out_scores_ is None


def test_each_output_has_tails_of_its_own():
    """1 / dof of 800 errors has a standard error near 0.04, and networks blur it; 1/3 against 0."""
    rng = np.random.default_rng(1)
    X, y = heavy(800)
    Y = np.column_stack([y, X[:, 0] + rng.normal(size=800), np.full(800, 7.0)])
    found = quick().fit(X, Y)
    dof = found.degrees_of_freedom_
    assert dof.shape == (3,) and dof[0] < 5 < 12 < dof[1]
    assert found.predict_interval(X[:4], [0.5, 0.9]).shape == (4, 3, 2, 2)
    np.testing.assert_allclose(found.predict_interval(X[:4])[:, 2], 7.0)


def test_the_interval_may_be_changed_after_fit(table):
    X_train, y_train, X, _ = table
    changed = quick(interval="total").fit(X_train, y_train).set_params(interval="calibrated")
    np.testing.assert_array_equal(changed.predict_interval(X), quick().fit(X_train, y_train).predict_interval(X))


def test_weights_count_in_the_tails():
    """Only rows of the Normal half count, but for a little."""
    X, y = heavy(1200)
    calm = np.arange(1200) % 2 == 0
    y = np.where(calm, X[:, 0] + np.random.default_rng(1).normal(size=1200), y)
    plain = quick(noise_model="constant")
    assert plain.fit(X, y).degrees_of_freedom_ < 6
    assert plain.fit(X, y, sample_weight=np.where(calm, 1.0, 1e-4)).degrees_of_freedom_ > 12


def test_estimate_noise_fits_tails_anew(model, table):
    again = pickle.loads(pickle.dumps(model))
    X, before = np.random.default_rng(3).normal(size=(200, 3)), again.degrees_of_freedom_
    again.estimate_noise(X, again.predict(X) + stats.norm.ppf((np.arange(200) + 0.5) / 200))
    assert again.degrees_of_freedom_ > 20 > before
    assert again.held_out_scores_["rmse"] == pytest.approx(1.0, abs=0.02)
    few = pickle.loads(pickle.dumps(model)).estimate_noise(table[2][:50], table[3][:50])
    assert few.degrees_of_freedom_ == 48


def covered(model, X, y, levels):
    lower, upper = model.predict_interval(X, levels).transpose(1, 2, 0)
    return np.mean((lower <= y) & (y <= upper), axis=1)


LEVELS = [0.5, 0.9, 0.99]


def test_heavy_tails_are_covered_at_every_level():
    """Noise with 3 degrees of freedom, 600 rows, 3,000 test rows each, mean of four tables.

    Over 20 other tables coverage had a standard deviation of 0.023, 0.014 and 0.0044; three standard errors of a mean of four.
    """
    student, normal = [], []
    for seed in range(4):
        X, y = heavy(3600, seed=seed)
        for found, distribution in ((student, "student"), (normal, "normal")):
            model = quick(distribution=distribution, random_state=seed).fit(X[:600], y[:600])
            found.append(covered(model, X[600:], y[600:], LEVELS))
    np.testing.assert_array_less(np.abs(np.mean(student, axis=0) - LEVELS), 1.5 * np.array([0.023, 0.014, 0.0044]))
    assert np.mean(normal, axis=0)[0] > 0.5 + 1.5 * 0.023  # too wide in the middle
    assert np.mean(normal, axis=0)[2] < np.mean(student, axis=0)[2]  # and too narrow outside


# -- what is expected on new rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", ["calibrated", "paper", "total"])
def test_held_out_scores_are_those_of_new_rows(interval):
    """Noise of sd 0.5 in 1,000 rows: an RMSE has a standard error of 2.2 %, an interval score (with sd of one row's score as
    large as its mean) of 3.2 %, a coverage of 0.01. Three of those."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(11_000, 3))
    y = 10 * (X[:, 0] + np.sin(X[:, 1]) + 0.5 * rng.normal(size=11_000))
    model = quick(interval=interval, n_estimators=8).fit(X[:1000], y[:1000])
    found = model.held_out_scores_
    X, y = X[1000:], y[1000:]
    lower, upper = model.predict_interval(X, 0.9).T
    assert set(found) == {"rmse", "interval_score", "coverage"}
    assert all(type(value) is float for value in found.values())
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((model.predict(X) - y) ** 2)), rel=0.066)
    assert found["interval_score"] == pytest.approx(interval_score(y, lower, upper, 0.9), rel=0.096)
    assert found["coverage"] == pytest.approx(np.mean((lower <= y) & (y <= upper)), abs=0.03)


@pytest.mark.parametrize("interval", ["calibrated", "paper", "total"])
def test_held_out_scores_by_hand(table, interval):
    """A hold-out, which the final networks did not see: their own intervals on these very rows."""
    X, y = table[:2]
    model = quick(noise="holdout", holdout_fraction=0.3, noise_model="constant", interval=interval).fit(X, y)
    held = hold_out(400, 0.3, draw_seed(0)).fold_of_row == 0
    X, y = X[held], y[held]
    lower, upper = model.predict_interval(X, 0.9).T
    expected = {
        "rmse": np.sqrt(np.mean((model.predict(X) - y) ** 2)),
        "interval_score": interval_score(y, lower, upper, 0.9),
        "coverage": np.mean((lower <= y) & (y <= upper)),
    }
    assert model.degrees_of_freedom_ is not None
    assert model.held_out_scores_ == pytest.approx(expected, rel=1e-5)


def test_held_out_scores_of_several_outputs(table):
    X, y = table[:2]
    found = quick().fit(X, np.column_stack([y, 100 * y, np.full(400, 2.0)])).held_out_scores_
    assert all(values.shape == (3,) for values in found.values())
    assert found["rmse"][1] > 50 * found["rmse"][0] > 0
    assert found["rmse"][2] == found["interval_score"][2] == 0 and found["coverage"][2] == 1


def test_held_out_scores_without_rows_held_out(table):
    model = quick(noise="train", interval="paper", hidden_layer_sizes=(4,)).fit(*table[:2])
    assert model.held_out_scores_ is None
    with pytest.raises(AttributeError):
        _ = quick().held_out_scores_
    assert quick(noise="holdout").fit(*table[:2]).held_out_scores_["rmse"] > 0
