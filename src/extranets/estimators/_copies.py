"""Rows that occur more than once: networks that left a row out may have seen its copy, and then know the answer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from extranets.estimators._held_out import Sample
from extranets.estimators._scaling import blocks
from extranets.estimators._warnings import warn_user

MANY = 0.05  # share of the rows that may be copies before held-out errors say little
ALIKE = 0.9  # share of the rows with a known X that also have its y: with less, X was measured more than once


def warn_of_copies(sample: Sample) -> None:
    """Where so many rows are copies that errors on held-out rows are too small for rows that are none."""
    rows, originals = copies(sample.X, sample.y)
    if len(rows) <= MANY * len(sample.y):
        return
    number = np.arange(len(sample.y)) if sample.used is None else np.flatnonzero(sample.used)
    warn_user(
        f"{len(rows)} of {len(sample.y)} rows are copies of others (counted from 0, row {number[rows[0]]} of row "
        f"{number[originals[0]]}, for example). Networks that are judged by a row have then trained on its copy, so that their "
        "errors look too small, and intervals for rows that are no copies are too narrow. Leave the copies out first (in "
        "pandas: drop_duplicates), unless new rows will be copies as often."
    )


def copies(X: npt.NDArray[np.float32], y: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows with the X and y of an earlier row, and that row; none where the same X has different y as a rule.

    Shape: X ``(n, k)``, y ``(n, n_outputs)`` -> two of shape ``(n_copies,)``.
    """
    _, first, group = np.unique(_hash(X), return_index=True, return_inverse=True)
    original = first[group]  # of every row, the first with the same X
    again = np.flatnonzero(original != np.arange(len(y)))
    rows = again[(y[again] == y[original[again]]).all(axis=1)]
    if len(rows) < ALIKE * len(again):
        rows = rows[:0]
    return rows, original[rows]


def _hash(table: npt.NDArray[np.float32]) -> npt.NDArray[np.uint64]:
    """Random linear combinations of the rows' bits, modulo 2^64. Unequal rows are equal once in some 2^40 pairs."""
    factors = np.random.default_rng(0).integers(2**64, size=table.shape[1], dtype=np.uint64)
    found = np.empty(len(table), dtype=np.uint64)
    for rows in blocks(len(table)):
        bits = np.ascontiguousarray(table[rows] + np.float32(0)).view(np.uint32)  # -0.0 becomes 0.0
        found[rows] = bits.astype(np.uint64) @ factors
    return found
