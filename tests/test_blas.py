"""The limit of linear algebra's threads: it holds while any block needs it, and ends with the last one."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from extranets._blas import one_blas_thread

np.ones((2, 2)) @ np.ones((2, 2))  # so that a library for it is loaded


def n_threads():
    return {pool["num_threads"] for pool in ThreadpoolController().info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, "blas"):
        if n_threads() != {2}:
            pytest.skip("this linear algebra has no threads to limit")
        yield


def test_the_number_of_threads_comes_back():
    with one_blas_thread():
        assert n_threads() == {1}
    assert n_threads() == {2}


def test_it_comes_back_after_an_error():
    with pytest.raises(ValueError, match="enough"), one_blas_thread():
        raise ValueError("enough")
    assert n_threads() == {2}


def test_overlapping_blocks_end_in_any_order():
    """As in two threads: were each to restore what it found, the second one would leave one thread for ever."""
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert n_threads() == {1}
    second.__exit__(None, None, None)
    assert n_threads() == {2}
