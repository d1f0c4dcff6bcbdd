"""Linear algebra on one thread, where its own threads would only wait for each other."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.linalg import blas
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


class _Shared:
    """The limit, and how many blocks ask for it now."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_users = 0
        self.limit: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.n_users == 0:
                self.limit = _pools().limit(limits=1, user_api="blas")
            self.n_users += 1

    def leave(self) -> None:
        with self.lock:
            self.n_users -= 1
            if self.n_users == 0:
                self.limit.restore_original_limits()


_shared = _Shared()

if hasattr(os, "register_at_fork"):
    # A child of a fork has no other threads, so a lock that one of them held would stay locked there for ever. The fork waits until
    # nobody holds it. Blocks of threads that the child does not have never end there: its linear algebra keeps one thread.
    os.register_at_fork(
        before=_shared.lock.acquire, after_in_parent=_shared.lock.release, after_in_child=_shared.lock.release
    )


@functools.cache
def _pools() -> Any:
    """Looked for only once: the system lists its libraries through a callback, and Ctrl-C would get lost in it."""
    return ThreadpoolController()


def _take_working_memory() -> None:
    """Both copies of OpenBLAS, NumPy's and SciPy's, take some 30 MB at their first large product, and keep them.

    Where there are none left, OpenBLAS ends the process. So they are taken before a table is: later there is a MemoryError.
    """
    some = np.ones((200, 200))
    some @ some
    blas.dgemm(1.0, some, some)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra of the whole process has one thread while the block runs.

    For small problems: threads that wait for each other make an optimisation of two numbers a hundred times as slow on a
    busy machine. Blocks may overlap in several threads; the last one to end restores what was before the first.
    """
    _shared.enter()
    try:
        yield
    finally:
        _shared.leave()


_take_working_memory()
