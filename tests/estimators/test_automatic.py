"""What "auto" becomes: by rows and effort, and only where nothing else was asked for. Presets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import clone

import extranets
from extranets import BootstrapNetsRegressor, ExtraNetsRegressor
from extranets.data import linear_process
from extranets.estimators.automatic import AUTOMATIC, HUGE_TABLE, LARGE_TABLE, LEVELS, SMALL_TABLE, follow_rows
from extranets.estimators.extra_nets import PRESETS
from extranets.estimators.settings import auto_epochs, resolve
from extranets.held_out import Sample
from extranets.predictor.noise import NetworkNoise

SETTINGS = (*AUTOMATIC, "numeric_encoding", "noise_model")  # parameters that may be "auto"
EFFORTS = ["low", "medium", "high"]
ROWS = [2, 30, 99, 500, 927, 1999, 2000, 5000, 19_999, 20_000, 50_000, 463_715, 10**7]


def quick(**changes):
    return ExtraNetsRegressor(**{"n_estimators": 3, "max_iter": 5, "random_state": 0, **changes})


def steps(n_rows, effort):
    found = follow_rows(n_rows, effort)
    return found["max_iter"] * -(-n_rows // found["batch_size"])


def work(n_rows, effort):
    """Products of weights and rows, with ten columns."""
    found = follow_rows(n_rows, effort)
    weights = sum(a * b for a, b in itertools.pairwise((10, *found["hidden_layer_sizes"], 1)))
    return found["max_iter"] * n_rows * weights


# -- by rows and effort ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("n_rows", ROWS)
def test_every_size_has_settings_that_are_allowed(n_rows, effort):
    found = follow_rows(n_rows, effort)
    assert set(found) == set(AUTOMATIC)
    ExtraNetsRegressor(**found).check_parameters()
    level = LEVELS[effort].small if n_rows < SMALL_TABLE else LEVELS[effort].other
    assert level.epochs[0] <= found["max_iter"] <= level.epochs[1]
    assert found["batch_size"] == (level.batch if n_rows < LARGE_TABLE else 2 * level.batch)
    values = [found[name] for name in ("hidden_layer_sizes", "learning_rate_init", "alpha")]
    assert values == [level.hidden, level.rate, level.decay]
    assert all(type(found[name]) is int for name in ("max_iter", "batch_size"))


@pytest.mark.parametrize("n_rows", ROWS)
def test_more_effort_is_more_work(n_rows):
    low, medium, high = (work(n_rows, effort) for effort in EFFORTS)
    assert 2 * low < medium < high / 2
    sizes = [sum(follow_rows(n_rows, effort)["hidden_layer_sizes"]) for effort in EFFORTS]
    assert sizes == sorted(set(sizes))


@pytest.mark.parametrize("effort", EFFORTS)
def test_small_tables_get_as_many_steps_whatever_their_size(effort):
    """Up to one epoch, where epochs stay within their limits. Few rows are not repeated without end."""
    level, inside = LEVELS[effort], 0
    fewest, most = level.small.epochs
    for n_rows in range(10, SMALL_TABLE, 10):
        epochs = follow_rows(n_rows, effort)["max_iter"]
        per_epoch = -(-n_rows // level.small.batch)
        if fewest < epochs < most:
            inside += 1
            assert 0 <= level.steps - epochs * per_epoch < per_epoch
    assert inside > 40
    assert follow_rows(10, effort)["max_iter"] == most


@pytest.mark.parametrize("effort", EFFORTS)
def test_epochs_fall_with_the_rows_of_larger_tables(effort):
    rows = np.geomspace(SMALL_TABLE, 10**6, 60).astype(int).tolist()
    epochs = [follow_rows(n, effort)["max_iter"] for n in rows]
    fewest, most = LEVELS[effort].other.epochs
    assert epochs[0] == most and epochs[-1] == fewest
    assert np.diff(epochs).max() <= 0
    assert follow_rows(HUGE_TABLE, effort)["max_iter"] == follow_rows(10**7, effort)["max_iter"] == fewest
    assert follow_rows(HUGE_TABLE // 2, effort)["max_iter"] > fewest


@pytest.mark.parametrize("effort", EFFORTS)
def test_epochs_hardly_differ_between_large_tables_of_similar_size(effort):
    """One epoch at most, from the border of small tables on; also where batches become larger."""
    for n_rows in [
        *range(SMALL_TABLE, 5000, 37),
        *range(LARGE_TABLE - 50, LARGE_TABLE + 50),
        *range(30_000, 60_000, 999),
    ]:
        one, next_one = (follow_rows(n, effort)["max_iter"] for n in (n_rows, n_rows + 30))
        assert 0 <= one - next_one <= 1, n_rows


def test_wider_networks_take_smaller_steps():
    for found in ([level.small for level in LEVELS.values()], [level.other for level in LEVELS.values()]):
        found.sort(key=lambda setting: sum(setting.hidden))
        rates = [setting.rate for setting in found]
        assert rates == sorted(set(rates), reverse=True)


def test_other_estimators_count_epochs_in_steps():
    rows = (10, 927, 1600, 3200, 10_000, 10**6)
    assert [auto_epochs(n, 32) for n in rows] == [400, 400, 400, 200, 63, 40]
    assert [resolve(BootstrapNetsRegressor().get_params(), n).max_iter for n in rows] == [400, 400, 400, 200, 63, 40]


# -- in a fit ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return linear_process(160, random_state=1).split(120)


def test_settings_tell_what_became_of_auto(table):
    model = ExtraNetsRegressor(2, effort="low", random_state=0).fit(*table[:2])
    assert set(model.settings_) == set(SETTINGS) and "auto" not in model.settings_.values()
    assert {name: model.settings_[name] for name in AUTOMATIC} == follow_rows(120, "low")
    said = "networks" if isinstance(model.model_.noise, NetworkNoise) else "constant"
    assert model.settings_["noise_model"] == said
    architecture, options = model._networks.recipe.architecture, model._networks.recipe.options
    assert architecture.hidden == model.settings_["hidden_layer_sizes"]
    assert (architecture.encoding is None) == (model.settings_["numeric_encoding"] is None)
    assert options.n_epochs == model.n_iter_ == model.settings_["max_iter"]
    assert (options.learning_rate, options.weight_decay, options.batch_size) == tuple(
        model.settings_[name] for name in ("learning_rate_init", "alpha", "batch_size")
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden_layer_sizes", (7,)),
        ("learning_rate_init", 0.03),
        ("alpha", 0.0),
        ("batch_size", 40),
        ("max_iter", 3),
        ("numeric_encoding", "periodic"),
        ("numeric_encoding", None),
        ("noise_model", "constant"),
    ],
)
def test_parameters_that_are_given_are_used(table, name, value):
    model = quick(**{name: value}).fit(*table[:2])
    expected = follow_rows(120, "medium") | {"max_iter": 5, "noise_model": "networks"} | {name: value}
    assert {key: model.settings_[key] for key in expected} == expected
    assert model.get_params()[name] == value


def test_parameters_stay_as_they_were_and_a_refit_follows_its_rows(table):
    X, y = table[:2]
    model = ExtraNetsRegressor(2, (8,), numeric_encoding=None, random_state=0)
    before = model.get_params()
    first = dict(model.fit(X, y).settings_)
    assert model.get_params() == before
    assert "settings_" not in clone(model).__dict__
    again = model.fit(X[:60], y[:60])
    epochs = [follow_rows(n, "medium")["max_iter"] for n in (120, 60)]
    assert [first["max_iter"], again.settings_["max_iter"]] == epochs and epochs[0] < epochs[1]
    assert again.settings_["noise_model"] == "constant"  # of so few rows
    np.testing.assert_array_equal(again.predict(X), ExtraNetsRegressor(**before).fit(X[:60], y[:60]).predict(X))


def test_layer_sizes_may_be_an_array(table):
    model = quick(hidden_layer_sizes=np.array([4, 3]), numeric_encoding=None).fit(*table[:2])
    assert model.ensemble_.members.architecture.hidden == (4, 3)


@pytest.mark.parametrize(
    ("n_rows", "changes", "expected"),
    [
        (99, {}, "constant"),
        (100, {}, "networks"),
        (120, {"noise": "holdout"}, "constant"),  # 24 rows held out
        (120, {"noise": "holdout", "holdout_fraction": 0.84}, "networks"),
        (120, {"noise": "train", "interval": "paper"}, "constant"),
        (120, {"loss": "gaussian_nll"}, "constant"),
    ],
)
@pytest.mark.filterwarnings("ignore:noise='train'", "ignore:.*collapse_r2")
def test_noise_is_modelled_where_enough_rows_are_held_out(table, n_rows, changes, expected):
    model = quick(numeric_encoding=None, hidden_layer_sizes=(4,), **changes).fit(table[0][:n_rows], table[1][:n_rows])
    assert model.settings_["noise_model"] == expected
    assert (isinstance(model.model_.noise, NetworkNoise)) == (expected == "networks")


@pytest.mark.parametrize("name", SETTINGS)
def test_other_words_than_auto_are_refused(table, name):
    with pytest.raises(ValueError, match=name):
        quick(**{name: "automatic"}).fit(*table[:2])
    with pytest.raises(ValueError, match="effort"):
        quick(effort="huge").fit(*table[:2])


def test_settings_are_in_model_files(table, tmp_path):
    model = quick().fit(*table[:2])
    model.save(tmp_path / "model.xnet")
    again = extranets.load(tmp_path / "model.xnet")
    assert again.settings_ == model.settings_
    assert again.get_params()["hidden_layer_sizes"] == "auto"


# -- rows that are held out ---------------------------------------------------------------------------------------------


def test_cv_plus_leaves_every_row_out():
    sample = Sample(*(np.zeros((30_000, 1), dtype=np.float32) for _ in range(2)), np.ones(30_000))
    plan = ExtraNetsRegressor(interval="cv+")._plan(sample, seed=0)
    assert plan.n_folds == 5 and (plan.fold_of_row >= 0).all()
    assert ExtraNetsRegressor()._plan(sample, seed=0).n_folds == 1


# -- presets -----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*collapse_r2")
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_fits(table, name):
    model = ExtraNetsRegressor.from_preset(name)
    model.check_parameters()
    assert clone(model).get_params() == model.get_params()
    small = ExtraNetsRegressor.from_preset(name, n_estimators=2, max_iter=2, hidden_layer_sizes=(3,), random_state=0)
    assert small.get_params()["n_estimators"] == 2
    assert np.isfinite(small.fit(*table[:2]).predict_interval(table[2])).all()


def test_the_default_preset_is_the_default():
    assert ExtraNetsRegressor.from_preset("default").get_params() == ExtraNetsRegressor().get_params()


def test_the_papers_preset():
    """Algorithm 1 and the settings of its studies: 70 networks of 50 units, kept with 0.95, Adam as it comes for 40 epochs."""
    model = ExtraNetsRegressor.from_preset("paper")
    expected = {
        "n_estimators": 70, "hidden_layer_sizes": (50,), "keep_prob": 0.95, "loss": "squared_error", "numeric_encoding": None,
        "learning_rate_init": 0.01, "learning_rate_schedule": "constant", "max_iter": 40, "batch_size": 32, "alpha": 0.0,
        "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7, "noise": "train", "noise_model": "constant", "interval": "paper",
        "distribution": "normal",
    }  # fmt: skip
    assert {name: model.get_params()[name] for name in expected} == expected
    assert "auto" not in {model.get_params()[name] for name in SETTINGS}


def test_presets_differ_in_effort():
    fast, default, accurate = (ExtraNetsRegressor.from_preset(name) for name in ("fast", "default", "accurate"))
    assert fast.n_estimators < default.n_estimators < accurate.n_estimators
    assert (fast.effort, default.effort, accurate.effort) == ("low", "medium", "high")


def test_unknown_presets_are_refused_by_name():
    with pytest.raises(
        ValueError, match=r"preset must be one of \['accurate', 'default', 'fast', 'paper'\]; got 'best'"
    ):
        ExtraNetsRegressor.from_preset("best")
    with pytest.raises(TypeError, match="n_trees"):
        ExtraNetsRegressor.from_preset("fast", n_trees=3)


def test_epochs_follow_a_batch_that_is_given():
    assert follow_rows(600, "medium", 64)["max_iter"] == 3000 // 10
    assert follow_rows(600, "medium", 16) == follow_rows(600, "medium")
