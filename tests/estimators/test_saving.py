"""Every estimator to a model file and back: the same bits, and an estimator like any other."""

from __future__ import annotations

import json
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import extranets
from extranets import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    PBPRegressor,
)
from extranets.data import linear_process
from tests.estimators.conftest import with_known
from tests.model_file.forging import take_apart

pytestmark = pytest.mark.filterwarnings(
    "ignore:J'J is near singular",
    "ignore:.*out-of-bag",
    "ignore:.*too few to promise",
    "ignore:.*feature names",
    "ignore:.*collapse_r2",
)

SMALL = {"hidden_layer_sizes": (6,), "max_iter": 10, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    return linear_process(150, random_state=1).split(110)


@pytest.fixture
def estimator(estimator):
    """Each estimator in turn, even smaller than elsewhere: what it has learned does not matter here."""
    return with_known(estimator, {"hidden_layer_sizes": (4,), "max_iter": 8, "n_folds": 2})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.xnet"


def every_prediction(model, X):
    parts = model.predict_components(X)
    return {
        "mean": model.predict(X),
        "std": model.predict(X, return_std=True)[1],
        "members": model.predict_members(X),
        "epistemic": parts.epistemic,
        "aleatoric": parts.aleatoric,
        "variance": model.predict_var(X),
        "interval": model.predict_interval(X, 0.9),
        "intervals": model.predict_interval(X, [0.5, 0.8]),
        "quantiles": model.predict_quantiles(X),
        "distribution": model.predict_dist(X).ppf(0.3),
        "draws": model.sample_y(X, 3, random_state=0),
    }


def assert_same(one, two, X):
    first, second = every_prediction(one, X), every_prediction(two, X)
    for name, values in first.items():
        assert values.dtype == second[name].dtype, name
        np.testing.assert_array_equal(values, second[name], err_msg=name)


def reloaded(model, path):
    model.save(path)
    return extranets.load(path)


def assert_comes_back(model, X, path):
    again = reloaded(model, path)
    assert type(again) is type(model) and again is not model
    assert_same(model, again, X)
    return again


# -- predictions -------------------------------------------------------------------------------------------------------


def test_every_prediction_has_the_same_bits(estimator, table, path):
    X_train, y_train, X, y = table
    model = estimator.fit(X_train, y_train)
    again = assert_comes_back(model, X, path)
    np.testing.assert_equal(again.get_params(), model.get_params())
    assert_same(model.conformalize(X, y), again.conformalize(X, y), X)
    assert_comes_back(model, X, path)


def test_several_outputs_names_and_weights(estimator, table, path):
    X_train, y_train, X, y = table
    X_train, X = pd.DataFrame(X_train, columns=list("abcde")), pd.DataFrame(X, columns=list("abcde"))
    model = estimator.fit(X_train, np.column_stack([y_train, -2 * y_train]), sample_weight=np.arange(110) % 3)
    again = assert_comes_back(model.conformalize(X, np.column_stack([y, y])), X, path)
    assert list(again.feature_names_in_) == list("abcde") and again.feature_names_in_.dtype == object
    with pytest.raises(ValueError, match="feature names"):
        again.predict(X[["b", "a", "c", "d", "e"]])


def test_all_learned_attributes_have_the_same_bits(estimator, table, path):
    model = estimator.fit(*table[:2])
    again = reloaded(model, path)
    public = [name for name in dir(model) if name.endswith("_") and name[0] != "_" and hasattr(model, name)]
    assert {"n_features_in_", "noise_variance_", "fit_info_"} <= set(public)
    assert public == [name for name in dir(again) if name.endswith("_") and name[0] != "_" and hasattr(again, name)]
    assert vars(again).keys() == vars(model).keys()
    for name in public:
        one, two = getattr(model, name), getattr(again, name)
        if isinstance(one, np.ndarray):
            assert one.dtype == two.dtype and one.tobytes() == two.tobytes(), name
        elif isinstance(one, (int, float, dict)):
            np.testing.assert_equal(two, one)


@pytest.mark.parametrize(
    "model",
    [
        ExtraNetsRegressor(6, **SMALL, interval="cv+", n_folds=3),
        ExtraNetsRegressor(6, **SMALL, interval="cv+", n_folds=3, loss="gaussian_nll"),
        ExtraNetsRegressor(6, (4, 3), keep_prob=0.5, null_members="drop", noise="holdout", max_iter=10, random_state=1),
        ExtraNetsRegressor(6, (), max_iter=10, random_state=1, interval="paper", noise="train"),
        BootstrapNetsRegressor(6, **SMALL, interval="jackknife+"),
        BootstrapNetsRegressor(6, **SMALL, interval="percentile"),
        MCDropoutRegressor(**SMALL, keep_prob="auto", n_passes=10, input_keep_prob=0.9),
        MCDropoutRegressor(**SMALL, n_passes=10, loss="gaussian_nll", interval="calibrated"),
        DeepEnsembleRegressor(3, **SMALL, adversarial_epsilon=0.01),
    ],
    ids=str,
)
def test_variants_of_the_estimators(model, table, path):
    X_train, y_train, X, y = table
    again = assert_comes_back(clone(model).fit(X_train, y_train), X, path)
    if again.noise_variance_ is not None:
        assert_comes_back(again.estimate_noise(X, y), X, path)


def test_a_constant_target(estimator, table, path):
    assert_comes_back(estimator.fit(table[0], np.full(110, 7.0)).conformalize(table[2], table[3]), table[2], path)


# -- life after loading ------------------------------------------------------------------------------------------------


def test_it_can_be_cloned_pickled_and_refitted(estimator, table, path, tmp_path):
    X_train, y_train, X, _ = table
    model = estimator.fit(X_train, y_train)
    again = reloaded(model, path)
    assert_same(pickle.loads(pickle.dumps(again)), model, X)
    joblib.dump(again, tmp_path / "model.joblib")
    assert_same(joblib.load(tmp_path / "model.joblib"), model, X)
    with pytest.raises(NotFittedError):
        clone(again).predict(X)
    assert_same(clone(again).fit(X_train, y_train), model, X)
    assert_same(again.fit(X_train[:, :3], y_train), clone(model).fit(X_train[:, :3], y_train), X[:, :3])


def test_it_is_saved_to_the_same_bytes_apart_from_the_time(estimator, table, path, tmp_path):
    reloaded(estimator.fit(*table[:2]).conformalize(*table[2:]), path).save(tmp_path / "again.xnet")

    def without_time(file):
        parts = take_apart(file.read_bytes())
        del parts.metadata["sha256"], parts.model["provenance"]["saved"]
        return json.dumps([parts.metadata, parts.table, parts.model]), parts.body

    assert without_time(path) == without_time(tmp_path / "again.xnet")


@pytest.mark.parametrize("cls", [ExtraNetsRegressor, BootstrapNetsRegressor, DeepEnsembleRegressor])
def test_a_loaded_model_goes_on_with_its_warm_start(cls, table, path):
    X_train, y_train, X, _ = table
    model = cls(4, **SMALL, warm_start=True).fit(X_train, y_train)
    again = reloaded(model, path)
    assert_same(
        again.set_params(n_estimators=7).fit(X_train, y_train),
        model.set_params(n_estimators=7).fit(X_train, y_train),
        X,
    )
    with pytest.raises(ValueError, match="warm_start"):
        again.set_params(n_estimators=9).fit(X_train[1:], y_train[1:])


# -- parameters --------------------------------------------------------------------------------------------------------


def test_parameters_keep_their_types(table, path):
    given = {
        "hidden_layer_sizes": np.array([4, 3]),
        "alpha": np.float32(0.1),
        "n_starts": np.int64(2),
        "keep_prob": np.float64(0.9),
        "max_grad_norm": 1,
        "interval": np.str_("total"),
        "max_iter": np.int16(10),
    }
    again = reloaded(ExtraNetsRegressor(3, **given, random_state=0).fit(*table[:2]), path).get_params()
    for name, value in given.items():
        np.testing.assert_array_equal(again[name], value)
        assert type(again[name]) is (str if name == "interval" else type(value))
    sizes = reloaded(PBPRegressor(hidden_layer_sizes=[4], max_iter=2).fit(*table[:2]), path).hidden_layer_sizes
    assert sizes == [4]


def test_a_random_state_goes_on_where_it_was(table, path):
    model = PBPRegressor(max_iter=2, random_state=np.random.RandomState(3)).fit(*table[:2])
    again = assert_comes_back(model, table[2], path)
    assert_same(model.fit(*table[:2]), again.fit(*table[:2]), table[2])


def test_parameters_that_changed_after_fit_are_those_that_come_back(table, path):
    model = ExtraNetsRegressor(4, **SMALL).fit(*table[:2]).set_params(interval="paper", n_estimators=9)
    again = assert_comes_back(model, table[2], path)
    assert again.interval == "paper" and again.n_estimators == 9


def test_what_could_not_be_loaded_is_not_saved(table, path):
    model = ExtraNetsRegressor(4, **SMALL)
    with pytest.raises(NotFittedError):
        model.save(path)
    model.fit(*table[:2])
    with pytest.raises(ValueError, match="interval"):
        model.set_params(interval="wide").save(path)
    model.set_params(interval="paper")
    model.ensemble_.parameters[0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        model.save(path)

    class Mine(ExtraNetsRegressor):
        pass

    with pytest.raises(TypeError, match="Mine"):
        Mine(4, **SMALL).fit(*table[:2]).save(path)
    assert not path.exists()


# -- what the fit was --------------------------------------------------------------------------------------------------


def test_fit_info(estimator, table):
    weight = (np.arange(110) > 9).astype(float)
    info = estimator.fit(*table[:2], sample_weight=weight).fit_info_
    assert info["n_rows"] == 100 and info["n_features"] == 5 and 0 < info["seconds"] < 60
    assert info["finished"].endswith("+00:00")
    with pytest.raises(ValueError, match="NaN"):
        estimator.fit(table[0] * np.nan, table[1])
    assert not hasattr(estimator, "fit_info_")
