"""Which rows each member trains on and validates on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets.engine.cuda.gpu import Gpu
from extranets.engine.data import TrainingData

Indices = npt.NDArray[np.uint32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Rows of every member, which members may share: member m has ``rows[begin[m]:end[m]]``. Shapes: begin, end ``(m,)``."""

    rows: Indices
    begin: Longs
    end: Longs

    @property
    def n(self) -> Longs:
        return self.end - self.begin

    @classmethod
    def of(cls, parts: list[Indices], which: npt.NDArray[np.intp]) -> Rows:
        """Member m has ``parts[which[m]]``."""
        borders = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        return cls(np.concatenate(parts).astype(np.uint32, copy=False), borders[which], borders[which + 1])

    @classmethod
    def none(cls, n_members: int) -> Rows:
        borders = np.zeros(n_members, dtype=np.int64)
        return cls(np.zeros(0, dtype=np.uint32), borders, borders)

    def of_member(self, member: int) -> Indices:
        return self.rows[self.begin[member] : self.end[member]]


class OnGpu:
    """`Rows` where kernels read them."""

    def __init__(self, gpu: Gpu, rows: Rows) -> None:
        self.n = rows.n
        self.rows, self.begin, self.end = gpu.array(rows.rows), gpu.array(rows.begin), gpu.array(rows.end)
        self.lengths = gpu.array(rows.n)


@dataclass(frozen=True)
class Samples:
    """The different samples that members train on: all rows, bootstrap samples, all rows but a fold.

    ``counts[s]`` says how often sample ``s`` holds each row; None: once. ``which (m,)`` is each member's sample.
    """

    n_rows: int
    counts: list[npt.NDArray[np.uint16] | None]
    which: npt.NDArray[np.intp]

    @classmethod
    def of(cls, data: TrainingData, n_members: int) -> Samples:
        if data.counts is None or data.count_rows is None:
            return cls(len(data.X), [None], np.zeros(n_members, dtype=np.intp))
        kinds, which = np.unique(data.count_rows, return_inverse=True)
        return cls(len(data.X), [None if kind < 0 else data.counts[kind] for kind in kinds], which)

    def distinct(self) -> list[Indices]:
        everything = np.arange(self.n_rows, dtype=np.uint32)
        return [everything if c is None else np.flatnonzero(c).astype(np.uint32) for c in self.counts]

    def repeated(self, rows: Indices, sample: int) -> Indices:
        """Every row as often as the sample holds it."""
        counts = self.counts[sample]
        return rows if counts is None else np.repeat(rows, counts[rows])

    def sizes(self) -> Longs:
        """Rows of every member's sample, with their copies."""
        sizes = [self.n_rows if c is None else int(c.sum(dtype=np.int64)) for c in self.counts]
        return np.array(sizes, dtype=np.int64)[self.which]

    def whole(self) -> Rows:
        """Every member trains on its whole sample."""
        return Rows.of([self.repeated(rows, s) for s, rows in enumerate(self.distinct())], self.which)

    def split(self, shuffled: Iterable[Indices], fraction: float) -> tuple[Rows, Rows]:
        """For training and for validation, which takes whole rows with all their copies.

        ``shuffled`` holds every member's distinct rows.
        """
        train, validation = [], []
        for sample, rows in zip(self.which.tolist(), shuffled, strict=True):
            n = min(math.ceil(float(np.float32(fraction)) * len(rows)), len(rows) - 1)
            validation.append(self.repeated(rows[:n], sample))
            train.append(self.repeated(rows[n:], sample))
        everyone = np.arange(len(self.which))
        return Rows.of(train, everyone), Rows.of(validation, everyone)
