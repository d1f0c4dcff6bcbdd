"""Bounds that follow errors in order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from extranets.uncertainty.online import COVERAGES, TAILS, between, follow, steps

FIRST = np.arcsinh(np.tile(norm.ppf(1 - TAILS), (2, 1, 1)))


def reference(thresholds, errors):
    """Output by output, bound by bound, in words: the more rows are outside, the farther the bound moves outward."""
    found = thresholds.copy()
    for output in range(errors.shape[1]):
        for side, sign in enumerate((-1, 1)):
            for place, coverage in enumerate(COVERAGES):
                tail = (1 - coverage) / 2
                z = norm.ppf(tail)
                step = min(0.03 * len(errors), 2.0, 0.5 / (norm.pdf(z) * np.sqrt(1 + z**2)))
                outside = np.mean(sign * errors[:, output] > np.sinh(thresholds[side, output, place]))
                found[side, output, place] += step * (outside - tail)
    return found


def series(name, n=4000):
    random = np.random.default_rng(0)
    at = np.arange(n) / n
    return {
        "as predicted": lambda: random.normal(size=n),
        "wider and wider": lambda: random.normal(size=n) * np.exp(3 * at),
        "a level that moves": lambda: random.normal(size=n) + 5 * np.sin(9 * at),
        "a jump": lambda: random.normal(size=n) + 8 * (at > 0.5),
        "no noise": lambda: np.full(n, 0.3),
        "to and fro": lambda: np.where(np.arange(n) % 2, 4.0, -4.0),
        "heavy tails": lambda: random.standard_t(1.5, size=n),
    }[name]()


NAMES = ["as predicted", "wider and wider", "a level that moves", "a jump", "no noise", "to and fro", "heavy tails"]


def beyond(errors, size):
    """Share of rows beyond each bound, and beyond each that is issued: bounds from before their block. ``(2, n_coverages)``."""
    thresholds, own, issued = FIRST, np.zeros((2, len(TAILS))), np.zeros((2, len(TAILS)))
    for block in errors.reshape(-1, size):
        outward = np.stack([-block, block])[..., None]
        own += (outward > np.sinh(thresholds)).sum(axis=1)
        issued += (outward > between(thresholds, TAILS)).sum(axis=1)
        thresholds = follow(thresholds, block[:, None])
    return own / len(errors), issued / len(errors)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n_rows", [1, 7, 300])
def test_it_is_the_rule_in_words(n_rows, n_outputs):
    random = np.random.default_rng(1)
    first = np.sort(random.normal(size=(2, n_outputs, len(TAILS))), axis=-1)
    errors = random.standard_t(2, size=(n_rows, n_outputs))
    np.testing.assert_allclose(follow(first, errors), reference(first, errors), rtol=1e-12)


@pytest.mark.parametrize("size", [1, 10, 200])
@pytest.mark.parametrize("name", NAMES)
def test_coverage_is_right_in_the_long_run_whatever_the_data(name, size):
    errors = series(name)
    own, issued = beyond(errors, size)
    farthest, step = max(np.arcsinh(np.abs(errors)).max(), FIRST.max()), steps(size)
    bound = (2 * farthest + step) / (step * (len(errors) // size))
    assert (np.abs(own - TAILS) <= bound).all()
    assert (issued <= own + 1e-12).all()  # bounds of several coverages are put in order by moving them outward


@pytest.mark.parametrize("size", [1, 10, 50])
@pytest.mark.parametrize(
    ("name", "near"), [("as predicted", 0.01), ("wider and wider", 0.04), ("a level that moves", 0.03)]
)
def test_coverage_is_near_its_level_long_before(name, near, size):
    """90 % intervals. The bound above promises tails of 5 +- 4 % for single rows and errors of up to 5."""
    _, issued = beyond(series(name), size)
    assert np.abs(issued[:, COVERAGES == 0.9] - 0.05).max() < near


def test_other_coverages_are_between():
    thresholds = FIRST
    for block in np.random.default_rng(2).normal(size=(30, 10, 1)):
        thresholds = follow(thresholds, block)
    coverages = np.linspace(0.1, 0.99, 50)
    found = between(thresholds, (1 - coverages) / 2)
    assert (np.diff(found, axis=-1) >= 0).all()
    np.testing.assert_allclose(between(thresholds, TAILS), np.sinh(np.maximum.accumulate(thresholds, axis=-1)))
    np.testing.assert_allclose(between(FIRST, (1 - coverages) / 2), np.tile(norm.ppf((1 + coverages) / 2), (2, 1, 1)))


def test_bounds_that_have_crossed_are_put_in_order():
    thresholds = FIRST.copy()
    thresholds[0, 0, 8] = 0.0  # of 90 %, inside that of 80 %
    found = between(thresholds, TAILS)
    assert found[0, 0, 8] == found[0, 0, 7] == np.sinh(FIRST[0, 0, 7])
    np.testing.assert_allclose(found[1], np.sinh(FIRST[1]))
