"""The native engine against the reference: gradients and whole short trajectories from the same streams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extranets.engine import Options, TrainingData, TrainingDiverged, gradient, reference, train
from extranets.networks import Architecture, Ensemble, draw_members
from tests.engine.same_path import SEED, assert_same_path

HIDDEN = [(), (5,), (20, 7), (3, 17, 2), (8, 8, 8, 8), (5, 6, 7, 6, 5)]
LOSSES = ["squared_error", "gaussian_nll"]


def make(hidden, loss="squared_error", n=37, n_inputs=3, n_outputs=2, ids=(0, 3), keep=0.8, data_seed=0):
    rng = np.random.default_rng(data_seed)
    heads = n_outputs * (2 if loss == "gaussian_nll" else 1)
    members = draw_members(Architecture(n_inputs, hidden, n_outputs, heads), keep, seed=5, ids=np.array(ids))
    X = rng.normal(size=(n, n_inputs)).astype(np.float32)
    y = rng.normal(size=(n, n_outputs)).astype(np.float32)
    return members, X, y, rng.uniform(0.5, 2, n).astype(np.float32)


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("loss", LOSSES)
def test_gradient(variant, hidden, loss):
    members, X, y, weight = make(hidden, loss)
    rng = np.random.default_rng(1)
    ensemble = Ensemble(members, rng.normal(size=members.offsets[-1], scale=0.5).astype(np.float32))
    for i in range(len(members)):
        layers = reference.unflatten(ensemble[i : i + 1].parameters, members.architecture, members.widths[i])
        value, expected = reference.loss_gradient(layers, X.astype(float), y.astype(float), weight.astype(float), loss)
        got_value, got = gradient(ensemble, i, TrainingData(X, y, weight), Options(loss=loss))
        assert got_value == pytest.approx(value, rel=1e-5)
        scale = np.abs(reference.flatten(expected)).max()
        np.testing.assert_allclose(got, reference.flatten(expected), atol=3e-6 * scale)


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("loss", LOSSES)
def test_trajectory(anywhere, hidden, loss):
    members, X, y, weight = make(hidden, loss)
    assert_same_path(members, X, y, Options(loss=loss, n_epochs=6, batch_size=8), weight=weight)


OPTIONS = {
    "linear": {"schedule": "linear"},
    "cosine": {"schedule": "cosine"},
    "decay": {"weight_decay": 0.3},
    "dropout": {"dropout_keep": 0.7},
    "dropout, scale of gradients": {
        "dropout_keep": 0.7,
        "epsilon": 0.05,
    },  # Adam hides a constant factor from a small epsilon
    "input dropout": {"input_keep": 0.6},
    "both dropouts": {"input_keep": 0.6, "dropout_keep": 0.7, "epsilon": 0.05},
    "clipping": {"max_grad_norm": 0.3},
    "adam constants": {"beta1": 0.8, "beta2": 0.99, "epsilon": 1e-4},
    "early stopping": {"validation_fraction": 0.25, "patience": 2, "n_epochs": 12, "learning_rate": 0.05},
    "small improvements": {"validation_fraction": 0.25, "patience": 2, "n_epochs": 12, "tolerance": 0.05},
    "restarts": {"n_starts": 2, "collapse_r2": 0.1, "max_restarts": 2},
}


@pytest.mark.parametrize("changes", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("hidden", [(), (6,), (7, 5, 9, 4)])
@pytest.mark.parametrize("loss", LOSSES)
def test_trajectory_with_every_option(anywhere, changes, hidden, loss):
    members, X, y, weight = make(hidden, loss)
    assert_same_path(members, X, y, replace(Options(loss=loss, n_epochs=5, batch_size=8), **changes), weight=weight)


EARLY_STOPPING = {"validation_fraction": 0.25, "patience": 2, "n_epochs": 12, "learning_rate": 0.05}
WARM_UP = {
    "plain": {},
    "early stopping": EARLY_STOPPING,
    "stops before warm-up is over": {**EARLY_STOPPING, "warm_up_epochs": 12},
    "dropout": {"dropout_keep": 0.7, "input_keep": 0.8},
    "clipping": {"max_grad_norm": 0.3},
    "restarts": {"n_starts": 2, "collapse_r2": 0.1, "max_restarts": 2},
}


@pytest.mark.parametrize("changes", WARM_UP.values(), ids=WARM_UP.keys())
@pytest.mark.parametrize("hidden", [(), (6,), (7, 5)])
def test_trajectory_with_warm_up(anywhere, changes, hidden):
    members, X, y, weight = make(hidden, "gaussian_nll")
    options = Options(loss="gaussian_nll", n_epochs=6, warm_up_epochs=3, batch_size=8)
    assert_same_path(members, X, y, replace(options, **changes), weight=weight)


def test_warm_up_leaves_the_variance_alone(anywhere):
    members, X, y, weight = make((6,), "gaussian_nll", ids=[0])
    options = Options(loss="gaussian_nll", n_epochs=4, warm_up_epochs=4, batch_size=8)
    trained = train(members, TrainingData(X, y, weight), options, SEED)
    before = reference.initial_layers(members.architecture, members.widths[0], SEED, 0)[-1]
    after = reference.unflatten(trained.ensemble.parameters, members.architecture, members.widths[0])[-1]
    np.testing.assert_allclose(after[0][:, 2:], before[0][:, 2:], rtol=1e-6)
    assert (after[1][2:] == 0).all()
    assert (np.abs(after[0][:, :2] - before[0][:, :2]) > 1e-3).all() and (after[1][:2] != 0).all()


def test_training_loss_is_that_of_the_plain_rows():
    """Warm-up, adversarial rows and dropout have no part in it."""
    members, X, y, weight = make((6,), "gaussian_nll", ids=[0])
    options = Options(loss="gaussian_nll", n_epochs=4, warm_up_epochs=4, batch_size=8, input_keep=0.7)
    data = TrainingData(X, y, weight, adversarial=[0.1, 0.2, 0.3])
    trained = train(members, data, options, SEED)
    loss, _ = gradient(trained.ensemble, 0, data, options)
    assert trained.train_loss[0] == pytest.approx(loss, rel=1e-6)


@pytest.mark.parametrize("warm_up_epochs", [0, 5])
def test_patience_is_counted_from_the_end_of_the_warm_up(anywhere, warm_up_epochs):
    """With such a tolerance, only the first validation counts as an improvement."""
    members, X, y, _ = make((6,), "gaussian_nll")
    options = Options(
        loss="gaussian_nll", warm_up_epochs=warm_up_epochs, validation_fraction=0.25, tolerance=1e9, patience=3
    )
    assert (train(members, TrainingData(X, y), options, SEED).n_epochs == warm_up_epochs + 1 + 3).all()


ADVERSARIAL = {
    "plain": {},
    "dropout": {"dropout_keep": 0.7},
    "input dropout": {"input_keep": 0.6},
    "both dropouts": {"input_keep": 0.8, "dropout_keep": 0.7, "epsilon": 0.05},
    "clipping": {"max_grad_norm": 0.3},
    "early stopping": EARLY_STOPPING,
    "warm-up": {"warm_up_epochs": 3},
    "warm-up and early stopping": {**EARLY_STOPPING, "warm_up_epochs": 4},
    "batch of all rows": {"batch_size": 100},
}
ADVERSARIAL_CASES = [
    pytest.param(loss, changes, id=f"{loss}, {name}")
    for loss in LOSSES
    for name, changes in ADVERSARIAL.items()
    if loss == "gaussian_nll" or "warm_up_epochs" not in changes
]
STEPS = np.array([0.1, 0.02, 0.05], dtype=np.float32)


@pytest.mark.parametrize(("loss", "changes"), ADVERSARIAL_CASES)
@pytest.mark.parametrize("hidden", [(), (6,), (20, 7), (7, 5, 4)])
def test_trajectory_with_adversarial_rows(anywhere, loss, changes, hidden):
    members, X, y, weight = make(hidden, loss)
    options = replace(Options(loss=loss, n_epochs=5, batch_size=8), **changes)
    assert_same_path(members, X, y, options, weight=weight, adversarial=STEPS)
    assert_same_path(members, X, y, options, adversarial=STEPS)


def test_adversarial_rows_with_bootstrap_counts(anywhere):
    members, X, y, _ = make((6,))
    counts = np.random.default_rng(3).poisson(1.0, (2, len(X))).astype(np.uint16)
    assert_same_path(members, X, y, Options(n_epochs=5, batch_size=8), counts=counts, adversarial=STEPS)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 40),
    n_inputs=st.integers(1, 20),
    n_outputs=st.integers(1, 18),
    hidden=st.lists(st.integers(1, 35), max_size=3).map(tuple),
    batch=st.integers(1, 50),
    loss=st.sampled_from(LOSSES),
    input_keep=st.sampled_from([1.0, 0.7]),
)
def test_any_shape_with_adversarial_rows(n, n_inputs, n_outputs, hidden, batch, loss, input_keep):
    """Always the same examples: where only rounding gives a gradient its sign, the engines may move rows apart."""
    members, X, y, weight = make(hidden, loss, n, n_inputs, n_outputs, keep=0.9)
    options = Options(loss=loss, n_epochs=2, batch_size=batch, input_keep=input_keep)
    assert_same_path(members, X, y, options, weight=weight, adversarial=np.full(n_inputs, 0.03), atol=1e-3)


def test_adversarial_steps_of_zero_are_plain_training(anywhere):
    """Every row twice: mean loss and gradients differ by the order of additions only."""
    members, X, y, weight = make((20, 7))
    options = Options(n_epochs=5, batch_size=8)
    plain = train(members, TrainingData(X, y, weight), options, SEED)
    twice = train(members, TrainingData(X, y, weight, adversarial=np.zeros(3)), options, SEED)
    np.testing.assert_allclose(twice.ensemble.parameters, plain.ensemble.parameters, atol=2e-4)
    np.testing.assert_allclose(twice.loss_curve, plain.loss_curve, rtol=1e-4)


@pytest.mark.parametrize("changes", [{}, {"validation_fraction": 0.3, "patience": 2, "learning_rate": 0.05}], ids=str)
def test_trajectory_with_bootstrap_counts(anywhere, changes):
    members, X, y, _ = make((6,))
    counts = np.random.default_rng(3).poisson(1.0, (2, len(X))).astype(np.uint16)
    assert_same_path(members, X, y, replace(Options(n_epochs=5, batch_size=8), **changes), counts=counts)


def test_copies_of_a_row_are_not_split_between_training_and_validation():
    counts = np.random.default_rng(3).poisson(1.0, 200)
    data = TrainingData(np.zeros((200, 1)), np.zeros(200), counts=[counts], count_rows=[0])
    problem = reference.make_problem(data, Options(validation_fraction=0.2), 1, 0, sample=0)
    assert not set(problem.train_rows) & set(problem.validation_rows)
    joined = np.concatenate([problem.train_rows, problem.validation_rows])
    np.testing.assert_array_equal(np.bincount(joined, minlength=200), counts)


def test_rows_with_count_zero_do_not_matter():
    members, X, y, _ = make((6,), ids=[0])
    counts = np.ones((1, len(X)), dtype=np.uint16)
    counts[0, ::3] = 0
    spoiled = X.copy()
    spoiled[::3] = 1e6
    options = Options(n_epochs=3, batch_size=8)
    first, second = (
        train(members, TrainingData(table, y, counts=counts, count_rows=[0]), options, SEED) for table in (X, spoiled)
    )
    np.testing.assert_array_equal(first.ensemble.parameters, second.ensemble.parameters)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 40),
    n_inputs=st.integers(1, 20),
    n_outputs=st.integers(1, 18),
    hidden=st.lists(st.integers(1, 35), max_size=3).map(tuple),
    batch=st.integers(1, 50),
    loss=st.sampled_from(LOSSES),
)
def test_any_shape(n, n_inputs, n_outputs, hidden, batch, loss):
    """One row, one column, one unit, batches larger than the data or not dividing it."""
    members, X, y, weight = make(hidden, loss, n, n_inputs, n_outputs, keep=0.9)
    assert_same_path(members, X, y, Options(loss=loss, n_epochs=2, batch_size=batch), weight=weight, atol=1e-3)


def test_variants_agree_to_rounding():
    """All instruction sets do the same arithmetic; sums differ in order, so results differ by float32 rounding only."""
    from extranets.engine import _native

    members, X, y, _ = make((20, 7), n=200, ids=range(4))
    options = Options(n_epochs=3, batch_size=16)
    before = _native.active_variant()
    results = []
    try:
        for name in _native.usable_variants():
            _native.use_variant(name)
            results.append(train(members, TrainingData(X, y), options, SEED).ensemble.parameters)
    finally:
        _native.use_variant(before)
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], atol=2e-4)


# -- independence of threads, partition and growth ---------------------------------------------------------------------


@pytest.mark.parametrize("adversarial", [None, STEPS], ids=["plain", "adversarial"])
@pytest.mark.parametrize(
    "extra", [{}, {"dropout_keep": 0.8, "input_keep": 0.9}, {"validation_fraction": 0.2, "n_starts": 2}]
)
def test_threads_and_partitions_do_not_change_a_bit(extra, adversarial):
    members, X, y, _ = make((30, 10), n=150, ids=range(9))
    options = replace(Options(n_epochs=4, batch_size=16), **extra)
    data = TrainingData(X, y, adversarial=adversarial)
    whole = train(members, data, options, SEED, n_threads=1)
    for n_threads in (2, 5):
        again = train(members, data, options, SEED, n_threads=n_threads)
        np.testing.assert_array_equal(again.ensemble.parameters, whole.ensemble.parameters)
        np.testing.assert_array_equal(again.loss_curve, whole.loss_curve)
    parts = [train(members[part], data, options, SEED).ensemble for part in (slice(0, 2), slice(2, 7), slice(7, 9))]
    np.testing.assert_array_equal(np.concatenate([p.parameters for p in parts]), whole.ensemble.parameters)


def test_members_differ():
    members, X, y, _ = make((5,), ids=range(3), keep=1.0)
    trained = train(members, TrainingData(X, y), Options(n_epochs=1), SEED).ensemble
    assert len({trained[i : i + 1].parameters.tobytes() for i in range(3)}) == 3


# -- trouble -----------------------------------------------------------------------------------------------------------


def test_divergence_names_the_members():
    members, X, y, _ = make((5, 5), ids=[4, 11])
    options = Options(n_epochs=50, learning_rate=1e30, max_restarts=1)
    with pytest.raises(TrainingDiverged, match=r"2 of 2 networks \(member 4, 11\).*2 starts.*learning_rate_init"):
        train(members, TrainingData(X, y), options, SEED)


def test_what_would_break_the_engine_is_refused():
    members, X, y, _ = make((5,), ids=[0])
    options = Options(n_epochs=1)
    with pytest.raises(ValueError, match="X has the wrong number of columns"):
        train(members, TrainingData(X[:, :2], y), options, SEED)
    with pytest.raises(ValueError, match="must be positive"):
        train(members, TrainingData(X, y), Options(batch_size=0), SEED)
    deep = draw_members(Architecture(3, (5,) * 64, 2, 2), 1.0, seed=5, ids=[0])
    with pytest.raises(ValueError, match="too many hidden layers"):
        train(deep, TrainingData(X, y), options, SEED)


def test_the_deepest_network_trains():
    members, X, y, _ = make((3,) * 63, ids=[0], keep=1.0)
    assert_same_path(members, X, y, Options(n_epochs=2, batch_size=8))


def test_collapsed_networks_are_restarted():
    """Narrow ReLU networks die often. Restarted ones learn; without restarts some of the 60 stay collapsed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).astype(np.float32)
    y = (np.abs(X[:, 0]) + X[:, 1]).astype(np.float32)
    members = draw_members(Architecture(2, (2, 2), 1, 1), 1.0, seed=1, ids=np.arange(60))
    options = Options(n_epochs=30, collapse_r2=0.2)
    data = TrainingData(X, y)
    without = train(members, data, options, SEED)
    assert without.collapsed.any() and (without.train_r2[without.collapsed] < 0.2).all()
    restarted = train(members, data, replace(options, max_restarts=20), SEED)
    assert not restarted.collapsed.any()
    assert (restarted.n_attempts[without.collapsed] > 1).all()
    untouched = np.flatnonzero(~without.collapsed)
    for i in untouched:
        np.testing.assert_array_equal(restarted.ensemble[i : i + 1].parameters, without.ensemble[i : i + 1].parameters)


def test_more_starts_never_give_a_larger_training_loss():
    members, X, y, _ = make((3, 2), n=100, ids=range(10))
    data = TrainingData(X, y)
    losses = [train(members, data, Options(n_epochs=5, n_starts=k), SEED).train_loss for k in (1, 2, 4)]
    assert (losses[1] <= losses[0]).all() and (losses[2] <= losses[1]).all() and (losses[2] < losses[0]).any()


def test_constant_target_is_not_a_collapse():
    members, X, y, _ = make((5,), ids=[0])
    data = TrainingData(X, np.zeros_like(y))
    trained = train(members, data, Options(n_epochs=3, collapse_r2=0.5, max_restarts=3), SEED)
    assert not trained.collapsed[0] and trained.n_attempts[0] == 1
