"""Noise that depends on x."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

import extranets
from extranets import ExtraNetsRegressor, metrics
from extranets.predictor.noise.networks import MOST_SLOPE, TAIL_DOF, NoiseModel, _slope
from extranets.uncertainty.components import HeldOut

CPU = {"device": "cpu", "n_threads": 1}


def rows(n, seed):
    """A smooth mean, and noise whose sd goes from 0.1 to 0.9 with the second column."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, 3))
    sd = 0.5 + 0.4 * X[:, 1]
    return X, X[:, 0] + sd * random.normal(size=n), sd


def quick(**changes):
    usual = {"n_estimators": 8, "max_iter": 40, "random_state": 0, "alpha": 0.1, "noise_model": "networks"}
    return ExtraNetsRegressor(**{**usual, **changes})


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = rows(1500, 0)
    return quick().fit(X, y)


def test_the_noise_follows_x(fitted):
    """The true sd has a range of 0.8; the predicted one must have most of it, and lie near the truth on average."""
    X, _, sd = rows(2000, 1)
    predicted = np.sqrt(fitted.predict_components(X).aleatoric)
    assert np.corrcoef(predicted, sd)[0, 1] > 0.9
    assert np.mean(np.abs(predicted - sd)) < 0.1
    assert np.ptp(predicted) > 0.5


def test_coverage_is_more_even_and_intervals_are_better_than_with_constant_noise(fitted):
    """Coverage in fifths of 800 rows by the true sd. Four standard errors of a share of 0.9 are 0.042."""
    X, y, sd = rows(4000, 2)
    constant = quick(noise_model="constant").fit(*rows(1500, 0)[:2])
    np.testing.assert_array_equal(constant.predict(X), fitted.predict(X))  # the mean does not change
    off, score = {}, {}
    for name, model in (("adaptive", fitted), ("constant", constant)):
        lower, upper = model.predict_interval(X, 0.9).T
        inside = ((lower <= y) & (y <= upper))[np.argsort(sd)].reshape(5, 800).mean(axis=1)
        off[name], score[name] = np.abs(inside - 0.9).max(), metrics.interval_score(y, lower, upper, 0.9)
    assert off["adaptive"] < off["constant"] - 0.042
    assert score["adaptive"] < 0.95 * score["constant"]


def test_where_noise_is_constant_the_model_shrinks_to_it():
    random = np.random.default_rng(3)
    X = random.uniform(-1, 1, size=(1000, 3))
    held = HeldOut(random.normal(size=(1000, 1)), np.zeros((1000, 1)), np.ones((1000, 1)), np.ones(1000), 10)
    model, unseen = NoiseModel.fit(held, X.astype(np.float32), 0, CPU)
    # The slope's standard error is about one over the root of the rows in units of its noise; it is cut at zero.
    assert np.std(np.log(unseen)) < 0.25
    assert np.mean(held.residual**2 / unseen) == pytest.approx(1.0)
    np.testing.assert_allclose(model(X.astype(np.float32), CPU), unseen, rtol=0.5)


def test_noise_of_a_row_comes_from_networks_that_did_not_see_it():
    """Far more columns than rows can support: predictions of seen rows would explain noise; those of unseen rows do not."""
    random = np.random.default_rng(4)
    X = random.normal(size=(150, 60)).astype(np.float32)
    held = HeldOut(random.normal(size=(150, 1)), np.zeros((150, 1)), np.ones((150, 1)), np.ones(150), 10)
    _, unseen = NoiseModel.fit(held, X, 0, CPU)
    logs = np.log(held.residual**2 + 0.01)
    assert abs(np.corrcoef(np.log(unseen[:, 0]), logs[:, 0])[0, 1]) < 0.35


def test_weights_count():
    """The noise of half of the rows grows with x, that of the others falls. Who has the weight decides."""
    random = np.random.default_rng(5)
    X = random.uniform(-1, 1, size=(1600, 2)).astype(np.float32)
    grows = np.arange(1600) % 2 == 0
    residual = random.normal(size=(1600, 1)) * np.exp(np.where(grows[:, None], 2, -1) * X[:, :1])
    for heavy, sign in ((grows, 1), (~grows, -1)):
        weight = np.where(heavy, 1.0, 1e-6)
        unseen = NoiseModel.fit(HeldOut(residual, 0 * residual, np.ones((1600, 1)), weight, 10), X, 0, CPU)[1]
        assert sign * np.corrcoef(np.log(unseen[:, 0]), X[:, 0])[0, 1] > 0.8
        assert np.average(residual[:, 0] ** 2 / unseen[:, 0], weights=weight) == pytest.approx(1.0)


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0, 1.6, 3.0])
def test_the_slope_of_predicted_logarithms_is_found_from_errors(slope):
    """Errors are Student's t with log(scale^2) = slope * logs: within four standard errors, or at the end of the range.

    The Fisher information about log(scale^2) is nu / (2 (nu + 3)) for each error.
    """
    random = np.random.default_rng(6)
    n = 4000
    logs = random.normal(size=n)
    squares = 7.0 * np.exp(slope * logs) * random.standard_t(TAIL_DOF, n) ** 2
    gradient = np.stack([np.ones(n), logs])
    error = np.sqrt(np.linalg.inv(TAIL_DOF / (2 * (TAIL_DOF + 3)) * gradient @ gradient.T)[1, 1])
    assert abs(_slope(logs, squares, np.ones(n)) - min(slope, MOST_SLOPE)) < 4 * error
    half = np.arange(n) < n // 2
    weighted = _slope(logs, np.where(half, squares, 1.0), np.where(half, 1.0, 1e-9))
    assert abs(weighted - _slope(logs[half], squares[half], np.ones(n // 2))) < 1e-3


def test_one_error_does_not_rule_the_slope():
    random = np.random.default_rng(7)
    logs, squares = random.normal(size=1000), random.normal(size=1000) ** 2
    without = _slope(logs, squares, np.ones(1000))
    squares[np.argmax(logs)] = 1e4
    assert without < 0.2 and _slope(logs, squares, np.ones(1000)) < 0.3


def test_no_errors_have_no_slope():
    assert _slope(np.arange(5.0), np.zeros(5), np.ones(5)) == 0


def test_patterns_that_networks_see_in_pure_noise_are_shrunk():
    random = np.random.default_rng(6)
    X = random.normal(size=(120, 40)).astype(np.float32)  # so many columns that networks see something in anything
    residual = random.normal(size=(120, 1))
    model, _ = NoiseModel.fit(HeldOut(residual, 0 * residual, np.ones((120, 1)), np.ones(120), 10), X, 0, CPU)
    logs = np.log(residual**2 + 0.01)
    assert model.slope[0] < 0.5 * logs.std()


@pytest.mark.parametrize("strength", [0.5, 1.0])
def test_strong_differences_in_noise_are_followed(strength):
    """Noise whose sd goes over a factor of up to 55. Coverage in quarters of 2,000 rows by x, at 90 %.

    Four standard errors of a share are 0.027; the model of the noise, learned from 1,000 rows, may be as far off again.
    """
    random = np.random.default_rng(8)
    X = random.uniform(-2, 2, size=(9000, 2))
    y = np.sin(2 * X[:, 1]) + 0.3 * np.exp(strength * X[:, 0]) * random.normal(size=9000)
    model = ExtraNetsRegressor(random_state=0, numeric_encoding=None).fit(X[:1000], y[:1000])
    lower, upper = model.predict_interval(X[1000:], 0.9).T
    inside = (lower <= y[1000:]) & (y[1000:] <= upper)
    quarters = inside[np.argsort(X[1000:, 0])].reshape(4, 2000).mean(axis=1)
    np.testing.assert_allclose(quarters, 0.9, atol=0.054)


def test_there_is_no_single_noise_variance():
    X, y, _ = rows(150, 0)
    assert quick(interval="total").fit(X, y).noise_variance_ is None
    assert quick(noise_model="constant").fit(X, y).noise_variance_ > 0


@pytest.mark.parametrize(("n", "changes"), [(99, {}), (150, {"noise": "holdout"})])
def test_too_few_rows_are_refused(n, changes):
    X, y, _ = rows(n, 0)
    with pytest.raises(ValueError, match=r"needs at least 100 held-out rows, and of .* rows fewer"):
        quick(**changes).fit(X, y)


@pytest.mark.parametrize("changes", [{"noise": "train", "interval": "paper"}, {"loss": "gaussian_nll"}])
def test_networks_of_the_noise_need_held_out_rows_and_squared_errors(changes):
    X, y, _ = rows(150, 0)
    with pytest.raises(ValueError, match="noise_model='networks' needs errors"):
        quick(**changes).fit(X, y)


def test_several_outputs_of_which_one_is_constant():
    X, y, sd = rows(600, 0)
    Y = np.stack([y, -y * 5, np.ones(600)], axis=1)
    parts = quick().fit(X, Y).predict_components(X)
    assert (parts.aleatoric[:, 2] == 0).all() and np.isfinite(parts.aleatoric).all()
    assert np.corrcoef(parts.aleatoric[:, 1], sd)[0, 1] > 0.5


def test_threads_and_files_change_no_bit_of_the_noise(fitted, tmp_path):
    X = rows(300, 6)[0]
    for n_jobs in (1, 2):
        again = quick(n_jobs=n_jobs).fit(*rows(1500, 0)[:2])
        np.testing.assert_array_equal(again.predict_interval(X), fitted.predict_interval(X))
    fitted.save(tmp_path / "m.xnet")
    np.testing.assert_array_equal(extranets.load(tmp_path / "m.xnet").predict_interval(X), fitted.predict_interval(X))


def test_far_away_rows_have_finite_noise(fitted):
    far = fitted.predict_components(np.full((3, 3), 1e6))
    assert np.isfinite(far.aleatoric).all() and (far.aleatoric > 0).all()


def test_other_rows_calibrate_the_noise_anew(fitted):
    again = quick().fit(*rows(1500, 0)[:2])
    before = again.calibration_
    assert (again.estimate_noise(*rows(500, 7)[:2]).calibration_ != before).any()
    with pytest.raises(ValueError, match="noise_model='constant'"):
        again.set_params(interval="total").estimate_noise(*rows(500, 7)[:2])


def test_a_graph_predicts_the_same_noise(fitted, tmp_path):
    X = rows(300, 8)[0]
    fitted.to_onnx(tmp_path / "m.onnx")
    sd = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(["sd"], {"X": X})[0]
    np.testing.assert_allclose(sd, fitted.predict(X, return_std=True)[1], rtol=1e-5)


@pytest.mark.parametrize("far", [-100.0, 100.0])
def test_far_from_the_training_rows_noise_stays_in_their_range(far):
    """The logarithm is a straight line out there: its exponential must not vanish or explode."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (300, 2))
    y = X[:, 1] + random.standard_normal(300) * np.exp(-1.5 * X[:, 0])
    model = quick(interval="total").fit(X, y)
    noise = model.predict_components(X).aleatoric
    there = model.predict_components([[far, 0.0]]).aleatoric
    assert 0.3 * noise.min() <= there[0] <= 3 * noise.max()
