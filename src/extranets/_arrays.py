"""The two kinds of arrays of numbers, one name for each, and the blocks of rows in which large ones are worked through."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]  # what users see, and all statistics
Float32 = npt.NDArray[np.float32]  # what networks read and write

BLOCK_ROWS = 65_536  # rows that are converted at a time, so that predicting needs no copy of a large table


def blocks(n: int) -> Iterator[slice]:
    """Slices that cover ``n`` rows."""
    return (slice(begin, min(begin + BLOCK_ROWS, n)) for begin in range(0, n, BLOCK_ROWS))
