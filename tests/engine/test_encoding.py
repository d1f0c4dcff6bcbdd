"""Encoded columns in the native engine against the reference, which builds the wide table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extranets.encodings import MOST_BINS, PiecewiseLinear, learn_periodic, learn_piecewise_linear
from extranets.engine import (
    Options,
    Passes,
    TrainingData,
    _native,
    forward,
    gradient,
    jacobian,
    moments,
    reference,
    train,
    variational,
)
from extranets.engine.reference_encoding import column_gradient, encoded
from extranets.networks import Architecture, Ensemble, draw_members
from tests.engine.same_path import SEED, assert_same_path

LEARN = {"piecewise_linear": learn_piecewise_linear, "periodic": learn_periodic}
HIDDEN = [(), (6,), (20, 7)]
LOSSES = ["squared_error", "gaussian_nll"]


def table(n, n_inputs, seed=0):
    """Columns with many values, with few, and with two; the first always with many."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_inputs)).astype(np.float32)
    X[:, 1::4] = np.round(X[:, 1::4])
    X[:, 2::4] = X[:, 2::4] > 0
    return X


def make(hidden, kind="piecewise_linear", loss="squared_error", n=37, n_inputs=5, n_bins=7, n_members=2, n_outputs=2):
    """Members whose edges come from the rows' first half, so that some of the rest lie outside."""
    X = table(n, n_inputs)
    heads = n_outputs * (2 if loss == "gaussian_nll" else 1)
    encoding = LEARN[kind](X[: max(2, n // 2)], n_bins)
    architecture = Architecture(n_inputs, hidden, n_outputs, heads, encoding)
    members = draw_members(architecture, 0.8, seed=5, ids=np.arange(n_members))
    rng = np.random.default_rng(1)
    y = rng.normal(size=(n, n_outputs)).astype(np.float32)
    return members, X, y, rng.uniform(0.5, 2, n).astype(np.float32)


def with_parameters(members, scale=0.4):
    parameters = np.random.default_rng(1).normal(size=members.offsets[-1], scale=scale)
    return Ensemble(members, parameters.astype(np.float32))


def layers_of(ensemble, i):
    members = ensemble.members
    return reference.unflatten(ensemble[i : i + 1].parameters, members.architecture, members.widths[i])


def wide(members, X):
    return encoded(members.architecture.encoding, X.astype(np.float64))


# -- the reference -----------------------------------------------------------------------------------------------------


def test_entries_are_clipped_positions():
    encoding = PiecewiseLinear(
        np.array([1], dtype=np.int32), np.array([0, 4], dtype=np.int32), np.array([0, 1, 3, 4], dtype=np.float32)
    )
    x = np.array([-5, 0, 0.25, 1, 2, 3, 3.5, 4, 9])
    X = np.column_stack([np.zeros(9), x])
    expected = [
        [0, 0, 0], [0, 0, 0], [0.25, 0, 0], [1, 0, 0], [1, 0.5, 0], [1, 1, 0], [1, 1, 0.5], [1, 1, 1], [1, 1, 1],
    ]  # fmt: skip
    np.testing.assert_array_equal(encoded(encoding, X), np.hstack([X, expected]))


@pytest.mark.parametrize("kind", LEARN)
def test_derivatives_match_central_differences(kind):
    """Rows inside of bins, and outside of all; a random linear function of the entries."""
    members, X, *_ = make((), kind)
    encoding, X = members.architecture.encoding, X.astype(np.float64)
    weights = np.random.default_rng(0).normal(size=members.architecture.n_first)
    got = column_gradient(encoding, X, np.tile(weights, (len(X), 1)))
    numeric = np.empty_like(X)
    for c in range(X.shape[1]):
        nudge = np.eye(X.shape[1])[c] * 1e-6
        numeric[:, c] = (encoded(encoding, X + nudge) - encoded(encoding, X - nudge)) @ weights / 2e-6
    # Not at the edges themselves, where left and right derivatives differ.
    on_edge = np.isin(X, encoding.edges) if kind == "piecewise_linear" else np.zeros(X.shape, bool)
    assert on_edge.mean() < 0.7
    np.testing.assert_allclose(got[~on_edge], numeric[~on_edge], atol=1e-6)


def test_on_an_edge_the_bin_above_counts():
    encoding = PiecewiseLinear(
        np.array([0], dtype=np.int32), np.array([0, 3], dtype=np.int32), np.array([0, 1, 3], dtype=np.float32)
    )
    x = np.array([-1.0, 0, 1, 3, 4])[:, None]
    slopes = column_gradient(encoding, x, np.tile([0.0, 1, 1], (5, 1)))[:, 0]
    np.testing.assert_array_equal(slopes, [0, 1, 0.5, 0.5, 0])


# -- training ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LEARN)
@pytest.mark.parametrize("hidden", [*HIDDEN, (3, 70)])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradient(variant, kind, hidden, loss):
    members, X, y, weight = make(hidden, kind, loss)
    ensemble = with_parameters(members)
    for i in range(len(members)):
        value, expected = reference.loss_gradient(
            layers_of(ensemble, i), wide(members, X), y.astype(float), weight.astype(float), loss
        )
        got_value, got = gradient(ensemble, i, TrainingData(X, y, weight), Options(loss=loss))
        assert got_value == pytest.approx(value, rel=1e-5)
        scale = np.abs(reference.flatten(expected)).max()
        np.testing.assert_allclose(got, reference.flatten(expected), atol=5e-6 * scale)


OPTIONS = {
    "plain": {},
    "decay": {"weight_decay": 0.3, "schedule": "linear"},
    "dropout": {"dropout_keep": 0.7, "epsilon": 0.05},
    "input dropout": {"input_keep": 0.6},
    "both dropouts": {"input_keep": 0.6, "dropout_keep": 0.7, "epsilon": 0.05},
    "clipping": {"max_grad_norm": 0.3},
    "early stopping": {"validation_fraction": 0.25, "patience": 2, "n_epochs": 12, "learning_rate": 0.05},
    "restarts": {"n_starts": 2, "collapse_r2": 0.1, "max_restarts": 2},
    "batch of all rows": {"batch_size": 100},
}


@pytest.mark.parametrize("changes", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("kind", LEARN)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_trajectory(anywhere, kind, hidden, changes):
    members, X, y, weight = make(hidden, kind)
    assert_same_path(members, X, y, replace(Options(n_epochs=5, batch_size=8), **changes), weight=weight)


STEPS = np.array([0.1, 0.02, 0.05, 0.3, 0.07], dtype=np.float32)


@pytest.mark.parametrize(
    "changes",
    [{}, {"input_keep": 0.6, "dropout_keep": 0.7}, {"warm_up_epochs": 2}],
    ids=["plain", "dropout", "warm-up"],
)
@pytest.mark.parametrize("kind", LEARN)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_trajectory_with_adversarial_rows(anywhere, kind, hidden, changes):
    """Gradients pass through the encoding on their way to the columns, and moved rows may fall into other bins."""
    members, X, y, weight = make(hidden, kind, "gaussian_nll")
    options = replace(Options(loss="gaussian_nll", n_epochs=5, batch_size=8), **changes)
    assert_same_path(members, X, y, options, weight=weight, adversarial=STEPS)


@pytest.mark.parametrize("kind", LEARN)
def test_trajectory_with_bootstrap_counts(anywhere, kind):
    members, X, y, _ = make((6,), kind)
    counts = np.random.default_rng(3).poisson(1.0, (2, len(X))).astype(np.uint16)
    assert_same_path(members, X, y, Options(n_epochs=5, batch_size=8), counts=counts)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    n=st.integers(2, 60),
    n_inputs=st.integers(1, 9),
    n_bins=st.integers(1, 64),
    hidden=st.lists(st.integers(1, 70), max_size=2).map(tuple),
    batch=st.integers(1, 50),
    kind=st.sampled_from(sorted(LEARN)),
)
def test_any_shape(n, n_inputs, n_bins, hidden, batch, kind):
    """Always the same examples: where only rounding keeps a gradient from zero, Adam still makes a whole step of it."""
    members, X, y, weight = make(hidden, kind, n=n, n_inputs=n_inputs, n_bins=n_bins, n_outputs=1)
    assert_same_path(members, X, y, Options(n_epochs=2, batch_size=batch), weight=weight, atol=1e-3)


@pytest.mark.parametrize("hidden", HIDDEN)
def test_the_wide_table_trains_the_same_network(anywhere, hidden):
    """The same seed, without an encoding but on the table with all entries written out: equal to rounding."""
    members, X, y, weight = make(hidden)
    options = Options(n_epochs=5, batch_size=8)
    a = members.architecture
    dense = replace(members, architecture=Architecture(a.n_first, a.hidden, a.n_outputs, a.n_heads))
    narrow = train(members, TrainingData(X, y, weight), options, SEED)
    explicit = train(dense, TrainingData(wide(members, X), y, weight), options, SEED)
    np.testing.assert_allclose(narrow.ensemble.parameters, explicit.ensemble.parameters, atol=2e-4)
    np.testing.assert_allclose(
        forward(narrow.ensemble, X), forward(explicit.ensemble, wide(members, X)), atol=1e-3, rtol=1e-3
    )


@pytest.mark.parametrize("kind", LEARN)
@pytest.mark.parametrize("adversarial", [None, STEPS], ids=["plain", "adversarial"])
def test_threads_and_partitions_do_not_change_a_bit(kind, adversarial):
    members, X, y, _ = make((30, 10), kind, n=150, n_members=9)
    options = Options(n_epochs=4, batch_size=16, input_keep=0.9, dropout_keep=0.8)
    data = TrainingData(X, y, adversarial=adversarial)
    whole = train(members, data, options, SEED)
    again = train(members, data, options, SEED, n_threads=3)
    np.testing.assert_array_equal(again.ensemble.parameters, whole.ensemble.parameters)
    part = train(members[2:5], data, options, SEED)
    np.testing.assert_array_equal(part.ensemble.parameters, whole.ensemble[2:5].parameters)


def test_bins_without_rows_keep_their_weights():
    """Their gradients must be exactly zero: Adam would blow rounding up to full steps."""
    members, X, y, _ = make((6,), n=40)
    counts = (X[:, 0] < np.median(X[:20, 0])).astype(np.uint16)[None]
    first = members[:1]
    before = reference.initial_layers(first.architecture, first.widths[0], SEED, int(first.ids[0]))
    data = TrainingData(X, y, counts=counts, count_rows=[0])
    trained = train(first, data, Options(n_epochs=3, batch_size=8), SEED).ensemble
    n_inputs, n_bins = X.shape[1], int(first.architecture.encoding.n_entries[0])
    top = slice(n_inputs + n_bins - 2, n_inputs + n_bins)  # of the first column: no such row was trained on
    np.testing.assert_allclose(layers_of(trained, 0)[0][0][top], before[0][0][top], rtol=1e-6)


# -- prediction --------------------------------------------------------------------------------------------------------


def rows_everywhere(members, n=150):
    """On edges, one float beside them, far outside of them, and in between."""
    encoding = members.architecture.encoding
    X = table(n, members.architecture.n_inputs, seed=2)
    X[:10] *= 1000
    edges = encoding.edges_of_columns() if isinstance(encoding, PiecewiseLinear) else []
    for c, own in zip(encoding.columns, edges, strict=False):
        beside = [own, np.nextafter(own, np.float32(np.inf)), np.nextafter(own, np.float32(-np.inf))]
        X[20 : 20 + 3 * len(own), c] = np.concatenate(beside)
    return X


@pytest.mark.parametrize("kind", LEARN)
@pytest.mark.parametrize("hidden", [*HIDDEN, (50,), (9, 33, 2)])
def test_forward_matches_reference(anywhere, kind, hidden):
    members, *_ = make(hidden, kind, n_members=4)
    ensemble, X = with_parameters(members), rows_everywhere(members)
    X = X if kind == "piecewise_linear" else X[10:]  # a million cycles leave float32 no digits
    heads = forward(ensemble, X)
    for i in range(4):
        expected = reference.forward(layers_of(ensemble, i), wide(members, X))[-1]
        np.testing.assert_allclose(heads[i], expected, rtol=2e-5, atol=5e-5)


@pytest.mark.parametrize("kind", LEARN)
@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize(("dropout_keep", "input_keep"), [(0.7, 1.0), (1.0, 0.6), (0.7, 0.6), (0.1, 1.0)])
def test_passes_match_reference(anywhere, kind, hidden, dropout_keep, input_keep):
    members, *_ = make(hidden, kind, n_members=3)
    ensemble, X = with_parameters(members), table(90, 5, seed=2)
    passes = forward(ensemble, X, Passes(8, dropout_keep, input_keep, seed=11))
    for index in range(8):
        expected = reference.stochastic_pass(
            layers_of(ensemble, index % 3), X.astype(float), dropout_keep, 11, index, input_keep,
            members.architecture.encoding,
        )  # fmt: skip
        np.testing.assert_allclose(passes[index], expected, rtol=2e-5, atol=5e-5)


@pytest.mark.parametrize("kind", LEARN)
@pytest.mark.parametrize("passes", [None, Passes(5, dropout_keep=0.7, input_keep=0.8)], ids=["all", "passes"])
def test_a_row_does_not_depend_on_its_neighbours_or_on_threads(anywhere, kind, passes):
    members, *_ = make((50, 9), kind)
    ensemble, X = with_parameters(members), table(1300, 5, seed=2)
    whole = forward(ensemble, X, passes)
    np.testing.assert_array_equal(forward(ensemble, X, passes, n_threads=3), whole)
    for begin, end in [(0, 1), (7, 8), (3, 70), (500, 1300)]:
        np.testing.assert_array_equal(forward(ensemble, X[begin:end], passes), whole[:, begin:end])
    mean, variance, _ = moments(ensemble, passes, n_threads=2)(X)
    np.testing.assert_allclose(mean, whole.astype(float).mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(variance, whole.astype(float).var(axis=0), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("kind", LEARN)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_jacobian_matches_reference(variant, kind, hidden):
    members, *_ = make(hidden, kind)
    ensemble, X = with_parameters(members), table(70, 5, seed=2)
    got = jacobian(ensemble, 1, X, head=1)
    layers = layers_of(ensemble, 1)
    for row in (0, 1, 63, 64, 69):
        activations = reference.forward(layers, wide(members, X[row : row + 1]))
        expected = reference.flatten(reference.backward(layers, activations, np.eye(2)[1:2]))
        np.testing.assert_allclose(got[row], expected, atol=1e-5 * max(1, np.abs(expected).max()))


def test_extreme_rows_and_edges_give_finite_numbers(anywhere):
    """Edges one float apart, or at float32's limits for a division; values as far out as the estimators let through."""
    beside = np.nextafter(np.float32(1), np.float32(2))
    edges = np.array([-1e-30, 0, 1e-30, 1, beside, 1e6], dtype=np.float32)
    encoding = PiecewiseLinear(np.array([0], dtype=np.int32), np.array([0, 6], dtype=np.int32), edges)
    X = np.concatenate([edges, -edges, np.array([-1e30, 1e30, 1e-38, 5e-31], dtype=np.float32)])[:, None]
    members = draw_members(Architecture(1, (4,), 1, 1, encoding), 1.0, seed=0, ids=[0])
    layers = [(np.zeros((6, 4)), np.zeros(4)), (np.ones((4, 1)), np.zeros(1))]
    layers[0][0][1:] = np.arange(1, 6)[:, None]
    ensemble = Ensemble(members, reference.flatten(layers).astype(np.float32))
    expected = reference.forward(layers, wide(members, X))[-1]
    np.testing.assert_allclose(forward(ensemble, X)[0], expected, rtol=1e-6, atol=1e-6)
    data = TrainingData(X[:12], np.arange(12.0), adversarial=[0.1])
    trained = train(members, data, Options(n_epochs=3, batch_size=4), SEED)
    assert np.isfinite(trained.ensemble.parameters).all()


def test_as_many_bins_as_a_column_may_have(anywhere):
    encoding = PiecewiseLinear(
        np.array([0], dtype=np.int32),
        np.array([0, MOST_BINS + 1], dtype=np.int32),
        np.arange(MOST_BINS + 1, dtype=np.float32) / 64,
    )
    members = draw_members(Architecture(1, (6,), 1, 1, encoding), 1.0, seed=0, ids=[0])
    X = np.random.default_rng(0).uniform(-0.5, 4.5, (80, 1)).astype(np.float32)
    assert_same_path(members, X, np.sin(X), Options(n_epochs=3, batch_size=8))


def test_an_encoding_without_columns_changes_nothing():
    X = (table(30, 3) > 0).astype(np.float32)
    members = [
        draw_members(Architecture(3, (5,), 1, 1, encoding), 1.0, seed=0, ids=[0, 1])
        for encoding in (None, learn_piecewise_linear(X, 4))
    ]
    plain, empty = (train(m, TrainingData(X, X[:, 0]), Options(n_epochs=2), SEED).ensemble for m in members)
    np.testing.assert_array_equal(plain.parameters, empty.parameters)
    np.testing.assert_array_equal(forward(plain, X), forward(empty, X))


# -- trouble -----------------------------------------------------------------------------------------------------------


def test_encodings_that_point_outside_their_arrays_are_refused():
    def native(kind, columns, first, n_numbers):
        return _native.Encoding(
            kind, np.array(columns, np.int32), np.array(first, np.int32), np.arange(n_numbers, dtype=np.float32)
        )

    native(0, [0, 2], [0, 2, 5], 7)
    with pytest.raises(ValueError, match="unknown encoding"):
        native(2, [0], [0, 2], 3)
    with pytest.raises(ValueError, match="needs columns"):
        native(0, [], [0], 0)
    with pytest.raises(ValueError, match="needs columns"):
        native(0, [0], [1, 2], 2)
    with pytest.raises(ValueError, match="too few or too many"):
        native(0, [0], [0, 256], 257)
    with pytest.raises(ValueError, match="too few or too many"):
        native(1, [0], [0, 5], 2)
    with pytest.raises(ValueError, match="must increase"):
        native(0, [1, 1], [0, 2, 4], 6)
    with pytest.raises(ValueError, match="one edge more"):
        native(0, [0], [0, 2], 2)
    members, X, y, _ = make((5,))
    with pytest.raises(ValueError, match="not in X"):
        gradient(with_parameters(members), 0, TrainingData(X[:, :2], y), Options())
    with pytest.raises(ValueError, match="number of columns"):
        train(members, TrainingData(X[:, :2], y), Options(n_epochs=1), SEED)
    with pytest.raises(ValueError, match="number of columns"):
        forward(with_parameters(members), X[:, :2])


def test_variational_inference_refuses_encodings():
    members, X, y, _ = make((5,))
    with pytest.raises(ValueError, match="encoding must be None"):
        variational.train(members, TrainingData(X, y), Options(), SEED)
