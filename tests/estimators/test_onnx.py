"""Exported files answer as the estimators do, to 1e-5 of the prediction plus the training target's standard deviation."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from extranets import BootstrapNetsRegressor, ExtraNetsRegressor, MCDropoutRegressor, estimators
from extranets.data import nonlinear_process
from extranets.predictor import graph_parts

pytestmark = pytest.mark.filterwarnings("ignore:J'J is near singular", "ignore:.*out-of-bag", "ignore:.*collapse_r2")


@pytest.fixture(scope="module")
def table():
    return nonlinear_process(400, random_state=1).split(250)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


def quick(cls, **changes):
    known = cls().get_params()
    parameters = {
        "n_estimators": 8,
        "max_iter": 30,
        "n_passes": 15,
        "numeric_encoding": None,
        "random_state": 0,
        **changes,
    }
    return cls(**{name: value for name, value in parameters.items() if name in known})


def two_outputs(y):
    return np.column_stack([y, 100 - 3 * y])


def session(path):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    return onnxruntime.InferenceSession(path)


def answers(path, X):
    running = session(path)
    names = [output.name for output in running.get_outputs()]
    return dict(zip(names, running.run(None, {"X": np.asarray(X, dtype=np.float64)}), strict=True))


def expected_answers(model, X, coverage):
    mean, sd = model.predict(X, return_std=True)
    out = {"mean": mean, "sd": sd}
    if np.ndim(coverage) == 0:
        bounds = model.predict_interval(X, coverage)
        return {**out, "lower": bounds[..., 0], "upper": bounds[..., 1]}
    bounds = model.predict_interval(X, coverage)
    for k, level in enumerate(coverage):
        out[f"lower_{100 * level:g}"], out[f"upper_{100 * level:g}"] = bounds[..., 0, k], bounds[..., 1, k]
    return out


def assert_same(model, path, X, y_train, coverage=0.9):
    """The requirement: |exported - ours| <= 1e-5 * (|ours| + std(y_train)), for every output of the graph."""
    model.to_onnx(path, coverage=coverage)
    found, expected = answers(path, X), expected_answers(model, X, coverage)
    assert list(found) == list(expected)
    for name, values in expected.items():
        assert found[name].shape == values.shape and found[name].dtype == np.float64, name
        finite = np.isfinite(values)
        np.testing.assert_array_equal(found[name][~finite], values[~finite])
        tolerance = np.broadcast_to(1e-5 * (np.abs(values) + np.std(y_train, axis=0)), values.shape)
        difference = np.abs(found[name][finite] - values[finite])
        assert (difference <= tolerance[finite]).all(), f"{name} differs by up to {difference.max():.3g}"


# -- every estimator ---------------------------------------------------------------------------------------------------


def test_one_output(estimator, table, path):
    X, y, new, _ = table
    assert_same(estimator.fit(X, y), path, new, y)


def test_two_outputs_and_several_levels(estimator, table, path):
    X, y, new, _ = table
    assert_same(estimator.fit(X, two_outputs(y)), path, new, two_outputs(y), coverage=[0.5, 0.8, 0.975])


@pytest.mark.parametrize("hidden", [(), (12, 9)])
def test_networks_without_a_hidden_layer_and_with_two(estimator, hidden, table, path):
    if "hidden_layer_sizes" not in estimator.get_params():
        pytest.skip("it decides on the layers itself: some kinds have none, others two")
    X, y, new, _ = table
    assert_same(estimator.set_params(hidden_layer_sizes=hidden).fit(X, y), path, new, y)


def test_conformal_intervals(estimator, table, path):
    X, y, new, truth = table
    for target, rest in ((y, truth), (two_outputs(y), two_outputs(truth))):
        model = estimator.fit(X, target).conformalize(new[:50], rest[:50])
        with pytest.warns(UserWarning, match="50 rows are too few"):
            assert_same(model, path, new, target, coverage=[0.9, 0.999])
        assert np.isinf(answers(path, new)["upper_99.9"]).all()


def test_large_offsets_and_constant_columns(estimator, table, path):
    """Differences of a millionth of a feature's value matter, and what a constant column holds later does not."""
    X, y, new, _ = table
    moved, moved_new = (np.column_stack([1e6 + 0.5 * part, np.full(len(part), 3.0)]) for part in (X, new))
    moved_new[::2, -1] = 7e8
    model = estimator.fit(moved, y)
    assert_same(model, path, moved_new, y)
    assert np.std(answers(path, moved_new)["mean"]) > 0.3 * np.std(y), "the offset has hidden the features"


def test_one_row_no_row_and_a_row_far_away(estimator, table, path):
    X, y, new, _ = table
    model = estimator.fit(X, two_outputs(y))
    for rows in (new[:1], 30 * new[:5]):
        assert_same(model, path, rows, two_outputs(y))
    assert all(values.shape == (0, 2) for values in answers(path, new[:0]).values())


def test_constant_targets(estimator, table, path):
    X, y, new, _ = table
    target = np.column_stack([y, np.full_like(y, 7.0)])
    model = estimator.fit(X, target)
    assert_same(model, path, new, target)
    assert_same(
        model.conformalize(X, target + np.array([0.0, 1.0]), tails="joint"), path, new, target
    )  # a score in units of almost nothing
    np.testing.assert_allclose(answers(path, new)["lower"][:, 1], 6.0)


def test_rows_that_predict_refuses_are_nan_in_every_output(estimator, table, path):
    X, y, new, _ = table
    constant = np.column_stack([X, np.ones(len(X))])
    estimator.fit(constant, y).to_onnx(path)
    rows = np.column_stack([new[:6], np.ones(6)])
    rows[1, 0], rows[2, -1], rows[3, 1], rows[4, 0] = np.nan, np.nan, np.inf, 1e33
    for name, values in answers(path, rows).items():
        np.testing.assert_array_equal(np.isnan(values), [False, True, True, True, True, False], err_msg=name)


def test_a_file_runs_where_the_package_is_not(estimator, table, path):
    """A process of its own, with onnxruntime alone; float32 tables need a cast."""
    X, y, new, _ = table
    model = estimator.fit(X, y)
    model.to_onnx(path)
    np.save(path.with_suffix(".npy"), new)
    program = (
        "import sys, json, numpy, onnxruntime\n"
        f"X = numpy.load({str(path.with_suffix('.npy'))!r})\n"
        f"out = onnxruntime.InferenceSession({str(path)!r}).run(['lower', 'upper'], {{'X': X}})\n"
        "assert not [name for name in sys.modules if name.startswith(('extranets', 'sklearn'))]\n"
        "print(json.dumps([part.tolist() for part in out]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(done.stdout), model.predict_interval(new).T, rtol=1e-5, atol=1e-5 * np.std(y))


def test_unfitted_estimators_say_so(estimator, path):
    with pytest.raises(NotFittedError):
        estimator.to_onnx(path)
    assert not path.exists()


# -- constructions and losses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared_error", "gaussian_nll"])
@pytest.mark.parametrize("interval", [kind.name for kind in ExtraNetsRegressor.intervals])
def test_intervals_of_extra_nets_with_strong_thinning(interval, loss, table, path):
    X, y, new, _ = table
    model = quick(ExtraNetsRegressor, interval=interval, loss=loss, keep_prob=0.2, hidden_layer_sizes=(10, 6))
    model.fit(X, two_outputs(y))
    assert len(np.unique(model.ensemble_.members.widths, axis=0)) > 3
    assert_same(model, path, new, two_outputs(y), coverage=[0.5, 0.9])


@pytest.mark.parametrize("interval", [kind.name for kind in BootstrapNetsRegressor.intervals])
def test_intervals_of_the_bootstrap(interval, table, path):
    X, y, new, _ = table
    for target in (y, two_outputs(y)):
        model = quick(BootstrapNetsRegressor, interval=interval).fit(X, target)
        assert_same(model, path, new, target, coverage=[0.5, 0.9])


def test_rows_that_every_network_drew_are_left_out(table, path):
    X, y, new, _ = table
    model = quick(BootstrapNetsRegressor, n_estimators=3, interval="jackknife+").fit(X, y)
    assert model.model_.intervals["jackknife+"].in_bag.all(axis=0).any()
    assert_same(model, path, new, y)


@pytest.mark.parametrize("interval", [kind.name for kind in MCDropoutRegressor.intervals])
def test_passes_of_dropout_with_dropped_inputs(interval, table, path):
    X, y, new, _ = table
    model = quick(
        MCDropoutRegressor,
        keep_prob=0.5,
        input_keep_prob=0.7,
        loss="gaussian_nll",
        interval=interval,
        hidden_layer_sizes=(9, 7),
    ).fit(X, y)
    assert_same(model, path, new, y)
    fewer = answers(path, new)["sd"]
    assert_same(model.set_params(n_passes=40), path, new, y)
    assert np.abs(answers(path, new)["sd"] - fewer).max() > 1e-3 * np.std(y), "n_passes should be the one of now"


@pytest.mark.parametrize(
    ("cls", "interval"),
    [(ExtraNetsRegressor, "cv+"), (BootstrapNetsRegressor, "jackknife+")],
    ids=["cv+", "jackknife+"],
)
def test_intervals_from_all_training_rows(cls, interval, table, path, monkeypatch):
    """Too few rows for a level, too many for a graph, and an interval that was set after fit."""
    X, y, new, _ = table
    model = quick(cls, interval=interval).fit(X[:20], y[:20])
    with pytest.warns(UserWarning, match="rows are too few"):
        model.to_onnx(path, coverage=0.99)
    with pytest.warns(UserWarning, match="rows are too few"):
        assert_same(model, path, new, y[:20], coverage=[0.5, 0.99])
    monkeypatch.setattr(graph_parts, "MOST_RESIDUALS", 5)
    with pytest.raises(ValueError, match="Set another interval, or call conformalize"):
        model.to_onnx(path)
    assert_same(model.conformalize(new, table[3]), path, new, y[:20])
    with pytest.raises(ValueError, match="call fit again"):
        quick(cls).fit(X, y).set_params(interval=interval).to_onnx(path)


@pytest.mark.parametrize(("cls", "interval"), [(ExtraNetsRegressor, "cv+"), (BootstrapNetsRegressor, "jackknife+")])
def test_separate_tails_of_training_rows(cls, interval, table, path):
    X, y, new, _ = table
    model = quick(cls, interval=interval).fit(X, two_outputs(y))
    joint = model.predict_interval(new)
    assert_same(model.conformalize_training_rows(), path, new, two_outputs(y), coverage=[0.5, 0.9])
    assert not np.allclose(model.predict_interval(new), joint)


def test_noise_that_was_estimated_anew(table, path):
    X, y, new, truth = table
    model = quick(ExtraNetsRegressor, interval="paper", noise_model="constant").fit(X, y)
    assert_same(model, path, new, y)
    before = answers(path, new)["sd"]
    assert_same(model.estimate_noise(new, truth + 10 * np.std(y)), path, new, y)
    assert (answers(path, new)["sd"] > 2 * before).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in estimators.__all__ if name.endswith("Regressor")])
def test_estimators_as_they_come(name, path):
    """Default sizes, 200 columns, 3,000 rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3200, 200 if name != "DeltaMethodRegressor" else 20))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(3200)
    model = getattr(estimators, name)(random_state=0).fit(X[:3000], y[:3000])
    assert_same(model, path, X[3000:], y[:3000], coverage=[0.8, 0.95])


# -- what the file says ------------------------------------------------------------------------------------------------


def test_metadata(table, path):
    X, y, *_ = table
    names = [f"feature {k}" for k in range(X.shape[1])]
    quick(ExtraNetsRegressor).fit(pd.DataFrame(X, columns=names), two_outputs(y)).to_onnx(path, coverage=[0.8, 0.95])
    facts = session(path).get_modelmeta().custom_metadata_map
    assert facts["estimator"] == "ExtraNetsRegressor" and facts["interval"] == "calibrated"
    assert facts["extranets_version"] == version("extranets")
    assert json.loads(facts["feature_names"]) == names
    assert json.loads(facts["target_shape"]) == ["n", 2] and json.loads(facts["coverage"]) == [0.8, 0.95]


def test_inputs_and_outputs_are_declared(table, path):
    X, y, *_ = table
    model = quick(ExtraNetsRegressor).fit(X, y)
    model.to_onnx(str(path), coverage=[0.9])
    running = session(path)
    (x,) = running.get_inputs()
    assert (x.name, x.type, x.shape) == ("X", "tensor(double)", ["n", X.shape[1]])
    assert [o.name for o in running.get_outputs()] == ["mean", "sd", "lower_90", "upper_90"]
    assert all(o.type == "tensor(double)" and o.shape == ["n"] for o in running.get_outputs())
    assert json.loads(running.get_modelmeta().custom_metadata_map["feature_names"]) is None


def test_bad_levels_are_refused(table, path):
    model = quick(ExtraNetsRegressor).fit(*table[:2])
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        model.to_onnx(path, coverage=90)
    with pytest.raises(ValueError, match="a level twice"):
        model.to_onnx(path, coverage=[0.9, 0.5, 0.9])
    assert not path.exists()


def test_the_same_model_makes_the_same_file(table, path):
    X, y, *_ = table
    model = quick(ExtraNetsRegressor).fit(X, y)
    model.to_onnx(path)
    first = path.read_bytes()
    model.to_onnx(path)
    assert path.read_bytes() == first
