"""scikit-learn's own estimator checks, and its tools with our estimators in them."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import extranets
from extranets import ExtraNetsRegressor, PBPRegressor

SMALL = ExtraNetsRegressor(n_estimators=5, max_iter=30, effort="low", numeric_encoding=None, random_state=0)
QUICK = {"n_estimators": 8, "max_iter": 30, "n_passes": 20, "numeric_encoding": None, "random_state": 0}


def every_estimator():
    for name in extranets.estimators.__all__:
        estimator = getattr(extranets, name)()
        yield estimator.set_params(**{key: value for key, value in QUICK.items() if key in estimator.get_params()})


# scikit-learn compares to seven digits a row repeated k times with a row of weight k. Mini-batches of a shuffled table differ
# between the two, as they do for MLPRegressor(solver="adam"), which scikit-learn leaves out of this check for that reason.
MINI_BATCHES = "mini-batches of repeated rows are not mini-batches of weighted rows"


# PBP takes rows one by one: a row of weight k has the noise variance divided by k, which is not a row seen k times.
ONE_BY_ONE = "a row of weight k moves the posterior once, a row repeated k times moves it k times"


def expected_failures(estimator):
    reason = ONE_BY_ONE if isinstance(estimator, PBPRegressor) else MINI_BATCHES
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings("ignore:J'J is near singular", "ignore:.*out-of-bag")
@parametrize_with_checks(list(every_estimator()), expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    return make_regression(120, 4, noise=5.0, random_state=0)


def test_weights_act_as_repetition_when_batches_hold_all_rows(table):
    """The check that is expected to fail above, where it can hold: full batches, nothing that counts rows, float32 tolerance."""
    X, y = table
    counts = np.random.RandomState(0).randint(0, 4, len(y))
    model = clone(SMALL).set_params(
        batch_size=10_000, noise="train", interval="paper", hidden_layer_sizes=(4,), learning_rate_init=0.01, alpha=0.0
    )
    weighted = clone(model).fit(X, y, sample_weight=counts).predict(X)
    repeated = clone(model).fit(X.repeat(counts, axis=0), y.repeat(counts)).predict(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-3 * y.std())


def test_grid_search_in_other_processes(table):
    """loky workers pickle the estimator, import the engine afresh and train on their own threads."""
    X, y = table
    search = GridSearchCV(SMALL, {"keep_prob": [0.8, 1.0]}, cv=2, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.5
    serial = GridSearchCV(SMALL, {"keep_prob": [0.8, 1.0]}, cv=2, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], serial.cv_results_["mean_test_score"])


def test_pickle_and_joblib_round_trip(table, tmp_path):
    X, y = table
    model = clone(SMALL).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(model.predict_interval(X), again.predict_interval(X))
