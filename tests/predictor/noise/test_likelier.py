"""Networks of the noise are used where they are likelier than constant noise, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.predictor.noise import ConstantNoise, NetworkNoise
from extranets.predictor.noise.likelier import _gains, learn_noise, name_of
from extranets.uncertainty.components import HeldOut

CPU = {"device": "cpu", "n_threads": 1}


def held_out(steepness, seed, n=500):
    """Errors whose standard deviation follows the first column, of networks whose spread says nothing."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)).astype(np.float32)
    residual = np.exp(steepness * X[:, :1]) * random.normal(size=(n, 1))
    return X, HeldOut(residual, random.chisquare(5, size=(n, 1)) / 1000, np.ones((n, 1)), np.ones(n), 10)


def chosen(steepness, seed):
    X, held = held_out(steepness, seed)
    noise, unseen = learn_noise("auto", held, X, 10, seed, CPU)
    assert (unseen is held) == isinstance(noise, ConstantNoise)
    return name_of(noise)


def test_noise_that_follows_x_is_found():
    """A gain of 0.1 or so for each of 500 rows, whose standard error is a hundredth."""
    assert [chosen(0.5, seed) for seed in range(4)] == ["networks"] * 4


def test_constant_noise_stays_constant_as_a_rule():
    """By chance, a slope that is fitted has a gain of half a standard error or more in about a third of tables: of 8, more than 6 in 2 %."""
    assert [chosen(0.0, seed) for seed in range(8)].count("networks") <= 6


@pytest.mark.parametrize(("asked", "kind"), [("constant", ConstantNoise), ("networks", NetworkNoise)])
def test_what_is_asked_for_is_learned(asked, kind):
    X, held = held_out(0.5 if asked == "constant" else 0.0, 0)
    noise, _ = learn_noise(asked, held, X, 10, 0, CPU)
    assert type(noise) is kind and name_of(noise) == asked


def test_a_gain_must_be_more_than_chance():
    """The same variances as constant noise say nothing; the true ones of noise that differs say much."""
    X, held = held_out(0.5, 1)
    constant = ConstantNoise.learn(held, 10)
    networks, _ = NetworkNoise.learn(held, X, 1, CPU)
    flat = held._replace(noise=np.full_like(held.noise, float(constant.factor[0])))
    assert not _gains(networks, flat, constant, held, 10)
    true = held._replace(noise=np.exp(2 * 0.5 * X[:, :1].astype(np.float64)))
    assert _gains(networks, true, constant, held, 10)


def test_a_constant_output_has_constant_noise():
    X, held = held_out(0.5, 2)
    noise, _ = learn_noise("auto", held._replace(residual=np.zeros_like(held.residual)), X, 10, 0, CPU)
    assert name_of(noise) == "constant"
