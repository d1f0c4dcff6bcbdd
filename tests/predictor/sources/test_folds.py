"""Networks of folds: inputs that are drawn in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from extranets.predictor.sources.folds import LIMITS, drawn_in
from tests.graphs import run
from tests.predictor import models

FAR = np.float32([1e2, 1e6, 1e15, 1e22, 1e30, 3e38])


@pytest.fixture
def networks():
    return models.predictor("stacked networks").source.sources[-1]


@pytest.mark.parametrize("limit", [*LIMITS, 3.0])
def test_values_keep_their_order_and_stay_within_the_limit(limit):
    """To single precision: far out, neighbours become one number, and quotients round by some units of the last place."""
    X = np.concatenate([-FAR[::-1], np.linspace(-20, 20, 201, dtype=np.float32), FAR])[:, None]
    found = drawn_in(X, limit)
    assert found.dtype == np.float32
    assert (np.diff(found[:, 0]) >= -3e-7 * limit).all() and np.abs(found).max() <= limit * (1 + 3e-7)
    np.testing.assert_allclose(found[-1], limit, rtol=1e-6)
    np.testing.assert_allclose(found, -drawn_in(-X, limit))


def test_values_near_zero_stay():
    """x / sqrt(1 + (x / 3)^2) is smaller by a share of x^2 / 18."""
    X = np.linspace(-0.1, 0.1, 11, dtype=np.float32)[:, None]
    np.testing.assert_allclose(drawn_in(X, 3.0), X, rtol=0.1**2 / 18 + 3e-7)


def test_its_graph_draws_in_too(networks):
    assert networks.limit is not None
    X = np.concatenate([np.stack([sign * FAR, FAR[::-1], -sign * FAR], axis=1) for sign in (-1, 1)]).astype(np.float32)
    mean, spread, _ = networks.moments(models.MACHINE)(X)
    found = run(lambda x: list(networks.graph(x)[:2]), X)
    np.testing.assert_allclose(found[0], mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], spread, rtol=1e-3, atol=1e-5)
    members = networks.members(X, models.MACHINE)
    np.testing.assert_allclose(run(networks.graph_members, X), members, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(members.mean(axis=0), mean, rtol=1e-4, atol=1e-5)


def test_without_a_limit_inputs_are_taken_as_they_are(networks):
    """Near zero it is the same."""
    plain, X = replace(networks, limit=None), np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    near = networks.members(X * np.float32(1e-3), models.MACHINE)
    np.testing.assert_allclose(plain.members(X * np.float32(1e-3), models.MACHINE), near, atol=1e-5)
    assert not np.allclose(plain.members(5 * X, models.MACHINE), networks.members(5 * X, models.MACHINE), atol=1e-3)
