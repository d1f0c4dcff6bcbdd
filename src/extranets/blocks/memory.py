"""How much memory a fit may take, and what it does with it."""

from __future__ import annotations

import itertools
import os
import re
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
SIZE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)

LIBRARIES = 400 * 10**6  # bytes: Python, NumPy, pandas, Arrow and what they leave lying about
STEP = 100 * 10**6  # to which is rounded what the process holds, if that is more
READING = 150 * 10**6  # for blocks on their way from a file
MOST_KEPT, FEWEST_KEPT = 50_000, 12_000  # rows that are drawn at random and stay in memory
KEPT_SHARE = 0.3  # of the memory, for them
COPIES = 40  # bytes that a fit takes for each of their numbers, in all its copies
LEAST_WINDOW = 32 * 10**6  # bytes of the rows that networks are trained on at a time
MARGIN = 0.9  # of what is left, that windows take


def as_bytes(max_memory: Any) -> int:
    """A number of bytes, also as a text such as "2GB", "500 MB" or "1.5GiB".

    Examples
    --------
    >>> as_bytes("2GB"), as_bytes("1.5 GiB"), as_bytes(10**9)
    (2000000000, 1610612736, 1000000000)
    """
    if isinstance(max_memory, int | float | np.number) and not isinstance(max_memory, bool) and max_memory > 0:
        return int(max_memory)
    found = SIZE.fullmatch(max_memory) if isinstance(max_memory, str) else None
    if found is None or float(found[1]) == 0:
        raise ValueError(f"max_memory must be a number of bytes, or a text such as '2GB'; got {max_memory!r}.")
    return int(float(found[1]) * UNITS[found[2].upper()])


def default_memory() -> int:
    """Half of this machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):  # not on Windows
        return 4 * 10**9


def resident_bytes() -> int:
    """Memory that this process holds now; where that is not known, the most that it has held."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


@dataclass(frozen=True)
class Budget:
    """Memory of this process, shared out.

    It depends on ``max_memory`` alone, unless the process holds more than 400 MB already; so the same fit gives the same result.
    """

    total: int
    held: int = LIBRARIES
    most_kept: int = MOST_KEPT

    @classmethod
    def of(cls, max_memory: Any) -> Budget:
        """Of what a user asks for."""
        total = default_memory() if max_memory is None else as_bytes(max_memory)
        return cls(total, max(LIBRARIES, -(-resident_bytes() // STEP) * STEP))

    def n_kept(self, n_columns: int) -> int:
        """Rows of so many numbers that stay in memory."""
        return int(min(self.most_kept, max(FEWEST_KEPT, KEPT_SHARE * self._free // (COPIES * n_columns))))

    def window_bytes(self, n_columns: int) -> int:
        """For rows that networks are trained on at a time; refuses, by a ``ValueError``, a budget that is too small."""
        if self._window_bytes(n_columns) >= LEAST_WINDOW:
            return self._window_bytes(n_columns)
        more = (replace(self, total=total) for total in itertools.count(self.held, 10**6))
        least = next(each.total for each in more if each._window_bytes(n_columns) >= LEAST_WINDOW)
        raise ValueError(
            f"max_memory={self.total / 1e6:.0f}MB is too little for {n_columns} columns (with the target): at least "
            f"{-(-least // 10**6)}MB are needed, of which this process and its libraries take {self.held / 1e6:.0f}MB."
        )

    def _window_bytes(self, n_columns: int) -> int:
        return int(MARGIN * (self._free - self.n_kept(n_columns) * n_columns * COPIES))

    @property
    def _free(self) -> int:
        return self.total - self.held - READING
