"""The specification of the engine: one network, NumPy, float64, plain and slow.

Read it top to bottom: parameters, forward pass, losses, backward pass, Adam, training. The native engine draws the same
random words in the same order and is tested to follow the same path to float32 rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets._random import Purpose, shuffled, uniforms
from extranets.encodings import Encoding
from extranets.engine.data import TrainingData
from extranets.engine.options import LOG_VARIANCE_LIMIT, Loss, Options, Schedule
from extranets.engine.reference_encoding import column_gradient, column_of_input, encoded
from extranets.networks import Architecture

Layers = list[tuple[Array, Array]]  # (weights (inputs, outputs), biases (outputs,)) from the input upwards


# --- parameters -------------------------------------------------------------------------------------------------------


def initial_layers(
    architecture: Architecture, widths: npt.ArrayLike, seed: int, member: int, attempt: int = 0
) -> Layers:
    """Glorot-uniform weights from the member's own stream, zero biases."""
    sizes = architecture.layer_sizes(widths)
    n_weights = sum(n_in * n_out for n_in, n_out in sizes)
    numbers = 2 * uniforms(seed, member, Purpose.INIT, n_weights, attempt=attempt) - 1
    layers, at = [], 0
    for n_in, n_out in sizes:
        limit = math.sqrt(6 / (n_in + n_out))
        layers.append((limit * numbers[at : at + n_in * n_out].reshape(n_in, n_out), np.zeros(n_out)))
        at += n_in * n_out
    return layers


def flatten(layers: Layers) -> Array:
    """The canonical layout: layer after layer, weights in C order, then biases."""
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def unflatten(parameters: npt.ArrayLike, architecture: Architecture, widths: npt.ArrayLike) -> Layers:
    flat = np.asarray(parameters, dtype=np.float64)
    layers, at = [], 0
    for n_in, n_out in architecture.layer_sizes(widths):
        weights = flat[at : at + n_in * n_out].reshape(n_in, n_out)
        at += n_in * n_out
        layers.append((weights, flat[at : at + n_out]))
        at += n_out
    return layers


# --- forward pass -----------------------------------------------------------------------------------------------------


def forward(layers: Layers, X: Array, factors: list[Array] | None = None) -> list[Array]:
    """Activations of every layer, the input first, the heads last. The input is encoded already.

    ``factors[l]`` multiplies activation ``l``, the input at 0: 0 or 1/keep under inverted dropout.
    """
    activations = [X if factors is None else X * factors[0]]
    for index, (weights, biases) in enumerate(layers[:-1], start=1):
        active = np.maximum(activations[-1] @ weights + biases, 0)
        activations.append(active if factors is None else active * factors[index])
    weights, biases = layers[-1]
    activations.append(activations[-1] @ weights + biases)
    return activations


def dropout_factors(
    draw: Callable[[int], Array],
    layers: Layers,
    n_rows: int,
    dropout_keep: float,
    input_keep: float,
    columns: npt.NDArray[np.intp] | None = None,
) -> list[Array]:
    """One factor array for the inputs and one for each hidden layer, cut in this order from a stream of uniforms.

    A part whose keep is 1 takes nothing from the stream. ``draw(n)`` gives the stream's first ``n`` uniforms. A column of the
    table is dropped together with its encoding; ``columns`` says which column each input comes from (None: input i is
    column i).
    """
    columns = np.arange(layers[0][0].shape[0]) if columns is None else columns
    widths = [int(columns.max()) + 1] + [weights.shape[0] for weights, _ in layers[1:]]
    keeps = [input_keep] + [dropout_keep] * (len(layers) - 1)
    sizes = [n_rows * width if keep < 1 else 0 for width, keep in zip(widths, keeps, strict=True)]
    parts = np.split(draw(sum(sizes)), np.cumsum(sizes)[:-1])
    inputs, *hidden = (
        np.where(part < np.float32(keep), 1 / keep, 0.0).reshape(n_rows, width) if keep < 1 else np.ones((1, width))
        for part, width, keep in zip(parts, widths, keeps, strict=True)
    )
    return [inputs[:, columns], *hidden]


def stochastic_pass(
    layers: Layers,
    X: Array,
    dropout_keep: float,
    seed: int,
    index: int,
    input_keep: float = 1.0,
    encoding: Encoding | None = None,
) -> Array:
    """Heads under one dropout mask that all rows share.

    Shape: X ``(n, n_inputs)`` -> ``(n, n_heads)``.
    """
    columns = column_of_input(encoding, X.shape[1])
    factors = dropout_factors(
        lambda n: uniforms(seed, index, Purpose.PASS, n), layers, 1, dropout_keep, input_keep, columns
    )
    return forward(layers, encoded(encoding, X), factors)[-1]


# --- losses -----------------------------------------------------------------------------------------------------------


def loss_and_delta(
    loss: Loss, heads: Array, y: Array, weight: Array, unit_variance: bool = False
) -> tuple[float, Array]:
    """Weighted mean loss over the rows, and its gradient with respect to the heads.

    ``unit_variance`` holds the variance of the Gaussian loss at one: the warm-up.

    Shape: heads ``(n, n_heads)``, y ``(n, n_outputs)``, weight ``(n,)``.
    """
    n, n_outputs = y.shape
    scale = weight[:, None] / (n * n_outputs)
    error = heads[:, :n_outputs] - y
    if loss == "squared_error":
        return float(np.sum(scale * error**2)), 2 * scale * error
    if unit_variance:
        return float(np.sum(scale * 0.5 * error**2)), np.hstack([scale * error, np.zeros_like(error)])
    raw = heads[:, n_outputs:]
    log_variance = np.clip(raw, -LOG_VARIANCE_LIMIT, LOG_VARIANCE_LIMIT)
    precision = np.exp(-log_variance)
    value = float(np.sum(scale * 0.5 * (log_variance + error**2 * precision)))
    d_log_variance = np.where(raw == log_variance, 0.5 * scale * (1 - error**2 * precision), 0.0)
    return value, np.hstack([scale * error * precision, d_log_variance])


# --- backward pass ----------------------------------------------------------------------------------------------------


def backward(layers: Layers, activations: list[Array], delta: Array, dropout_keep: float = 1.0) -> Layers:
    """Gradients of all layers, from the gradient with respect to the heads.

    A dropped unit has activation 0, so the ReLU's gate stops its gradient too; a kept one carries the factor 1/keep.
    """
    gradients: Layers = []
    for index in range(len(layers) - 1, -1, -1):
        below = activations[index]
        gradients.append((below.T @ delta, delta.sum(axis=0)))
        if index > 0:
            delta = (delta @ layers[index][0].T) * (below > 0) / dropout_keep
    return gradients[::-1]


def loss_gradient(layers: Layers, X: Array, y: Array, weight: Array, loss: Loss) -> tuple[float, Layers]:
    activations = forward(layers, X)
    value, delta = loss_and_delta(loss, activations[-1], y, weight)
    return value, backward(layers, activations, delta)


def input_gradient(layers: Layers, activations: list[Array], delta: Array) -> Array:
    """Gradient with respect to the first layer's inputs, from that with respect to the heads; no dropout."""
    for index in range(len(layers) - 1, 0, -1):
        delta = (delta @ layers[index][0].T) * (activations[index] > 0)
    return delta @ layers[0][0].T


def adversarial_rows(
    layers: Layers,
    X: Array,
    y: Array,
    weight: Array,
    loss: Loss,
    steps: Array,
    unit_variance: bool = False,
    encoding: Encoding | None = None,
) -> Array:
    """The rows, each moved by ``steps`` in the direction in which its loss grows (Goodfellow et al., 2015).

    Shape: X ``(n, n_inputs)``, steps ``(n_inputs,)`` -> ``(n, n_inputs)``.
    """
    activations = forward(layers, encoded(encoding, X))
    _, delta = loss_and_delta(loss, activations[-1], y, weight, unit_variance)
    return X + steps * np.sign(column_gradient(encoding, X, input_gradient(layers, activations, delta)))


def clipped(gradients: Layers, max_norm: float) -> Layers:
    """Scale all gradients so that their joint Euclidean norm is at most ``max_norm``."""
    norm = float(np.linalg.norm(flatten(gradients)))
    factor = max_norm / norm if norm > max_norm else 1.0
    return [(factor * dw, factor * db) for dw, db in gradients]


# --- Adam -------------------------------------------------------------------------------------------------------------


def scheduled_rate(rate: float, schedule: Schedule, step: Any, n_steps: int) -> Any:
    """Learning rate of a step, counted from 0, or of an array of steps."""
    done = step / n_steps
    if schedule == "linear":
        return rate * (1 - done)
    if schedule == "cosine":
        return rate * 0.5 * (1 + np.cos(np.pi * done))
    return rate + 0 * done


class Adam:
    """Adam with decoupled weight decay on the weights (not on the biases)."""

    def __init__(self, layers: Layers, options: Options) -> None:
        self.options = options
        self.first = [(np.zeros_like(w), np.zeros_like(b)) for w, b in layers]
        self.second = [(np.zeros_like(w), np.zeros_like(b)) for w, b in layers]

    def step(self, layers: Layers, gradients: Layers, step: int, n_steps: int) -> None:
        """Update ``layers`` in place; ``step`` counts from 0."""
        o = self.options
        rate = scheduled_rate(o.learning_rate, o.schedule, step, n_steps)
        correct1, correct2 = 1 - o.beta1 ** (step + 1), 1 - o.beta2 ** (step + 1)
        for layer, gradient, first, second in zip(layers, gradients, self.first, self.second, strict=True):
            for kind in (0, 1):  # weights, biases
                p, g, m, v = layer[kind], gradient[kind], first[kind], second[kind]
                m[:] = o.beta1 * m + (1 - o.beta1) * g
                v[:] = o.beta2 * v + (1 - o.beta2) * g**2
                decay = rate * o.weight_decay if kind == 0 else 0.0
                p[:] = p * (1 - decay) - rate * (m / correct1) / (np.sqrt(v / correct2) + o.epsilon)


# --- training ---------------------------------------------------------------------------------------------------------


@dataclass
class TrainedNetwork:
    layers: Layers
    loss_curve: list[float]
    train_loss: float
    train_r2: float
    validation_loss: float
    n_attempts: int
    collapsed: bool


@dataclass
class Problem:
    """One member's data and streams."""

    X: Array
    y: Array  # (n, n_outputs)
    weight: Array
    options: Options
    seed: int
    member: int
    train_rows: npt.NDArray[np.uint32]
    validation_rows: npt.NDArray[np.uint32]
    adversarial: Array | None = None  # (n_inputs,): step of the adversarial rows
    encoding: Encoding | None = None


def make_problem(
    data: TrainingData, options: Options, seed: int, member: int, *, sample: int = -1, encoding: Encoding | None = None
) -> Problem:
    """What one member trains on: the rows of ``sample``, which is a row of ``counts``, or -1 for every row once."""
    times = data.row_counts(sample)
    rows = np.flatnonzero(times).astype(np.uint32)
    n_validation = 0
    if options.validation_fraction > 0 and len(rows) > 1:
        rows = shuffled(rows, seed, member, Purpose.VALIDATION)
        n_validation = min(math.ceil(float(np.float32(options.validation_fraction)) * len(rows)), len(rows) - 1)
    # Copies of a row stay together, so that no row is on both sides.
    validation, train = (np.repeat(part, times[part]) for part in (rows[:n_validation], rows[n_validation:]))
    X, y = data.X.astype(np.float64), data.y.astype(np.float64)
    weight = np.ones(len(X)) if data.weight is None else data.weight.astype(np.float64)
    steps = None if data.adversarial is None else data.adversarial.astype(np.float64)
    return Problem(X, y, weight, options, seed, member, train, validation, steps, encoding)


def training_factors(problem: Problem, layers: Layers, n_rows: int, attempt: int, step: int) -> list[Array] | None:
    """Dropout factors of one mini-batch; None if nothing is dropped."""
    o = problem.options
    if o.dropout_keep == o.input_keep == 1:
        return None
    return dropout_factors(
        lambda n: uniforms(problem.seed, problem.member, Purpose.DROPOUT, n, attempt=attempt, part=step),
        layers,
        n_rows,
        o.dropout_keep,
        o.input_keep,
        column_of_input(problem.encoding, problem.X.shape[1]),
    )


def training_step(
    problem: Problem,
    layers: Layers,
    adam: Adam,
    rows: npt.NDArray[np.uint32],
    attempt: int,
    step: int,
    n_steps: int,
    unit_variance: bool = False,
) -> float:
    """One mini-batch: forward, loss, backward, Adam. Returns the batch's mean loss.

    Adversarial rows are found without dropout and join the batch they were made from (Lakshminarayanan et al., 2017).
    """
    o = problem.options
    X, y, weight = problem.X[rows], problem.y[rows], problem.weight[rows]
    if problem.adversarial is not None:
        moved = adversarial_rows(layers, X, y, weight, o.loss, problem.adversarial, unit_variance, problem.encoding)
        X, y, weight = np.vstack([X, moved]), np.vstack([y, y]), np.tile(weight, 2)
    inputs = encoded(problem.encoding, X)
    activations = forward(layers, inputs, training_factors(problem, layers, len(X), attempt, step))
    loss, delta = loss_and_delta(o.loss, activations[-1], y, weight, unit_variance)
    gradients = backward(layers, activations, delta, o.dropout_keep)
    if o.max_grad_norm > 0:
        gradients = clipped(gradients, o.max_grad_norm)
    adam.step(layers, gradients, step, n_steps)
    return loss


def mean_loss(problem: Problem, layers: Layers, rows: npt.NDArray[np.uint32]) -> float:
    heads = forward(layers, encoded(problem.encoding, problem.X[rows]))[-1]
    return loss_and_delta(problem.options.loss, heads, problem.y[rows], problem.weight[rows])[0]


@dataclass(frozen=True)
class BestConstant:
    """Variance of the targets around the best constant prediction. Shape: variance ``(n_outputs,)``."""

    variance: Array
    mean_weight: float


def best_constant(y: Array, weight: Array) -> BestConstant:
    if weight.sum() == 0:  # all weights are zero: like a constant target
        return BestConstant(np.zeros(y.shape[1]), 1.0)
    variance = np.average((y - np.average(y, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    return BestConstant(variance, float(weight.mean()))


def r2_over_constant(kind: Loss, loss: float, constant: BestConstant) -> float:
    """R^2: a mean loss against that of the best constant.

    Under the Gaussian likelihood this is the generalised R^2 of Cox and Snell, so that a network that explains only the
    variance does not count as collapsed. A constant target cannot collapse.
    """
    variance = constant.variance
    if variance.mean() < 1e-9:
        return 1.0
    loss = loss / constant.mean_weight
    if kind == "squared_error":
        return float(1 - loss / variance.mean())
    # A constant output is zero once standardised, and is predicted so with variance one from the start: its loss is zero.
    constant_nll = np.mean(np.where(variance > 1e-9, 0.5 * (np.log(np.maximum(variance, 1e-9)) + 1), 0.0))
    with np.errstate(over="ignore"):  # far worse than a constant: minus infinity
        return float(1 - np.exp(2 * (loss - constant_nll)))


def training_r2(problem: Problem, loss: float) -> float:
    constant = best_constant(problem.y[problem.train_rows], problem.weight[problem.train_rows])
    return r2_over_constant(problem.options.loss, loss, constant)


def steps_per_epoch(problem: Problem) -> int:
    return -(-len(problem.train_rows) // _batch_size(problem))


def _batch_size(problem: Problem) -> int:
    return min(problem.options.batch_size, len(problem.train_rows) + len(problem.validation_rows))


@dataclass(frozen=True)
class Run:
    """One run through the rows: of which attempt, its number, and which of all steps is its first."""

    attempt: int
    number: int
    first_step: int
    n_steps: int


def run_epoch(problem: Problem, layers: Layers, adam: Adam, run: Run, warming_up: bool = False) -> float:
    """All rows once, in shuffled mini-batches; ``layers`` and ``adam`` change in place. Returns the mean loss of a row.

    Trainings on parts of a table, one after the other, are such runs: each with its own problem, and with the same layers and Adam.
    """
    rows, batch = problem.train_rows, _batch_size(problem)
    order = shuffled(rows, problem.seed, problem.member, Purpose.SHUFFLE, attempt=run.attempt, part=run.number)
    total = 0.0
    for s in range(steps_per_epoch(problem)):
        picked = order[s * batch : (s + 1) * batch]
        loss = training_step(problem, layers, adam, picked, run.attempt, run.first_step + s, run.n_steps, warming_up)
        total += len(picked) * loss
    return total / len(rows)


def run_attempt(problem: Problem, layers: Layers, attempt: int) -> tuple[Layers, list[float], float]:
    """Train from ``layers``; returns the best layers, the loss curve and the best validation loss."""
    o, per_epoch = problem.options, steps_per_epoch(problem)
    adam = Adam(layers, o)
    curve: list[float] = []
    best_loss, best, waited = math.inf, layers, 0
    for epoch in range(o.n_epochs):
        warming_up = epoch < o.warm_up_epochs
        run = Run(attempt, epoch, epoch * per_epoch, o.n_epochs * per_epoch)
        curve.append(run_epoch(problem, layers, adam, run, warming_up))
        if not math.isfinite(curve[-1]):
            return layers, curve, math.inf
        if len(problem.validation_rows) and not warming_up:
            loss = mean_loss(problem, layers, problem.validation_rows)
            waited = 0 if loss < best_loss - o.tolerance else waited + 1
            if loss < best_loss:
                best_loss, best = loss, [(w.copy(), b.copy()) for w, b in layers]
            if waited >= o.patience:
                break
    return best, curve, best_loss


def train(problem: Problem, architecture: Architecture, widths: npt.ArrayLike) -> TrainedNetwork:
    """Best of ``n_starts`` by training loss; up to ``max_restarts`` collapsed or overflowing starts are replaced."""
    o = problem.options
    kept: TrainedNetwork | None = None
    good = attempt = 0
    while good < o.n_starts and attempt < o.n_starts + o.max_restarts:
        layers = initial_layers(architecture, widths, problem.seed, problem.member, attempt)
        layers, curve, validation = run_attempt(problem, layers, attempt)
        attempt += 1
        loss = mean_loss(problem, layers, problem.train_rows)
        if not (math.isfinite(curve[-1]) and math.isfinite(loss)):
            continue
        r2 = training_r2(problem, loss)
        collapsed = r2 < o.collapse_r2
        good += not collapsed
        if kept is None or (collapsed, loss) < (kept.collapsed, kept.train_loss):
            kept = TrainedNetwork(layers, curve, loss, r2, validation, attempt, collapsed)
    if kept is None:
        raise ArithmeticError(f"member {problem.member}: the loss was not finite in any of {attempt} starts")
    kept.n_attempts = attempt
    return kept
