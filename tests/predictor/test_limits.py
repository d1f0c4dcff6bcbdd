"""Bounds of the target: the part, and everything that a model predicts with them."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import onnxruntime
import pytest
from scipy import stats
from sklearn.base import clone

import extranets
from extranets import ExtraNetsRegressor
from extranets.metrics import interval_score
from extranets.model_file import checked
from extranets.predictor.distributions import Empirical, Normal, Student
from extranets.predictor.limits import Limits, ends_of
from extranets.predictor.link import Link
from extranets.predictor.predictive import Predictive
from extranets.uncertainty.components import Components
from tests.predictor import models

LEVELS = np.array([0.005, 0.05, 0.3, 0.5, 0.7, 0.95, 0.995])
LINK = Link(Limits(np.array([0.0, -np.inf]), np.array([3.0, -1.0])))
MEAN, STD = np.array([[1.0, -2.0], [-3.0, 0.5], [2.5, -7.0]]), np.array([[0.5, 2.0], [4.0, 0.7], [1.0, 3.0]])
SHAPES = {
    "normal": Normal(),
    "student": Student(np.array([4.0, 9.0])),
    "empirical": Empirical.learn(np.random.default_rng(0).exponential(size=(300, 2)) - 1, np.ones(300))[0],
}
EVERY = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def predictive(shape):
    return Predictive(shape, Components(MEAN, STD**2, np.zeros_like(STD)), LINK)


# -- the parameter -----------------------------------------------------------------------------------------------------


def test_what_is_never_negative_is_bounded_below_by_zero():
    y = np.array([[0.0, -1.0, 5.0], [2.0, 3.0, 6.0]])
    found = Limits.of("auto", y)
    np.testing.assert_array_equal(found.low, [0, -np.inf, 0])
    np.testing.assert_array_equal(found.high, np.inf)
    assert Limits.of("auto", y[:, 1:2]) is None and Limits.of(None, y) is None and Limits.of((None, None), y) is None


@pytest.mark.parametrize(
    "bounds", ["always", (1,), (0, 1, 2), ("0", 1), (2, 1), (1, 1), (np.nan, 1), (np.inf, None), 5, (True, 2)]
)
def test_bounds_that_cannot_be_are_refused(bounds):
    with pytest.raises(ValueError, match="bounds"):
        ExtraNetsRegressor(bounds=bounds).check_parameters()


def test_targets_outside_are_refused_with_their_row():
    with pytest.raises(ValueError, match=r"y holds -0.5 \(row 1\).*bounds=\(0, inf\)"):
        Limits.of((0, None), np.array([[1.0], [-0.5]]))


def test_ends_may_be_numbers_of_any_kind():
    assert ends_of((np.float32(0), None)) == (0.0, np.inf) and ends_of([-np.inf, 3]) == (-np.inf, 3.0)


# -- distributions -----------------------------------------------------------------------------------------------------


@EVERY
def test_quantiles_are_drawn_to_the_bounds(shape):
    plain = MEAN[..., None] + STD[..., None] * shape.multiples(LEVELS)
    found = predictive(shape).quantiles(LEVELS)
    np.testing.assert_array_equal(found[:, 0], np.clip(plain[:, 0], 0, 3))
    np.testing.assert_array_equal(found[:, 1], np.minimum(plain[:, 1], -1))


@EVERY
def test_the_frozen_distribution_is_one(shape):
    """Distribution function, tails and quantiles belong together, with steps at the bounds and a density between them."""
    at, plain = predictive(shape).frozen(), shape.frozen(MEAN, STD)
    np.testing.assert_allclose(
        [at.ppf(level) for level in LEVELS], np.moveaxis(predictive(shape).quantiles(LEVELS), -1, 0)
    )
    np.testing.assert_allclose(at.isf(0.3), at.ppf(0.7), rtol=1e-9, atol=1e-12)
    inside = np.array([[0.5, -3.0], [2.0, -1.5], [1.5, -9.0]])
    for ours, theirs in ((at.cdf, plain.cdf), (at.sf, plain.sf), (at.pdf, plain.pdf), (at.logpdf, plain.logpdf)):
        np.testing.assert_allclose(ours(inside), theirs(inside), rtol=1e-9)
    low, high = np.array([0.0, -50.0]), np.array([3.0, -1.0])
    np.testing.assert_allclose(at.cdf(low)[:, 0], plain.cdf(low)[:, 0])
    np.testing.assert_array_equal([at.cdf(low - 1e-9)[:, 0], at.sf(high)[:, 0], at.sf(high)[:, 1]], 0)
    np.testing.assert_array_equal([at.pdf(high + 1e-9), at.sf(high + 1e-9)], 0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(at)).ppf(0.1), at.ppf(0.1))


@EVERY
def test_mean_and_standard_deviation_are_those_of_the_clipped_distribution(shape):
    """By a hundred thousand evenly spaced quantiles; the heavy tail that they miss is beyond a bound or 1e-5 of all."""
    at, levels = predictive(shape).frozen(), (np.arange(100_000) + 0.5) / 100_000
    values = predictive(shape).quantiles(levels)
    np.testing.assert_allclose(at.mean(), values.mean(axis=-1), atol=5e-3)
    np.testing.assert_allclose(at.std(), values.std(axis=-1), rtol=0.02, atol=3e-3)


@EVERY
def test_draws_stay_within_and_follow_the_distribution(shape):
    at = predictive(shape).frozen()
    draws = at.rvs(size=(4000, 3, 2), random_state=0)
    assert (draws[..., 0] >= 0).all() and (draws[..., 0] <= 3).all() and (draws[..., 1] <= -1).all()
    share = at.cdf(np.zeros(2))[:, 0]  # of what lies at the lower bound of the first output
    np.testing.assert_allclose(
        (draws[..., 0] == 0).mean(axis=0), share, atol=4 * 0.5 / np.sqrt(4000)
    )  # four standard errors


@EVERY
@pytest.mark.parametrize("weight", [None, np.array([1.0, 3.0, 2.0])], ids=["alike", "weighted"])
def test_crps_is_that_of_the_clipped_distribution(shape, weight):
    """The integral of (F(x) - 1[x >= y])^2, by 200,000 steps."""
    y, at = np.array([[0.0, -2.5], [3.0, -1.0], [1.2, -9.0]]), predictive(shape).frozen()
    x = np.linspace(np.full((3, 2), [-0.1, -150.0]), np.full((3, 2), [3.1, -0.9]), 200_001)
    own = np.mean((at.cdf(x) - (x >= y)) ** 2, axis=0) * (x[-1] - x[0])
    expected = np.average(own, axis=0, weights=weight).mean()
    np.testing.assert_allclose(predictive(shape).crps(y, weight), expected, rtol=3e-3)


def test_without_limits_everything_is_that_of_the_shape():
    latent, shape = Components(MEAN, STD**2, np.zeros_like(STD)), SHAPES["student"]
    plain, y = Predictive(shape, latent), MEAN + 1
    assert (
        type(plain.frozen()) is type(shape.frozen(MEAN, STD)) and plain.components() is latent
    ) or plain.components() == latent
    np.testing.assert_array_equal(plain.crps(y), shape.crps(y, MEAN, np.sqrt(STD**2)))
    np.testing.assert_array_equal(plain.log_likelihood(y), shape.log_likelihood(y, MEAN, np.sqrt(STD**2)))


# -- models ------------------------------------------------------------------------------------------------------------


@functools.cache
def counts(n_rows=200, seed=0):
    """Counts with many zeros."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    return X, random.poisson(np.exp(X[:, 0] - 0.5)).astype(np.float64)


@functools.cache
def fitted(bounds="auto"):
    X, y = counts()
    return models.fit(clone(models.MODELS["constant noise"]).set_params(bounds=bounds), X, y)


def test_nothing_negative_is_predicted_where_nothing_was():
    X = 3 * counts(100, seed=1)[0]
    free, bound = fitted(None), fitted()
    assert free.predict(X).min() < 0 and free.predict_interval(X)[:, 0].max() < bound.predict(X).max()
    np.testing.assert_array_equal(bound.predict(X), np.maximum(free.predict(X), 0))
    np.testing.assert_array_equal(
        bound.predict_interval(X, [0.5, 0.9]), np.maximum(free.predict_interval(X, [0.5, 0.9]), 0)
    )
    np.testing.assert_array_equal(bound.predict_quantiles(X, 0.1), np.maximum(free.predict_quantiles(X, 0.1), 0))
    np.testing.assert_array_equal(bound.predict_var(X), free.predict_var(X))
    assert bound.sample_y(X, 20, random_state=0).min() == 0
    np.testing.assert_allclose(bound.predict_dist(X).ppf(0.05), bound.predict_interval(X, 0.9)[:, 0])


def test_own_bounds_conformal_and_updated_intervals_stay_within():
    X, y = counts(150, seed=2)
    new = 3 * counts(100, seed=3)[0]
    own = models.fit(clone(models.MODELS["constant noise"]).set_params(bounds="auto", interval="cv+"), *counts())
    assert own.predict_interval(new, 0.9).min() == 0
    assert clone_of(fitted()).conformalize(X, y).predict_interval(new, 0.9).min() == 0
    assert clone_of(fitted()).update(X, y).predict_interval(new, 0.9).min() == 0


def clone_of(model):
    return pickle.loads(pickle.dumps(model))


def test_conformal_intervals_keep_their_promise_where_a_row_passes_a_bound():
    """A tenth of the rows, more than 1 - 0.95, is negative: only an infinite interval covers 95 %."""
    X, y = counts(150, seed=2)
    y = np.where(np.arange(150) % 10 == 0, -5.0, y)
    with pytest.warns(UserWarning, match="too few"):
        bounds = clone_of(fitted()).conformalize(X, y).predict_interval(X, 0.95)
    assert (bounds[:, 0] == -np.inf).all()
    assert np.isfinite(clone_of(fitted()).conformalize(X, y).predict_interval(X, 0.5)).all()


def test_rows_that_pass_a_learned_bound_lift_it():
    X, y = counts(60, seed=4)
    found = clone_of(fitted()).update(X, np.where(np.arange(60) == 7, -1.0, y))
    assert found.model_.units.link.limits.low[0] == -np.inf and found.predict_interval(3 * X).min() < 0


def test_held_out_scores_are_those_of_bounded_predictions():
    """A hold-out, which the final networks did not see: their own intervals on these very rows."""
    from extranets._random import draw_seed
    from extranets.held_out import hold_out

    X, y = counts(400)
    own = clone(models.MODELS["constant noise"]).set_params(bounds="auto", noise="holdout", holdout_fraction=0.3)
    model = models.fit(own, X, y)
    held = hold_out(400, 0.3, draw_seed(0)).fold_of_row == 0
    lower, upper = model.predict_interval(X[held], 0.9).T
    found = model.held_out_scores_
    assert (lower == 0).any()
    assert found["interval_score"] == pytest.approx(interval_score(y[held], lower, upper, 0.9), rel=1e-5)
    assert found["coverage"] == pytest.approx(np.mean((lower <= y[held]) & (y[held] <= upper)), abs=1e-12)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((model.predict(X[held]) - y[held]) ** 2)), rel=1e-5)


def test_files_and_graphs_keep_them(tmp_path):
    X, model = 3 * counts(100, seed=1)[0], fitted((0, 4.5 + counts()[1].max()))
    model.save(tmp_path / "model.xnet")
    again = extranets.load(tmp_path / "model.xnet")
    assert again.bounds == model.bounds
    np.testing.assert_array_equal(again.predict_interval(X, 0.99), model.predict_interval(X, 0.99))
    model.to_onnx(tmp_path / "model.onnx", coverage=0.99)
    mean, lower, upper = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(["mean", "lower", "upper"], {"X": X})
    np.testing.assert_allclose(mean, model.predict(X), atol=1e-5)
    np.testing.assert_allclose(np.stack([lower, upper], axis=1), model.predict_interval(X, 0.99), atol=1e-5)
    assert mean.min() == 0 and lower.min() == 0


@pytest.mark.parametrize(
    ("low", "high"),
    [([0.0], [0.0]), ([np.nan], [1.0]), ([0.0, 0.0], [1.0]), ([np.inf], [np.inf]), ([-np.inf], [-np.inf])],
)
def test_stored_ones_that_cannot_be_are_refused(low, high):
    with pytest.raises(ValueError, match="bounds of the target"):
        checked(Limits(np.array(low), np.array(high)))


def test_stored_ones_of_another_target_are_refused():
    with pytest.raises(ValueError, match="do not fit the outputs"):
        LINK.check_fits(1)


def test_a_model_with_them_is_evaluated():
    from extranets.evaluation import predict_with_targets, scores

    X, y = counts(80, seed=5)
    found = predict_with_targets(fitted(), X, y)
    assert (
        found.distribution.endswith("nowhere below 0") and stats.norm.cdf(found.predictive.normal_errors(y)).min() > 0
    )
    assert all(np.isfinite(each) for each in scores(found).values())
