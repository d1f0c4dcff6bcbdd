"""What holds for every shape of the predictive distribution. A new kind is found by itself."""

from __future__ import annotations

import dataclasses
import functools
import pickle

import numpy as np
import onnxruntime
import pytest
from scipy import stats
from sklearn.base import clone

import extranets
from extranets import ExtraNetsRegressor, model_file
from extranets._random import draw_seed
from extranets.held_out import hold_out
from extranets.metrics import interval_score
from extranets.model_file import checked
from extranets.predictor.distributions import DISTRIBUTIONS, KINDS, LEARNERS, Empirical
from extranets.predictor.part import Distribution
from tests.predictor import models

LEVELS = np.array([0.005, 0.05, 0.3, 0.5, 0.7, 0.95, 0.995])
MEAN, STD = np.array([[1.0, -2.0], [30.0, 0.5], [0.0, 7.0]]), np.array([[0.5, 2.0], [10.0, 0.1], [1.0, 3.0]])

EVERY = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
OUTPUTS = pytest.mark.parametrize("n_outputs", [1, 2], ids=["one output", "two outputs"])


def errors(n_rows=300, seed=0):
    """Of two outputs, in units of their standard deviations: with heavy tails, and with one tail only."""
    random = np.random.default_rng(seed)
    return np.column_stack([random.standard_t(4, size=n_rows) / np.sqrt(2), random.exponential(size=n_rows) - 1])


def learned(kind, n_outputs=2, n_rows=300):
    return kind.learn(errors(n_rows)[:, :n_outputs], np.ones(n_rows))[0]


# -- the part alone ----------------------------------------------------------------------------------------------------


def test_names_are_different():
    assert list(DISTRIBUTIONS.values()) == list(KINDS) and len(KINDS) >= 2
    assert all(DISTRIBUTIONS[kind.name] is kind for kind in KINDS)


@EVERY
@pytest.mark.parametrize("n_rows", [2, 20, 99, 100, 300])
def test_it_is_learned_from_any_number_of_errors(kind, n_rows):
    """Of a constant output, which is predicted without error, too."""
    found, widening = kind.learn(np.column_stack([errors(n_rows), np.zeros(n_rows)]), np.ones(n_rows))
    assert isinstance(found, Distribution)
    assert widening.shape == (3,) and np.isfinite(widening).all() and (widening > 0.8).all()
    assert np.isfinite(found.multiples(LEVELS)).all()


@EVERY
def test_each_output_is_learned_from_its_own_errors(kind):
    both, widening = kind.learn(errors(), np.ones(300))
    for output in range(2):
        alone, own = kind.learn(errors()[:, output : output + 1], np.ones(300))
        together = np.broadcast_to(both.multiples(LEVELS), (2, len(LEVELS)))
        np.testing.assert_allclose(together[output], alone.multiples(LEVELS)[0], rtol=1e-6)
        np.testing.assert_allclose(widening[output], own[0], rtol=1e-6)


@EVERY
def test_only_the_ratios_of_weights_matter(kind):
    weight = np.random.default_rng(1).uniform(1, 2, size=300)
    once, other = (kind.learn(errors(), factor * weight)[0].multiples(LEVELS) for factor in (1.0, 5.0))
    np.testing.assert_allclose(other, once, rtol=1e-3, atol=1e-12)


@EVERY
def test_multiples_are_quantiles_of_the_frozen_distribution(kind):
    found = learned(kind)
    multiples = found.multiples(LEVELS)
    assert multiples.shape in ((1, len(LEVELS)), (2, len(LEVELS)))
    for k, level in enumerate(LEVELS):
        at_zero = found.frozen(np.zeros((1, 2)), np.ones((1, 2))).ppf(level)[0]
        np.testing.assert_allclose(np.broadcast_to(multiples[:, k], 2), at_zero, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.frozen(MEAN, STD).ppf(level), MEAN + STD * multiples[:, k], rtol=1e-9)


@EVERY
def test_multiples_of_one_output_are_quantiles_of_a_vector(kind):
    found = learned(kind, n_outputs=1)
    expected = MEAN[:, :1] + STD[:, :1] * found.multiples(LEVELS)
    np.testing.assert_allclose(np.transpose([found.frozen(MEAN[:, 0], STD[:, 0]).ppf(at) for at in LEVELS]), expected)


@EVERY
def test_multiples_grow_with_the_level(kind):
    """In both tails as well."""
    tail = np.geomspace(1e-12, 1e-3, 50)
    multiples = learned(kind).multiples(np.concatenate([tail, np.linspace(0.002, 0.998, 201), 1 - tail[::-1]]))
    assert np.isfinite(multiples).all() and (np.diff(multiples, axis=1) > 0).all()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not Empirical], ids=lambda kind: kind.name)
def test_multiples_of_a_symmetric_kind_are_even(kind):
    """Central intervals have the mean in their middle."""
    multiples = learned(kind).multiples(np.linspace(0.001, 0.999, 201))
    np.testing.assert_allclose(multiples, -multiples[:, ::-1], atol=1e-9)


@EVERY
def test_the_frozen_distribution_is_one(kind):
    """Density, distribution function, tails and quantiles belong together, in the far tails too."""
    at, levels = learned(kind).frozen(MEAN, STD), np.array([1e-9, 0.004, 0.2, 0.81, 0.9999])[:, None, None]
    values = at.ppf(levels)
    np.testing.assert_allclose(at.cdf(values), np.broadcast_to(levels, values.shape), rtol=1e-6)
    np.testing.assert_allclose(at.sf(at.isf(levels)), np.broadcast_to(levels, values.shape), rtol=1e-6)
    np.testing.assert_allclose(at.cdf(values) + at.sf(values), 1)
    np.testing.assert_allclose(np.exp(at.logpdf(values)), at.pdf(values))
    step = 1e-6 * STD
    slope = (at.cdf(values[1:] + step) - at.cdf(values[1:] - step)) / (2 * step)
    np.testing.assert_allclose(at.pdf(values[1:]), slope, rtol=1e-3)
    np.testing.assert_allclose(np.stack(at.interval(0.9)), at.ppf(np.array([0.05, 0.95])[:, None, None]))


@EVERY
def test_draws_follow_the_frozen_distribution(kind):
    at = learned(kind).frozen(MEAN, STD)
    draws = at.rvs(size=(2000, *MEAN.shape), random_state=0)
    assert stats.kstest(at.cdf(draws).ravel(), "uniform").pvalue > 0.001
    assert at.rvs(random_state=0).shape == MEAN.shape


@EVERY
def test_a_frozen_distribution_can_be_pickled(kind):
    at = learned(kind).frozen(MEAN, STD)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(at)).ppf(0.1), at.ppf(0.1))


@EVERY
def test_mean_and_standard_deviation_are_those_that_were_asked_for(kind):
    at = learned(kind).frozen(MEAN, STD)
    np.testing.assert_allclose(at.mean(), MEAN, atol=1e-12)
    np.testing.assert_allclose(at.std(), STD)


@EVERY
def test_a_standard_deviation_of_zero_is_a_point(kind):
    at = learned(kind).frozen(np.array([[2.0, 3.0]]), np.array([[0.0, 1.0]]))
    np.testing.assert_array_equal([at.cdf([[1.9, 3.0]])[0, 0], at.cdf([[2.1, 3.0]])[0, 0]], [0.0, 1.0])


@EVERY
def test_without_held_out_rows_there_is_a_shape_for_any_number_of_outputs(kind):
    found = kind.without_rows()
    assert isinstance(found, Distribution) and found.multiples(LEVELS).shape == (1, len(LEVELS))
    np.testing.assert_allclose(found.frozen(MEAN, STD).std(), STD)


@EVERY
def test_it_comes_back_from_a_file(kind, tmp_path):
    found = learned(kind)
    model_file.save(found, tmp_path / "part.xnet")
    again = extranets.load(tmp_path / "part.xnet")
    assert type(again) is type(found)
    np.testing.assert_array_equal(again.multiples(LEVELS), found.multiples(LEVELS))


@EVERY
def test_a_stored_one_that_cannot_be_is_refused(kind):
    """What was learned is finite, and there is as much of it as there are outputs."""
    found = learned(kind)
    for field in dataclasses.fields(found):
        spoiled = np.full_like(getattr(found, field.name), np.nan)
        with pytest.raises(ValueError, match=r"\w"):  # each kind has its own words
            checked(dataclasses.replace(found, **{field.name: spoiled}))
    source = {n: models.predictor("constant noise", n).source for n in (1, 2)}
    found.check_fits(source[2])
    if len(found.multiples(LEVELS)) > 1:
        with pytest.raises(ValueError, match="do not fit the outputs"):
            found.check_fits(source[1])


# -- in an estimator ---------------------------------------------------------------------------------------------------


@functools.cache
def fitted(name, n_outputs):
    X, y = models.table()
    return models.fit(regressor(name), X, y if n_outputs == 2 else y[:, 0])


def regressor(name):
    return clone(models.MODELS["constant noise"]).set_params(distribution=name)


def new_rows():
    return models.table(60, seed=1)[0]


def test_the_parameter_offers_those_that_there_are():
    with pytest.raises(ValueError, match="distribution"):
        ExtraNetsRegressor(distribution="cauchy").check_parameters()
    assert set(LEARNERS) == {"auto", *DISTRIBUTIONS}
    for name in LEARNERS:
        ExtraNetsRegressor(distribution=name).check_parameters()


@EVERY
@OUTPUTS
def test_all_answers_are_of_one_distribution(kind, n_outputs):
    model, X = fitted(kind.name, n_outputs), new_rows()
    at, levels = model.predict_dist(X), [0.5, 0.9]
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(at.mean(), mean, atol=1e-12)
    np.testing.assert_allclose(at.std(), std)
    np.testing.assert_array_equal(model.model_.distribution.frozen(mean, std).ppf(0.2), at.ppf(0.2))
    bounds, quantiles = model.predict_interval(X, levels), model.predict_quantiles(X, [0.05, 0.25, 0.75, 0.95])
    np.testing.assert_allclose(np.moveaxis(quantiles, -1, 0), [at.ppf(level) for level in (0.05, 0.25, 0.75, 0.95)])
    np.testing.assert_allclose(bounds[..., 0, :], quantiles[..., [1, 0]])
    np.testing.assert_allclose(bounds[..., 1, :], quantiles[..., [2, 3]])
    shares = at.cdf(np.moveaxis(model.sample_y(X, 100, random_state=0), -1, 0))
    assert stats.kstest(shares.ravel(), "uniform").pvalue > 0.001


@EVERY
def test_it_is_learned_by_the_fit_and_from_rows_of_the_users_choice(kind):
    model = models.fit(regressor(kind.name), *models.table())
    assert type(model.model_.distribution) is kind
    assert type(model.estimate_noise(*models.table(110, seed=2)).model_.distribution) is kind


@EVERY
@OUTPUTS
def test_it_may_be_set_after_fit_and_set_back(kind, n_outputs):
    X = new_rows()
    model = models.fit(regressor(kind.name), models.table()[0], models.table()[1][:, :n_outputs])
    before = model.predict_interval(X)
    mean, std = model.predict(X, return_std=True)
    for other in KINDS:
        if other is not kind:
            found = model.set_params(distribution=other.name).predict_quantiles(X, LEVELS)
            expected = mean[..., None] + std[..., None] * other.without_rows().multiples(LEVELS)
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.set_params(distribution=kind.name).predict_interval(X), before)


@EVERY
@OUTPUTS
def test_model_files_keep_it(kind, n_outputs, tmp_path):
    model, X = fitted(kind.name, n_outputs), new_rows()
    model.save(tmp_path / "model.xnet")
    again = extranets.load(tmp_path / "model.xnet")
    assert again.distribution == kind.name and again.model_.distribution.name == kind.name
    np.testing.assert_array_equal(again.predict_quantiles(X, LEVELS), model.predict_quantiles(X, LEVELS))
    np.testing.assert_equal(again.held_out_scores_, model.held_out_scores_)
    np.testing.assert_array_equal(again.degrees_of_freedom_, model.degrees_of_freedom_)


@EVERY
@OUTPUTS
def test_a_graph_has_the_same_bounds(kind, n_outputs, tmp_path):
    model, X = fitted(kind.name, n_outputs), new_rows()
    model.to_onnx(tmp_path / "model.onnx", coverage=[0.5, 0.99])
    names = ["lower_50", "upper_50", "lower_99", "upper_99"]
    found = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(names, {"X": X})
    bounds = model.predict_interval(X, [0.5, 0.99])
    expected = [bounds[..., side, level] for level in (0, 1) for side in (0, 1)]
    scale = models.table()[1][:, :n_outputs].std(axis=0) if n_outputs == 2 else models.table()[1][:, 0].std()
    for ours, theirs in zip(expected, found, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_array_less(np.abs(theirs - ours) / scale, 1e-5)


@EVERY
def test_scores_on_held_out_rows_are_those_of_its_intervals(kind):
    """A hold-out, which the final networks did not see: their own intervals on these very rows."""
    X, y = models.table(400)
    model = models.fit(regressor(kind.name).set_params(noise="holdout", holdout_fraction=0.3), X, y)
    held = hold_out(400, 0.3, draw_seed(0)).fold_of_row == 0
    bounds, truth = model.predict_interval(X[held], 0.9), y[held]
    for output, (lower, upper) in enumerate(np.moveaxis(bounds, (1, 2), (0, 1))):
        found = {name: values[output] for name, values in model.held_out_scores_.items()}
        assert found["interval_score"] == pytest.approx(interval_score(truth[:, output], lower, upper, 0.9), rel=1e-5)
        assert found["coverage"] == np.mean((lower <= truth[:, output]) & (truth[:, output] <= upper))


# -- scores of predictions ---------------------------------------------------------------------------------------------

TARGETS = MEAN + STD * np.array([[0.3, -2.5], [1.7, 0.0], [-0.8, 4.0]])
WEIGHT = np.array([1.0, 3.0, 2.0])


def integrated_crps(frozen, y):
    """Integral of (F(x) - 1[x >= y])^2, by 200,000 steps between far quantiles. Shape: ``(n, n_outputs)``."""
    low, high = np.minimum(frozen.ppf(1e-7), y), np.maximum(frozen.ppf(1 - 1e-7), y)
    x = np.linspace(low, high, 200_001)
    return np.mean((frozen.cdf(x) - (x >= y)) ** 2, axis=0) * (high - low)


@EVERY
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
def test_scores_are_those_of_the_frozen_distribution(kind, weight):
    """Its own formulas where a kind has some, and those that every kind inherits."""
    found = learned(kind)
    frozen = found.frozen(MEAN, STD)
    density = np.average(frozen.logpdf(TARGETS), axis=0, weights=weight).mean()
    crps = np.average(integrated_crps(frozen, TARGETS), axis=0, weights=weight).mean()
    for score in (found.log_likelihood, functools.partial(Distribution.log_likelihood, found)):
        np.testing.assert_allclose(score(TARGETS, MEAN, STD, weight), density, rtol=1e-9)
    for score in (found.crps, functools.partial(Distribution.crps, found)):
        np.testing.assert_allclose(score(TARGETS, MEAN, STD, weight), crps, rtol=1e-3)


@EVERY
def test_scores_of_one_output_take_vectors(kind):
    found, column = learned(kind, n_outputs=1), (TARGETS[:, 0], MEAN[:, 0], STD[:, 0])
    table = [values[:, None] for values in column]
    np.testing.assert_allclose(found.log_likelihood(*column), found.log_likelihood(*table))
    np.testing.assert_allclose(Distribution.crps(found, *column), Distribution.crps(found, *table))
    assert found.normal_errors(*column).shape == (3,)
    assert len(found.describe()) > 3


@EVERY
def test_an_error_of_what_is_certain_counts_as_it_is(kind):
    found, y, mean, std = learned(kind, n_outputs=1), np.array([5.0]), np.array([2.0]), np.array([0.0])
    for score in (found.crps, functools.partial(Distribution.crps, found)):
        np.testing.assert_allclose(score(y, mean, std), 3.0)


@EVERY
def test_normal_errors_are_as_likely_and_never_infinite(kind):
    found = learned(kind)
    likely = stats.norm.cdf(found.normal_errors(TARGETS, MEAN, STD))
    np.testing.assert_allclose(likely, found.frozen(MEAN, STD).cdf(TARGETS), rtol=1e-9)
    far = found.normal_errors(np.array([[-1e200, 1e200]]), np.zeros((1, 2)), np.ones((1, 2)))
    assert np.isfinite(far).all() and far[0, 0] < -5 and far[0, 1] > 5


@EVERY
def test_a_model_with_it_is_evaluated_and_reported(kind, tmp_path):
    from extranets.evaluation import predict_with_targets, scores
    from extranets.report import summarise, write

    random = np.random.default_rng(0)
    X = random.normal(size=(160, 2))
    y = X[:, 0] + random.normal(size=160)
    model = ExtraNetsRegressor(2, (5,), max_iter=3, distribution=kind.name, random_state=0, n_jobs=1).fit(
        X[:120], y[:120]
    )
    predictions = predict_with_targets(model, X[120:], y[120:])
    assert predictions.distribution == model.distribution_.describe()
    assert all(np.isfinite(value) for value in scores(predictions).values())
    write(summarise(predictions), tmp_path / "report.html")
    assert predictions.distribution.split("'")[0] in (tmp_path / "report.html").read_text()
