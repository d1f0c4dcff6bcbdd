"""What one pass over a table learns: exact moments, and rows that are drawn at random. Both can be merged.

The drawn rows are those with the smallest of random numbers that only depend on the row's place. So they are the same however the table is
cut into blocks, and of two parts' smallest the smallest are those of the whole. A quantile of n drawn rows is off by so little: the share of
the table's rows below it differs from the level by more than ``rank_error(n)`` once in a thousand tables (Dvoretzky, Kiefer, Wolfowitz; Massart, 1990).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets._random import Purpose, words

STREAM = 4096  # rows that share a stream of random numbers
PART = 5  # of the streams of rows

T = TypeVar("T")


def rank_error(n_drawn: int, doubt: float = 0.001) -> float:
    """By how much ranks of quantiles are off, at most, but for one table in ``1 / doubt``.

    Examples
    --------
    >>> round(rank_error(50_000), 4)
    0.0087
    """
    return float(np.sqrt(np.log(2 / doubt) / (2 * n_drawn)))


@dataclass
class Moments:
    """Mean, sum of squared deviations, least and largest of every column. Shape: ``(k,)`` each."""

    n: int
    mean: Array
    squares: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, values: Array) -> Moments:
        """Shape: values ``(n, k)``, n at least 1."""
        with np.errstate(over="ignore", invalid="ignore"):  # too large becomes infinite
            mean = values.mean(axis=0)
            squares = ((values - mean) ** 2).sum(axis=0)
        return cls(len(values), mean, squares, values.min(axis=0), values.max(axis=0))

    def __add__(self, other: Moments) -> Moments:
        """Of the rows of both (Chan, Golub and LeVeque, 1979).

        Examples
        --------
        >>> both = Moments.of(np.array([[1.0], [3.0]])) + Moments.of(np.array([[8.0]]))
        >>> both.n, both.mean.tolist(), both.squares.tolist(), both.high.tolist()
        (3, [4.0], [26.0], [8.0])
        """
        n = self.n + other.n
        with np.errstate(over="ignore", invalid="ignore"):
            apart = other.mean - self.mean
            mean = self.mean + apart * (other.n / n)
            squares = self.squares + other.squares + apart**2 * (self.n * other.n / n)
        return Moments(n, mean, squares, np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def variance(self) -> Array:
        return self.squares / self.n


class Drawn(Generic[T]):
    """So many rows of a table that comes in blocks, drawn at random: any kind of block that can be taken from and joined."""

    def __init__(self, most: int, take: Callable[[T, npt.NDArray[np.intp]], T], join: Callable[[list[T]], T]) -> None:
        self.most, self._take, self._join = most, take, join
        self._keys = np.empty(0, dtype=np.uint64)
        self._parts: list[T] = []
        self._limit = np.uint64(2**64 - 1)

    def add(self, first_row: int, n_rows: int, block: T) -> None:
        """The next block, whose first row has this number."""
        keys = row_keys(first_row, first_row + n_rows)
        chosen = np.flatnonzero(keys <= self._limit)
        if not len(chosen):
            return
        self._keys = np.append(self._keys, keys[chosen])
        self._parts.append(self._take(block, chosen))
        if len(self._keys) > 2 * self.most:
            self._settle()

    def _settle(self) -> None:
        """Keep those with the smallest numbers."""
        chosen = np.arange(len(self._keys))
        if len(chosen) > self.most:
            chosen = np.sort(np.argpartition(self._keys, self.most - 1)[: self.most])
            self._limit = self._keys[chosen].max()
        self._parts = [self._take(self._join(self._parts), chosen)]
        self._keys = self._keys[chosen]

    def result(self) -> tuple[npt.NDArray[np.intp], T]:
        """Numbers of the drawn rows, ascending, and the rows."""
        self._settle()
        return (self._keys & np.uint64(2**32 - 1)).astype(np.intp), self._parts[0]


def row_keys(begin: int, end: int) -> npt.NDArray[np.uint64]:
    """A random number for each row, and its place below it, so that no two are equal. Shape: -> ``(end - begin,)``."""
    streams = np.arange(begin // STREAM, -(-end // STREAM), dtype=np.uint32)
    drawn = words(0, streams, Purpose.ROWS, STREAM, part=PART).ravel()[begin - begin // STREAM * STREAM :][
        : end - begin
    ]
    return (drawn.astype(np.uint64) << np.uint64(32)) | np.arange(begin, end, dtype=np.uint64)
