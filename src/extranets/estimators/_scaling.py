"""Standardisation by training rows, and its way back to the user's units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[np.float64]

BLOCK_ROWS = 65_536  # rows that are converted at a time, so that predicting needs no copy of a large table


@dataclass(frozen=True)
class Scaling:
    """Centre and scale of every column.

    A column that is constant in training has scale 0: as a feature it is always zero, whatever it holds later (no network
    has learned what to make of it), and as a target it is predicted without error.
    """

    centre: Array
    scale: Array

    @classmethod
    def of(cls, values: Any, weight: Array) -> Scaling:
        """Weighted mean and standard deviation. Shape: values ``(n, k)``, weight ``(n,)``."""
        values = dense(values)
        centre = np.average(values, axis=0, weights=weight)
        variance = np.zeros_like(centre)
        for rows in blocks(len(values)):
            variance += weight[rows] @ (values[rows] - centre) ** 2
        scale = np.sqrt(variance / weight.sum())
        # A column of equal large numbers has a tiny deviation from rounding alone.
        constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(centre)
        return cls(centre, np.where(constant, 0.0, scale))

    def apply(self, values: Any) -> npt.NDArray[np.float32]:
        """Shape: values ``(n, k)``, dense or sparse -> ``(n, k)`` float32."""
        out = np.empty(values.shape, dtype=np.float32)
        factor = np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)
        for rows in blocks(len(out)):
            out[rows] = (dense(values[rows]) - self.centre) * factor
        return out

    def undo(self, values: npt.NDArray[np.floating]) -> Array:
        """Back to the user's units. Shape: ``(..., k)``."""
        return values * self.scale + self.centre


def blocks(n: int) -> Iterator[slice]:
    return (slice(begin, min(begin + BLOCK_ROWS, n)) for begin in range(0, n, BLOCK_ROWS))


def dense(values: Any) -> Array:
    return values.toarray() if sparse.issparse(values) else values
