"""Trainings in parts, one after the other, each on other rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from extranets.encodings import learn_piecewise_linear
from extranets.engine import Options, Training, TrainingData, native, reference
from extranets.engine.options import Stretch
from extranets.networks import Architecture, draw_members

SEED = 9
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)).astype(np.float32)
Y = np.stack([X[:, 0] * X[:, 1], np.sin(2 * X[:, 2])], axis=1).astype(np.float32)
BASE = Options(n_epochs=4, batch_size=8, schedule="linear", weight_decay=0.1)
KINDS = {
    "plain": BASE,
    "dropout": replace(BASE, dropout_keep=0.7, input_keep=0.8),
    "clipped": replace(BASE, max_grad_norm=0.3),
    "Gaussian": replace(BASE, loss="gaussian_nll", warm_up_epochs=2),
}


def members(options, encoding=None, n=2):
    heads = 4 if options.loss == "gaussian_nll" else 2
    return draw_members(Architecture(3, (7, 5), 2, heads, encoding), 0.8, seed=5, ids=np.arange(n))


def in_parts(who, parts, options, attempt=0):
    """Every part once, in this order; gives the weights, and what each part tells."""
    size, n = who.n_parameters, len(who)
    state = [np.full(size, np.nan, np.float32) for _ in range(3)]  # what the first part must not read
    per_part = [-(-len(part.X) // min(options.batch_size, len(part.X))) for part in parts]
    told = []
    for number, part in enumerate(parts):
        counts = [np.full(n, value) for value in (attempt, sum(per_part[:number]), sum(per_part))]
        stretch = Stretch(*state, number, *counts)
        one = replace(options, n_epochs=1, warm_up_epochs=int(number < options.warm_up_epochs))
        told += native.train_all([Training(who, part, one, SEED, stretch)], n_threads=2)
    return state[0], told


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoding", [None, learn_piecewise_linear(X, 5)], ids=["as it is", "bins"])
def test_epochs_in_parts_are_the_bits_of_one_training(kind, encoding):
    options = KINDS[kind]
    who, data = members(options, encoding), TrainingData(X, Y)
    whole = native.train_all([Training(who, data, options, SEED)])[0]
    parameters, told = in_parts(who, [data] * options.n_epochs, options)
    np.testing.assert_array_equal(parameters, whole.ensemble.parameters)
    np.testing.assert_array_equal(np.hstack([each.loss_curve for each in told]), whole.loss_curve)
    assert [np.isnan(each.train_loss).all() for each in told] == [True, True, True, False]
    np.testing.assert_array_equal(told[-1].train_loss, whole.train_loss)
    np.testing.assert_array_equal(told[-1].train_r2, whole.train_r2)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_other_rows_follow_the_reference(kind):
    """Tolerance as in same_path.py: float32 rounding along some 30 steps."""
    options, attempt = KINDS[kind], 3
    who = members(options)
    parts = [TrainingData(X[:25], Y[:25]), TrainingData(X[25:31], Y[25:31]), TrainingData(X[31:], Y[31:])] * 2
    parameters, _ = in_parts(who, parts, options, attempt)
    for i, member in enumerate(who.ids):
        layers = reference.initial_layers(who.architecture, who.widths[i], SEED, int(member), attempt)
        adam = reference.Adam(layers, options)
        problems = [reference.make_problem(part, options, SEED, int(member)) for part in parts]
        steps = [reference.steps_per_epoch(problem) for problem in problems]
        for number, problem in enumerate(problems):
            run = reference.Run(attempt, number, sum(steps[:number]), sum(steps))
            reference.run_epoch(problem, layers, adam, run, number < options.warm_up_epochs)
        begin, end = who.offsets[i : i + 2]
        np.testing.assert_allclose(parameters[begin:end], reference.flatten(layers), atol=2e-4, rtol=1e-3)


def test_a_part_that_overflows_says_so():
    options = replace(BASE, learning_rate=1e30)
    _, told = in_parts(members(options), [TrainingData(X, Y)] * 2, options)
    assert isinstance(told[-1], native.TrainingDiverged)
