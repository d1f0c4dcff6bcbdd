"""Scores against other libraries, hand-computed cases, their properties, and scikit-learn's model selection."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pandas
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.integrate import quad
from sklearn import config_context
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import BayesianRidge
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from extranets import ExtraNetsRegressor, metrics
from extranets.tables import TableRegressor

RNG = np.random.default_rng(0)
N = 200
MEAN = RNG.normal(size=N)
STD = RNG.uniform(0.5, 2.0, N)
Y = MEAN + 1.3 * STD * RNG.normal(size=N) + 0.2
WEIGHT = RNG.uniform(0.0, 3.0, N)
LOWER, UPPER = MEAN - 1.5 * STD, MEAN + 1.5 * STD
DOF = RNG.uniform(2.1, 30.0, N)
SCALE = STD * np.sqrt((DOF - 2) / DOF)  # of Student's t with standard deviation STD
MEMBERS = MEAN + STD * RNG.normal(size=(9, N))

# Every score with predictions for Y; the last axis of a prediction is rows.
SCORES = {
    "rmse": (metrics.rmse, [MEAN]),
    "mae": (metrics.mae, [MEAN]),
    "pinball_loss": (lambda *a, **k: metrics.pinball_loss(*a, alpha=0.2, **k), [MEAN]),
    "gaussian_log_likelihood": (metrics.gaussian_log_likelihood, [MEAN, STD]),
    "student_t_log_likelihood": (lambda *a, **k: metrics.student_t_log_likelihood(*a, 4.5, **k), [MEAN, STD]),
    "mixture_log_likelihood": (metrics.mixture_log_likelihood, [MEMBERS, STD]),
    "crps_gaussian": (metrics.crps_gaussian, [MEAN, STD]),
    "crps_student_t": (lambda *a, **k: metrics.crps_student_t(*a, 4.5, **k), [MEAN, STD]),
    "crps_ensemble": (metrics.crps_ensemble, [MEMBERS]),
    "crps_ensemble fair": (lambda *a, **k: metrics.crps_ensemble(*a, fair=True, **k), [MEMBERS]),
    "coverage": (metrics.coverage, [LOWER, UPPER]),
    "coverage_error": (metrics.coverage_error, [LOWER, UPPER]),
    "mean_width": (metrics.mean_width, [LOWER, UPPER]),
    "normalised_width": (metrics.normalised_width, [LOWER, UPPER]),
    "interval_score": (metrics.interval_score, [LOWER, UPPER]),
    "cwc": (metrics.cwc, [LOWER, UPPER]),
    "calibration_error": (metrics.calibration_error, [MEAN, STD]),
    "calibration_error quantile": (lambda *a, **k: metrics.calibration_error(*a, by="quantile", **k), [MEAN, STD]),
    "calibration_error student": (lambda *a, **k: metrics.calibration_error(*a, dof=4.5, **k), [MEAN, STD]),
    "sharpness": (lambda y, std, **k: metrics.sharpness(std, **k), [STD]),
}
every_score = pytest.mark.parametrize(("score", "predictions"), SCORES.values(), ids=SCORES)


# -- against other libraries -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_point_metrics_and_pinball_are_those_of_sklearn(weight):
    for y, prediction in [(Y, MEAN), (np.c_[Y, 5 * Y], np.c_[MEAN, STD])]:
        expected = sklearn.metrics.root_mean_squared_error(y, prediction, sample_weight=weight)
        assert metrics.rmse(y, prediction, sample_weight=weight) == pytest.approx(expected, rel=1e-12)
        expected = sklearn.metrics.mean_absolute_error(y, prediction, sample_weight=weight)
        assert metrics.mae(y, prediction, sample_weight=weight) == pytest.approx(expected, rel=1e-12)
        for alpha in (0.05, 0.5, 0.9):
            expected = sklearn.metrics.mean_pinball_loss(y, prediction, sample_weight=weight, alpha=alpha)
            found = metrics.pinball_loss(y, prediction, alpha, sample_weight=weight)
            assert found == pytest.approx(expected, rel=1e-12)


def test_log_likelihoods_are_those_of_scipy():
    density = stats.norm.logpdf(Y, MEAN, STD)
    assert metrics.gaussian_log_likelihood(Y, MEAN, STD) == pytest.approx(density.mean(), rel=1e-12)
    weighted = metrics.gaussian_log_likelihood(Y, MEAN, STD, sample_weight=WEIGHT)
    assert weighted == pytest.approx(np.average(density, weights=WEIGHT), rel=1e-12)
    density = stats.t.logpdf(Y, DOF, MEAN, SCALE)
    assert metrics.student_t_log_likelihood(Y, MEAN, STD, DOF) == pytest.approx(density.mean(), rel=1e-12)
    weighted = metrics.student_t_log_likelihood(Y, MEAN, STD, DOF, sample_weight=WEIGHT)
    assert weighted == pytest.approx(np.average(density, weights=WEIGHT), rel=1e-12)
    for std in (0.7, STD, np.abs(MEMBERS) + 0.1):
        density = np.log(stats.norm.pdf(Y, MEMBERS, std).mean(axis=0))
        assert metrics.mixture_log_likelihood(Y, MEMBERS, std) == pytest.approx(density.mean(), rel=1e-10)


def test_crps_is_that_of_scoringrules():
    scoringrules = pytest.importorskip("scoringrules")
    expected = scoringrules.crps_normal(Y, MEAN, STD)
    assert metrics.crps_gaussian(Y, MEAN, STD) == pytest.approx(expected.mean(), rel=1e-10)
    weighted = metrics.crps_gaussian(Y, MEAN, STD, sample_weight=WEIGHT)
    assert weighted == pytest.approx(np.average(expected, weights=WEIGHT), rel=1e-10)
    expected = scoringrules.crps_t(Y, DOF, MEAN, SCALE)
    assert metrics.crps_student_t(Y, MEAN, STD, DOF) == pytest.approx(expected.mean(), rel=1e-10)
    weighted = metrics.crps_student_t(Y, MEAN, STD, DOF, sample_weight=WEIGHT)
    assert weighted == pytest.approx(np.average(expected, weights=WEIGHT), rel=1e-10)
    for fair, estimator in [(False, "nrg"), (True, "fair")]:
        expected = scoringrules.crps_ensemble(Y, MEMBERS.T, estimator=estimator).mean()
        assert metrics.crps_ensemble(Y, MEMBERS, fair=fair) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("dof", [2.5, 4.0, 30.0])
@pytest.mark.parametrize("y", [0.3, -7.0])
def test_crps_of_student_is_the_integral_that_defines_it(y, dof):
    """The integral of (F(x) - 1{x >= y})^2 over all x."""
    cdf = stats.t(dof, 1.0, 2.0 * math.sqrt((dof - 2) / dof)).cdf
    below, above = quad(lambda x: cdf(x) ** 2, -np.inf, y)[0], quad(lambda x: (1 - cdf(x)) ** 2, y, np.inf)[0]
    assert metrics.crps_student_t([y], 1.0, 2.0, dof) == pytest.approx(below + above, rel=1e-6)


def test_interval_score_is_that_of_scoringrules():
    scoringrules = pytest.importorskip("scoringrules")
    expected = scoringrules.interval_score(Y, LOWER, UPPER, 0.2).mean()
    assert metrics.interval_score(Y, LOWER, UPPER, 0.8) == pytest.approx(expected, rel=1e-10)


def test_scores_are_those_of_uncertainty_toolbox():
    toolbox = pytest.importorskip("uncertainty_toolbox")
    predictions = (MEAN, STD, Y)
    assert -metrics.gaussian_log_likelihood(Y, MEAN, STD) == pytest.approx(toolbox.nll_gaussian(*predictions))
    assert metrics.crps_gaussian(Y, MEAN, STD) == pytest.approx(toolbox.crps_gaussian(*predictions))
    assert metrics.sharpness(STD) == pytest.approx(toolbox.sharpness(STD))
    for level in (0.5, 0.9):
        lower, upper = stats.norm.interval(level, MEAN, STD)
        expected = toolbox.interval_score(*predictions, start_p=level, end_p=level, resolution=1)
        assert metrics.interval_score(Y, lower, upper, level) == pytest.approx(expected)


def test_calibration_is_that_of_uncertainty_toolbox():
    calibration = pytest.importorskip("uncertainty_toolbox.metrics_calibration")
    levels, expected = calibration.get_proportion_lists_vectorized(MEAN, STD, Y, 100, None, "interval")
    np.testing.assert_allclose(metrics.calibration_curve(Y, MEAN, STD, levels)[1], expected, atol=1e-12)
    # the toolbox takes prediction minus target; turning both signs gives the same curve
    _, expected = calibration.get_proportion_lists_vectorized(-MEAN, STD, -Y, 100, None, "quantile")
    np.testing.assert_allclose(metrics.calibration_curve(Y, MEAN, STD, levels, by="quantile")[1], expected, atol=1e-12)
    exact = calibration.mean_absolute_calibration_error(MEAN, STD, Y)
    assert metrics.calibration_error(Y, MEAN, STD, levels) == pytest.approx(exact, abs=1e-12)
    # the area is integrated by trapezia over 100 levels from 0 to 1, the error averaged over 0.01, ..., 0.99
    area = calibration.miscalibration_area(MEAN, STD, Y)
    assert area > 0.05
    assert metrics.calibration_error(Y, MEAN, STD) == pytest.approx(area, abs=0.01 * area + 1e-3)


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_interval_scores_match_values_computed_by_hand():
    y, lower, upper = [0.0, 2.0, 5.0, 10.0], [0.0, 3.0, 4.0, 0.0], [1.0, 4.0, 8.0, 8.0]  # on a bound, below, in, above
    assert metrics.coverage(y, lower, upper) == 0.5
    assert metrics.coverage(y, lower, upper, sample_weight=[0, 1, 3, 0]) == 0.75
    assert metrics.coverage_error(y, lower, upper, 0.8) == pytest.approx(0.3)
    assert metrics.mean_width(y, lower, upper) == (1 + 1 + 4 + 8) / 4
    assert metrics.normalised_width(y, lower, upper) == pytest.approx(3.5 / 10)
    assert metrics.normalised_width(y, lower, upper, sample_weight=[0, 1, 1, 0]) == pytest.approx(2.5 / 3)
    assert metrics.interval_score(y, lower, upper, 0.8) == pytest.approx(3.5 + 10 * (1 + 2) / 4)
    assert metrics.cwc(y, lower, upper, 0.5) == pytest.approx(0.35)
    assert metrics.cwc(y, lower, upper, 0.6) == pytest.approx(0.35 * (1 + math.exp(50 * 0.1)))
    assert metrics.cwc(y, lower, upper, 0.6, eta=3) == pytest.approx(0.35 * (1 + math.exp(0.3)))


def test_coverage_is_the_share_of_covered_rows():
    assert metrics.coverage(Y, LOWER, UPPER) == np.mean([a <= v <= b for v, a, b in zip(Y, LOWER, UPPER, strict=True)])


def test_ensemble_crps_matches_values_computed_by_hand():
    # members 0, 1, 3 and target 2: mean distance 4/3; distances of pairs 1, 3, 2
    assert metrics.crps_ensemble([2.0], [[3.0], [0.0], [1.0]]) == pytest.approx(4 / 3 - 6 / 9)
    assert metrics.crps_ensemble([2.0], [[3.0], [0.0], [1.0]], fair=True) == pytest.approx(4 / 3 - 6 / 6)
    assert metrics.crps_ensemble([2.0], [[5.0]]) == 3.0


def test_calibration_matches_values_computed_by_hand():
    y = [-3.0, -0.5, 0.1, 0.2]  # quantiles at 0.5 and 0.975 are 0 and 1.96
    levels, observed = metrics.calibration_curve(y, 0.0, 1.0, [0.0, 0.5, 0.975, 1.0], by="quantile")
    np.testing.assert_array_equal(observed, [0, 0.5, 1, 1])
    np.testing.assert_array_equal(levels, [0.0, 0.5, 0.975, 1.0])
    _, observed = metrics.calibration_curve(y, 0.0, 1.0, [0.1, 0.5, 0.95], sample_weight=[1, 1, 2, 4])
    np.testing.assert_allclose(observed, [2 / 8, 7 / 8, 7 / 8])  # within 0.126, 0.674 and 1.96
    _, observed = metrics.calibration_curve(y, y, 1.0, [0.4, 0.5], by="quantile")  # all at the median: at most it
    np.testing.assert_array_equal(observed, [0, 1])
    _, observed = metrics.calibration_curve(np.c_[y, np.full(4, 9.0)], 0.0, 1.0, [0.5])
    np.testing.assert_array_equal(observed, [(0.75 + 0) / 2])
    error = metrics.calibration_error(y, 0.0, 1.0, [0.1, 0.5, 0.95], sample_weight=[1, 1, 2, 4])
    assert error == pytest.approx((0.15 + 0.375 + 0.075) / 3)


@pytest.mark.parametrize("by", ["interval", "quantile"])
def test_calibration_of_student_counts_its_own_probabilities(by):
    below = stats.t.cdf(Y, DOF, MEAN, SCALE)
    probability = below if by == "quantile" else np.abs(2 * below - 1)
    levels, observed = metrics.calibration_curve(Y, MEAN, STD, by=by, dof=DOF, sample_weight=WEIGHT)
    expected = [np.average(probability <= level, weights=WEIGHT) for level in levels]
    np.testing.assert_allclose(observed, expected, atol=1e-12)
    assert np.abs(observed - metrics.calibration_curve(Y, MEAN, STD, by=by, sample_weight=WEIGHT)[1]).max() > 0.01
    error = metrics.calibration_error(Y, MEAN, STD, by=by, dof=DOF, sample_weight=WEIGHT)
    assert error == pytest.approx(np.abs(levels - expected).mean())


STUDENT = {
    "log likelihood": metrics.student_t_log_likelihood,
    "crps": metrics.crps_student_t,
    "calibration": lambda *a: metrics.calibration_error(*a[:3], dof=a[3]),
}
of_student = pytest.mark.parametrize("score", STUDENT.values(), ids=STUDENT)


@of_student
def test_degrees_of_freedom_are_one_number_or_by_output_or_by_row(score):
    y, mean, std = np.c_[Y, 2 * Y], np.c_[MEAN, MEAN], np.c_[STD, STD]
    each = [score(Y, MEAN, STD, 3.0), score(2 * Y, MEAN, STD, 9.0)]
    assert score(y, mean, std, np.array([3.0, 9.0])) == pytest.approx(np.mean(each))
    assert score(y, mean, std, np.broadcast_to([3.0, 9.0], y.shape)) == pytest.approx(np.mean(each))
    assert score(Y, MEAN, STD, np.full(N, 3.0)) == each[0]
    assert score(Y[:, None], MEAN[:, None], STD[:, None], np.array([3.0])) == each[0]  # of an estimator with one output


@of_student
def test_student_without_degrees_of_freedom_is_normal(score):
    normal = score(Y, MEAN, STD, None)
    assert normal == {
        metrics.student_t_log_likelihood: metrics.gaussian_log_likelihood(Y, MEAN, STD),
        metrics.crps_student_t: metrics.crps_gaussian(Y, MEAN, STD),
    }.get(score, metrics.calibration_error(Y, MEAN, STD))
    assert score(Y, MEAN, STD, 1e12) == pytest.approx(normal, abs=1e-7)
    assert score(Y, MEAN, STD, 3.0) != pytest.approx(normal, abs=1e-3)


@of_student
@pytest.mark.parametrize("value", [2.0, -1.0, np.nan, np.inf])
def test_degrees_of_freedom_must_be_above_two(score, value):
    dof = DOF.copy()
    dof[5] = value
    with pytest.raises(ValueError, match=r"dof must be finite and above 2, .* in row 5\."):
        score(Y, MEAN, STD, dof)
    with pytest.raises(ValueError, match=r"dof has shape \(199,\), which does not fit y_true .*\(200, 1\)"):
        score(Y, MEAN, STD, DOF[1:])


def test_outputs_cannot_make_up_for_each_other():
    y = np.c_[Y, Y]
    std = np.c_[STD / 20, STD * 20]
    both = [metrics.calibration_error(Y, MEAN, STD / 20), metrics.calibration_error(Y, MEAN, STD * 20)]
    assert metrics.calibration_error(y, np.c_[MEAN, MEAN], std) == pytest.approx(np.mean(both))
    assert metrics.coverage_error([[0.0, 0.0]], [[-1.0, 1.0]], [[1.0, 2.0]], 0.5) == 0.5  # 100 % and 0 %


def test_mixture_survives_where_every_density_underflows():
    assert metrics.mixture_log_likelihood([100.0], [[0.0], [0.0]], 1.0) == pytest.approx(stats.norm.logpdf(100))


def test_extreme_predictions_are_scored_without_overflow():
    assert metrics.crps_gaussian([1e10], [0.0], 1e-300) == pytest.approx(1e10)
    assert metrics.gaussian_log_likelihood([1e10], [0.0], 1e-300) == -math.inf
    assert metrics.crps_student_t([1e10, 0.0], [0.0, 0.0], 1e-300, 4.0) == pytest.approx(5e9)
    far = math.log(12) - 5 * math.log(1e10) + 4 * math.log(math.sqrt(0.5) * 1e-300)  # 12 t^-5, the tail of t(4)
    assert metrics.student_t_log_likelihood([1e10], [0.0], 1e-300, 4.0) == pytest.approx(far, rel=1e-12)
    assert metrics.interval_score([0.0, 1.0], [-math.inf, 0], [math.inf, 1]) == math.inf
    assert metrics.interval_score([0.0, 1.0], [-math.inf, 0], [math.inf, 1], sample_weight=[0, 1]) == 1
    assert metrics.coverage([0.0], [-math.inf], [0.0]) == 1
    assert metrics.normalised_width([0.0, 5e-324], [0.0, 0.0], 1.0) == math.inf
    assert metrics.cwc([0.0, 1.0], [0.5, 0.5], [0.5, 0.5], eta=1e9) == 0  # not infinity times 0
    assert metrics.cwc([0.0, 1.0], [0.5, 0.5], [0.7, 0.7], eta=1e9) > 1e300


def test_std_may_be_one_number_or_one_for_each_row():
    assert metrics.crps_gaussian(Y, MEAN, 2.0) == metrics.crps_gaussian(Y, MEAN, np.full(N, 2.0))
    equal = np.broadcast_to(STD, MEMBERS.shape)
    assert metrics.mixture_log_likelihood(Y, MEMBERS, STD) == metrics.mixture_log_likelihood(Y, MEMBERS, equal)
    same = np.stack([MEAN, MEAN])
    gaussian = metrics.gaussian_log_likelihood(Y, MEAN, STD)
    assert metrics.mixture_log_likelihood(Y, same, STD) == pytest.approx(gaussian, rel=1e-12)


# -- what holds for every score ----------------------------------------------------------------------------------------


@every_score
def test_outputs_are_averaged(score, predictions):
    two = [np.stack([p, 1.5 * p], axis=-1) for p in predictions]
    expected = (score(Y, *predictions) + score(1.5 * Y + 0.1, *(1.5 * p for p in predictions))) / 2
    assert score(np.c_[Y, 1.5 * Y + 0.1], *two) == pytest.approx(expected, rel=1e-10)
    single = score(Y[:, None], *(p[..., None] for p in predictions))
    assert single == pytest.approx(score(Y, *predictions), rel=1e-12)


@every_score
def test_a_weight_is_a_number_of_copies(score, predictions):
    copies = np.arange(N) % 3
    expected = score(np.repeat(Y, copies), *(np.repeat(p, copies, axis=-1) for p in predictions))
    found = score(Y, *predictions, sample_weight=copies)
    assert found == pytest.approx(expected, rel=1e-10)
    assert found != pytest.approx(score(Y, *predictions), rel=1e-6)


@every_score
def test_bad_rows_are_named(score, predictions):
    for i in range(len(predictions)):
        broken = [p.copy() for p in predictions]
        broken[i][..., 7] = np.nan
        with pytest.raises(ValueError, match=r"(y_pred|quantile|mean|std|member|lower|upper).* row 7\."):
            score(Y, *broken)
    for weight, message in [(-WEIGHT, "row 0"), (0 * WEIGHT, "positive"), (WEIGHT[1:], r"shape \(200,\)")]:
        with pytest.raises(ValueError, match=f"sample_weight.*{message}"):
            score(Y, *predictions, sample_weight=weight)


def test_unequal_lengths_are_refused():
    for score, predictions in [value for name, value in SCORES.items() if name != "sharpness"]:
        with pytest.raises(ValueError, match=r"has shape \(200,\), which does not fit y_true .*\(199, 1\)"):
            score(Y[:-1], *predictions)


def test_masked_values_are_refused_by_name():
    hidden = np.ma.masked_array(WEIGHT, mask=np.arange(len(Y)) == 5)
    for name, call in {
        "y_true": lambda: metrics.rmse(hidden, MEAN),
        "y_pred": lambda: metrics.rmse(Y, hidden),
        "lower": lambda: metrics.coverage(Y, hidden, UPPER),
        "members": lambda: metrics.crps_ensemble(Y, np.ma.stack([hidden, hidden])),
        "sample_weight": lambda: metrics.rmse(Y, MEAN, sample_weight=hidden),
    }.items():
        with pytest.raises(ValueError, match=f"{name} is a masked array"):
            call()


def test_bad_targets_and_bounds_are_named():
    bad = Y.copy()
    bad[3] = np.inf
    with pytest.raises(ValueError, match=r"y_true must be finite; got inf in row 3\."):
        metrics.rmse(bad, MEAN)
    with pytest.raises(ValueError, match=r"y_true must be finite; got inf in row 3, output 1\."):
        metrics.rmse(np.c_[Y, bad], np.c_[Y, Y])
    with pytest.raises(ValueError, match=r"y_pred must be finite; got inf in row 3\."):
        metrics.rmse(Y, bad)
    with pytest.raises(ValueError, match="y_true must have shape"):
        metrics.rmse([], [])
    with pytest.raises(ValueError, match=r"lower must not exceed upper; got .* in row 0\."):
        metrics.coverage(Y, UPPER, LOWER)
    with pytest.raises(ValueError, match=r"lower .* infinity.* row 0\."):
        metrics.mean_width([1.0], [np.inf], [np.inf])
    with pytest.raises(ValueError, match=r"upper .* infinity.* row 0\."):
        metrics.mean_width([1.0], [-np.inf], [-np.inf])
    with pytest.raises(ValueError, match="output 1 is constant"):
        metrics.normalised_width(np.c_[Y, 0 * Y], np.c_[LOWER, LOWER], np.c_[UPPER, UPPER])


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_std_must_be_positive(value):
    std = STD.copy()
    std[5] = value
    for score in (metrics.gaussian_log_likelihood, metrics.calibration_curve):
        with pytest.raises(ValueError, match=r"std must be .* in row 5\."):
            score(Y, MEAN, std)
    with pytest.raises(ValueError, match=r"std must be .* in row 5\."):
        metrics.sharpness(std)
    if value != 0:
        with pytest.raises(ValueError, match=r"std must be .* in row 5\."):
            metrics.crps_gaussian(Y, MEAN, std)
    with pytest.raises(ValueError, match=r"member_stds must be .* in row 5\."):
        metrics.mixture_log_likelihood(Y, MEMBERS, std)
    with pytest.raises(ValueError, match=r"member_stds\[1\] must be .* in row 5\."):
        metrics.mixture_log_likelihood(Y, MEMBERS[:2], np.stack([STD, std]))


def test_bad_settings_are_named():
    for level in (0, 1, 90, -0.1, np.nan):
        for score in (metrics.interval_score, metrics.cwc, metrics.coverage_error):
            with pytest.raises(ValueError, match="coverage must lie strictly between 0 and 1"):
                score(Y, LOWER, UPPER, level)
        for scorer in (metrics.interval_score_scorer, metrics.coverage_error_scorer):
            with pytest.raises(ValueError, match="coverage must lie"):
                scorer(level)
        with pytest.raises(ValueError, match="alpha must lie"):
            metrics.pinball_loss(Y, MEAN, level)
    with pytest.raises(ValueError, match="eta"):
        metrics.cwc(Y, LOWER, UPPER, eta=-1)
    with pytest.raises(ValueError, match="levels"):
        metrics.calibration_curve(Y, MEAN, STD, [0.5, 1.5])
    with pytest.raises(ValueError, match="by"):
        metrics.calibration_error(Y, MEAN, STD, by="centre")
    with pytest.raises(ValueError, match="at least two members"):
        metrics.crps_ensemble([1.0], [[1.0]], fair=True)
    with pytest.raises(ValueError, match="2 members where member_means has 9"):
        metrics.mixture_log_likelihood(Y, MEMBERS, np.stack([STD, STD]))
    with pytest.raises(ValueError, match="members must have shape"):
        metrics.crps_ensemble(Y, MEAN)


@pytest.mark.parametrize("dof", [None, 4.5])
def test_crps_without_spread_is_the_absolute_error(dof):
    """If all rows have none, if some have none, and in the limit of a vanishing spread."""
    std = np.where(np.arange(N) < 50, 0.0, STD)
    assert metrics.crps_student_t(Y, MEAN, 0.0, dof) == pytest.approx(metrics.mae(Y, MEAN))
    assert metrics.crps_student_t(Y, Y, 0.0, dof) == 0.0
    parts = 50 * metrics.mae(Y[:50], MEAN[:50]) + 150 * metrics.crps_student_t(Y[50:], MEAN[50:], STD[50:], dof)
    assert metrics.crps_student_t(Y, MEAN, std, dof) == pytest.approx(parts / N)
    assert metrics.crps_student_t(Y, MEAN, 1e-12, dof) == pytest.approx(metrics.mae(Y, MEAN))


# -- properties --------------------------------------------------------------------------------------------------------

numbers = st.floats(-1e6, 1e6)
positive = st.floats(1e-3, 1e3)
vector = arrays(np.float64, 6, elements=numbers)
scales = arrays(np.float64, 6, elements=positive)


@given(vector, vector, scales, arrays(np.float64, (4, 6), elements=numbers))
def test_crps_is_not_negative_and_at_most_the_absolute_error(y, mean, std, members):
    assert 0 < metrics.crps_gaussian(y, mean, std) <= metrics.mae(y, mean) + std.mean()
    assert 0 <= metrics.crps_ensemble(y, members) <= np.abs(members - y).mean() * (1 + 1e-12)
    assert metrics.crps_ensemble(y, members, fair=True) <= metrics.crps_ensemble(y, members) + 1e-8


@given(vector, vector, scales, st.floats(0.01, 0.99))
def test_interval_score_is_at_least_the_mean_width(y, lower, width, level):
    upper = lower + width
    mean_width = metrics.mean_width(y, lower, upper)
    assert metrics.interval_score(y, lower, upper, level) >= mean_width
    assert 0 <= metrics.coverage(y, lower, upper) <= 1
    if metrics.coverage(y, lower, upper) == 1:
        assert metrics.interval_score(y, lower, upper, level) == mean_width
    if np.ptp(y):
        assert metrics.cwc(y, lower, upper, level) >= metrics.normalised_width(y, lower, upper)


@given(vector, vector, scales)
def test_calibration_curves_rise_from_0_to_1(y, mean, std):
    for by in ("interval", "quantile"):
        _, observed = metrics.calibration_curve(y, mean, std, np.linspace(0, 1, 21), by=by)
        assert observed[-1] == 1 and (np.diff(observed) >= 0).all()
        assert 0 <= metrics.calibration_error(y, mean, std, by=by) <= 0.5 + 1e-12


@given(positive)
def test_scores_follow_the_unit(unit):
    """Losses in the target's unit scale with it, shares stay, log densities shift by its logarithm."""
    for name in (
        "rmse",
        "mae",
        "pinball_loss",
        "crps_gaussian",
        "crps_student_t",
        "crps_ensemble",
        "mean_width",
        "interval_score",
        "sharpness",
    ):
        score, predictions = SCORES[name]
        scaled = score(unit * Y, *(unit * p for p in predictions))
        assert scaled == pytest.approx(unit * score(Y, *predictions), rel=1e-9)
    for name in ("normalised_width", "cwc"):
        score, predictions = SCORES[name]
        assert score(unit * Y, *(unit * p for p in predictions)) == pytest.approx(score(Y, *predictions), rel=1e-9)
    for name in ("gaussian_log_likelihood", "student_t_log_likelihood", "mixture_log_likelihood"):
        score, predictions = SCORES[name]
        scaled = score(unit * Y, *(unit * p for p in predictions))
        assert scaled == pytest.approx(score(Y, *predictions) - math.log(unit), rel=1e-9, abs=1e-9)


def losses(mean, std):
    """Proper losses of a Normal prediction, row by row, for 20,000 targets from the standard Normal."""
    y = np.random.default_rng(1).normal(size=20_000)
    draws = np.random.default_rng(2).normal(mean, std, size=(10, len(y)))
    lower, upper = mean - 1.6449 * std, mean + 1.6449 * std

    def by_rows(score, *predictions):  # rows stand in for outputs: 400 means of 50 rows
        fold = [np.broadcast_to(p, (*np.shape(p)[:-1], len(y))) for p in predictions]
        return np.array([score(y[i : i + 50], *(f[..., i : i + 50] for f in fold)) for i in range(0, len(y), 50)])

    return {
        "interval score": by_rows(metrics.interval_score, lower * np.ones(1), upper * np.ones(1)),
        "CRPS": by_rows(metrics.crps_gaussian, mean * np.ones(1), std * np.ones(1)),
        "fair CRPS": by_rows(lambda *a: metrics.crps_ensemble(*a, fair=True), draws),
        "log score": -by_rows(metrics.gaussian_log_likelihood, mean * np.ones(1), std * np.ones(1)),
        "pinball": by_rows(lambda *a: metrics.pinball_loss(*a, alpha=0.95), upper * np.ones(1)),
    }


def test_student_t_predictions_score_best_for_student_t_targets():
    """20,000 targets from t(4): by more than 3 standard errors of the paired difference to a Normal, from groups of 50 rows."""
    y = np.random.default_rng(1).standard_t(4, size=(400, 50)) * math.sqrt(0.5)
    for score, sign in [(metrics.student_t_log_likelihood, 1), (metrics.crps_student_t, -1)]:
        gain = np.array([sign * (score(rows, 0.0, 1.0, 4.0) - score(rows, 0.0, 1.0, None)) for rows in y])
        assert gain.mean() > 3 * gain.std(ddof=1) / math.sqrt(len(gain))
    assert (
        metrics.calibration_error(y.ravel(), 0.0, 1.0, dof=4.0) < 0.01 < metrics.calibration_error(y.ravel(), 0.0, 1.0)
    )


@pytest.mark.parametrize(("mean", "std"), [(0.3, 1.0), (-0.3, 1.0), (0.0, 0.75), (0.0, 1.35)])
def test_the_truth_scores_best(mean, std):
    """By more than 3 standard errors of the paired difference, from 400 groups of 50 rows."""
    truth = losses(0.0, 1.0)
    for name, loss in losses(mean, std).items():
        gain = loss - truth[name]
        assert gain.mean() > 3 * gain.std(ddof=1) / math.sqrt(len(gain)), name


def test_the_truth_is_calibrated():
    """20,000 draws: shares within 4 standard errors sqrt(p (1 - p) / n), at most 0.0141; a doubled std is detected."""
    y = np.random.default_rng(3).normal(2.0, 3.0, size=20_000)
    for by in ("interval", "quantile"):
        levels, observed = metrics.calibration_curve(y, 2.0, 3.0, by=by)
        assert (np.abs(observed - levels) < 4 * np.sqrt(levels * (1 - levels) / len(y))).all()
        assert metrics.calibration_error(y, 2.0, 6.0, by=by) > 0.05


def test_ensemble_crps_tends_to_the_gaussian_one():
    """Fair is unbiased: 4,000 rows of 8 members, within 4 standard errors. Plain is too large by E|x - x'| / 2T."""
    rng = np.random.default_rng(4)
    y, members = rng.normal(size=4000), rng.normal(size=(8, 4000))
    fair = np.array([metrics.crps_ensemble(y[i : i + 1], members[:, i : i + 1], fair=True) for i in range(4000)])
    expected = metrics.crps_gaussian(y, 0.0, 1.0)
    paired = fair - np.array([metrics.crps_gaussian(y[i : i + 1], 0.0, 1.0) for i in range(4000)])
    error = 4 * paired.std() / math.sqrt(4000)
    assert abs(fair.mean() - expected) < error < 0.03
    bias = 2 / math.sqrt(math.pi) / 16
    assert abs(metrics.crps_ensemble(y, members) - expected - bias) < error < bias


# -- model selection ---------------------------------------------------------------------------------------------------

SCORERS = {
    "interval_score": metrics.interval_score_scorer(0.8),
    "coverage_error": metrics.coverage_error_scorer(0.8),
    "crps": metrics.crps_scorer(),
    "log_likelihood": metrics.log_likelihood_scorer(),
    "rmse": make_scorer(metrics.rmse, greater_is_better=False),
}
X = np.random.default_rng(5).normal(size=(120, 3))
TARGET = X[:, 0] + 0.3 * np.random.default_rng(6).normal(size=120)


def nets():
    return ExtraNetsRegressor(n_estimators=5, max_iter=20, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return nets().fit(X, TARGET)


class Students:
    """A regressor from elsewhere, with degrees of freedom like those of ours."""

    def __init__(self, dof):
        self.degrees_of_freedom_ = dof

    def predict(self, X, return_std):
        return X[:, 0], 0.3 + np.abs(X[:, 1])


@pytest.mark.parametrize("dof", [None, 3.5])
def test_scorers_use_the_degrees_of_freedom(dof):
    model, mean, std = Students(dof), *Students(dof).predict(X, return_std=True)
    expected = (stats.norm(mean, std) if dof is None else stats.t(dof, mean, std * math.sqrt(1.5 / 3.5))).logpdf(TARGET)
    alone = SCORERS["log_likelihood"](model, X, TARGET)
    assert alone == pytest.approx(expected.mean())
    assert SCORERS["crps"](model, X, TARGET) == -metrics.crps_student_t(TARGET, mean, std, dof)
    pipeline = Pipeline([("scale", FunctionTransformer()), ("model", model)])
    assert SCORERS["log_likelihood"](pipeline, X, TARGET) == alone


def test_scorers_score_what_the_estimator_predicts(fitted):
    mean, std = fitted.predict(X, return_std=True)
    bounds = fitted.predict_interval(X, 0.8).T
    assert fitted.degrees_of_freedom_ is not None  # or Student's t would not be tested
    expected = {
        "interval_score": -metrics.interval_score(TARGET, *bounds, 0.8),
        "coverage_error": -metrics.coverage_error(TARGET, *bounds, 0.8),
        "crps": -metrics.crps_student_t(TARGET, mean, std, fitted.degrees_of_freedom_),
        "log_likelihood": fitted.predict_dist(X).logpdf(TARGET).mean(),
        "rmse": -metrics.rmse(TARGET, mean),
    }
    assert {name: scorer(fitted, X, TARGET) for name, scorer in SCORERS.items()} == pytest.approx(expected)
    weight = np.arange(120)
    for name in ("interval_score", "crps"):
        weighted = SCORERS[name](fitted, X, TARGET, sample_weight=weight)
        assert weighted == pytest.approx(SCORERS[name](fitted, np.repeat(X, weight, axis=0), np.repeat(TARGET, weight)))


@pytest.mark.parametrize("transform", [None, "log"])
def test_scorers_know_skewed_shapes_and_transformed_targets(transform):
    """CRPS is twice the mean pinball loss over all quantiles; here over 2,000 of them."""
    y = np.exp(TARGET) + np.random.default_rng(7).exponential(size=120)
    model = nets().set_params(distribution="empirical", target_transform=transform).fit(X, y)
    levels = (np.arange(2000) + 0.5) / 2000
    error = y[:, None] - model.predict_quantiles(X, levels)
    expected = 2 * np.maximum(levels * error, (levels - 1) * error).mean()
    assert SCORERS["crps"](model, X, y) == pytest.approx(-expected, rel=2e-3)
    assert SCORERS["log_likelihood"](model, X, y) == pytest.approx(model.predict_dist(X).logpdf(y).mean())


@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
def test_scorers_survive_pickling_and_prefer_the_right_target(scorer, fitted):
    assert pickle.loads(pickle.dumps(scorer))(fitted, X, TARGET) == scorer(fitted, X, TARGET)
    assert scorer(fitted, X, TARGET) > scorer(fitted, X, TARGET + 5)
    scores = cross_val_score(nets(), X, TARGET, cv=3, scoring=scorer, error_score="raise")
    assert scores.shape == (3,) and np.isfinite(scores).all()


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_grid_search_selects_on_an_interval_score(n_jobs):
    grid = {"max_iter": [1, 20]}
    search = GridSearchCV(
        nets(), grid, scoring=SCORERS, refit="interval_score", cv=2, n_jobs=n_jobs, error_score="raise"
    )
    search.fit(X, TARGET)
    found = search.cv_results_["mean_test_interval_score"]
    assert search.best_index_ == np.argmax(found) and np.ptp(found) > 0
    single = GridSearchCV(nets(), grid, scoring=SCORERS["crps"], cv=2, n_jobs=n_jobs, error_score="raise").fit(
        X, TARGET
    )
    np.testing.assert_allclose(single.cv_results_["mean_test_score"], search.cv_results_["mean_test_crps"])
    # a search, and a pipeline in it, are scored by the regressor that they contain
    best = search.best_estimator_
    for name in ("interval_score", "crps"):
        assert SCORERS[name](search, X, TARGET) == SCORERS[name](best, X, TARGET)


@pytest.mark.parametrize("name", ["interval_score", "crps", "log_likelihood", "coverage_error"])
def test_scorers_reach_into_pipelines(name):
    scale = StandardScaler().fit(X)
    inner = nets().fit(scale.transform(X), TARGET)
    pipeline = make_pipeline(StandardScaler(), nets()).fit(X, TARGET)
    assert SCORERS[name](pipeline, X, TARGET) == SCORERS[name](inner, scale.transform(X), TARGET)
    longer = make_pipeline(FunctionTransformer(), StandardScaler(), nets()).fit(X, TARGET)
    assert SCORERS[name](longer, X, TARGET) == SCORERS[name](inner, scale.transform(X), TARGET)
    alone = make_pipeline(nets()).fit(X, TARGET)
    assert SCORERS[name](alone, X, TARGET) == SCORERS[name](nets().fit(X, TARGET), X, TARGET)


class Weighted(BayesianRidge):
    """A regressor that predicts a spread. It requests no metadata."""

    def fit(self, X, y):
        return super().fit(X, y)


def refusal(call, *arguments, **named):
    """The type of the error that a call raises."""
    try:
        call(*arguments, **named)
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        return type(error)
    return None


@pytest.mark.parametrize("name", ["interval_score", "coverage_error", "crps", "log_likelihood"])
def test_scorers_route_weights_as_those_of_sklearn(name):
    """Compared with a scorer of make_scorer, with and without a request for weights."""
    weight = np.arange(1.0, 121.0)
    folds = KFold(3)

    def validated(scorer):
        found = cross_validate(
            Weighted(), X, TARGET, cv=folds, scoring=scorer, params={"sample_weight": weight}, error_score="raise"
        )
        return found["test_score"]

    def searched(scorer):
        search = GridSearchCV(Weighted(), {"tol": [1e-3]}, scoring=scorer, cv=folds).fit(X, TARGET)
        return search.score(X, TARGET, sample_weight=weight)

    def scored(scorer, *rows_and_weights):
        return [scorer(Weighted().fit(X[a], TARGET[a]), X[b], TARGET[b], **w) for a, b, w in rows_and_weights]

    ours, theirs = copy.deepcopy(SCORERS[name]), copy.deepcopy(SCORERS["rmse"])
    assert refusal(ours.set_score_request, sample_weight=True) is RuntimeError  # nothing is routed
    for use in (validated, searched):
        assert refusal(use, ours) is refusal(use, theirs) is not None
    every = slice(None)
    weighted = [(a, b, {"sample_weight": weight[b]}) for a, b in folds.split(X)]
    plain = [(a, b, {}) for a, b in folds.split(X)]
    assert np.ptp([scored(ours, *weighted), scored(ours, *plain)], axis=0).min() > 0
    with config_context(enable_metadata_routing=True):
        for use in (validated, searched):
            kinds = (UnsetMetadataPassedError, TypeError)  # earlier versions raise the latter
            assert refusal(use, ours) is refusal(use, theirs) in kinds
        for scorer in (ours, theirs):
            requested = copy.deepcopy(scorer).set_score_request(sample_weight=True)
            np.testing.assert_allclose(validated(requested), scored(scorer, *weighted))
            assert searched(requested) == pytest.approx(
                scored(scorer, (every, every, {"sample_weight": weight}))[0], rel=1e-9
            )


INVERSES = {
    "scaled": {"transformer": StandardScaler()},
    "logarithm": {"func": np.log, "inverse_func": np.exp},
    "falling": {"func": np.negative, "inverse_func": np.negative},
}


@pytest.mark.parametrize("name", INVERSES)
def test_intervals_of_transformed_targets_are_mapped_back(name):
    target = np.exp(TARGET)
    model = TransformedTargetRegressor(nets(), **INVERSES[name]).fit(X, target)
    ends = model.regressor_.predict_interval(X, 0.8)
    lower, upper = np.sort([model.transformer_.inverse_transform(end[:, None])[:, 0] for end in ends.T], axis=0)
    expected = -metrics.interval_score(target, lower, upper, 0.8)
    assert SCORERS["interval_score"](model, X, target) == pytest.approx(expected)
    pipeline = make_pipeline(FunctionTransformer(), model)
    assert SCORERS["coverage_error"](pipeline, X, target) == -metrics.coverage_error(target, lower, upper, 0.8)


class Spread:
    """The same interval for all rows."""

    def __init__(self, *ends):
        self.ends = ends

    def predict_interval(self, X, coverage):
        return np.tile(self.ends, (len(X), 1))


def test_intervals_are_mapped_back_by_a_square_and_without_an_end():
    """The squares of the numbers from -1 to 2 go from 0 to 4. The points that are mapped come near these ends."""
    model = TransformedTargetRegressor()
    model.transformer_ = FunctionTransformer(np.sqrt, np.square, validate=True).fit(np.ones((2, 1)))
    score = SCORERS["interval_score"]
    for ends, expected in (((-1.0, 2.0), -4.0), ((-np.inf, np.inf), -np.inf), ((0.0, np.inf), -np.inf)):
        model.regressor_ = Spread(*ends)
        assert score(model, X, np.ones(120)) == pytest.approx(expected, abs=0.01)


def test_scores_that_transformed_targets_cannot_have_are_refused():
    model = TransformedTargetRegressor(nets(), transformer=StandardScaler()).fit(X, TARGET)
    for name in ("crps", "log_likelihood"):
        with pytest.raises(
            TypeError, match="Use interval_score_scorer, or fit ExtraNetsRegressor to the target as it is"
        ):
            SCORERS[name](model, X, TARGET)
    two = TransformedTargetRegressor(nets(), transformer=StandardScaler()).fit(X, np.c_[TARGET, X[:, 1]])
    with pytest.raises(TypeError, match="score each target by itself"):
        SCORERS["interval_score"](two, X, np.c_[TARGET, X[:, 1]])


def test_a_table_regressor_is_not_taken_for_a_transformed_target():
    """It has a ``transformer_`` too, but that is for its columns."""
    table = pandas.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "yes", "no")})
    for inner in (nets(), BayesianRidge()):
        model = TableRegressor(inner).fit(table, TARGET)
        for name, scorer in SCORERS.items():
            inside = scorer(model.regressor_, model.encode(table), TARGET)
            assert scorer(model, table, TARGET) == pytest.approx(inside), name


def test_a_constant_target_is_scored_where_a_score_exists():
    model = nets().fit(X, np.full(120, 3.0))
    assert SCORERS["crps"](model, X, np.full(120, 5.0)) == pytest.approx(-2.0)
    with pytest.raises(ValueError, match=r"no density\. Use crps_scorer"):
        SCORERS["log_likelihood"](model, X, np.full(120, 5.0))


def test_scorers_take_several_outputs():
    target = np.c_[TARGET, X[:, 1]]
    model = nets().fit(X, target)
    bounds = model.predict_interval(X, 0.8)
    expected = [-metrics.interval_score(target[:, j], *bounds[:, j].T, 0.8) for j in range(2)]
    assert SCORERS["interval_score"](model, X, target) == pytest.approx(np.mean(expected))
    assert SCORERS["log_likelihood"](model, X, target) == pytest.approx(model.predict_dist(X).logpdf(target).mean())


def test_models_of_sklearn_are_scored_by_normal_intervals():
    model = BayesianRidge().fit(X, TARGET)
    mean, std = model.predict(X, return_std=True)
    expected = -metrics.interval_score(TARGET, *stats.norm.interval(0.8, mean, std), 0.8)
    assert SCORERS["interval_score"](model, X, TARGET) == pytest.approx(expected)
    assert SCORERS["crps"](model, X, TARGET) == -metrics.crps_gaussian(TARGET, mean, std)
