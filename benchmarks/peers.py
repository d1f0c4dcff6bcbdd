"""The same training with other libraries, each set up the way its users would for speed.

A function here prepares one peer: it gets everything that is not training out of the way and returns what to time.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.machine import THREADS
from benchmarks.problem import KEEP_PROB, LEARNING_RATE, Problem


@dataclass(frozen=True)
class Prepared:
    """``run`` times ``scale`` is the training of the whole ensemble."""

    run: Callable[[], object]
    scale: int = 1
    compile_seconds: float | None = None


@dataclass(frozen=True)
class Peer:
    name: str
    module: str
    prepare: Callable[[Problem], Prepared]
    repeats: int
    note: str = ""
    target: float | None = None

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None


def sklearn_networks(problem: Problem) -> Prepared:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    X, y = problem.data
    network = MLPRegressor(
        hidden_layer_sizes=(problem.units,),
        batch_size=min(problem.batch, problem.rows),
        max_iter=problem.epochs,
        learning_rate_init=LEARNING_RATE,
        alpha=0,
        tol=0,
        n_iter_no_change=10 * problem.epochs,
        random_state=0,
    )

    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(X, y)

    return Prepared(run, scale=problem.members)


def _torch() -> Any:
    import torch

    torch.set_num_threads(THREADS)
    return torch


def torch_loop(problem: Problem) -> Prepared:
    torch = _torch()
    X, y = map(torch.from_numpy, problem.data)

    def run() -> None:
        layers = torch.nn.Linear(problem.inputs, problem.units), torch.nn.ReLU(), torch.nn.Linear(problem.units, 1)
        network = torch.nn.Sequential(*layers)
        optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
        for _ in range(problem.epochs):
            for rows in torch.randperm(problem.rows).split(problem.batch):
                loss = ((network(X[rows])[:, 0] - y[rows]) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    return Prepared(run, scale=problem.members)


def torch_batched(problem: Problem, device: str = "cpu") -> Prepared:
    torch = _torch()
    X, y = (torch.from_numpy(array).to(device) for array in problem.data)
    T, Z = problem.members, problem.units

    def run() -> None:
        W1 = (0.3 * torch.randn(T, problem.inputs, Z, device=device)).requires_grad_()
        b1 = torch.zeros(T, 1, Z, device=device, requires_grad=True)
        W2 = (0.1 * torch.randn(T, Z, 1, device=device)).requires_grad_()
        b2 = torch.zeros(T, 1, 1, device=device, requires_grad=True)
        mask = (torch.rand(T, 1, Z, device=device) < KEEP_PROB).float()
        optimizer = torch.optim.Adam([W1, b1, W2, b2], lr=LEARNING_RATE, foreach=True)
        for _ in range(problem.epochs):
            for rows in torch.randperm(problem.rows, device=device).split(problem.batch):
                hidden = torch.relu(torch.baddbmm(b1, X[rows].expand(T, -1, -1), W1)) * mask
                error = torch.baddbmm(b2, hidden, W2) - y[rows][None, :, None]
                optimizer.zero_grad()
                (error**2).mean((1, 2)).sum().backward()
                optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()

    return Prepared(run)


def _jax() -> Any:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    return jax


def _jax_network(jax: Any, key: Any, problem: Problem) -> tuple[dict[str, Any], Any]:
    """Parameters and mask of one network."""
    jnp = jax.numpy
    first, second, third = jax.random.split(key, 3)
    Z = problem.units
    parameters = {
        "W1": 0.3 * jax.random.normal(first, (problem.inputs, Z)),
        "b1": jnp.zeros(Z),
        "W2": 0.1 * jax.random.normal(second, (Z,)),
        "b2": jnp.zeros(()),
    }
    return parameters, (jax.random.uniform(third, (Z,)) < KEEP_PROB).astype(jnp.float32)


def _jax_loss(jax: Any) -> Callable[..., Any]:
    def loss(p: dict[str, Any], mask: Any, X: Any, y: Any) -> Any:
        hidden = jax.nn.relu(X @ p["W1"] + p["b1"]) * mask
        return jax.numpy.mean((hidden @ p["W2"] + p["b2"] - y) ** 2)

    return loss


def _jax_epochs(jax: Any, problem: Problem, key: Any, parameters: Any, gradient: Callable[[Any, Any], Any]) -> Any:
    """Adam over all epochs; ``gradient(parameters, rows)`` is for one network or for all of them."""
    jnp, tree = jax.numpy, jax.tree
    steps = problem.rows // problem.batch

    def step(state: Any, rows: Any) -> tuple[Any, None]:
        p, m, v, t = state
        g = gradient(p, rows)
        t = t + 1
        m = tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        rate = LEARNING_RATE * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        p = tree.map(lambda w, a, b: w - rate * a / (jnp.sqrt(b) + 1e-8), p, m, v)
        return (p, m, v, t), None

    def epoch(state: Any, key: Any) -> tuple[Any, None]:
        order = jax.random.permutation(key, problem.rows)[: steps * problem.batch]
        return jax.lax.scan(step, state, order.reshape(steps, problem.batch))

    zeros = tree.map(jnp.zeros_like, parameters)
    state, _ = jax.lax.scan(epoch, (parameters, zeros, zeros, 0.0), jax.random.split(key, problem.epochs))
    return state[0]


def _compiled(jax: Any, fit: Callable[..., Any], *arguments: Any) -> Prepared:
    begin = time.perf_counter()
    compiled = jax.jit(fit).lower(*arguments).compile()
    compile_seconds = time.perf_counter() - begin
    return Prepared(lambda: jax.block_until_ready(compiled(*arguments)), compile_seconds=compile_seconds)


def jax_own_shuffles(problem: Problem) -> Prepared:
    jax = _jax()
    loss = _jax_loss(jax)

    def fit(key: Any, X: Any, y: Any) -> Any:
        parameters, mask = _jax_network(jax, key, problem)

        def gradient(p: Any, rows: Any) -> Any:
            return jax.grad(loss)(p, mask, X[rows], y[rows])

        return _jax_epochs(jax, problem, key, parameters, gradient)

    keys = jax.random.split(jax.random.key(0), problem.members)
    return _compiled(jax, jax.vmap(fit, in_axes=(0, None, None)), keys, *map(np.asarray, problem.data))


def jax_shared_shuffles(problem: Problem) -> Prepared:
    jax = _jax()
    gradients = jax.vmap(jax.grad(_jax_loss(jax)), in_axes=(0, 0, None, None))

    def fit(key: Any, X: Any, y: Any) -> Any:
        keys = jax.random.split(key, problem.members)
        parameters, masks = jax.vmap(lambda k: _jax_network(jax, k, problem))(keys)

        def gradient(p: Any, rows: Any) -> Any:
            return gradients(p, masks, X[rows], y[rows])

        return _jax_epochs(jax, problem, key, parameters, gradient)

    return _compiled(jax, fit, jax.random.key(0), *map(np.asarray, problem.data))


ONE_BY_ONE = "{repeats} timed one by one, median times T; no mask"
JAX_NOTE = "drops the last partial batch"

PEERS = (
    Peer("scikit-learn MLPRegressor", "sklearn", sklearn_networks, 3, ONE_BY_ONE, 250),
    Peer("PyTorch, loop over networks", "torch", torch_loop, 2, ONE_BY_ONE),
    Peer("PyTorch, batched baddbmm", "torch", torch_batched, 3, "shared shuffles", 35),
    Peer("JAX, vmap + scan, own shuffles", "jax", jax_own_shuffles, 5, JAX_NOTE, 4),
    Peer("JAX, vmap + scan, shared shuffles", "jax", jax_shared_shuffles, 5, JAX_NOTE, 4),
)
