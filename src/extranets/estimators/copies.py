"""Rows that occur more than once: networks that left a row out may have seen its copy, and then know the answer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from extranets._arrays import Float32, blocks
from extranets._warnings import warn_user
from extranets.held_out import Sample

MANY = 0.05  # share of the rows that may be copies before held-out errors say little
ALIKE = 0.9  # share of the rows with a known X that also have its y, beyond chance: with less, X was measured more than once


class CopiedRowsWarning(UserWarning):
    """Held-out errors may be too small."""


def warn_of_copies(sample: Sample) -> None:
    """Warn where so many rows are copies of others that errors on held-out rows say little about other rows."""
    if count_copies(sample.X, sample.y) > MANY * len(sample.y):
        # The same words for a table and for its folds: warnings that repeat others are not shown.
        warn_user(
            f"More than {MANY:.0%} of the rows are copies of others. Networks that are judged by a row have then trained on its "
            "copy, so that their errors look too small, and intervals for other rows are too narrow. Leave the "
            "copies out first (in pandas: drop_duplicates), unless new rows will be copies as often.",
            CopiedRowsWarning,
        )


def count_copies(X: Float32, y: Float32) -> int:
    """Number of rows with the X and y of an earlier row; 0 where rows with the same X mostly differ in y.

    Shape: X ``(n, k)``, y ``(n, n_outputs)``.
    """
    _, first, group = np.unique(_hash(X), return_index=True, return_inverse=True)
    original = first[group]  # of every row, the first with the same X
    again = np.flatnonzero(original != np.arange(len(y)))
    alike = int((y[again] == y[original[again]]).all(axis=1).sum())
    shares = np.unique(_hash(y), return_counts=True)[1] / len(y)
    chance = float(shares @ shares)  # that two rows have the same y, as most have where y is 0 as a rule
    return alike if alike > (1 - (1 - ALIKE) * (1 - chance)) * len(again) else 0


def _hash(table: Float32) -> npt.NDArray[np.uint64]:
    """Random linear combinations of the rows' bits, modulo 2^64. Unequal rows are equal once in some 2^40 pairs."""
    factors = np.random.default_rng(0).integers(2**64, size=table.shape[1], dtype=np.uint64)
    found = np.empty(len(table), dtype=np.uint64)
    for rows in blocks(len(table)):
        bits = np.ascontiguousarray(table[rows] + np.float32(0)).view(np.uint32)  # -0.0 becomes 0.0
        found[rows] = bits.astype(np.uint64) @ factors
    return found
