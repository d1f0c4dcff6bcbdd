"""The two kinds of arrays of numbers, one name for each, the blocks of rows in which large ones are worked through, and masks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]  # what users see, and all statistics
Float32 = npt.NDArray[np.float32]  # what networks read and write

BLOCK_ROWS = 65_536  # rows that are converted at a time, so that predicting needs no copy of a large table


def blocks(n: int) -> Iterator[slice]:
    """Slices that cover ``n`` rows."""
    return (slice(begin, min(begin + BLOCK_ROWS, n)) for begin in range(0, n, BLOCK_ROWS))


def refuse_masked(values: Any, name: str) -> None:
    """Refuse a ``numpy.ma`` array with masked entries, by a ``ValueError``: NumPy would go on with what is under the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = [int(axis[0]) for axis in np.nonzero(np.ma.getmaskarray(values))]
        where = ", ".join(f"{axis} {at}" for axis, at in zip(("row", "column"), place, strict=False))
        raise ValueError(
            f"{name} is a masked array with {np.ma.count_masked(values)} masked entries (the first in {where}), whose values "
            f"are not known. Pass {name}.filled(...) with values to use instead, or leave out the rows."
        )
