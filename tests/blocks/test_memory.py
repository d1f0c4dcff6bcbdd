"""How memory is shared out."""

from __future__ import annotations

import pytest

from extranets.blocks.memory import Budget, as_bytes, resident_bytes


@pytest.mark.parametrize("text", ["", "2", "two", "2 XB", "-1GB", "0", "0MB", "1e9"])
def test_what_is_no_size_is_refused(text):
    if text == "2":
        assert as_bytes(text) == 2
        return
    with pytest.raises(ValueError, match="such as '2GB'"):
        as_bytes(text)


@pytest.mark.parametrize("value", [0, -5, True, None, [1]])
def test_what_is_no_number_of_bytes_is_refused(value):
    with pytest.raises(ValueError, match="such as '2GB'"):
        as_bytes(value)


def test_the_least_that_is_named_is_enough_and_less_is_refused():
    for n_columns in (5, 21, 300):
        with pytest.raises(ValueError, match="is too little") as refused:
            Budget(10**6).window_bytes(n_columns)
        least = int(str(refused.value).split("at least ")[1].split("MB")[0]) * 10**6
        assert Budget(least).window_bytes(n_columns) > 0
        with pytest.raises(ValueError, match="is too little"):
            Budget(least - 2 * 10**6).window_bytes(n_columns)


def test_more_columns_keep_fewer_rows_and_all_fits():
    budget = Budget(2 * 10**9)
    kept = [budget.n_kept(n_columns) for n_columns in (5, 100, 1000)]
    assert kept == sorted(kept, reverse=True) and kept[0] > kept[-1]
    assert budget.window_bytes(21) + budget.held < budget.total


def test_what_the_process_holds_is_counted():
    before = resident_bytes()
    held = bytearray(100_000_000)
    held[::4096] = b"x" * len(held[::4096])
    assert resident_bytes() > before + 80_000_000
