"""The reference engine against finite differences and against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.engine import Options, reference
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
