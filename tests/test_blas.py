"""The limit of linear algebra's threads: it holds while any block needs it, and ends with the last one."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from extranets._blas import _shared, one_blas_thread
from tests.reliability.children import in_child, needs_fork

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


@needs_fork
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_fork_while_another_thread_begins_a_block():
    """The child does not have that thread, so nobody would open the lock that it held."""
    held = threading.Event()

    def begin():
        with _shared.lock:
            held.set()
            time.sleep(0.3)

    def body():
        signal.alarm(10)  # a child that waits for ever is ended
        with one_blas_thread():
            return n_threads()

    other = threading.Thread(target=begin)
    other.start()
    held.wait()
    try:
        assert in_child(body) == {1}
    finally:
        other.join()


WITHOUT_MEMORY = """
    import os, resource
    import numpy as np
    import extranets
    from scipy.linalg import blas

    some = np.ones((200, 200))
    room = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + 20 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    print((some @ some).sum() + blas.dgemm(1.0, some, some).sum())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the process's address space")
def test_without_memory_linear_algebra_does_not_end_the_process():
    """OpenBLAS would, at its first product: "Memory allocation still failed after 10 retries, giving up"."""
    code = textwrap.dedent(WITHOUT_MEMORY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 2 * 200**3
