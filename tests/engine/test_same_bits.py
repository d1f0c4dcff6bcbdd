"""Predictions are the same bits on every instruction set with fused multiply-adds, however wide its vectors are."""

from __future__ import annotations

import numpy as np
import pytest

import extranets
from extranets.engine import Passes, _native, forward, jacobian, moments, pbp
from extranets.networks import Architecture
from tests.engine.test_forward import make_ensemble, rows
from tests.model_file import tiny
from tests.model_file.write_samples import SAMPLES

FUSED = [
    name for name in _native.usable_variants() if name != "x86-64-v2"
]  # whose products are rounded before they are added
FILES = sorted(SAMPLES.glob("v1_predictor/*.xnet"))
HIDDEN = [(1,), (3, 17), (8,), (12,), (16, 5), (23,), (50,), (7, 40, 33)]

pytestmark = pytest.mark.skipif(len(FUSED) < 2, reason="this machine has one such instruction set")


def on_every_variant(answer):
    """What ``answer()`` gives on each of them."""
    before, found = _native.active_variant(), {}
    try:
        for name in FUSED:
            _native.use_variant(name)
            found[name] = answer()
    finally:
        _native.use_variant(before)
    return list(found.values())


def assert_same_bits(answers):
    for other in answers[1:]:
        for mine, its in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("passes", [None, Passes(5, 0.7, 0.9, seed=3)], ids=["members", "passes"])
def test_forward_and_moments(hidden, passes):
    ensemble, X = make_ensemble(hidden, learned=True), rows(131)
    assert_same_bits(on_every_variant(lambda: [forward(ensemble, X, passes), *moments(ensemble, passes)(X)]))


@pytest.mark.parametrize("hidden", HIDDEN)
def test_jacobian(hidden):
    ensemble, X = make_ensemble(hidden), rows(67)
    assert_same_bits(on_every_variant(lambda: [jacobian(ensemble, 1, X, head=1)]))


@pytest.mark.parametrize("hidden", [(), (3,), (8, 9), (50,)])
def test_moments_of_pbp(hidden):
    rng = np.random.default_rng(0)
    n = (architecture := Architecture(3, hidden, 1, 1)).n_parameters(hidden)
    mean, variance = rng.normal(size=(1, n)), rng.uniform(0.1, 1.5, (1, n))
    posterior = pbp.Posterior(architecture, mean, variance, np.ones((1, 2)), np.ones((1, 2)))
    assert_same_bits(on_every_variant(lambda: pbp.moments(posterior, rows(67))))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_loaded_model(path):
    """Its means and intervals: what comes after the engine is NumPy's, the same for all of them."""
    X = np.array(extranets.model_file.read_info(path)["about"]["X"])

    def answer():
        return list(tiny.predictions(extranets.load(path), X).values())

    assert_same_bits(on_every_variant(answer))


def test_without_fused_multiply_adds_predictions_differ_by_rounding_only():
    """A sum of 90 products of float32 numbers near 1: some 90 roundings of 6e-8 each, so far below 1e-5."""
    ensemble, X = make_ensemble((50, 40)), rows(500)
    before = _native.active_variant()
    fused = forward(ensemble, X)
    try:
        _native.use_variant(_native.usable_variants()[0])
        rounded = forward(ensemble, X)
    finally:
        _native.use_variant(before)
    np.testing.assert_allclose(rounded, fused, rtol=0, atol=1e-5)
    assert (rounded != fused).any()  # the documents say so
