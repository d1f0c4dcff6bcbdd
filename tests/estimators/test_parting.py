"""``groups`` and ``time`` in a fit: which rows are left out, and what the intervals learn from it."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import extranets
from extranets import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    PBPRegressor,
    StackedNetsRegressor,
)

QUICK = {"n_jobs": 1, "random_state": 0}
EXTRA = ExtraNetsRegressor(4, max_iter=40, numeric_encoding=None, hidden_layer_sizes=(16,), **QUICK)
STACK = StackedNetsRegressor(effort="low", n_folds=4, **QUICK)
MAIN = [EXTRA, STACK]
ALL = [*MAIN, MCDropoutRegressor(max_iter=20, n_passes=10, **QUICK), DeltaMethodRegressor((5,), max_iter=20, **QUICK)]


def named(estimator):
    return type(estimator).__name__


def grouped(n_groups=40, per_group=8, seed=0):
    """Each group has an effect of its own, and columns that tell which it is."""
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), per_group)
    of_group = random.normal(size=(n_groups, 3))
    X = np.column_stack([random.normal(size=len(groups)), of_group[groups]])
    effect = random.normal(size=n_groups)
    return X, X[:, 0] + effect[groups] + 0.2 * random.normal(size=len(groups)), groups


def drifting(n=400, seed=0):
    """The level changes slowly. The time itself is a column, in no order."""
    random = np.random.default_rng(seed)
    time = random.permutation(n)
    level = np.cumsum(0.3 * random.normal(size=n))
    X = np.column_stack([random.normal(size=n), time / n])
    return X, X[:, 0] + level[time] + 0.2 * random.normal(size=n), time


def width(model, X):
    return float(np.median(np.diff(model.predict_interval(X), axis=1)))


@pytest.mark.parametrize("estimator", MAIN, ids=named)
def test_errors_on_new_groups_make_wider_intervals(estimator):
    X, y, groups = grouped()
    at_random = sklearn.base.clone(estimator).fit(X, y)
    by_group = sklearn.base.clone(estimator).fit(X, y, groups=[f"group {each}" for each in groups])
    new = grouped(seed=1)[0]
    assert by_group.held_out_scores_["rmse"] > 1.1 * at_random.held_out_scores_["rmse"]
    assert width(by_group, new) > width(at_random, new)


@pytest.mark.parametrize("estimator", MAIN, ids=named)
def test_errors_on_later_rows_make_wider_intervals(estimator):
    X, y, time = drifting()
    at_random = sklearn.base.clone(estimator).fit(X, y)
    looking_back = sklearn.base.clone(estimator).fit(X, y, time=time)
    assert looking_back.held_out_scores_["rmse"] > 1.5 * at_random.held_out_scores_["rmse"]
    assert width(looking_back, X) > 1.3 * width(at_random, X)


def test_final_networks_are_those_of_a_fit_without():
    """Extra-nets of noise="cv" see all rows, whatever is left out for the errors."""
    X, y, groups = grouped()
    plain, by_group = (sklearn.base.clone(EXTRA).fit(X, y, groups=each) for each in (None, groups))
    np.testing.assert_array_equal(plain.predict(X), by_group.predict(X))


def test_a_stack_in_time_predicts_with_networks_that_know_all_of_it():
    """Its networks leave random folds out: no block of time is unknown to most of them."""
    X, y, time = drifting()
    model = sklearn.base.clone(STACK).fit(X, y, time=time)
    latest = time >= 320
    errors = (model.predict(X) - y) ** 2
    assert errors[latest].mean() < 2 * errors[~latest].mean()
    assert errors.mean() < model.held_out_scores_["rmse"] ** 2


@pytest.mark.filterwarnings("ignore:J'J is near singular")
@pytest.mark.parametrize("estimator", ALL, ids=named)
@pytest.mark.parametrize("kind", ["groups", "time"])
def test_model_files(estimator, kind, tmp_path):
    X, y, groups = grouped(12, 5)
    model = sklearn.base.clone(estimator).fit(X, y, **{kind: groups})
    model.save(tmp_path / "model.xnet")
    np.testing.assert_array_equal(
        extranets.load(tmp_path / "model.xnet").predict_interval(X), model.predict_interval(X)
    )


@pytest.mark.filterwarnings("ignore:J'J is near singular")
@pytest.mark.parametrize("estimator", ALL, ids=named)
def test_fewest_groups_and_times(estimator):
    X, y, _ = grouped(3, 20)
    for kind in ("groups", "time"):
        model = sklearn.base.clone(estimator).fit(X, y, **{kind: np.repeat([0, 1], 30)})
        assert np.isfinite(model.predict_interval(X)).all()
        with pytest.raises(ValueError, match=f"{kind} must have at least two"):
            sklearn.base.clone(estimator).fit(X, y, **{kind: np.zeros(60)})


def test_rows_without_weight_have_no_group():
    X, y, groups = grouped(12, 5)
    weight = (groups > 3).astype(float)
    whole = sklearn.base.clone(EXTRA).fit(X, y, weight, groups=groups)
    part = sklearn.base.clone(EXTRA).fit(X[groups > 3], y[groups > 3], groups=groups[groups > 3])
    np.testing.assert_array_equal(whole.predict_interval(X), part.predict_interval(X))
    with pytest.raises(ValueError, match="at least two groups among the rows that are used"):
        sklearn.base.clone(EXTRA).fit(X, y, (groups == 3).astype(float), groups=groups)


def test_a_wrong_length_is_named_and_leaves_no_fitted_estimator():
    X, y, groups = grouped(12, 5)
    model = sklearn.base.clone(EXTRA).fit(X, y)
    with pytest.raises(ValueError, match="one value for each of the 60 rows"):
        model.fit(X, y, groups=groups[:-1])
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("estimator", [BootstrapNetsRegressor(), DeepEnsembleRegressor(), PBPRegressor()], ids=named)
def test_estimators_that_leave_no_rows_out_say_so(estimator):
    X, y, groups = grouped(12, 5)
    with pytest.raises(ValueError, match=f"{named(estimator)} leaves none out; use StackedNetsRegressor"):
        estimator.fit(X, y, groups=groups)


@pytest.mark.parametrize(
    "changes", [{"noise": "train", "interval": "total"}, {"loss": "gaussian_nll", "interval": "total"}]
)
def test_settings_that_leave_no_rows_out_say_so(changes):
    X, y, groups = grouped(12, 5)
    model = sklearn.base.clone(EXTRA).set_params(**changes)
    with pytest.raises(
        ValueError, match="groups says which rows are left out together, but with these parameters none"
    ):
        model.fit(X, y, groups=groups)


@pytest.mark.parametrize("kind", ["groups", "time"])
def test_a_hold_out_is_of_whole_groups_or_the_latest_rows(kind):
    X, y, groups = grouped()
    model = sklearn.base.clone(EXTRA).set_params(noise="holdout", holdout_fraction=0.25)
    found = model.fit(X, y, **{kind: groups})
    moved = y.copy()
    held = groups >= 30
    moved[held] = moved[held][::-1]  # the same values, so that the scaling of y stays
    other = sklearn.base.clone(model).fit(X, moved, **{kind: groups})
    assert np.array_equal(found.predict(X), other.predict(X)) == (kind == "time")


def test_cv_plus_keeps_groups_whole_and_refuses_time():
    X, y, groups = grouped()
    model = sklearn.base.clone(EXTRA).set_params(interval="cv+")
    assert width(sklearn.base.clone(model).fit(X, y, groups=groups), X) > 1.1 * width(model.fit(X, y), X)
    with pytest.raises(ValueError, match="interval='cv\\+' needs an error of every row"):
        model.fit(X, y, time=groups)


def test_metadata_routing():
    X, y, groups = grouped()
    with sklearn.config_context(enable_metadata_routing=True):
        model = sklearn.base.clone(EXTRA).set_fit_request(groups=True, sample_weight=False, time=False)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y, groups=groups)
        plain = make_pipeline(StandardScaler(), sklearn.base.clone(model)).fit(X, y)
        assert pipeline[-1].held_out_scores_["rmse"] > plain[-1].held_out_scores_["rmse"]
        scores = cross_val_score(model, X, y, cv=GroupKFold(3), params={"groups": groups})
        assert np.isfinite(scores).all()
