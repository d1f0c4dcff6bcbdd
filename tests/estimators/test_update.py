"""Intervals that follow the errors of rows in order."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import extranets
from extranets import ExtraNetsRegressor, StackedNetsRegressor
from extranets.tables import TableRegressor
from extranets.uncertainty.online import COVERAGES, STEP, TAILS, follow

EXTRA = ExtraNetsRegressor(4, max_iter=30, numeric_encoding=None, hidden_layer_sizes=(16,), n_jobs=1, random_state=0)
STACK = StackedNetsRegressor(effort="low", n_folds=3, n_jobs=1, random_state=0)
MAIN = [EXTRA, STACK]


def named(estimator):
    return type(estimator).__name__


def drifting(n, seed=0, n_outputs=None):
    """The level and the noise grow after row 200."""
    random = np.random.default_rng(seed)
    later = np.maximum(np.arange(n) - 200, 0) / 1000
    X = random.normal(size=(n, 2))
    y = X[:, 0] + later + 0.3 * (1 + later) * random.normal(size=n)
    return X, y if n_outputs is None else np.column_stack([y, -2 * y])


@pytest.fixture(scope="module", params=MAIN, ids=named)
def fitted(request):
    X, y = drifting(200)
    return clone(request.param).fit(X, y)


def again(model, tmp_path):
    """A copy of a fitted model."""
    model.save(tmp_path / "model.xnet")
    return extranets.load(tmp_path / "model.xnet")


def covered(model, X, y, level=0.9):
    lower, upper = model.predict_interval(X, level).T
    return (lower <= y) & (y <= upper)


def test_long_run_coverage_on_a_drifting_series(fitted, tmp_path):
    """Blocks of ten. The bound for errors of up to 10 standard deviations, arcsinh(10) = 3: tails of 5 % are missed by
    (2 * 3 + 0.3) / (0.3 * 150) = 14 % at most; here by far less."""
    X, y = drifting(1700)
    model, before = again(fitted, tmp_path), covered(fitted, X[200:], y[200:]).mean()
    hits = []
    for begin in range(200, 1700, 10):
        rows = slice(begin, begin + 10)
        hits.append(covered(model, X[rows], y[rows]).mean())
        model.update(X[rows], y[rows])
    assert before < 0.7 and abs(np.mean(hits) - 0.9) < 0.05
    assert model.model_.adaptive.n_rows == 1500


def test_thresholds_are_those_of_the_errors_in_order(fitted, tmp_path):
    X, y = drifting(400)
    model = again(fitted, tmp_path)
    mean, std = model.predict(X[200:], return_std=True)
    at = TAILS
    first = np.stack([-model.distribution_.multiples(at), model.distribution_.multiples(1 - at)])
    below, above = np.sinh(follow(np.arcsinh(first), ((y[200:] - mean) / std)[:, None])[:, 0])
    model.update(X[200:], y[200:])
    bounds = model.predict_interval(X[200:], COVERAGES.tolist())
    np.testing.assert_allclose(bounds[:, 0], mean[:, None] - std[:, None] * np.maximum.accumulate(below))
    np.testing.assert_allclose(bounds[:, 1], mean[:, None] + std[:, None] * np.maximum.accumulate(above))


def test_a_file_keeps_where_updates_were(fitted, tmp_path):
    X, y = drifting(300)
    one, two = (again(fitted, tmp_path).update(X[200:230], y[200:230]) for _ in range(2))
    two = again(two, tmp_path)
    for model in (one, two):
        model.update(X[230:], y[230:])
    np.testing.assert_array_equal(one.predict_interval(X, [0.3, 0.95]), two.predict_interval(X, [0.3, 0.95]))
    assert two.model_.adaptive.n_rows == 100


def test_without_rows_outside_the_range_nothing_else_changes(fitted, tmp_path):
    X, y = drifting(300)
    model = again(fitted, tmp_path).update(X[200:], y[200:])
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(model.predict_var(X), fitted.predict_var(X))
    np.testing.assert_array_equal(model.predict_quantiles(X), fitted.predict_quantiles(X))
    assert not np.array_equal(model.predict_interval(X), fitted.predict_interval(X))


def test_intervals_are_nested_and_start_as_they_were(fitted, tmp_path):
    """One row moves the arcsinh of a bound by 0.03 at most: d sinh(u) = cosh(u) du, and cosh is 4 for bounds of 99 %."""
    X, y = drifting(300)
    levels = [0.01, 0.05, 0.1, 0.33, 0.5, 0.85, 0.9, 0.97, 0.99, 0.999]
    model = again(fitted, tmp_path).update(X[:1], y[:1])
    before, after = fitted.predict_interval(X, levels), model.predict_interval(X, levels)
    # Between the coverages that are followed, bounds are those of a distribution that is Normal from one to the next.
    std = np.sqrt(fitted.predict_var(X))[:, None, None]
    assert (np.abs(after - before) <= (4 * STEP + 0.02) * std).all()
    assert (np.diff(after[:, 0], axis=1) <= 0).all() and (np.diff(after[:, 1], axis=1) >= 0).all()


@pytest.mark.parametrize("estimator", MAIN, ids=named)
def test_every_output_follows_its_own_errors(estimator, tmp_path):
    X, y = drifting(400, n_outputs=2)
    model = clone(estimator).fit(X[:200], y[:200]).update(X[200:], y[200:])
    assert model.model_.adaptive.thresholds.shape == (2, 2, len(COVERAGES))
    upper, lower = model.model_.adaptive.thresholds[::-1, 0]
    assert upper[8] > lower[8]  # the first output rises
    upper, lower = model.model_.adaptive.thresholds[::-1, 1]
    assert upper[8] < lower[8]
    bounds = model.predict_interval(X, [0.5, 0.9])
    assert bounds.shape == (400, 2, 2, 2)
    np.testing.assert_array_equal(again(model, tmp_path).predict_interval(X, [0.5, 0.9]), bounds)


def test_fit_conformalize_and_estimate_noise_forget_it(fitted, tmp_path):
    X, y = drifting(400)
    for step in ("fit", "conformalize", "estimate_noise"):
        model = again(fitted, tmp_path).update(X[200:300], y[200:300])
        assert getattr(model, step)(X[300:], y[300:]).model_.adaptive is None
    model = again(fitted, tmp_path).conformalize(X[200:300], y[200:300]).update(X[300:], y[300:])
    assert model.model_.conformal is None


def test_another_interval_is_refused_after_it(fitted, tmp_path):
    X, y = drifting(300)
    model = again(fitted, tmp_path).update(X[200:], y[200:]).set_params(interval="total")
    for use in (lambda: model.predict_interval(X), lambda: model.update(X[200:], y[200:])):
        with pytest.raises(
            ValueError, match="update was called with interval='calibrated', and interval is 'total' now"
        ):
            use()
    model.set_params(interval="calibrated").predict_interval(X)


def test_intervals_without_standard_deviations_cannot_follow():
    X, y = drifting(300)
    model = clone(EXTRA).set_params(interval="cv+").fit(X[:200], y[:200])
    with pytest.raises(ValueError, match="interval='cv\\+' are not; choose another"):
        model.update(X[200:], y[200:])


def test_bad_rows_are_refused_and_change_nothing(fitted, tmp_path):
    X, y = drifting(300)
    model = again(fitted, tmp_path)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.update(X[200:], np.full(100, np.nan))
    with pytest.raises(ValueError, match="2 outputs, but the networks were fitted to 1"):
        model.update(X[200:], np.zeros((100, 2)))
    assert model.model_.adaptive is None
    with pytest.raises(NotFittedError):
        clone(EXTRA).update(X, y)


def test_onnx(fitted, tmp_path):
    import onnxruntime

    X, y = drifting(300)
    model = again(fitted, tmp_path).update(X[200:], y[200:])
    model.to_onnx(tmp_path / "model.onnx", coverage=[0.5, 0.9, 0.999])
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    bounds = model.predict_interval(X, [0.5, 0.9, 0.999])
    for k, level in enumerate(("50", "90", "99.9")):
        lower, upper = session.run([f"lower_{level}", f"upper_{level}"], {"X": X})
        np.testing.assert_allclose(np.column_stack([lower, upper]), bounds[..., k], rtol=1e-4, atol=1e-4)
    assert session.get_modelmeta().custom_metadata_map["interval"] == "adaptive"


def test_tables(tmp_path):
    import pandas

    X, y = drifting(400)
    table = pandas.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "yes", "no")})
    model = TableRegressor(clone(EXTRA)).fit(table[:200], y[:200])
    before = covered(model, table[300:], y[300:]).mean()
    model.update(table[200:300], y[200:300])
    assert covered(model, table[300:], y[300:]).mean() > before
    bounds = model.predict_interval(table)
    np.testing.assert_array_equal(again(model, tmp_path).predict_interval(table), bounds)
