"""Forward passes, moments and Jacobians of the native engine. Stochastic passes: test_stochastic_passes.py."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.engine import forward, jacobian, moments, reference
from extranets.networks import Architecture, Ensemble, draw_members

HIDDEN = [(), (5,), (50,), (20, 7), (9, 33, 2)]


def make_ensemble(hidden, n_members=4, n_inputs=3, n_outputs=2, learned=False, keep=0.8):
    architecture = Architecture(n_inputs, hidden, n_outputs, n_outputs * (2 if learned else 1))
    members = draw_members(architecture, keep, seed=5, ids=np.arange(n_members))
    rng = np.random.default_rng(1)
    return Ensemble(members, rng.normal(size=members.offsets[-1], scale=0.4).astype(np.float32))


def layers_of(ensemble, i):
    members = ensemble.members
    return reference.unflatten(ensemble[i : i + 1].parameters, members.architecture, members.widths[i])


def rows(n, n_inputs=3):
    return np.random.default_rng(2).normal(size=(n, n_inputs)).astype(np.float32)


@pytest.mark.parametrize("hidden", HIDDEN)
def test_forward_matches_reference(anywhere, hidden):
    ensemble, X = make_ensemble(hidden), rows(131)
    heads = forward(ensemble, X)
    assert heads.shape == (4, 131, 2)
    for i in range(4):
        np.testing.assert_allclose(heads[i], reference.forward(layers_of(ensemble, i), X.astype(float))[-1], atol=2e-5)


def test_a_row_does_not_depend_on_its_neighbours_or_on_threads(anywhere):
    """Bit for bit: alone, in any block, on any number of threads."""
    ensemble, X = make_ensemble((50, 9)), rows(1300)
    whole = forward(ensemble, X)
    np.testing.assert_array_equal(forward(ensemble, X, n_threads=3), whole)
    for begin, end in [(0, 1), (7, 8), (3, 70), (500, 1300)]:
        np.testing.assert_array_equal(forward(ensemble, X[begin:end]), whole[:, begin:end])


@pytest.mark.parametrize("learned", [False, True])
def test_moments_are_those_of_the_members(anywhere, learned):
    ensemble, X = make_ensemble((20,), learned=learned), rows(777)
    heads = forward(ensemble, X).astype(np.float64)
    mean, variance, noise = moments(ensemble, n_threads=2)(X)
    np.testing.assert_allclose(mean, heads[:, :, :2].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(variance, heads[:, :, :2].var(axis=0), rtol=1e-9, atol=1e-15)
    if learned:
        np.testing.assert_allclose(noise, np.exp(heads[:, :, 2:]).mean(axis=0), rtol=1e-12)
    else:
        assert noise is None


def test_moments_keep_digits_when_the_mean_is_large():
    """Members 1e6 + {0, 1}: the variance is 0.25 exactly; sums of squares about zero would lose it."""
    members = draw_members(Architecture(1, (), 1, 1), 1.0, seed=0, ids=[0, 1])
    ensemble = Ensemble(members, np.array([0, 1e6, 0, 1e6 + 1], dtype=np.float32))
    mean, variance, _ = moments(ensemble)(np.zeros((3, 1)))
    assert mean[0, 0] == 1e6 + 0.5
    np.testing.assert_array_equal(variance, 0.25)


def test_variance_of_one_member_is_zero():
    _, variance, _ = moments(make_ensemble((20,), n_members=1))(rows(50))
    assert (variance == 0).all()


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("head", [0, 1])
def test_jacobian_matches_reference(variant, hidden, head):
    ensemble, X = make_ensemble(hidden), rows(70)
    got = jacobian(ensemble, 2, X, head=head, n_threads=2)
    layers = layers_of(ensemble, 2)
    for row in (0, 1, 63, 64, 69):
        activations = reference.forward(layers, X[row : row + 1].astype(float))
        delta = np.eye(2)[head : head + 1]
        expected = reference.flatten(reference.backward(layers, activations, delta))
        np.testing.assert_allclose(got[row], expected, atol=1e-5 * max(1, np.abs(expected).max()))


def test_wrong_number_of_columns_is_refused():
    with pytest.raises(ValueError, match="number of columns"):
        forward(make_ensemble((5,)), rows(4, n_inputs=2))
