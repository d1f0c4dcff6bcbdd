"""Methods cross-validated on one table and ranked."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from extranets.comparison import NAMES, CvPlusRegressor, candidate, compare, rank
from extranets.data import simulated_rents
from extranets.evaluation import OutOfFold, cross_validate, drawn_rows
from extranets.tables import check_parting


@pytest.fixture(scope="module")
def rents():
    frame = simulated_rents(150, random_state=0)
    return frame.drop(columns=["rent", "flat"]), frame["rent"].to_numpy()


def test_methods_are_ranked_by_interval_score_on_the_same_rows(rents):
    begun = []
    lines, failed = compare(
        *rents, ["pbp", "gradient boosting", "extra-trees"], n_folds=3, begin=lambda *told: begun.append(told)
    )
    assert failed == {} and [line.rank for line in lines] == [1, 2, 3]
    assert [line.interval_score for line in lines] == sorted(line.interval_score for line in lines)
    assert lines[0].behind == 0 and all(line.behind > 0 and line.behind_se > 0 for line in lines[1:])
    assert lines[1].behind == pytest.approx(lines[1].interval_score - lines[0].interval_score)
    assert begun[:3] == [("pbp", 1, 3), ("pbp", 2, 3), ("pbp", 3, 3)] and len(begun) == 9


def test_a_method_that_fails_is_named_and_the_others_go_on(rents):
    X, y = rents
    lines, failed = compare(
        X[:6], y[:6], ["extra-trees", "pbp"], n_folds=2
    )  # CV+ of trees wants five folds of three rows
    assert [line.method for line in lines] == ["pbp"] and "n_splits=5" in failed["extra-trees"]


def test_a_fault_of_the_table_is_not_blamed_on_the_methods(rents):
    with pytest.raises(ValueError, match="nowhere"):
        compare(*rents, ["pbp"], table_settings={"kinds": {"nowhere": "number"}})


def test_the_standard_error_is_that_of_row_by_row_differences():
    y, bounds = np.zeros(4), np.array([[-1.0, 1.0]] * 4)
    wider = bounds * np.array([[1.0], [2.0], [3.0], [4.0]])
    found = {
        name: OutOfFold(0.9, 2, 2, np.arange(4), y, y, b, 0.0) for name, b in (("wide", wider), ("narrow", bounds))
    }
    first, second = rank(found)
    assert (first.method, second.method) == ("narrow", "wide")
    differences = np.array([0.0, 2.0, 4.0, 6.0])
    assert second.behind == pytest.approx(differences.mean())
    assert second.behind_se == pytest.approx(differences.std(ddof=1) / 2)


def test_a_large_table_is_sampled_in_order():
    rows = drawn_rows(150, 40, seed=1)
    assert len(rows) == 40 and (np.diff(rows) > 0).all() and rows.max() > 100
    assert drawn_rows(150, 150, seed=1).tolist() == list(range(150))


def test_folds_of_every_method_are_whole_groups_or_later_rows(rents):
    X, y = rents
    number = np.arange(len(y)) // 10
    seen = []

    class Spy(CvPlusRegressor):
        def fit(self, X, y, *, groups=None, time=None):
            seen.append((X.index, groups, time))
            return super().fit(X, y, groups=groups, time=time)

    for kind in ("groups", "time"):
        seen.clear()
        table = X.select_dtypes("number").fillna(0.0).astype(float)
        parting = check_parting(**{"groups": None, "time": None, kind: number}, n_rows=len(y))
        found = cross_validate(Spy(LinearRegression(), n_folds=3), table, y, n_folds=3, parting=parting)
        assert found.parting == kind and found.n_judged == 3
        for (train, groups, time), rows in zip(seen, folds_of(found), strict=True):
            own = groups if kind == "groups" else time
            np.testing.assert_array_equal(own, number[train])
            assert not set(number[train]) & set(number[rows])
            assert kind == "groups" or number[train].max() < number[rows].min()


def folds_of(found):
    """Rows of each fold, which are in order within a fold."""
    return np.split(found.rows, np.flatnonzero(np.diff(found.rows) < 0) + 1)


def test_trees_keep_groups_whole_and_blocks_of_time_together():
    X, y = np.arange(60.0)[:, None], np.arange(60.0)
    number = np.repeat(np.arange(12), 5)
    for kind in ("groups", "time"):
        fitted = CvPlusRegressor(LinearRegression(), n_folds=4).fit(X, y, **{kind: number})
        fold_of = [set(fitted.fold_of_row_[number == group]) for group in range(12)]
        assert all(len(folds) == 1 for folds in fold_of) and len(fitted.fold_models_) == 4
        assert kind == "groups" or np.count_nonzero(np.diff(fitted.fold_of_row_)) == 3


def test_every_name_makes_a_regressor_and_others_are_refused():
    assert all(hasattr(candidate(name, 0), "predict_interval") for name in NAMES)
    with pytest.raises(ValueError, match="no method 'forest'"):
        candidate("forest", 0)


def test_cv_plus_covers_with_any_regressor():
    """Of 2,000 new rows: four standard errors of coverage given the 200 training rows, sqrt(.9 * .1 (1/200 + 1/2000)) = .022."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2200, 3))
    y = X @ [1.0, 2.0, 3.0] + random.standard_t(5, size=2200)
    model = CvPlusRegressor(LinearRegression()).fit(X[:200], y[:200])
    lower, upper = model.predict_interval(X[200:], 0.9).T
    assert np.mean((lower <= y[200:]) & (y[200:] <= upper)) == pytest.approx(0.9, abs=4 * 0.022)
    assert model.residuals_[0] != np.abs(model.predict(X[:1])[0] - y[0])  # out of fold, not of the final model
