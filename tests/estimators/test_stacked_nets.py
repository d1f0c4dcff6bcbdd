"""What is special about stacked networks. `tests/stacking` has the search itself."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import extranets
from extranets import StackedNetsRegressor
from extranets._progress import heard_by
from extranets.data import linear_process
from extranets.estimators.copies import CopiedRowsWarning
from extranets.predictor.noise import ConstantNoise, NetworkNoise
from extranets.predictor.sources import FoldNetworks, Stack


def quick(**changes):
    return StackedNetsRegressor(**{"effort": "low", "n_folds": 3, "random_state": 0, "n_jobs": 1, **changes})


@pytest.fixture(scope="module")
def table():
    return linear_process(250, random_state=1).split(150)


@pytest.fixture(scope="module")
def fitted(table):
    return quick().fit(*table[:2])


def wavy(n, seed):
    """Noise whose standard deviation varies 25-fold, around a function that is far from linear."""
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, size=(n, 3))
    sd = 0.2 * np.exp(0.8 * X[:, 1])
    return X, np.sin(2 * X[:, 0]) + X[:, 2] + sd * random.normal(size=n), sd


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("effort", "huge"), ("effort", None), ("n_folds", 1), ("n_folds", 201), ("n_folds", "many"), ("n_folds", 2.5),
        ("members_per_fold", 0), ("members_per_fold", 1001), ("members_per_fold", 1.5), ("keep_prob", 0), ("keep_prob", 1.1),
        ("keep_prob", np.nan), ("noise_model", "none"), ("interval", "paper"), ("interval", "cv+"), ("distribution", "cauchy"),
        ("device", "tpu"), ("n_jobs", 0), ("random_state", -1), ("verbose", "loud"),
    ],
)  # fmt: skip
def test_a_bad_parameter_is_named(name, value, table):
    model = quick(**{name: value})
    with pytest.raises(ValueError, match=name):
        model.fit(*table[:2])
    with pytest.raises(NotFittedError):
        model.predict(table[2])


def test_parameters_are_stored_as_they_are_and_cloned():
    given = {"effort": "high", "n_folds": np.int64(4), "members_per_fold": 2, "keep_prob": 0.7, "interval": "total"}
    model = StackedNetsRegressor(**given)
    for each in (model, clone(model)):
        assert {name: each.get_params()[name] for name in given} == given


def test_noise_networks_need_a_hundred_rows(table):
    X, y = table[:2]
    with pytest.raises(ValueError, match=r"noise_model='networks' needs at least 100 rows, got 99; use 'auto' or"):
        quick(noise_model="networks").fit(X[:99], y[:99])


@pytest.mark.parametrize(
    ("noise_model", "n_rows", "kind", "said"),
    [
        ("auto", 99, ConstantNoise, "constant"),
        ("auto", 100, NetworkNoise, "networks"),
        ("constant", 150, ConstantNoise, "constant"),
        ("networks", 100, NetworkNoise, "networks"),
    ],
)
def test_the_noise_depends_on_x_where_rows_are_enough(noise_model, n_rows, kind, said, table):
    model = quick(noise_model=noise_model).fit(table[0][:n_rows], table[1][:n_rows])
    assert type(model.model_.noise) is kind and model.settings_["noise_model"] == said
    assert (model.noise_variance_ is None) == (said == "networks")


def test_a_higher_effort_tries_more(table):
    X, y, _ = wavy(300, 0)
    tried = [len(quick(effort=effort).fit(X, y).settings_["models"]) for effort in ("low", "medium", "high")]
    assert tried[0] < tried[1] <= tried[2]


@pytest.mark.parametrize("members", [1, 3])
def test_members_per_fold(members, table):
    model = quick(members_per_fold=members, n_folds=4).fit(*table[:2])
    sizes = {
        len(source.ensemble) for source in model.model_.source.sources if source.ensemble.members.architecture.hidden
    }
    assert sizes <= {4 * members}
    n_members = sum(len(source.ensemble) for source in model.model_.source.sources)
    assert model.predict_members(table[2]).shape == (n_members, 100)


def test_keep_prob_thins_the_networks(table):
    model = quick(keep_prob=0.2).fit(*wavy(200, 0)[:2])
    for source in model.model_.source.sources:
        members = source.ensemble.members
        if members.architecture.hidden:
            # Some 80 units or more: the standard error of their share is .045.
            assert members.masks.mean() < 0.2 + 4 * 0.045


# -- what a fit tells ----------------------------------------------------------------------------------------------------


def test_settings_tell_what_was_trained(fitted):
    settings = fitted.settings_
    told = {"n_folds", "models", "noise_model", "distribution", "target_transform"}
    assert settings.keys() == told and settings["n_folds"] == 3
    weights = [each["weight"] for each in settings["models"]]
    assert sum(weights) == pytest.approx(1) and min(weights) >= 0
    assert [weight for weight in weights if weight > 0] == fitted.model_.source.weights.tolist()
    for each in settings["models"]:
        linear = each["hidden_layer_sizes"] == ()
        assert each["r2"] <= 1 and ("alpha" in each) != linear
    assert isinstance(fitted.model_.source, Stack)
    assert {type(source) for source in fitted.model_.source.sources} == {FoldNetworks}


def test_settings_come_back_from_a_file(fitted, tmp_path):
    fitted.save(tmp_path / "model.xnet")
    again = extranets.load(tmp_path / "model.xnet")
    assert again.settings_ == fitted.settings_
    sizes = again.settings_["models"][-1]["hidden_layer_sizes"]
    assert isinstance(sizes, tuple)


def test_folds_follow_the_rows(table):
    X, y = table[:2]
    assert quick(n_folds="auto").fit(X, y).settings_["n_folds"] == 10
    assert quick(n_folds="auto").fit(X[:6], y[:6]).settings_["n_folds"] == 6
    assert quick(n_folds=200).fit(X[:12], y[:12]).settings_["n_folds"] == 12


def test_rows_of_weight_zero_are_no_rows(table):
    """Neither for folds nor for what the noise needs."""
    X, y = table[:2]
    model = quick(n_folds="auto").fit(X, y, sample_weight=np.arange(150) < 8)
    assert model.settings_["n_folds"] == 8 and model.settings_["noise_model"] == "constant"


def test_scores_of_held_out_rows_are_those_of_new_rows():
    """Means over four fits of 300 rows. The rmse has a relative standard error of sqrt(kurtosis / (4 * 300)) / 2 = .045 for this
    noise (kurtosis 9), coverage one of sqrt(.09 / 1200) = .009; 4 times that, and .01 for factors fitted to the same rows."""
    X_new, y_new, _ = wavy(5000, 99)
    rmse, coverage = [], []
    for seed in range(4):
        model = quick(random_state=seed).fit(*wavy(300, seed)[:2])
        lower, upper = model.predict_interval(X_new, 0.9).T
        actual = np.sqrt(np.mean((model.predict(X_new) - y_new) ** 2))
        rmse.append(model.held_out_scores_["rmse"] / actual)
        coverage.append(model.held_out_scores_["coverage"] - ((lower <= y_new) & (y_new <= upper)).mean())
    assert abs(np.mean(rmse) - 1) < 4 * 0.045
    assert abs(np.mean(coverage)) < 4 * 0.009 + 0.01


# -- intervals -----------------------------------------------------------------------------------------------------------


def test_intervals_cover_where_noise_depends_on_x():
    """At 90 %, 500 rows to fit and 4,000 new ones: standard error sqrt(.09 / 500 + .09 / 4000) = .014 of the coverage.

    In each quarter of the true noise, the width is learned from 125 rows: .027 in the same way, and as much again because
    networks of the noise smooth it.
    """
    model = quick(n_folds="auto").fit(*wavy(500, 0)[:2])
    X, y, sd = wavy(4000, 99)
    lower, upper = model.predict_interval(X, 0.9).T
    covered = (lower <= y) & (y <= upper)
    assert abs(covered.mean() - 0.9) < 3 * 0.014
    quarter = np.searchsorted(np.quantile(sd, [0.25, 0.5, 0.75]), sd)
    for k in range(4):
        assert abs(covered[quarter == k].mean() - 0.9) < 4 * 0.027
    assert np.corrcoef(np.log(upper - lower), np.log(sd))[0, 1] > 0.8


def test_the_interval_may_be_chosen_after_the_fit(fitted, table):
    model = clone(fitted).set_params(distance_factor=0).fit(*table[:2])
    parts = model.predict_components(table[2])
    spread = model.set_params(interval="total").predict_components(table[2])
    a, b = model.calibration_
    n = model.model_.source.n_members
    np.testing.assert_allclose(parts.epistemic, a * spread.epistemic * n / (n - 1), rtol=1e-6)
    np.testing.assert_allclose(parts.aleatoric, b * spread.aleatoric, rtol=1e-6)
    np.testing.assert_array_equal(parts.mean, spread.mean)


def test_all_networks_of_the_stack_predict(fitted, table):
    """The weighted mean of the kinds' means; each network has its kind's weight, shared among the folds."""
    source, members = fitted.model_.source, fitted.predict_members(table[2])
    counts = [len(each.ensemble) for each in source.sources]
    shares = np.repeat(source.weights / counts, counts)
    np.testing.assert_allclose(shares @ members, fitted.predict(table[2]), rtol=1e-4, atol=1e-4)


# -- refits, copies, messages ----------------------------------------------------------------------------------------------


def test_a_refit_forgets_the_last_fit(table):
    X, y = table[:2]
    model = quick().fit(*wavy(120, 0)[:2])
    again, fresh = model.fit(X, y), quick().fit(X, y)
    np.testing.assert_array_equal(again.predict_interval(table[2]), fresh.predict_interval(table[2]))
    assert again.settings_ == fresh.settings_


def test_a_fit_leaves_the_table_as_it_was(table):
    X, y = (values.copy() for values in table[:2])
    for values in (X, y):
        values.flags.writeable = False
    quick().fit(X, y)
    np.testing.assert_array_equal(X, table[0])


def test_copied_rows_are_warned_of(table):
    X, y = table[:2]
    with pytest.warns(CopiedRowsWarning, match="copies of others"):
        quick().fit(np.r_[X, X[:30]], np.r_[y, y[:30]])


def test_progress_counts_networks_and_names_all_that_is_done(table, capsys):
    quick(verbose=1).fit(*table[:2])
    shown = capsys.readouterr().err
    assert "Training" in shown and "networks" in shown and "100 %" in shown
    quick(verbose=0).fit(*table[:2])
    assert capsys.readouterr().err == ""
    titles = []
    with heard_by(lambda title, done: titles.append(title)):
        quick().fit(*table[:2])
    assert [any(word in title for title in titles) for word in ("ridge", "networks", "noise")] == [True] * 3


def test_columns_of_categories():
    """One-hot: a level that one row has, a level that all rows have, and levels that say everything about y."""
    random = np.random.default_rng(0)
    level = random.integers(0, 4, size=120)
    X = np.column_stack([level[:, None] == np.arange(4), np.arange(120) == 7, np.ones(120)]).astype(float)
    y = np.array([1.0, -2.0, 5.0, 0.5])[level] + 0.1 * random.normal(size=120)
    model = quick().fit(X, y)
    assert model.score(X, y) > 0.95
    unknown = np.array([[0.0, 0, 0, 0, 0, 1]])  # no level at all
    assert np.isfinite(model.predict_interval(unknown)).all()


@pytest.mark.parametrize("n_rows", [2, 3, 5])
def test_a_handful_of_rows(n_rows, table):
    model = StackedNetsRegressor(random_state=0).fit(table[0][:n_rows], table[1][:n_rows])
    bounds = model.predict_interval(table[2])
    assert np.isfinite(bounds).all() and (bounds[:, 0] < bounds[:, 1]).all()


INTERRUPTED_FIT = """
    import numpy as np, time
    from sklearn.exceptions import NotFittedError
    from extranets import StackedNetsRegressor
    X = np.random.default_rng(0).normal(size=(20_000, 60)); y = np.sin(3 * X[:, 0]) * X[:, 1]
    model = StackedNetsRegressor(effort="high", members_per_fold=20)
    print("started", flush=True)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        print("stopped", time.time(), flush=True)
    try:
        model.predict(X)
    except NotFittedError:
        print("unfitted", flush=True)
    print(np.isfinite(StackedNetsRegressor(effort="low").fit(X[:50], y[:50]).predict(X)).all(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_stops_a_fit_within_a_second_and_leaves_it_unfitted():
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED_FIT)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "started\n"
    time.sleep(1.0)
    sent = time.time()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    stopped, unfitted, fits_again = out.splitlines()
    assert stopped.startswith("stopped") and float(stopped.split()[1]) - sent < 1.0
    assert unfitted == "unfitted" and fits_again == "True"
