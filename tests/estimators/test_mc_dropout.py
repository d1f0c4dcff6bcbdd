"""MCDropoutRegressor: its passes against exact enumeration, its likelihood against scipy, its choice of p."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import special, stats

from extranets import MCDropoutRegressor
from extranets._random import draw_seed
from extranets.data import linear_process
from extranets.engine import reference
from extranets.estimators.mc_dropout import CANDIDATES
from extranets.held_out import hold_out


def quick(**changes):
    return MCDropoutRegressor(**{"max_iter": 40, "n_passes": 50, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def table():
    return linear_process(400, random_state=1).split(300)


@pytest.fixture(scope="module")
def model(table):
    return quick().fit(*table[:2])


def every_mask(model, X):
    """Predictions under all masks of the hidden units (in the target's units), and the masks' probabilities."""
    keep, members = model.keep_prob, model.ensemble_.members
    layers = reference.unflatten(model.ensemble_.parameters, members.architecture, members.widths[0])
    Xs = model.model_.units.x.apply(X).astype(np.float64)
    predictions, probabilities = [], []
    for mask in itertools.product([0, 1], repeat=sum(members.architecture.hidden)):
        factors = [np.ones(Xs.shape[1]), np.array(mask) / keep]
        predictions.append(model.model_.units.y.undo(reference.forward(layers, Xs, factors)[-1])[:, 0])
        probabilities.append(np.prod([keep if kept else 1 - keep for kept in mask]))
    return np.array(predictions), np.array(probabilities)


def test_mean_and_variance_agree_with_all_masks(table):
    model = quick(hidden_layer_sizes=(4,), keep_prob=0.7, n_passes=10_000).fit(*table[:2])
    X = table[2][:10]
    values, probability = every_mask(model, X)
    assert probability.sum() == pytest.approx(1)
    mean = probability @ values
    variance = probability @ (values - mean) ** 2
    fourth = probability @ (values - mean) ** 4
    # Standard errors of a mean and of a variance over 10,000 passes, from the exact moments.
    np.testing.assert_array_less(np.abs(model.predict(X) - mean), 4.5 * np.sqrt(variance / 10_000))
    error = 4.5 * np.sqrt((fourth - variance**2) / 10_000)
    np.testing.assert_array_less(np.abs(model.predict_components(X).epistemic - variance), error)


def test_variance_is_not_divided_by_the_number_of_passes(model, table):
    members = model.predict_members(table[2])
    assert members.shape == (50, 100)
    np.testing.assert_allclose(model.predict(table[2]), members.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(model.predict_components(table[2]).epistemic, members.var(axis=0), rtol=1e-4)


def test_passes_are_reproducible_and_may_be_changed_after_fit(model, table):
    few = model.predict_members(table[2])
    many = model.set_params(n_passes=80).predict_members(table[2])
    model.set_params(n_passes=50)
    assert len(many) == 80
    np.testing.assert_array_equal(many[:50], few)


def test_inputs_can_be_dropped_too(table):
    plain, dropped = (quick(keep_prob=1.0, input_keep_prob=p).fit(*table[:2]) for p in (1.0, 0.8))
    assert plain.predict_components(table[2]).epistemic.max() == 0
    assert (dropped.predict_components(table[2]).epistemic > 0).all()


def test_log_likelihood_from_tau(model, table):
    X, y = table[2:]
    passes = model.predict_members(X)
    for tau in (None, 2.5):
        precision = 1 / model.noise_variance_ if tau is None else tau
        # as Gal & Ghahramani print it
        expected = np.mean(
            special.logsumexp(-0.5 * precision * (y - passes) ** 2, axis=0)
            - np.log(len(passes)) - 0.5 * np.log(2 * np.pi) + 0.5 * np.log(precision)
        )  # fmt: skip
        assert model.log_likelihood(X, y, tau=tau) == pytest.approx(expected, rel=1e-6)
    mixture = stats.norm(passes, np.sqrt(model.noise_variance_)).pdf(y).mean(axis=0)
    assert model.log_likelihood(X, y) == pytest.approx(np.log(mixture).mean(), rel=1e-6)


def test_log_likelihood_in_blocks_and_of_two_outputs(model, table, monkeypatch):
    X, y = table[2:]
    whole = model.log_likelihood(X, y)
    monkeypatch.setattr("extranets.estimators.mc_dropout.BLOCK_SIZE", 50 * 7)
    assert model.log_likelihood(X, y) == pytest.approx(whole)
    two = quick().fit(table[0], np.column_stack([table[1], -table[1]]))
    assert np.isfinite(two.log_likelihood(X, np.column_stack([y, -y])))


def test_learned_noise(table):
    model = quick(loss="gaussian_nll", max_iter=100).fit(*table[:2])
    assert model.noise_variance_ is None
    parts = model.predict_components(table[2])
    assert parts.aleatoric.std() > 0
    with pytest.raises(ValueError, match="no single tau"):
        model.log_likelihood(*table[2:])


@pytest.mark.parametrize("noise", ["cv", "holdout", "train"])
def test_auto_takes_the_best_candidate_and_then_fits_as_if_it_had_been_given(table, noise):
    auto = quick(keep_prob="auto", noise=noise, hidden_layer_sizes=(10,)).fit(*table[:2])
    scores = auto.keep_prob_scores_
    assert set(scores) == set(CANDIDATES) and scores[auto.keep_prob_] == max(scores.values())
    given = quick(keep_prob=auto.keep_prob_, noise=noise, hidden_layer_sizes=(10,)).fit(*table[:2])
    np.testing.assert_array_equal(auto.predict_interval(table[2]), given.predict_interval(table[2]))
    assert given.keep_prob_scores_ is None


def test_auto_judges_candidates_by_the_variance_that_the_model_predicts(table):
    """With a hold-out the final network is the one that was judged, so the model itself can be asked about those rows."""
    X, y = table[:2]
    auto = quick(keep_prob="auto", noise="holdout", hidden_layer_sizes=(10,)).fit(X, y)
    held = hold_out(len(y), auto.holdout_fraction, draw_seed(auto.random_state)).fold_of_row == 0
    for keep in (0.99, 0.5):  # of which the second has a spread that matters
        model = quick(keep_prob=keep, noise="holdout", hidden_layer_sizes=(10,)).fit(X, y)
        parts = model.predict_components(X[held])
        seen = stats.norm(parts.mean, parts.std).logpdf(y[held]).mean() + np.log(model.model_.units.y.scale[0])
        assert auto.keep_prob_scores_[keep] == pytest.approx(seen, rel=1e-5)


def test_auto_avoids_dropout_that_ruins_a_small_network(table):
    assert quick(keep_prob="auto", hidden_layer_sizes=(10,)).fit(*table[:2]).keep_prob_ >= 0.95


def test_calibrated_interval_uses_held_out_rows(table):
    model = quick(interval="calibrated").fit(*table[:2])
    a, b = model.calibration_
    parts = model.predict_components(table[2])
    np.testing.assert_allclose(parts.epistemic, a * model.predict_members(table[2]).var(axis=0, ddof=1), rtol=1e-4)
    np.testing.assert_allclose(parts.aleatoric, b * model.noise_variance_)


def test_bad_precisions_are_named(model, table):
    for tau in (0.0, -1.0, np.nan, [1.0, 2.0]):
        with pytest.raises(ValueError, match="tau must be positive"):
            model.log_likelihood(*table[2:], tau=tau)
    constant = quick().fit(table[0], np.ones(300))
    with pytest.raises(ValueError, match="tau must be positive"):
        constant.log_likelihood(table[2], np.ones(100))
