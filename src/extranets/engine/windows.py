"""Rows for training that memory cannot hold: a table is dealt to windows of shuffled blocks, anew for every epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from extranets._arrays import Float32
from extranets._random import Purpose, generator
from extranets.encodings import PiecewiseLinear
from extranets.engine.data import TrainingData, require
from extranets.engine.options import Training
from extranets.networks import Members

FIRST_PART = 1 << 20  # of the streams that shuffle blocks: one for each epoch
LISTED = 8  # bytes for a row in each thread's lists of rows
COUNTED_THREADS = 16  # that windows leave memory for; so they are the same for any number of threads
MOST_BLOCK, LEAST_BLOCKS = 4096, 128  # rows of a block, and blocks of a window, so that a window is a mixture
FEWEST_ROWS = 4096  # of a window


class RowSource(Protocol):
    """Standardised rows that are read in pieces, and how much memory there is for windows of them."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def n_outputs(self) -> int: ...

    @property
    def window_bytes(self) -> int: ...

    def read(self, begin: int, end: int) -> tuple[Float32, Float32]:
        """Shape: -> ``(end - begin, n_columns)``, ``(end - begin, n_outputs)``."""


@dataclass(frozen=True, eq=False)
class WindowedData:
    """Rows for training that are read in windows; it stands where :class:`TrainingData` stands for rows in memory.

    Attributes
    ----------
    source : RowSource
    kept : integer array of shape (n_kept,), ascending
        Rows that ``counts`` is about. All others stand once in every sample.
    counts : integer array of shape (n_samples_drawn, n_kept), optional
        How often these rows stand in a sample: 0 for those that a fold leaves out.
    count_rows : integer array of shape (n_members,), optional
        Which row of ``counts`` a member trains on; -1 means every row once.
    inputs : function of float32 rows, optional
        What networks read of the rows.
    adversarial : array of shape (n_columns,), optional
        As in :class:`TrainingData`.
    """

    source: RowSource
    kept: npt.NDArray[np.intp]
    counts: npt.NDArray[np.uint16] | None = None
    count_rows: npt.NDArray[np.int32] | None = None
    inputs: Callable[[Float32], Float32] | None = None
    adversarial: Float32 | None = None

    def of_members(self, some: slice | npt.NDArray[np.intp]) -> WindowedData:
        """The same rows, and these members' entries of ``count_rows``."""
        return self if self.count_rows is None else replace(self, count_rows=self.count_rows[some])

    def check_members(self, members: Members) -> None:
        """Raise ValueError unless these members can be trained on these rows."""
        a, source = members.architecture, self.source
        fits = (a.n_inputs, a.n_outputs) == (source.n_columns, source.n_outputs)
        require(fits, f"the networks have other columns than the {source.n_columns} and {source.n_outputs} of the rows")
        fits = self.count_rows is None or len(self.count_rows) == len(members)
        require(fits, f"count_rows must have one entry for each of {len(members)} members")

    @property
    def row_bytes(self) -> int:
        """Memory of one row of a window."""
        return 4 * (self.source.n_columns + self.source.n_outputs) + 2 * (
            0 if self.counts is None else len(self.counts)
        )

    def window(self, ranges: Sequence[tuple[int, int]]) -> TrainingData:
        """These ranges of rows, one after the other."""
        n = sum(end - begin for begin, end in ranges)
        X, y = (np.empty((n, k), dtype=np.float32) for k in (self.source.n_columns, self.source.n_outputs))
        counts = None if self.counts is None else np.ones((len(self.counts), n), dtype=np.uint16)
        at = 0
        for begin, end in ranges:
            own = slice(at, at + end - begin)
            rows, y[own] = self.source.read(begin, end)
            X[own] = rows if self.inputs is None else self.inputs(rows)
            if counts is not None and self.counts is not None:
                first, last = np.searchsorted(self.kept, [begin, end])
                counts[:, self.kept[first:last] - begin + at] = self.counts[:, first:last]
            at = own.stop
        return TrainingData(X, y, counts=counts, count_rows=self.count_rows, adversarial=self.adversarial)


def is_windowed(training: Training) -> bool:
    """Whether its rows are read in windows."""
    return isinstance(training.data, WindowedData)


@dataclass(frozen=True)
class Layout:
    """How the rows of a table are dealt to windows.

    Attributes
    ----------
    n_rows, block_rows, n_windows : int
    seed : int
        Of the order of the blocks.
    """

    n_rows: int
    block_rows: int
    n_windows: int
    seed: int

    @classmethod
    def of(cls, trainings: Sequence[Training]) -> Layout:
        """As large as the memory allows, by what the engine needs for a row."""
        source = data_of(trainings[0]).source
        fitting = source.window_bytes // _row_bytes(trainings)
        require(
            fitting >= min(FEWEST_ROWS, source.n_rows),
            f"the memory for windows holds {fitting:,} rows, and at least {FEWEST_ROWS:,} are needed",
        )
        if fitting >= source.n_rows:
            return cls(source.n_rows, source.n_rows, 1, trainings[0].seed)
        block = int(np.clip(fitting // LEAST_BLOCKS, 1, MOST_BLOCK))
        n_blocks = -(-source.n_rows // block)
        return cls(source.n_rows, block, -(-n_blocks // (fitting // block)), trainings[0].seed)

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // self.block_rows)

    def windows(self, epoch: int) -> list[npt.NDArray[np.intp]]:
        """The blocks of every window of an epoch, in ascending order."""
        order = generator(self.seed, Purpose.ROWS, part=FIRST_PART + epoch).permutation(self.n_blocks)
        return [np.sort(blocks) for blocks in np.array_split(order, self.n_windows)]

    def ranges(self, number: int) -> list[tuple[int, int]]:
        """Where the rows of a window begin and end, block after block; windows are counted over all epochs."""
        epoch, window = divmod(number, self.n_windows)
        begins = self.windows(epoch)[window] * self.block_rows
        ends = np.minimum(begins + self.block_rows, self.n_rows)
        return list(zip(begins.tolist(), ends.tolist(), strict=True))

    def sample_sizes(self, data: WindowedData, n_epochs: int) -> npt.NDArray[np.int64]:
        """Rows of every window in every sample; the last sample is every row once.

        Shape: -> ``(n_samples + 1, n_epochs * n_windows)``.
        """
        return np.hstack([self._sizes_in_epoch(data, epoch) for epoch in range(n_epochs)])

    def _sizes_in_epoch(self, data: WindowedData, epoch: int) -> npt.NDArray[np.int64]:
        window_of = np.empty(self.n_blocks, dtype=np.intp)
        for number, blocks in enumerate(self.windows(epoch)):
            window_of[blocks] = number
        n_last = self.n_rows - (self.n_blocks - 1) * self.block_rows
        sizes = np.bincount(window_of, minlength=self.n_windows) * self.block_rows
        sizes[window_of[-1]] += n_last - self.block_rows
        own = window_of[data.kept // self.block_rows]
        counts = np.empty((0, len(own))) if data.counts is None else data.counts
        more = [np.bincount(own, weights=each - 1.0, minlength=self.n_windows) for each in counts]
        return np.stack([*(sizes + each.astype(np.int64) for each in more), sizes])


def data_of(training: Training) -> WindowedData:
    """Its rows, which are read in windows."""
    assert isinstance(training.data, WindowedData)
    return training.data


def _row_bytes(trainings: Sequence[Training]) -> int:
    """Memory that the engine needs for one row of a window."""
    tables = {id(training.data): data_of(training).row_bytes for training in trainings}
    placed = {}
    for training in trainings:
        encoding = training.members.architecture.encoding
        if isinstance(encoding, PiecewiseLinear):  # a bin's number, and the place in it
            placed[id(training.data), encoding] = 5 * len(encoding.columns)
    return sum(tables.values()) + sum(placed.values()) + LISTED * COUNTED_THREADS
