"""Predictions beside observed targets: scores, coverage with limits, cross-validation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from extranets import ExtraNetsRegressor, PBPRegressor, metrics
from extranets.data import linear_process
from extranets.evaluation import (
    LEVELS,
    CoverageRow,
    OutOfFold,
    binomial_limits,
    coverage_table,
    cross_validate,
    predict_with_targets,
    r_squared,
    scores,
)
from extranets.predictor.distributions import Normal, Student
from extranets.tables import TableRegressor


@pytest.fixture(scope="module")
def fitted():
    X, y, X_test, y_test = linear_process(400, random_state=0).split(200)
    model = ExtraNetsRegressor(n_estimators=5, max_iter=40, random_state=0).fit(X, y)
    return model, X_test, y_test


@pytest.fixture(scope="module")
def predictions(fitted):
    return predict_with_targets(*fitted, target="z", about={"file": "here"})


def test_predictions_are_those_of_the_model(fitted, predictions):
    model, X, y = fitted
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(predictions.mean, mean)
    np.testing.assert_allclose(predictions.std, std, rtol=1e-12)
    lower, upper = model.predict_interval(X, 0.8).T
    np.testing.assert_array_equal(predictions.at(0.8), (lower, upper))
    np.testing.assert_array_equal(predictions.covered[:, LEVELS.tolist().index(0.8)], (lower <= y) & (y <= upper))
    assert predictions.members.shape == (5, 200) and predictions.loss_curve.shape == (5, 40)
    assert predictions.target == "z" and predictions.about == {"file": "here"} and len(predictions) == 200


def test_members_can_be_left_out(fitted):
    assert predict_with_targets(*fitted, members=False, levels=[0.9]).members is None


def test_levels_hold_what_people_ask_for():
    assert {0.5, 0.8, 0.9, 0.95, 0.99} <= set(LEVELS.tolist())


def test_a_level_that_is_not_there_is_refused(predictions):
    with pytest.raises(ValueError, match=r"no intervals of coverage 0\.123"):
        predictions.at(0.123)


def test_targets_of_another_length_are_refused(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match="one column"):
        predict_with_targets(model, X, y[:-1])


def distribution(p):
    dof = p.shape.dof
    return stats.norm(p.mean, p.std) if dof is None else stats.t(dof[0], p.mean, p.std * np.sqrt((dof[0] - 2) / dof[0]))


def test_the_distribution_is_that_of_the_model(fitted, predictions):
    model, X, y = fitted
    assert predictions.shape.dof[0] == model.degrees_of_freedom_
    np.testing.assert_allclose(distribution(predictions).logpdf(y), model.predict_dist(X).logpdf(y))
    assert (
        replace(predictions, shape=Student(np.array([4.321]))).distribution
        == "Student's t with 4.32 degrees of freedom"
    )
    assert replace(predictions, shape=Normal()).distribution == "Normal"


def test_a_model_without_degrees_of_freedom_is_normal():
    X, y = linear_process(120, random_state=0).X, linear_process(120, random_state=0).y
    model = PBPRegressor((5,), max_iter=2, random_state=0).fit(X, y)
    assert predict_with_targets(model, X, y, levels=[0.9]).shape == Normal()


def test_a_table_passes_the_degrees_of_freedom_on(fitted):
    _, X, y = fitted
    model = TableRegressor(ExtraNetsRegressor(3, (5,), max_iter=5, random_state=0)).fit(X, y)
    found = predict_with_targets(model, X, y, levels=[0.9]).shape.dof
    assert found is not None and found[0] == model.regressor_.degrees_of_freedom_


@pytest.mark.parametrize("dof", [None, 3.0])
def test_scores_are_those_of_the_metrics(predictions, dof):
    p = replace(predictions, shape=Normal() if dof is None else Student(np.array([dof])))
    found = scores(p, 0.8)
    lower, upper = p.at(0.8)
    assert found["coverage"] == np.mean((lower <= p.y) & (p.y <= upper))
    assert found["interval_score"] == metrics.interval_score(p.y, lower, upper, 0.8)
    assert found["r2"] == pytest.approx(1 - np.sum((p.y - p.mean) ** 2) / np.sum((p.y - p.y.mean()) ** 2))
    assert found["log_likelihood"] == pytest.approx(distribution(p).logpdf(p.y).mean())
    assert found["crps"] == metrics.crps_student_t(p.y, p.mean, p.std, dof)
    error = metrics.calibration_error(p.y, p.mean, p.std, dof=dof)
    assert found["calibration_error"] == pytest.approx(error, abs=1e-12)
    assert found["epistemic_share"] == pytest.approx(p.epistemic.sum() / (p.epistemic + p.aleatoric).sum())


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (7, 7), (3, 10), (900, 1000)])
def test_limits_are_clopper_and_pearsons(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert binomial_limits(hits, n) == pytest.approx((expected.low, expected.high))


def test_the_coverage_table_has_counts_and_limits(predictions):
    (row,) = coverage_table(predictions, [0.9])
    hits = round(row.observed * len(predictions))
    lower, upper = predictions.at(0.9)
    assert row.observed == metrics.coverage(predictions.y, lower, upper)
    assert (row.low, row.high) == binomial_limits(hits, len(predictions))
    assert row.mean_width == pytest.approx(np.mean(upper - lower))
    assert len(coverage_table(predictions)) == len(LEVELS)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.8, 0.89, "too narrow"),
        (0.91, 0.99, "too wide"),
        (0.85, 0.95, "as promised"),
        (0.7, 0.99, "too few rows to tell"),
    ],
)
def test_verdicts(low, high, verdict):
    assert CoverageRow(0.9, (low + high) / 2, low, high, 1.0, 1.0).verdict == verdict


class Recorder:
    """Predicts the mean of what it was fitted to, with an interval of one on both sides; notes the rows it saw."""

    def __init__(self, seen=None):
        self.seen = seen

    def get_params(self, deep=True):
        return {"seen": self.seen}

    def fit(self, X, y):
        self.rows_, self.mean_ = set(X[:, 0].tolist()), y.mean()
        return self

    def predict(self, X):
        assert not self.rows_ & set(X[:, 0].tolist()), "a row is predicted by a model that was fitted to it"
        return np.full(len(X), self.mean_)

    def predict_interval(self, X, coverage):
        return self.predict(X)[:, None] + np.array([-1.0, 1.0])


def test_every_row_is_predicted_once_by_a_model_that_did_not_see_it():
    X, y = np.arange(23.0)[:, None], np.arange(23.0)
    folds = []
    found = cross_validate(Recorder(), X, y, n_folds=4, begin_fold=lambda k, n: folds.append((k, n)))
    assert sorted(found.rows.tolist()) == list(range(23)) and folds == [(1, 4), (2, 4), (3, 4), (4, 4)]
    np.testing.assert_array_equal(found.y, y[found.rows])
    assert (found.n_folds, found.n_judged) == (4, 4)


def test_it_stops_when_enough_rows_are_predicted():
    X, y = np.arange(100.0)[:, None], np.arange(100.0)
    found = cross_validate(Recorder(), X, y, n_folds=5, enough_rows=30)
    assert len(found.y) == 40 and found.n_judged == 2


def test_more_folds_than_rows_are_refused():
    with pytest.raises(ValueError, match="5 folds need at least as many rows; there are 3"):
        cross_validate(Recorder(), np.ones((3, 1)), np.ones(3))


def test_row_scores_average_to_the_interval_score():
    random = np.random.default_rng(0)
    y, mean = random.normal(size=50), random.normal(size=50)
    bounds = np.stack([mean - 0.5, mean + 0.5], axis=1)
    found = OutOfFold(0.8, 5, 5, np.arange(50), y, mean, bounds, 0.0)
    assert found.row_scores.mean() == pytest.approx(metrics.interval_score(y, *bounds.T, 0.8))
    assert found.scores()["coverage"] == metrics.coverage(y, *bounds.T)


def test_r2_of_held_out_rows_is_that_of_predictions(predictions):
    p = predictions
    found = OutOfFold(0.9, 5, 2, np.arange(len(p)), p.y, p.mean, np.stack(p.at(0.9), axis=1), 0.0)
    assert found.scores()["r2"] == scores(p)["r2"] == r_squared(p.y, p.mean)
    assert found.as_dict() == {"n_folds": 5, "n_judged": 2, "n_rows": len(p), "parting": None, **found.scores()}


def test_r2_of_targets_that_are_all_the_same_is_not_a_number():
    assert np.isnan(r_squared(np.ones(3), np.zeros(3)))
