"""Passes with dropout at prediction time: their masks, their moments, and what they do not depend on."""

from __future__ import annotations

import itertools
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from extranets.engine import Passes, forward, moments, reference
from extranets.networks import Architecture, Ensemble, draw_members

HIDDEN = [(), (5,), (50,), (20, 7), (9, 33, 2)]
SEED = 11


def make_ensemble(hidden, n_members=1, n_outputs=2, learned=False, keep=1.0):
    architecture = Architecture(3, hidden, n_outputs, n_outputs * (2 if learned else 1))
    members = draw_members(architecture, keep, seed=5, ids=np.arange(n_members))
    rng = np.random.default_rng(1)
    return Ensemble(members, rng.normal(size=members.offsets[-1], scale=0.4).astype(np.float32))


def layers_of(ensemble, i):
    members = ensemble.members
    return reference.unflatten(ensemble[i : i + 1].parameters, members.architecture, members.widths[i])


def rows(n):
    return np.random.default_rng(2).normal(size=(n, 3)).astype(np.float32)


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize(("dropout_keep", "input_keep"), [(0.7, 1.0), (1.0, 0.6), (0.7, 0.6), (0.1, 1.0), (1.0, 1.0)])
def test_passes_match_reference(anywhere, hidden, dropout_keep, input_keep):
    """Members of different widths take turns. With a keep of 0.1 whole layers are dropped."""
    ensemble, X = make_ensemble(hidden, n_members=3, keep=0.8), rows(90)
    passes = forward(ensemble, X, Passes(8, dropout_keep, input_keep, SEED))
    assert passes.shape == (8, 90, 2)
    for index in range(8):
        layers = layers_of(ensemble, index % 3)
        expected = reference.stochastic_pass(layers, X.astype(float), dropout_keep, SEED, index, input_keep)
        np.testing.assert_allclose(passes[index], expected, rtol=2e-5, atol=2e-5)


def test_a_row_does_not_depend_on_its_neighbours_or_on_threads(anywhere):
    """Bit for bit: alone, in any block, on any number of threads."""
    ensemble, X = make_ensemble((50, 9)), rows(1300)
    passes = Passes(5, dropout_keep=0.7, input_keep=0.8, seed=SEED)
    whole = forward(ensemble, X, passes)
    both = moments(ensemble, passes)(X)[:2]
    for n_threads in (3, 40):
        np.testing.assert_array_equal(forward(ensemble, X, passes, n_threads=n_threads), whole)
        np.testing.assert_array_equal(moments(ensemble, passes, n_threads=n_threads)(X)[:2], both)
    for begin, end in [(0, 1), (7, 8), (3, 70), (500, 1300)]:
        np.testing.assert_array_equal(forward(ensemble, X[begin:end], passes), whole[:, begin:end])


def test_more_passes_keep_the_earlier_ones(anywhere):
    ensemble, X = make_ensemble((20,)), rows(30)
    few, many = (forward(ensemble, X, Passes(n, 0.7, 0.8, SEED)) for n in (100, 200))
    np.testing.assert_array_equal(many[:100], few)
    assert len({heads.tobytes() for heads in many}) > 190  # 2^23 masks


@pytest.mark.parametrize("learned", [False, True])
def test_moments_are_those_of_the_passes(anywhere, learned):
    ensemble, X = make_ensemble((20,), n_members=2, learned=learned), rows(777)
    passes = Passes(31, dropout_keep=0.7, input_keep=0.8, seed=SEED)
    heads = forward(ensemble, X, passes).astype(np.float64)
    mean, variance, noise = moments(ensemble, passes, n_threads=2)(X)
    np.testing.assert_allclose(mean, heads[:, :, :2].mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(variance, heads[:, :, :2].var(axis=0), rtol=1e-9)
    if learned:
        np.testing.assert_allclose(noise, np.exp(heads[:, :, 2:]).mean(axis=0), rtol=1e-12)
    else:
        assert noise is None


def every_mask(layers, X, dropout_keep, input_keep):
    """Heads under every mask of inputs and hidden units, and the masks' probabilities."""
    widths = [weights.shape[0] for weights, _ in layers]
    keeps = np.repeat([input_keep] + [dropout_keep] * (len(widths) - 1), widths)
    heads, probabilities = [], []
    for mask in itertools.product([False, True], repeat=sum(widths)):
        probabilities.append(np.where(mask, keeps, 1 - keeps).prod())
        factors = np.split(np.where(mask, 1 / keeps, 0.0), np.cumsum(widths)[:-1])
        heads.append(reference.forward(layers, X, factors)[-1])
    return np.array(heads), np.array(probabilities)


@pytest.mark.parametrize(("dropout_keep", "input_keep"), [(0.8, 1.0), (0.6, 0.7), (1.0, 0.5)])
def test_moments_of_many_passes_are_those_of_all_masks(dropout_keep, input_keep):
    """Three hidden units and three inputs have 64 masks at most: the exact moments are a sum.

    Tolerance: 5 standard errors of each estimate from 40,000 passes, from the exact second and fourth moments.
    """
    n_passes = 40_000
    ensemble, X = make_ensemble((3,), n_outputs=1, learned=True), rows(6)
    heads, probability = every_mask(layers_of(ensemble, 0), X.astype(float), dropout_keep, input_keep)

    def expect(values):
        return np.tensordot(probability, values, axes=1)

    exact_mean = expect(heads[:, :, :1])
    centred = heads[:, :, :1] - exact_mean
    exact_variance, noise = expect(centred**2), np.exp(heads[:, :, 1:])
    got_mean, got_variance, got_noise = moments(ensemble, Passes(n_passes, dropout_keep, input_keep, SEED))(X)
    assert (exact_variance > 1e-5).all()  # the standard errors are far above float32 rounding
    assert (np.abs(got_mean - exact_mean) < 5 * np.sqrt(exact_variance / n_passes)).all()
    error = np.sqrt((expect(centred**4) - exact_variance**2) / n_passes)
    bias = 2 * exact_variance / n_passes  # of a variance that is divided by n_passes, and room for its square
    assert (np.abs(got_variance - exact_variance) < 5 * error + bias).all()
    error = np.sqrt(expect((noise - expect(noise)) ** 2) / n_passes)
    assert (np.abs(got_noise - expect(noise)) < 5 * error + 1e-6).all()


def test_passes_average_to_the_network():
    """Inverted dropout on one hidden layer is unbiased: the mean of 20,000 passes is the full network, within 5 standard errors."""
    ensemble, X = make_ensemble((12,)), rows(5)
    passes = forward(ensemble, X, Passes(20_000, dropout_keep=0.8, seed=3)).astype(np.float64)
    error = passes.std(axis=0) / np.sqrt(20_000)
    assert (np.abs(passes.mean(axis=0) - forward(ensemble, X)[0]) < 5 * error + 1e-6).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_passes": 0}, "n_passes must be at least 1, got 0"),
        ({"n_passes": -3}, "n_passes must be at least 1, got -3"),
        ({"dropout_keep": 0.0}, "dropout_keep must be above 0 and at most 1, got 0"),
        ({"dropout_keep": float("nan")}, "dropout_keep must be above 0"),
        ({"input_keep": 1.5}, "input_keep must be above 0 and at most 1, got 1.5"),
    ],
    ids=str,
)
def test_passes_that_cannot_be_drawn_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Passes(**{"n_passes": 3, **wrong})


def test_passes_cannot_be_changed_unchecked():
    with pytest.raises(FrozenInstanceError):
        Passes(3).n_passes = 0
