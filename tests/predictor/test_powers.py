"""Powers of the target: the part, the distributions behind it, and everything that a model predicts with it."""

from __future__ import annotations

import dataclasses
import functools
import pickle

import numpy as np
import onnxruntime
import pytest
from scipy import integrate
from sklearn.base import clone

import extranets
from extranets import DeepEnsembleRegressor, ExtraNetsRegressor, MCDropoutRegressor
from extranets._random import draw_seed
from extranets.held_out import hold_out
from extranets.metrics import interval_score
from extranets.model_file import checked
from extranets.predictor.distributions import Empirical, Normal, Student
from extranets.predictor.limits import Limits
from extranets.predictor.link import Link
from extranets.predictor.powers import Powers
from extranets.predictor.predictive import Predictive
from extranets.uncertainty.components import Components
from tests.predictor import models

POWERS = Powers(np.array([0.0, 0.5, 0.3, 1.0]), np.array([0.1, 0.0, 2.0, 0.0]), np.full(4, 0.5), np.full(4, 40.0))
MEAN, STD = np.array([[1.0, 4.0], [0.2, 3.0], [2.5, 9.0]]), np.array([[0.5, 2.0], [0.3, 0.7], [0.4, 3.0]])
LINK = Link(
    Limits(np.zeros(2), np.full(2, np.inf)),
    Powers(np.array([0.0, 0.5]), np.zeros(2), np.full(2, 0.1), np.full(2, 30.0)),
)
SHAPES = {
    "normal": Normal(),
    "student": Student(np.array([5.0, 9.0])),
    "empirical": Empirical.learn(np.random.default_rng(0).exponential(size=(300, 2)) - 1, np.ones(300))[0],
}
EVERY = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def predictive(shape, link=LINK):
    return Predictive(shape, Components(MEAN, 0.25 * STD**2, 0.75 * STD**2), link)


# -- the map -----------------------------------------------------------------------------------------------------------


def test_it_leads_there_and_back_and_grows_everywhere():
    y = np.repeat(np.linspace(-30, 300, 2001)[:, None], 4, axis=1)
    latent = POWERS.latent(y)
    assert (np.diff(latent, axis=0) > 0).all()
    np.testing.assert_allclose(POWERS.target(latent), y, atol=1e-9)
    np.testing.assert_array_equal(latent[:, 3], y[:, 3])
    np.testing.assert_allclose(POWERS.latent(y[:, :, None], 1)[..., 0], latent)
    np.testing.assert_allclose(POWERS.of_output(2).latent(y[:, 2]), latent[:, 2])


def test_it_is_the_power_between_the_ends_and_straight_beyond():
    y = np.array([[3.0] * 4])
    np.testing.assert_allclose(POWERS.latent(y)[0], [np.log(3.1), 2 * (np.sqrt(3) - 1), (5**0.3 - 1) / 0.3, 3])
    for ends in ([-9.0, -4.0, 0.5], [40.0, 70.0, 100.0]):
        values = POWERS.latent(np.repeat(np.array(ends)[:, None], 4, axis=1))
        slopes = np.diff(values, axis=0) / np.diff(ends)[:, None]
        np.testing.assert_allclose(slopes[0], slopes[1])
        np.testing.assert_allclose(np.log(slopes[0]), POWERS.log_slope(np.full(4, ends[1])), atol=1e-12)


def test_log_slope_is_that_of_the_map():
    y = np.repeat(np.array([-3.0, 1.0, 10.0, 39.0, 80.0])[:, None], 4, axis=1)
    numeric = (POWERS.latent(y + 1e-5) - POWERS.latent(y - 1e-5)) / 2e-5
    np.testing.assert_allclose(POWERS.log_slope(y), np.log(numeric), atol=1e-6)


def test_zeros_are_shifted_and_other_targets_are_not():
    y = np.column_stack([np.arange(5.0), 10 + np.arange(5.0)])
    np.testing.assert_allclose(Powers.of(np.zeros(2), y, np.ones(5)).shift, [2 / 16, 0])


# -- distributions -----------------------------------------------------------------------------------------------------


def test_moments_are_those_of_lognormal_and_squared_normal():
    """By their formulas, where nothing is near the ends."""
    wide = Powers(np.array([0.0, 0.5]), np.zeros(2), np.full(2, 1e-9), np.full(2, 1e9))
    found = predictive(Normal(), Link(None, wide)).components()
    m, v = MEAN[:, 0], STD[:, 0] ** 2
    np.testing.assert_allclose(found.mean[:, 0], np.exp(m + v / 2), rtol=1e-6)
    np.testing.assert_allclose(found.total[:, 0], np.expm1(v) * np.exp(2 * m + v), rtol=1e-5)
    high = Predictive(
        Normal(), Components(np.full((1, 2), 60.0), np.zeros((1, 2)), np.full((1, 2), 4.0)), Link(None, wide)
    ).components()
    np.testing.assert_allclose(
        high.mean[0, 1], (31**2 + 1), rtol=1e-9
    )  # y = (1 + z / 2)^2, of Normal with mean 31 and variance 1
    np.testing.assert_allclose(high.total[0, 1], 4 * 31**2 + 2, rtol=1e-6)
    np.testing.assert_allclose(found.epistemic / found.total, 0.25)


@EVERY
def test_the_frozen_distribution_is_one(shape):
    at, levels = predictive(shape).frozen(), np.array([0.06, 0.2, 0.81, 0.9999])
    values = predictive(shape).quantiles(levels)
    np.testing.assert_allclose(np.stack([at.ppf(level) for level in levels], axis=-1), values)
    inside = values > 0
    for k, level in enumerate(levels):
        np.testing.assert_allclose(at.cdf(values[..., k])[inside[..., k]], level, rtol=1e-6)
        np.testing.assert_allclose(at.sf(at.isf(level))[at.isf(level) > 0], level, rtol=1e-6)
        np.testing.assert_allclose(np.exp(at.logpdf(values[..., k])), at.pdf(values[..., k]))
        step = 1e-5 * values[..., k]
        slope = (at.cdf(values[..., k] + step) - at.cdf(values[..., k] - step)) / np.where(step > 0, 2 * step, 1)
        np.testing.assert_allclose(at.pdf(values[..., k])[inside[..., k]], slope[inside[..., k]], rtol=1e-3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(at)).ppf(0.1), at.ppf(0.1))


def twice(y, dist):
    return 2 * y * dist.sf(y)


@EVERY
def test_mean_and_standard_deviation_are_those_of_the_distribution(shape):
    """By integrating the tails: E Y is the integral of P(Y > y), E Y^2 that of 2 y P(Y > y)."""
    at, found = predictive(shape).frozen(), predictive(shape).components()
    for row, output in ((0, 0), (1, 1), (2, 0)):
        own = at.dist(output, latent_mean=MEAN[row, output], latent_std=STD[row, output])
        mean = integrate.quad(own.sf, 0, 40, limit=200)[0] + integrate.quad(own.sf, 40, np.inf, limit=200)[0]
        square = sum(integrate.quad(twice, *ends, args=(own,), limit=200)[0] for ends in ((0, 40), (40, np.inf)))
        np.testing.assert_allclose([at.mean()[row, output], found.mean[row, output]], mean, rtol=2e-3)
        np.testing.assert_allclose(
            found.total[row, output], square - mean**2, rtol=0.05
        )  # of heavy tails, 2 % lie beyond all points
    np.testing.assert_allclose(at.std(), found.std)


@EVERY
def test_scores_are_those_of_the_distribution(shape):
    y, at = np.array([[2.0, 5.0], [0.9, 7.5], [40.0, 1.0]]), predictive(shape).frozen()
    np.testing.assert_allclose(predictive(shape).log_likelihood(y), at.logpdf(y).mean(), rtol=1e-9)
    x = np.geomspace(1e-4, 1e5, 400_001)[:, None, None]
    inner = (at.cdf(x) - (x >= y)) ** 2
    expected = (np.diff(x, axis=0) * (inner[1:] + inner[:-1]) / 2).sum(axis=0).mean()
    np.testing.assert_allclose(predictive(shape).crps(y), expected, rtol=3e-3)


# -- models ------------------------------------------------------------------------------------------------------------


@functools.cache
def prices(n_rows=200, seed=0):
    """Positive, with noise that multiplies; and beside it a target that may be negative."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    return X, np.column_stack(
        [np.exp(X[:, 0] + 0.4 * random.normal(size=n_rows)), X[:, 1] + random.normal(size=n_rows)]
    )


@functools.cache
def fitted(transform="log", **changes):
    X, y = prices()
    own = clone(models.MODELS["constant noise"]).set_params(bounds="auto", target_transform=transform, **changes)
    return models.fit(own, X, y[:, 0])


def new_rows():
    return prices(80, seed=1)[0]


def test_networks_learn_the_transformed_target():
    """The same as fitting to logarithms, whose quantiles are then exponentiated within the range of the training targets."""
    X, y = prices()
    power = fitted().model_.units.link.powers
    logs = models.fit(models.MODELS["constant noise"], X, power.latent(y[:, :1])[:, 0])
    middle = logs.predict_quantiles(new_rows(), 0.5)
    inside = (middle > power.latent(power.least)) & (middle < power.latent(power.largest))
    assert inside.mean() > 0.9
    expected = np.exp(middle[inside]) - power.shift
    np.testing.assert_allclose(fitted().predict_quantiles(new_rows(), 0.5)[inside], expected, rtol=1e-5)


@pytest.mark.parametrize("transform", ["log", "sqrt", 0.3])
def test_all_answers_are_of_one_distribution(transform):
    model, X, levels = fitted(transform), new_rows(), [0.05, 0.25, 0.75, 0.95]
    at, (mean, std) = model.predict_dist(X), model.predict(X, return_std=True)
    np.testing.assert_allclose(at.mean(), mean)
    np.testing.assert_allclose(at.std(), std)
    np.testing.assert_array_equal(model.predict(X), mean)
    np.testing.assert_allclose(model.predict_var(X), std**2)
    quantiles, bounds = model.predict_quantiles(X, levels), model.predict_interval(X, [0.5, 0.9])
    np.testing.assert_allclose(np.moveaxis(quantiles, -1, 0), [at.ppf(level) for level in levels])
    np.testing.assert_allclose(bounds[:, 0], quantiles[:, [1, 0]])
    np.testing.assert_allclose(bounds[:, 1], quantiles[:, [2, 3]])
    assert bounds.min() >= 0 and model.sample_y(X, 5, random_state=0).min() >= 0 and model.noise_variance_ is None


def test_means_are_not_biased():
    """On 4,000 new rows. Networks of 400 rows are a few per cent off; means of logarithms, exponentiated, would be 8 % too small."""
    X, y = prices(400, seed=3)
    own = clone(models.MODELS["constant noise"]).set_params(target_transform="log", hidden_layer_sizes=(), max_iter=60)
    model, (new, observed) = models.fit(own, X, y[:, 0]), prices(4000, seed=4)
    assert abs(model.predict(new).mean() / observed[:, 0].mean() - 1) < 0.06
    assert np.exp(np.log(observed[:, 0]) - 0).mean() * np.exp(-0.08) < model.predict(new).mean()


def test_files_and_graphs_keep_it(tmp_path):
    X, model = 2 * new_rows(), fitted()
    model.save(tmp_path / "model.xnet")
    again = extranets.load(tmp_path / "model.xnet")
    assert again.target_transform == "log"
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_equal(again.held_out_scores_, model.held_out_scores_)
    model.to_onnx(tmp_path / "model.onnx", coverage=0.99)
    names = ["mean", "sd", "lower", "upper"]
    found = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(names, {"X": X})
    expected = [*model.predict(X, return_std=True), *model.predict_interval(X, 0.99).T]
    for ours, theirs in zip(expected, found, strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-5)


def test_graphs_of_several_outputs_with_and_without(tmp_path):
    X, y = prices()
    third = np.column_stack([y, np.sqrt(y[:, 0]) + 3])
    model = models.fit(clone(models.MODELS["constant noise"]).set_params(bounds="auto"), X, third)
    link = Link(None, Powers.of(np.array([0.0, 1.0, 0.5]), third, np.ones(len(third))))
    units = dataclasses.replace(model.model_.units, link=link)
    model.model_ = dataclasses.replace(model.model_, units=units)
    model.to_onnx(tmp_path / "model.onnx", coverage=[0.5, 0.9])
    names = ["mean", "sd", "lower_90", "upper_50"]
    found = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(names, {"X": new_rows()})
    bounds = model.predict_interval(new_rows(), [0.5, 0.9])
    for ours, theirs in zip(
        [*model.predict(new_rows(), return_std=True), bounds[:, :, 0, 1], bounds[:, :, 1, 0]], found, strict=True
    ):
        np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-5)


def test_scores_on_held_out_rows_are_those_of_its_intervals():
    X, y = prices(400)
    own = clone(models.MODELS["constant noise"]).set_params(
        target_transform="sqrt", noise="holdout", holdout_fraction=0.3
    )
    model = models.fit(own, X, y[:, 0])
    held = hold_out(400, 0.3, draw_seed(0)).fold_of_row == 0
    lower, upper = model.predict_interval(X[held], 0.9).T
    found, observed = model.held_out_scores_, y[held, 0]
    assert found["interval_score"] == pytest.approx(interval_score(observed, lower, upper, 0.9), rel=1e-5)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((model.predict(X[held]) - observed) ** 2)), rel=1e-5)


def test_conformal_intervals_are_latent_ones_brought_back():
    (X, y), (new, observed) = prices(300, seed=5), prices(2000, seed=6)
    model = pickle.loads(pickle.dumps(fitted())).conformalize(X, y[:, 0])
    lower, upper = model.predict_interval(new, 0.8).T
    assert lower.min() >= 0
    # 300 rows give a coverage with standard deviation .023, and 2,000 new ones count it to .009: four of both together.
    assert abs(np.mean((lower <= observed[:, 0]) & (observed[:, 0] <= upper)) - 0.8) < 0.1
    latent = model.model_.latent(new, models.MACHINE)
    for bound in (lower, upper):  # the same number of standard deviations in every row
        multiples = (model.model_.units.link.latent(bound) - latent.mean) / latent.std
        np.testing.assert_allclose(multiples[bound > 0], np.median(multiples), rtol=1e-6)


def test_targets_that_may_be_negative_are_refused_with_their_row():
    X, y = prices()
    with pytest.raises(ValueError, match=r"never negative, and y holds -[\d.]+ \(row \d+\)"):
        models.fit(clone(models.MODELS["constant noise"]).set_params(target_transform="log"), X, y[:, 1])


@pytest.mark.parametrize("transform", ["ln", -0.5, 2.0])
def test_transforms_that_cannot_be_are_refused(transform):
    with pytest.raises(ValueError, match="target_transform"):
        ExtraNetsRegressor(target_transform=transform).check_parameters()


def test_other_estimators_have_it_too():
    X, y = prices()
    for model in (DeepEnsembleRegressor(2, **models.QUICK), MCDropoutRegressor(**models.QUICK, n_passes=5)):
        found = models.fit(model.set_params(target_transform="log"), X, y[:, 0])
        np.testing.assert_allclose(found.predict_dist(new_rows()).mean(), found.predict(new_rows()))
    assert np.isfinite(found.log_likelihood(X, y[:, 0]))


@pytest.mark.parametrize("field", ["power", "shift", "least", "largest"])
@pytest.mark.parametrize("value", [np.nan, -1.0, 1e200])
def test_stored_ones_that_cannot_be_are_refused(field, value):
    good = Powers(*np.array([[0.0], [0.1], [0.5], [9.0]]))
    assert checked(good) is good
    with pytest.raises(ValueError, match=r"powers"):
        checked(dataclasses.replace(good, **{field: np.array([value])}))


def test_a_model_with_it_is_evaluated_and_reported(tmp_path):
    from extranets.evaluation import predict_with_targets, scores
    from extranets.report import summarise, write

    X, y = prices(80, seed=5)
    found = predict_with_targets(fitted(), X, y[:, 0])
    assert "of the target's logarithm" in found.distribution
    assert all(np.isfinite(each) for each in scores(found).values())
    write(summarise(found), tmp_path / "report.html")
