"""BootstrapNetsRegressor: samples, the four intervals of Section 3.2, out-of-bag rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from extranets import BootstrapNetsRegressor, engine
from extranets._random import Purpose, draw_seed, words
from extranets.data import linear_process
from extranets.engine import TrainingData
from extranets.estimators.resampling import bootstrap_counts

pytestmark = pytest.mark.filterwarnings("ignore:.*out-of-bag")


def quick(**changes):
    return BootstrapNetsRegressor(**{"n_estimators": 12, "max_iter": 40, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def table():
    return linear_process(400, random_state=1).split(300)


@pytest.fixture(scope="module")
def model(table):
    return quick().fit(*table[:2])


def test_counts_are_draws_with_replacement_from_each_members_stream():
    counts = bootstrap_counts(123, np.array([1, 5], dtype=np.uint32), 50)
    for count, member in zip(counts, [1, 5], strict=True):
        rows = [int(word) * 50 >> 32 for word in words(123, member, Purpose.RESAMPLE, 50)]
        np.testing.assert_array_equal(count, np.bincount(rows, minlength=50))
    assert not np.array_equal(*counts)


def test_counts_are_uniform():
    counts = bootstrap_counts(7, np.arange(1, 2001, dtype=np.uint32), 20).sum(axis=0)
    # 40,000 draws over 20 rows: chi-squared with 19 degrees of freedom, above 43.8 once in a thousand
    assert ((counts - 2000.0) ** 2 / 2000).sum() < 43.8


def test_networks_are_those_that_the_engine_trains_on_the_counts(model, table):
    X, y = table[:2]
    Xs = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    ys = ((y - y.mean()) / y.std()).astype(np.float32)
    seed = draw_seed(0)
    members = model.ensemble_.members
    counts = bootstrap_counts(seed, members.ids, 300)
    options = model._networks.recipe.options
    data = TrainingData(Xs, ys, counts=counts, count_rows=np.arange(12))
    trained = engine.train(members, data, options, seed)
    np.testing.assert_array_equal(trained.ensemble.parameters, model.ensemble_.parameters)


def members_and_full(model, X):
    full = engine.forward(model.full_network_, model.model_.units.x.apply(X))[0, :, 0]
    return model.predict_members(X), model.model_.units.y.undo(full[:, None])[:, 0]


def test_intervals_follow_the_papers_formulas(model, table):
    """Each against its formula in the paper, from the members' and the full-sample network's predictions."""
    X = table[2]
    members, full = members_and_full(model, X)
    mean, spread, z = members.mean(axis=0), members.var(axis=0), stats.norm.ppf(0.95)
    centres = {"averaged": ("mean", mean), "normal": ("full", full), "bias_corrected": ("corrected", 2 * full - mean)}
    for name, (centre, middle) in centres.items():
        model.set_params(interval=name)
        noise = model.model_.noise.variances[centre][0] * table[1].var()
        half = z * np.sqrt((spread / 12 if name == "averaged" else spread) + noise)
        expected = np.stack([middle - half, middle + half], axis=1)
        np.testing.assert_allclose(model.predict_interval(X, 0.9), expected, rtol=1e-4)
    model.set_params(interval="percentile")
    np.testing.assert_allclose(model.predict_interval(X, 0.9), np.quantile(members, [0.05, 0.95], axis=0).T)
    np.testing.assert_allclose(model.predict(X), full, rtol=1e-5)
    model.set_params(interval="averaged")


def test_percentiles_agree_with_scipy_for_a_linear_network():
    """Networks without hidden layer are least squares on the resample; scipy resamples least squares itself."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    y = X @ [1.0, -2.0] + rng.standard_normal(120) * (0.5 + X[:, 0] ** 2)
    new = np.array([[1.5, 0.5]])
    n_ours, n_theirs = 2000, 4000
    converged = {"learning_rate_init": 0.05, "max_iter": 400, "batch_size": 120}
    model = BootstrapNetsRegressor(n_ours, (), interval="percentile", random_state=0, **converged).fit(X, y)

    def prediction(rows):
        rows = rows.astype(int)
        A = np.column_stack([np.ones(len(rows)), X[rows]])
        return np.array([1.0, *new[0]]) @ np.linalg.lstsq(A, y[rows], rcond=None)[0]

    theirs = stats.bootstrap(
        (np.arange(120),), prediction, n_resamples=n_theirs, confidence_level=0.9, method="percentile", random_state=1,
        vectorized=False,
    )  # fmt: skip
    # Standard error of the 5 % quantile of n Normal draws: sqrt(.05 * .95 / n) / .103 standard deviations.
    error = np.sqrt(0.05 * 0.95 * (1 / n_ours + 1 / n_theirs)) / 0.103 * theirs.standard_error
    np.testing.assert_allclose(model.predict_interval(new, 0.9)[0], theirs.confidence_interval, atol=4 * error)


def test_out_of_bag_predictions_use_only_networks_that_did_not_draw_the_row(model, table):
    X, y = table[:2]
    out = bootstrap_counts(draw_seed(0), model.ensemble_.members.ids, 300) == 0
    members = model.predict_members(X)
    for row in (0, 17, 299):
        expected = members[out[:, row], row].mean() if out[:, row].any() else np.nan
        np.testing.assert_allclose(model.oob_prediction_[row], expected, rtol=1e-5)
    known = out.any(axis=0)
    r2 = 1 - np.sum((y - model.oob_prediction_)[known] ** 2) / np.sum((y[known] - y[known].mean()) ** 2)
    assert model.oob_score_ == pytest.approx(r2, abs=1e-6)


def test_out_of_bag_noise_is_that_of_an_ensemble_of_the_full_size(model, table):
    y = table[1]
    out = bootstrap_counts(draw_seed(0), model.ensemble_.members.ids, 300) == 0
    members = model.predict_members(table[0])
    squares, excess = [], []
    for row in np.flatnonzero(out.any(axis=0)):
        bag = members[out[:, row], row]
        squares.append((bag.mean() - y[row]) ** 2)
        excess.append(bag.var(ddof=1) * (1 / len(bag) - 1 / 12) if len(bag) > 1 else 0.0)
    assert model.noise_variance_ == pytest.approx(np.mean(squares) - np.mean(excess), rel=1e-4)


def test_rows_of_weight_zero_have_no_out_of_bag_prediction(table):
    weight = np.r_[np.zeros(50), np.ones(250)]
    model = quick().fit(*table[:2], sample_weight=weight)
    assert np.isnan(model.oob_prediction_[:50]).all() and model.oob_prediction_.shape == (300,)


def test_two_outputs_out_of_bag(table):
    X, y = table[:2]
    model = quick(interval="jackknife+").fit(X, np.column_stack([y, -y]))
    assert model.oob_prediction_.shape == (300, 2)
    bounds = model.predict_interval(table[2], [0.5, 0.9])
    assert bounds.shape == (100, 2, 2, 2) and (bounds[:, :, 0] < bounds[:, :, 1]).all()


def test_full_sample_network_does_not_depend_on_the_resampled_ones(table):
    one, many = quick(n_estimators=8).fit(*table[:2]), quick(n_estimators=16).fit(*table[:2])
    np.testing.assert_array_equal(one.full_network_.parameters, many.full_network_.parameters)
    np.testing.assert_array_equal(one.ensemble_.parameters, many.ensemble_[:8].parameters)


def test_warm_start_grows_to_the_same_ensemble(table):
    grown = quick(n_estimators=6, warm_start=True).fit(*table[:2])
    grown.set_params(n_estimators=12).fit(*table[:2])
    whole = quick().fit(*table[:2])
    np.testing.assert_array_equal(grown.predict_interval(table[2]), whole.predict_interval(table[2]))
    np.testing.assert_array_equal(grown.oob_prediction_, whole.oob_prediction_)


def test_jackknife_plus_covers(table):
    """10 tables of 200 rows, 1,000 test rows: coverage is near its level, far above the promised 1 - 2 alpha."""
    covered = []
    for seed in range(10):
        X, y, X_new, y_new = linear_process(1200, random_state=seed).split(200)
        model = quick(interval="jackknife+", n_estimators=30, random_state=seed).fit(X, y)
        lower, upper = model.predict_interval(X_new, 0.9).T
        covered.append(np.mean((lower <= y_new) & (y_new <= upper)))
    # One table's coverage varies by sqrt(.9 * .1 / 200) = .021 with its training rows, the mean of ten by .007.
    assert 0.9 - 3 * 0.007 < np.mean(covered) < 0.97


def test_what_needs_out_of_bag_rows_says_so(model, table):
    with pytest.raises(ValueError, match="noise='oob'"):
        quick(interval="jackknife+", noise="train").fit(*table[:2])
    model.set_params(interval="jackknife+")
    with pytest.raises(ValueError, match="call fit again"):
        model.predict_interval(table[2])
    model.set_params(interval="averaged")
    with pytest.warns(UserWarning, match="no out-of-bag prediction"):
        quick(n_estimators=2).fit(*table[:2])


def test_noise_variance_is_that_of_the_interval_in_use(model):
    averaged = model.noise_variance_
    single = model.set_params(interval="normal").noise_variance_
    model.set_params(interval="averaged")
    assert single > averaged == model.noise_variance_


def test_a_level_that_needs_more_rows_is_warned_of(table):
    X, y = table[0][:8], table[1][:8]
    model = quick(interval="jackknife+", n_estimators=40).fit(X, y)
    with pytest.warns(UserWarning, match="8 rows are too few"):
        assert np.isinf(model.predict_interval(X, 0.9)).all()


def test_noise_from_training_rows_warns_once_and_names_what_to_use(table):
    with pytest.warns(UserWarning, match="noise='oob'") as caught:
        quick(noise="train").fit(table[0][:50], table[1][:50])
    assert caught[0].filename == __file__
