"""The reference engine against finite differences and against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.engine import Options, TrainingData, reference
from extranets.networks import Architecture

HIDDEN = [(), (5,), (4, 3), (3, 4, 2), (4, 4, 4, 4), (3, 3, 3, 3, 3)]


def small_problem(hidden, loss, n_outputs=2, n=11):
    rng = np.random.default_rng(0)
    heads = n_outputs * (2 if loss == "gaussian_nll" else 1)
    architecture = Architecture(3, hidden, n_outputs, heads)
    layers = reference.initial_layers(architecture, hidden, seed=1, member=0)
    layers = [(w, rng.normal(size=b.shape) * 0.3) for w, b in layers]
    return architecture, layers, rng.normal(size=(n, 3)), rng.normal(size=(n, n_outputs)), rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("loss", ["squared_error", "gaussian_nll"])
def test_gradient_matches_central_differences(hidden, loss):
    architecture, layers, X, y, weight = small_problem(hidden, loss)
    flat = reference.flatten(layers)
    _, gradient = reference.loss_gradient(layers, X, y, weight, loss)
    step = 1e-6
    numeric = np.empty_like(flat)
    for i in range(len(flat)):
        values = []
        for sign in (1, -1):
            moved = flat.copy()
            moved[i] += sign * step
            values.append(
                reference.loss_gradient(reference.unflatten(moved, architecture, hidden), X, y, weight, loss)[0]
            )
        numeric[i] = (values[0] - values[1]) / (2 * step)
    # The error of a central difference is of the order step^2 + rounding / step, here below 1e-8.
    np.testing.assert_allclose(reference.flatten(gradient), numeric, atol=2e-8)


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize(
    ("loss", "unit_variance"), [("squared_error", False), ("gaussian_nll", False), ("gaussian_nll", True)]
)
def test_adversarial_direction_matches_central_differences(hidden, loss, unit_variance):
    """The gradient with respect to the inputs, and rows that are moved by exactly their steps along its signs."""
    _, layers, X, y, weight = small_problem(hidden, loss)

    def mean_loss(X):
        return reference.loss_and_delta(loss, reference.forward(layers, X)[-1], y, weight, unit_variance)[0]

    numeric = np.empty_like(X)
    for at in np.ndindex(X.shape):
        nudge = np.zeros_like(X)
        nudge[at] = 1e-6
        numeric[at] = (mean_loss(X + nudge) - mean_loss(X - nudge)) / 2e-6
    activations = reference.forward(layers, X)
    _, delta = reference.loss_and_delta(loss, activations[-1], y, weight, unit_variance)
    # The error of a central difference is of the order step^2 + rounding / step, here below 1e-8.
    np.testing.assert_allclose(reference.input_gradient(layers, activations, delta), numeric, atol=2e-8)
    steps = np.array([0.1, 0.0, 0.3])
    moved = reference.adversarial_rows(layers, X, y, weight, loss, steps, unit_variance)
    clear = np.abs(numeric) > 1e-7
    assert clear.sum() >= 6  # deep narrow networks have many dead rows
    np.testing.assert_allclose((moved - X)[clear], (steps * np.sign(numeric))[clear], atol=1e-12)


def test_a_row_without_gradient_is_not_moved():
    _, layers, X, y, weight = small_problem((5,), "squared_error")
    dead = [(layers[0][0], layers[0][1] - 100), layers[1]]
    moved = reference.adversarial_rows(dead, X, y, weight, "squared_error", np.ones(3))
    np.testing.assert_array_equal(moved, X)


@pytest.mark.parametrize("warm_up_epochs", [0, 1])
def test_adversarial_rows_share_the_batch_of_their_rows(warm_up_epochs):
    """The loss of a step is the mean over rows and adversarial rows; the loss at the end is of the plain rows."""
    architecture, _, X, y, weight = small_problem((5,), "gaussian_nll")
    options = Options(loss="gaussian_nll", n_epochs=1, warm_up_epochs=warm_up_epochs)
    data = TrainingData(X, y, weight, adversarial=[0.1, 0.2, 0.3])
    problem = reference.make_problem(data, options, 3, 0)
    X, y, weight, steps = problem.X, problem.y, problem.weight, problem.adversarial  # rounded to float32
    layers = reference.initial_layers(architecture, (5,), seed=3, member=0)
    moved = reference.adversarial_rows(layers, X, y, weight, "gaussian_nll", steps, warm_up_epochs > 0)
    losses = [
        reference.loss_and_delta("gaussian_nll", reference.forward(layers, rows)[-1], y, weight, warm_up_epochs > 0)[0]
        for rows in (X, moved)
    ]
    assert losses[1] > losses[0]
    trained = reference.train(problem, architecture, (5,))
    assert trained.loss_curve[0] == pytest.approx(np.mean(losses), rel=1e-12)
    assert trained.train_loss == reference.loss_gradient(trained.layers, X, y, weight, "gaussian_nll")[0]


def test_warm_up_is_half_the_squared_error_and_leaves_the_variance_alone():
    rng = np.random.default_rng(0)
    heads, y, weight = rng.normal(size=(7, 4)), rng.normal(size=(7, 2)), rng.uniform(0.5, 2, 7)
    value, delta = reference.loss_and_delta("gaussian_nll", heads, y, weight, unit_variance=True)
    error = heads[:, :2] - y
    assert value == pytest.approx(np.mean(weight[:, None] * 0.5 * error**2), rel=1e-12)
    np.testing.assert_allclose(delta[:, :2], weight[:, None] * error / error.size, rtol=1e-12)
    assert (delta[:, 2:] == 0).all()


def test_warm_up_needs_a_variance():
    with pytest.raises(ValueError, match="warm_up_epochs is for loss='gaussian_nll'"):
        Options(warm_up_epochs=1)
    with pytest.raises(ValueError, match="must not be negative"):
        Options(loss="gaussian_nll", warm_up_epochs=-1)


@pytest.mark.parametrize("name", ["dropout_keep", "input_keep"])
@pytest.mark.parametrize("keep", [0.0, -0.1, 1.1, float("nan")])
def test_numbers_that_are_not_keep_probabilities_are_refused(name, keep):
    with pytest.raises(ValueError, match=f"{name} must be above 0"):
        Options(**{name: keep})


@pytest.mark.parametrize(("dropout_keep", "input_keep"), [(0.6, 1.0), (1.0, 0.6), (0.6, 0.4)])
def test_dropout_draws_for_the_inputs_first_and_not_where_everything_is_kept(dropout_keep, input_keep):
    _, layers, *_ = small_problem((5, 4), "squared_error")
    stream = np.random.default_rng(0).uniform(size=1000)
    inputs, first, second = reference.dropout_factors(lambda n: stream[:n], layers, 2, dropout_keep, input_keep)
    at = 0
    for factor, width, keep in [(inputs, 3, input_keep), (first, 5, dropout_keep), (second, 4, dropout_keep)]:
        if keep == 1:
            assert (factor == 1).all()
        else:
            np.testing.assert_array_equal(factor, (stream[at : at + 2 * width].reshape(2, width) < keep) / keep)
            at += 2 * width


def test_clamped_log_variance_has_no_gradient():
    heads = np.array([[0.0, 20.0], [0.0, -20.0], [0.0, 1.0]])
    _, delta = reference.loss_and_delta("gaussian_nll", heads, np.zeros((3, 1)), np.ones(3))
    assert delta[0, 1] == delta[1, 1] == 0 != delta[2, 1]


def test_flatten_and_unflatten_are_inverse():
    architecture, layers, *_ = small_problem((4, 3), "squared_error")
    again = reference.unflatten(reference.flatten(layers), architecture, (4, 3))
    for (w, b), (w2, b2) in zip(layers, again, strict=True):
        np.testing.assert_array_equal(w, w2)
        np.testing.assert_array_equal(b, b2)


def test_initial_weights_are_glorot_uniform():
    """Uniform on +-sqrt(6 / (in + out)): the mean of squares is limit^2 / 3, within 4 standard errors."""
    layers = reference.initial_layers(Architecture(100, (200,), 1, 1), (200,), seed=3, member=5)
    weights, limit = layers[0][0], np.sqrt(6 / 300)
    assert abs(weights).max() <= limit
    error = limit**2 * np.sqrt(4 / 45 / weights.size)  # variance of a squared uniform on [-1, 1] is 4/45
    assert abs((weights**2).mean() - limit**2 / 3) < 4 * error
    assert all((b == 0).all() for _, b in layers)


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_trajectory_matches_pytorch(schedule):
    """Adam with decoupled decay and a schedule, five epochs, same start and same batches."""
    torch = pytest.importorskip("torch", reason="PyTorch is an oracle for the reference; install it to run this test")
    _architecture, layers, X, y, _ = small_problem((6, 4), "squared_error", n=32)
    options = Options(n_epochs=5, batch_size=8, learning_rate=0.02, schedule=schedule, weight_decay=0.1)
    net = [(torch.tensor(w, requires_grad=True), torch.tensor(b, requires_grad=True)) for w, b in layers]
    groups = [
        {"params": [w for w, _ in net], "weight_decay": 0.1},
        {"params": [b for _, b in net], "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, lr=0.02, eps=1e-7)
    ours = reference.Adam(layers, options)
    for step in range(20):
        rows = np.random.default_rng(step).integers(0, 32, 8)
        for group in adam.param_groups:
            group["lr"] = reference.scheduled_rate(0.02, schedule, step, 20)
        h = torch.tensor(X[rows])
        for w, b in net[:-1]:
            h = torch.relu(h @ w + b)
        loss = ((h @ net[-1][0] + net[-1][1] - torch.tensor(y[rows])) ** 2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        value, gradients = reference.loss_gradient(layers, X[rows], y[rows], np.ones(8), "squared_error")
        assert value == pytest.approx(loss.item(), rel=1e-9)
        ours.step(layers, gradients, step, 20)
    for (w, b), (tw, tb) in zip(layers, net, strict=True):
        np.testing.assert_allclose(w, tw.detach().numpy(), atol=1e-9)
        np.testing.assert_allclose(b, tb.detach().numpy(), atol=1e-9)


def test_clipping_bounds_the_joint_norm():
    gradients = [(np.full((3, 2), 2.0), np.full(2, 1.0))]
    small = reference.clipped(gradients, 0.5)
    assert np.linalg.norm(reference.flatten(small)) == pytest.approx(0.5)
    unchanged = reference.clipped(gradients, 100.0)
    np.testing.assert_array_equal(reference.flatten(unchanged), reference.flatten(gradients))


def test_a_network_far_worse_than_a_constant():
    """There is no warning: pytest would make it an error."""
    constant = reference.best_constant(np.array([[0.0], [1.0]]), np.ones(2))
    assert reference.r2_over_constant("gaussian_nll", 1e6, constant) == -np.inf
    assert reference.r2_over_constant("squared_error", 1e6, constant) == 1 - 1e6 / 0.25
    nothing = reference.best_constant(np.array([[0.0], [1.0]]), np.zeros(2))
    assert reference.r2_over_constant("gaussian_nll", 1e6, nothing) == 1.0
