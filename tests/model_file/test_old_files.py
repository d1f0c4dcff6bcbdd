"""Files from before fits made a `Predictor`, after they are loaded: everything that today's models can do goes on from there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import extranets
from extranets.estimators import trials
from extranets.model_file import read_info
from tests.estimators.stored_answers import cases
from tests.estimators.test_stored_answers import FILES, assert_same
from tests.model_file.forging import drop, put, put_together, take_apart
from tests.model_file.write_samples import OLD

pytestmark = pytest.mark.filterwarnings("ignore:.*too few to promise", "ignore:.*out-of-bag", "ignore:.*out of the bag")


@pytest.fixture(autouse=True)
def learning_curve_of_those_versions(monkeypatch):
    """Fresh fits beside the files lower held-out errors as these did."""
    monkeypatch.setattr(trials, "DAMPING", 0.8)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.xnet"


def loaded(name, path):
    path.write_bytes(FILES[name])
    return extranets.load(path)


def assert_alike(name, one, two):
    """All that two models say, to the bit where the file was written on this machine."""
    assert_same(cases.answers(name, one), cases.answers(name, two))


@pytest.mark.parametrize("name", FILES)
def test_they_are_saved_as_files_of_today(name, path):
    model = loaded(name, path)
    model.save(path)
    again = extranets.load(path)
    assert "model" in take_apart(path.read_bytes()).stored
    found, expected = cases.answers(name, again), cases.answers(name, model)
    assert found.keys() == expected.keys()
    for what, values in expected.items():
        np.testing.assert_array_equal(found[what], values, err_msg=what)
    np.testing.assert_equal(again.get_params(), model.get_params())


def test_the_parameter_that_has_another_name_now(path):
    for name in ("extra_calibrated", "mean_variance"):
        stored = take_apart(FILES[name]).get("parameters")
        assert "n_restarts" in dict(stored["dict"]) and loaded(name, path).n_starts == 1
    parts = take_apart(FILES["deep_ensemble"])
    put("parameters.n_restarts", 3)(parts)
    path.write_bytes(put_together(parts))
    model = extranets.load(path)
    assert model.n_starts == 3 and "n_restarts" not in model.get_params()
    model.save(path)
    assert extranets.load(path).n_starts == 3 and read_info(path)["parameters"]["n_starts"] == 3
    drop("parameters.n_restarts")(parts)
    path.write_bytes(put_together(parts))
    assert extranets.load(path).n_starts == 1


def skip_if_this_is_another_table(model, X, y, weight):
    """NumPy's exponentials and sines differ in their last bits between machines, and a warm start asks for the same bits."""
    fitted = type(model)(**model.get_params() | {"warm_start": False, "n_estimators": 2, "max_iter": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(X, y, weight)
    if fitted._networks.recipe.data != model._networks.recipe.data:
        pytest.skip("the table of the stored files differs here in last bits")


@pytest.mark.parametrize(
    "name",
    ["extra_calibrated", "extra_constant_noise", "extra_nll", "extra_weighted_holdout", "bootstrap_warm", "bootstrap_encoded",
     "deep_ensemble_warm", "deep_ensemble_adversarial", "deep_ensemble_two_outputs"],
)  # fmt: skip
def test_warm_starts_go_on(name, path):
    X, y, weight, *_ = cases.table(name)
    model = loaded(name, path)
    skip_if_this_is_another_table(model, X, y, weight)
    n, first = model.n_estimators, model.ensemble_.parameters.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows and short trainings
        model.set_params(warm_start=True, n_estimators=n + 2).fit(X, y, weight)
        whole = type(model)(**model.get_params() | {"warm_start": False}).fit(X, y, weight)
    np.testing.assert_array_equal(model.ensemble_.parameters[: len(first)], first)
    assert_alike(name, model, whole)
    with pytest.raises(ValueError, match="only n_estimators may change"):
        model.set_params(alpha=0.01, n_estimators=n + 3).fit(X, y, weight)


@pytest.mark.parametrize(
    ("name", "changed"), [("extra_nll", "keep_prob"), ("deep_ensemble_warm", "adversarial_epsilon")]
)
def test_a_parameter_that_changed_before_saving_is_no_part_of_the_fit(name, changed, path):
    parts = take_apart(FILES[name])
    put(f"parameters.{changed}", 0.5)(parts)
    path.write_bytes(put_together(parts))
    model = extranets.load(path)
    X, y, weight, *_ = cases.table(name)
    with pytest.raises(ValueError, match="only n_estimators may change"):
        model.set_params(warm_start=True, n_estimators=model.n_estimators + 1).fit(X, y, weight)


@pytest.mark.parametrize(
    ("name", "intervals"),
    [
        ("extra_calibrated", ["paper", "total"]),
        ("extra_interval_total", ["paper", "calibrated"]),
        ("extra_nll_calibrated", ["paper", "total"]),
        ("bootstrap_averaged", ["normal", "bias_corrected", "percentile"]),
        ("bootstrap_jackknife_two_outputs", ["normal", "averaged"]),
        ("bootstrap_train", ["averaged", "bias_corrected"]),
        ("dropout", ["calibrated"]),
        ("dropout_calibrated", ["total"]),
    ],
)
def test_another_interval_after_loading(name, intervals, path):
    model, fresh = loaded(name, path), cases.fitted(name)
    for interval in intervals:
        assert_alike(name, model.set_params(interval=interval), fresh.set_params(interval=interval))


@pytest.mark.parametrize(
    ("name", "interval", "message"),
    [
        ("extra_calibrated", "cv+", "kept no folds' networks"),
        ("extra_train", "calibrated", "held out no rows"),
        ("bootstrap_averaged", "jackknife+", "kept no samples"),
        ("dropout_train", "calibrated", "held out no rows"),
    ],
)
def test_an_interval_for_which_nothing_was_kept(name, interval, message, path):
    model = loaded(name, path).set_params(interval=interval)
    with pytest.raises(ValueError, match=message):
        model.predict_interval(cases.table(name)[-1])
    model.save(path)  # which a change of a parameter does not forbid
    with pytest.raises(ValueError, match=message):
        extranets.load(path).predict_interval(cases.table(name)[-1])


@pytest.mark.parametrize("name", ["bootstrap_conformal", "mean_variance_conformal"])
def test_conformal_scores_are_kept_until_the_model_changes(name, path):
    _, _, _, X_held, y_held, X_new = cases.table(name)
    model = loaded(name, path)
    bounds = model.predict_interval(X_new)
    assert not np.array_equal(bounds, np.column_stack(model.predict_dist(X_new).interval(0.9)))
    np.testing.assert_array_equal(model.conformalize(X_held, y_held, tails="joint").predict_interval(X_new), bounds)
    model.conformalize(X_held[:30], y_held[:30])
    assert not np.array_equal(model.predict_interval(X_new), bounds)
    if name == "bootstrap_conformal":
        with pytest.raises(ValueError, match="call conformalize again"):
            model.set_params(interval="normal").predict_interval(X_new)


@pytest.mark.parametrize("file", ["mc_dropout", "mc_dropout_cuda"])
def test_conformal_scores_of_another_number_of_passes(file):
    model = extranets.load(OLD / f"{file}.xnet")
    model.predict_interval(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="call conformalize again"):
        model.set_params(n_passes=6).predict_interval(np.zeros((1, 2)))


@pytest.mark.parametrize(
    "name",
    ["extra_calibrated", "extra_constant_noise", "extra_train", "extra_nll_calibrated", "bootstrap_normal", "bootstrap_jackknife",
     "bootstrap_conformal", "dropout", "dropout_calibrated", "variational", "pbp_two_outputs"],
)  # fmt: skip
def test_noise_is_estimated_anew(name, path):
    _, _, _, X_held, y_held, X_new = cases.table(name)
    model, fresh = loaded(name, path), cases.fitted(name)
    before = model.predict_var(X_new)
    assert_alike(name, model.estimate_noise(X_held, y_held), fresh.estimate_noise(X_held, y_held))
    assert not np.array_equal(model.predict_var(X_new), before)


def test_there_is_no_noise_to_estimate_of_networks_that_predict_it(path):
    _, _, _, X_held, y_held, _ = cases.table("deep_ensemble")
    with pytest.raises(ValueError, match="predict the noise"):
        loaded("deep_ensemble", path).estimate_noise(X_held, y_held)


@pytest.mark.parametrize("file", sorted(OLD.glob("*.xnet")), ids=lambda file: file.stem)
def test_they_become_onnx_graphs(file, path):
    model = extranets.load(file)
    if hasattr(model, "to_onnx"):
        model.to_onnx(path, coverage=0.5)


@pytest.mark.parametrize("spelt", [6, [6]])
def test_hidden_layers_may_be_spelt_in_any_way(spelt, path):
    """What "auto" had become was stored as the user had given it."""
    parts = take_apart(FILES["extra_calibrated"])
    put("learned.settings_.hidden_layer_sizes", spelt)(parts)
    path.write_bytes(put_together(parts))
    assert extranets.load(path).settings_["hidden_layer_sizes"] == (6,)


def test_conformal_scores_of_an_interval_that_was_not_learned_are_told_of_on_use(path):
    parts = take_apart(FILES["bootstrap_conformal"])
    put("parameters.interval", "jackknife+")(parts)
    put("learned._conformal.construction.interval", "jackknife+")(parts)
    path.write_bytes(put_together(parts))
    model = extranets.load(path)
    X = cases.table("bootstrap_conformal")[-1]
    assert model.predict(X).shape == (len(X),)
    with pytest.raises(ValueError, match="call fit again"):
        model.predict_interval(X)
