"""Parameters that may change after fit: what answers then, and what says that it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import extranets
from extranets import BootstrapNetsRegressor, ExtraNetsRegressor, PBPRegressor, VariationalRegressor
from extranets.data import linear_process

pytestmark = pytest.mark.filterwarnings("ignore:noise='train'", "ignore:.*out-of-bag", "ignore:.*collapse_r2")
QUICK = {"hidden_layer_sizes": (8,), "max_iter": 5, "random_state": 0, "n_jobs": 1}


def extra(**changes):
    return ExtraNetsRegressor(4, **{**QUICK, "numeric_encoding": None, **changes})


@pytest.fixture(scope="module")
def table():
    return linear_process(200, random_state=1).split(120)


# Models that have not learned the interval that is set afterwards.
UNLEARNED = [
    (extra(noise="train", interval="paper"), "calibrated", "call fit or estimate_noise"),
    (extra(loss="gaussian_nll", interval="total"), "calibrated", "call fit or estimate_noise"),
    (extra(), "cv+", "call fit again"),
    (BootstrapNetsRegressor(4, **QUICK), "jackknife+", "call fit again"),
]
EVERY = pytest.mark.parametrize(("model", "interval", "message"), UNLEARNED, ids=str)


@pytest.fixture
def changed(model, interval, message, table):
    return clone(model).fit(*table[:2]).set_params(interval=interval)


@EVERY
def test_an_interval_that_was_not_learned_says_what_to_do(changed, message, table):
    X = table[2]
    for ask in (changed.predict_interval, changed.predict_components, changed.predict_var, changed.predict_dist):
        with pytest.raises(ValueError, match=message):
            ask(X)


@EVERY
def test_what_needs_no_interval_is_answered(changed, table):
    assert changed.predict(table[2]).shape == (len(table[2]),)
    assert changed.predict_members(table[2]).shape[0] == 4
    assert all(hasattr(changed, name) or not hasattr(changed, name) for name in dir(changed))  # none of them raises


@EVERY
def test_estimate_noise_learns_it_where_rows_are_enough(changed, interval, message, table):
    changed.estimate_noise(*table[2:])
    if "estimate_noise" in message:
        assert np.isfinite(changed.predict_interval(table[2])).all()
    else:
        with pytest.raises(ValueError, match=message):
            changed.predict_interval(table[2])


@EVERY
def test_it_is_saved_and_comes_back(changed, message, table, tmp_path):
    changed.save(tmp_path / "model.xnet")
    again = extranets.load(tmp_path / "model.xnet")
    np.testing.assert_array_equal(again.predict(table[2]), changed.predict(table[2]))
    with pytest.raises(ValueError, match=message):
        again.predict_interval(table[2])


@pytest.mark.parametrize("model", [PBPRegressor(**QUICK), VariationalRegressor(**QUICK)], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_impossible_value_is_refused_by_methods_and_hides_attributes(model, table):
    model.fit(*table[:2]).set_params(n_passes=0)
    with pytest.raises(ValueError, match="n_passes"):
        model.predict(table[2])
    assert not hasattr(model, "noise_variance_")
    assert hasattr(model.set_params(n_passes=np.int64(3)), "noise_variance_")


def test_what_a_search_found_is_forgotten_by_every_fit(table):
    model = extra(warm_start=True).fit(*table[:2])
    model.tuning_ = [{"score": 1.0}]
    assert not hasattr(model.set_params(n_estimators=5).fit(*table[:2]), "tuning_")
