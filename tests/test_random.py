"""Streams: known answers, agreement of both engines, independence of purposes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from extranets import _random
from extranets._random import Purpose, draw_seed, normal_blocks, normals, philox, shuffled, uniforms, words
from extranets.engine import _native

# From the Random123 distribution's kat_vectors, philox4x32-10: counter, key, result.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def hex_words(text):
    return np.array([int(word, 16) for word in text.split()], dtype=np.uint32)


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN_ANSWERS)
def test_philox_known_answers(counter, key, result):
    np.testing.assert_array_equal(philox(hex_words(key), hex_words(counter)), hex_words(result))


@pytest.mark.parametrize("n", [1, 4, 63, 64, 65, 1000])
def test_native_words_are_the_same(variant, n):
    seed = 0x0123456789ABCDEF
    out = np.empty(n, dtype=np.uint32)
    _native.random_words(seed=seed, member=7, purpose=int(Purpose.SHUFFLE), attempt=3, part=11, out=out)
    np.testing.assert_array_equal(out, words(seed, 7, Purpose.SHUFFLE, n, attempt=3, part=11))


def test_every_part_of_the_key_changes_the_stream():
    base = {"seed": 1, "members": 2, "purpose": Purpose.INIT, "n": 8, "attempt": 0, "part": 0}
    changes = [
        {},
        {"seed": 2},
        {"seed": 1 + (1 << 32)},
        {"members": 3},
        {"purpose": Purpose.MASK},
        {"attempt": 1},
        {"part": 1},
    ]
    drawn = {words(**{**base, **change}).tobytes() for change in changes}
    assert len(drawn) == len(changes)


def test_members_do_not_depend_on_each_other():
    together = words(5, [0, 1, 2, 3], Purpose.MASK, 10)
    np.testing.assert_array_equal(together[2], words(5, 2, Purpose.MASK, 10))


def test_uniforms_are_uniform():
    """Kolmogorov-Smirnov on 200,000 numbers; a right generator fails this fixed seed with probability 0.001."""
    drawn = uniforms(3, np.arange(200), Purpose.INIT, 1000).ravel()
    assert stats.kstest(drawn, "uniform").pvalue > 0.001
    assert drawn.min() >= 0 and drawn.max() < 1


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 100_000])
def test_native_normals_are_the_same(variant, n):
    """To float32 rounding: the largest radius is 5.8, one unit in its last place 5e-7."""
    out = np.empty(n, dtype=np.float32)
    _native.random_normals(seed=3, member=7, purpose=int(Purpose.WEIGHTS), attempt=1, part=11, out=out)
    np.testing.assert_allclose(out, normals(3, 7, Purpose.WEIGHTS, n, attempt=1, part=11), atol=1e-6)


def test_normals_are_normal():
    """200,000 numbers: Kolmogorov-Smirnov at level 0.001; moments and correlation in a pair within 4 standard errors."""
    drawn = normals(3, np.arange(200), Purpose.WEIGHTS, 1000).ravel()
    n = len(drawn)
    assert stats.kstest(drawn, "norm").pvalue > 0.001
    assert abs(drawn.mean()) < 4 / np.sqrt(n)
    assert abs(drawn.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs((drawn**4).mean() - 3) < 4 * np.sqrt(96 / n)
    first, second = drawn[0::2], drawn[1::2]
    assert abs((first * second).mean()) < 4 / np.sqrt(n / 2)
    assert abs((first**2 * second**2).mean() - 1) < 4 * np.sqrt(8 / (n / 2))


@pytest.mark.parametrize("at_once", [1, 20, 50, 10**6])
def test_normals_of_a_few_members_at_a_time_are_the_same(at_once, monkeypatch):
    monkeypatch.setattr(_random, "MOST_AT_ONCE", at_once)
    ids = np.arange(3, 10, dtype=np.uint32)
    found = np.full((7, 9), np.nan)
    for some, drawn in normal_blocks(5, ids, Purpose.PASS, 9, part=2):
        assert drawn.size <= max(at_once, 9)
        found[some] = drawn
    np.testing.assert_array_equal(found, normals(5, ids, Purpose.PASS, 9, part=2))


def test_the_first_normals_do_not_depend_on_how_many_are_drawn():
    np.testing.assert_array_equal(normals(5, [0, 1], Purpose.PASS, 9)[:, :4], normals(5, [0, 1], Purpose.PASS, 4))


def test_shuffles_are_uniform():
    """All 24 orders of four rows: chi-square with 23 degrees of freedom, level 0.001."""
    rows = np.arange(4, dtype=np.uint32)
    orders = [shuffled(rows, 1, member, Purpose.SHUFFLE).tobytes() for member in range(4800)]
    _, counts = np.unique(orders, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 0.001


def test_draw_seed_is_stable_and_uses_all_bits():
    assert draw_seed(0) == draw_seed(0) != draw_seed(1)
    assert draw_seed(np.random.RandomState(0)) == draw_seed(0)
    assert any(draw_seed(i) >> 63 for i in range(10))
