"""Split conformal intervals of a fitted estimator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special
from sklearn.exceptions import NotFittedError

import extranets
from extranets import ExtraNetsRegressor
from extranets.data import linear_process


def quick(**changes):
    return ExtraNetsRegressor(**{"n_estimators": 6, "max_iter": 30, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def table():
    return linear_process(700, random_state=1).split(300)


def heavy_tailed(rng, n):
    """Noise of a t distribution with two degrees of freedom, wider where the first column is positive."""
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + np.where(X[:, 0] > 0, 2.0, 0.5) * rng.standard_t(2, n)


@pytest.mark.parametrize("tails", ["joint", "separate"])
def test_coverage_is_exact_whatever_the_noise(tails):
    """400 samples of 39 held-out and 100 new rows. With continuous scores the expected coverage is ceil(40 c) / 40 exactly, and of
    separate tails each is missed in floor(40 (1 - c) / 2) / 40; the mean over the samples must lie within four Monte Carlo
    standard errors of it."""
    rng = np.random.default_rng(0)
    model = quick().fit(*heavy_tailed(rng, 300))
    missed = []
    for _ in range(400):
        X, y = heavy_tailed(rng, 139)
        bounds = model.conformalize(X[:39], y[:39], tails=tails).predict_interval(X[39:], [0.6, 0.9])
        missed.append([(y[39:, None] < bounds[:, 0]).mean(axis=0), (y[39:, None] > bounds[:, 1]).mean(axis=0)])
    if tails == "joint":
        missed = np.sum(missed, axis=1)
        exact = [1 - math.ceil(40 * c) / 40 for c in (0.6, 0.9)]
    else:
        exact = [[math.floor(40 * tail) / 40 for tail in (0.2, 0.05)]] * 2
    error = np.std(missed, axis=0) / np.sqrt(400)
    assert (np.abs(np.mean(missed, axis=0) - exact) < 4 * error).all()


def test_joint_widths_are_a_multiple_of_the_predicted_sd(table):
    X_train, y_train, X, y = table
    model = quick().fit(X_train, y_train)
    mean, std = model.predict(X[200:], return_std=True)
    bounds = model.conformalize(X[:200], y[:200], tails="joint").predict_interval(X[200:], 0.9)
    half = (bounds[:, 1] - bounds[:, 0]) / 2
    np.testing.assert_allclose(bounds.mean(axis=1), mean)
    np.testing.assert_allclose(half / std, half[0] / std[0])
    assert half.std() > 0
    scores = np.sort(np.abs(y[:200] - model.predict(X[:200])) / model.predict(X[:200], return_std=True)[1])
    assert half[0] / std[0] == pytest.approx(scores[math.ceil(201 * 0.9) - 1])


def skewed(rng, n):
    """Three groups with other noise, the first skewed; and a weight that grows with the second column."""
    X, group = rng.normal(size=(n, 3)), rng.integers(0, 3, n)
    noise = np.choose(group, [rng.exponential(size=n) - 1, 0.3 * rng.normal(size=n), 2 * rng.standard_t(3, n)])
    return X, X @ [1.0, -2.0, 0.5] + noise, np.array(["a", "b", "c"])[group], np.exp(X[:, 1] / 3)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    return skewed(rng, 300), skewed(rng, 150), skewed(rng, 60)


def beside(ways, rows):
    """What a call gets of groups and weights."""
    return {name: rows[place] for name, place in (("groups", 2), ("weights", 3)) if name in ways}


WAYS = pytest.mark.parametrize(
    "ways", [(), ("groups",), ("weights",), ("groups", "weights")], ids=lambda ways: "+".join(ways) or "plain"
)
TAILS = pytest.mark.parametrize("tails", ["joint", "separate"])


@WAYS
@TAILS
def test_quantiles_and_distribution_end_where_intervals_do(rows, ways, tails):
    train, held, new = rows
    model = quick().fit(*train[:2])
    before = model.predict(new[0], return_std=True)
    model.conformalize(*held[:2], tails=tails, **beside(ways, held))
    own = beside(ways, new)
    bounds, dist = model.predict_interval(new[0], [0.5, 0.8], **own), model.predict_dist(new[0], **own)
    quantiles = model.predict_quantiles(new[0], [0.1, 0.25, 0.5, 0.75, 0.9], **own)
    np.testing.assert_array_equal(bounds, quantiles[:, [[1, 0], [3, 4]]])
    assert (np.diff(quantiles, axis=1) >= 0).all()
    # A level is right up to the share of one row: 1 / (n + 1), or a weight's part of all weights.
    fewest = min(np.bincount(np.unique(held[2], return_inverse=True)[1])) if "groups" in ways else 150
    heaviest = max(held[3].max(), new[3].max()) / held[3].mean() if "weights" in ways else 1
    levels = dist.cdf(quantiles[:, [0, 1, 3, 4]].T).T
    assert (np.abs(levels - [0.1, 0.25, 0.75, 0.9]) <= heaviest / (fewest + 1) + 1e-9).all()
    if "weights" not in ways:  # and on the outer side
        assert (levels[:, :2] <= [0.1 + 1e-9, 0.25 + 1e-9]).all() and (levels[:, 2:] >= [0.75 - 1e-9, 0.9 - 1e-9]).all()
    for old, now in zip(before, model.predict(new[0], return_std=True), strict=True):
        np.testing.assert_array_equal(old, now)


@WAYS
@TAILS
def test_the_distribution_is_one(rows, ways, tails):
    """Density, distribution function, quantiles, moments and draws belong together."""
    train, held, new = rows
    model = quick().fit(*train[:2]).conformalize(*held[:2], tails=tails, **beside(ways, held))
    own = {name: values[:4] for name, values in beside(ways, new).items()}
    dist = model.predict_dist(new[0][:4], **own)
    levels = np.linspace(0.001, 0.999, 61)[:, None]
    np.testing.assert_allclose(dist.cdf(dist.ppf(levels)), np.broadcast_to(levels, (61, 4)))
    at, step = dist.ppf(levels), 1e-7
    slopes = (dist.cdf(at + step) - dist.cdf(at - step)) / (2 * step)
    alike = np.isclose(slopes, dist.pdf(at), rtol=1e-3)
    assert alike.mean() > 0.97  # there are steps at the held-out rows' errors
    places = np.linspace(-6, 6, 8001)  # levels that are dense in the tails, which matter for a standard deviation
    points, shares = dist.ppf(special.ndtr(places)[:, None]), np.exp(-(places**2) / 2)
    mean = shares @ points / shares.sum()
    np.testing.assert_allclose(mean, dist.mean(), atol=0.01)
    np.testing.assert_allclose(np.sqrt(shares @ (points - mean) ** 2 / shares.sum()), dist.std(), rtol=0.02)
    draws = dist.rvs(size=(4000, 4), random_state=0)
    assert np.abs(np.mean(draws <= dist.ppf(0.3), axis=0) - 0.3).max() < 5 * np.sqrt(0.21 / 4000)


@WAYS
def test_a_file_keeps_it(rows, ways, tmp_path):
    train, held, new = rows
    model = quick().fit(train[0], np.column_stack([train[1], -train[1]]))
    model.conformalize(held[0], np.column_stack([held[1], held[1]]), **beside(ways, held))
    model.save(tmp_path / "model.xnet")
    again, own = extranets.load(tmp_path / "model.xnet"), beside(ways, new)
    bounds = model.predict_interval(new[0], [0.5, 0.8], **own)
    assert bounds.shape == (60, 2, 2, 2)
    np.testing.assert_array_equal(again.predict_interval(new[0], [0.5, 0.8], **own), bounds)
    np.testing.assert_array_equal(
        again.predict_dist(new[0], **own).ppf(0.2), model.predict_dist(new[0], **own).ppf(0.2)
    )
    if ways:
        with pytest.raises(ValueError, match=f"need {ways[0]} of the new rows"):
            model.to_onnx(tmp_path / "model.onnx")


def test_groups_have_bounds_of_their_own_rows(rows):
    train, held, new = rows
    model, alone = quick().fit(*train[:2]), quick().fit(*train[:2])
    bounds = model.conformalize(*held[:2], groups=held[2]).predict_interval(new[0], 0.8, groups=new[2])
    for group in "abc":
        known, rows_of = held[2] == group, new[2] == group
        alone.conformalize(held[0][known], held[1][known])
        np.testing.assert_array_equal(bounds[rows_of], alone.predict_interval(new[0][rows_of], 0.8))


def test_an_unknown_group_is_named_and_has_no_finite_bound(rows):
    train, held, new = rows
    model = quick().fit(*train[:2]).conformalize(*held[:2], groups=held[2])
    groups = np.where(np.arange(60) == 7, "d", new[2])
    with pytest.warns(UserWarning, match="group 'd' .at least 0. are too few"):
        bounds = model.predict_interval(new[0], 0.8, groups=groups)
    assert np.isinf(bounds[7]).all() and np.isfinite(np.delete(bounds, 7, axis=0)).all()
    assert np.isfinite(model.predict_dist(new[0], groups=groups).ppf(0.9)).all()  # as before conformalize


def test_groups_may_be_named_by_numbers_or_texts(rows):
    train, held, new = rows
    numbers = np.unique(held[2], return_inverse=True)[1]
    model = quick().fit(*train[:2]).conformalize(*held[:2], groups=numbers.astype(float))
    as_texts = np.unique(new[2], return_inverse=True)[1].astype(str)
    assert np.isfinite(model.predict_interval(new[0], 0.8, groups=as_texts)).all()


def test_what_is_missing_or_too_much_is_told(rows):
    train, held, new = rows
    model = quick().fit(*train[:2])
    with pytest.raises(ValueError, match="weights were given for new rows only"):
        model.predict_interval(new[0], weights=new[3])
    with pytest.raises(ValueError, match="groups were given for new rows only"):
        model.conformalize(*held[:2]).predict_dist(new[0], groups=new[2])
    model.conformalize(*held[:2], groups=held[2], weights=held[3])
    with pytest.raises(ValueError, match="groups of the new rows are needed"):
        model.predict_quantiles(new[0])
    with pytest.raises(ValueError, match="weights of the new rows are needed"):
        model.predict_interval(new[0], groups=new[2])
    for wrong, message in (
        ({"tails": "both"}, "tails must be 'separate' or 'joint'"),
        ({"groups": held[2][:5]}, "groups must have one value for each of the 150 rows"),
        ({"weights": held[3][:5]}, "weights must have one number for each of the 150 rows"),
        ({"weights": -held[3]}, "weights must be finite and not negative"),
        ({"weights": 0 * held[3]}, "weights are all zero"),
    ):
        with pytest.raises(ValueError, match=message):
            model.conformalize(*held[:2], **wrong)


def test_fit_and_estimate_noise_forget_it(table):
    X_train, y_train, X, y = table
    model = quick().fit(X_train, y_train)
    normal = model.predict_interval(X)
    assert not np.allclose(model.conformalize(X, y + 3).predict_interval(X), normal)
    np.testing.assert_array_equal(model.fit(X_train, y_train).predict_interval(X), normal)
    renewed = model.conformalize(X, y + 3).estimate_noise(X, y).predict_interval(X)
    np.testing.assert_array_equal(renewed, quick().fit(X_train, y_train).estimate_noise(X, y).predict_interval(X))


def test_several_outputs_get_their_own_multiples(table):
    X_train, y_train, X, y = table
    model = quick().fit(X_train, np.stack([y_train, y_train], axis=1))
    bounds = model.conformalize(X, np.stack([y, y + 5], axis=1)).predict_interval(X, [0.5, 0.9])
    assert bounds.shape == (400, 2, 2, 2)
    width = (bounds[:, :, 1] - bounds[:, :, 0]).mean(axis=0)
    assert (width[1] > width[0]).all()


def test_bad_rows_are_refused_and_too_few_are_warned_of(table):
    X_train, y_train, X, y = table
    with pytest.raises(NotFittedError):
        quick().conformalize(X, y)
    model = quick().fit(X_train, y_train)
    with pytest.raises(ValueError, match=r"y contains NaN \(row 0\)"):
        model.conformalize(X, np.full(400, np.nan))
    with pytest.warns(UserWarning, match=r"50 rows are too few to promise a coverage of 0.99.*or tails='joint'"):
        bounds = model.conformalize(X[:50], y[:50]).predict_interval(X, [0.9, 0.99])
    assert np.isfinite(bounds[:, :, 0]).all() and np.isinf(bounds[:, :, 1]).all()
    with pytest.raises(ValueError, match="call conformalize again"):
        model.set_params(interval="paper").predict_interval(X)


@pytest.mark.parametrize("transform", [None, "sqrt"])
@pytest.mark.parametrize("interval", ["calibrated", "cv+"])
def test_a_target_that_is_never_negative_stays_so(interval, transform):
    """Bounds and transforms of the target hold for conformal bounds, distributions and draws, too."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 2))
    y = rng.poisson(np.exp(X[:, 0])).astype(float)
    model = quick(interval=interval, target_transform=transform).fit(X[:200], y[:200])
    if interval == "calibrated":
        model.conformalize(X[200:300], y[200:300])
    else:
        model.conformalize_training_rows()
    new, levels = X[300:], [0.05, 0.3, 0.5, 0.95]
    bounds, dist = model.predict_interval(new, 0.9), model.predict_dist(new)
    quantiles, draws = model.predict_quantiles(new, levels), model.sample_y(new, 50, random_state=0)
    for values in (bounds, quantiles, draws, dist.ppf(0.01)):
        assert values.min() == 0
    np.testing.assert_array_equal(bounds, quantiles[:, [0, 3]])
    assert (dist.cdf(-0.001) == 0).all() and (dist.cdf(0.0) > 0.05).any()
    assert (np.abs(dist.cdf(bounds[:, 1]) - 0.95) < 1 / 100).all()
    fresh = rng.normal(size=(2000, 2))
    truth = rng.poisson(np.exp(fresh[:, 0]))
    lower, upper = model.predict_interval(fresh, 0.9).T
    assert (truth > upper).mean() < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 100) and (truth < lower).mean() < 0.1
