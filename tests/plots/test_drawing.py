"""Numbers as text: short, distinct, and correct."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.plots.drawing import short, tick_labels

SIZES = [10.0**power for power in range(-300, 301, 7)] + [999.4, 999.6, 999_999.4, 999_999.6, 1e-4, 9.9996e-5]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("digits", [1.0, 1.2345, 9.996])
def test_short_numbers_are_short_and_keep_three_digits(sign, digits):
    for size in SIZES:
        value = sign * digits * size
        assert len(short(value)) <= 10 and float(short(value).replace(",", "")) == pytest.approx(value, rel=5e-3)


def number(text):
    return float(text.replace(",", ""))


@pytest.mark.parametrize("first", [-3, 0, 1, 7])
@pytest.mark.parametrize("factor", [1, 2, 5])
def test_tick_labels_are_the_ticks_values(first, factor):
    for power in range(-200, 201, 5):
        ticks = (first + np.arange(5)) * factor * 10.0**power
        texts, base = tick_labels(ticks)
        assert not base and max(map(len, texts)) <= 10
        assert [number(text) for text in texts] == pytest.approx(ticks, rel=1e-9, abs=1e-9 * 10.0**power)
        if any("e" in text for text in texts):
            assert len({text.partition("e")[2] for text in texts if text != "0"}) == 1


@pytest.mark.parametrize("far", [1e12, 1e15, -1e9, 1234567890000.0])
def test_ticks_far_from_zero_leave_out_what_they_share(far):
    texts, base = tick_labels(far + np.arange(-1000.0, 1500.0, 500.0))
    assert len(set(texts)) == 5 and max(map(len, texts)) <= 6
    assert [number(base) + number(text) for text in texts] == [far + step for step in (-1000, -500, 0, 500, 1000)]


def test_ticks_close_together_have_different_labels():
    texts, base = tick_labels(1 + np.arange(4) * 1e-9)
    assert (texts, base) == (["0", "1e-9", "2e-9", "3e-9"], "1")
