"""Numbers block by block: from arrays that may be mapped from files, and from arrays and data frames of Dask."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.blocks.table import Rows, block_rows


def is_dask(values: Any) -> bool:
    """An array or a data frame of Dask: its rows are somewhere else."""
    return type(values).__module__.startswith(("dask.", "dask_expr.")) and hasattr(values, "dask")


def is_lazy(values: Any) -> bool:
    """Whether a fit reads it block by block also where ``max_memory`` does not ask for that."""
    return is_dask(values)


def number_blocks(X: Any, y: Any) -> ArrayBlocks | DaskBlocks:
    """Blocks of columns and targets of any kind that is known here.

    Examples
    --------
    >>> table = number_blocks(np.arange(6.0).reshape(3, 2), [1, 2, 3])
    >>> [(X.tolist(), y.tolist()) for X, y in table]
    [([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[1.0], [2.0], [3.0]])]
    """
    if is_dask(X):
        return DaskBlocks(X, y)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    return ArrayBlocks(_two_axes(X), np.asarray(y), names)


def _two_axes(X: Any) -> npt.NDArray[Any]:
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: X.reshape(-1, 1) if it is one column."
        )
    return array


@dataclass
class ArrayBlocks:
    """Of arrays; of those that are mapped from a file, pages that have been read are given back to the system."""

    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    names: list[str] | None = None

    def __post_init__(self) -> None:
        if len(self.X) != len(self.y):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: [{len(self.X)}, {len(self.y)}]"
            )
        if self.y.ndim not in (1, 2):
            raise ValueError(f"y must have one axis or two, got shape {self.y.shape}.")

    @property
    def n_rows(self) -> int | None:
        return len(self.X)

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_outputs(self) -> int:
        return 1 if self.y_is_vector else int(self.y.shape[1])

    @property
    def y_is_vector(self) -> bool:
        return self.y.ndim == 1

    def __iter__(self) -> Iterator[Rows]:
        size = block_rows(self.n_columns + self.n_outputs)
        mapped = [found for found in (_mapping(self.X), _mapping(self.y)) if found is not None]
        for begin in range(0, len(self.X), size):
            rows = slice(begin, begin + size)
            yield as_rows(self.X[rows], self.y[rows], begin, self.names)
            for file in mapped:
                if hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
                    file.madvise(mmap.MADV_DONTNEED)


def _mapping(values: Any) -> mmap.mmap | None:
    """The file's pages under an array that only reads them; they are read again when they are needed."""
    while values is not None:
        if isinstance(values, mmap.mmap):
            return values
        if isinstance(values, np.memmap) and values.mode not in ("r", "r+", "w+"):
            return None  # changes to a private copy would be lost
        values = getattr(values, "base", None)
    return None


def as_rows(X: Any, y: Any, first_row: int, names: list[str] | None) -> Rows:
    """A block as float64; numbers that are not finite are refused, by row and column."""
    targets = np.asarray(y)
    targets = (targets[:, None] if targets.ndim == 1 else targets).astype(np.float64)
    columns = np.asarray(X).astype(np.float64)
    for values, name, known in ((columns, "X", names), (targets, "y", None)):
        _refuse_non_finite(values, name, first_row, known)
    return columns, targets


def _refuse_non_finite(values: Array, name: str, first_row: int, names: list[str] | None) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()) or np.isfinite(values).all():
            return
    row, column = np.argwhere(~np.isfinite(values))[0]
    what = "NaN" if np.isnan(values[row, column]) else "infinity"
    where = f"row {first_row + row}"
    if name == "X":
        where += f", column {column if names is None else repr(names[column])}"
    raise ValueError(f"Input {name} contains {what} ({where}). Fill or drop such rows first, e.g. with SimpleImputer.")


class DaskBlocks:
    """Of Dask: one partition at a time is computed, and no other is held."""

    def __init__(self, X: Any, y: Any) -> None:
        self.n_rows: int | None = None
        self._X, self._y = partitions_of(X), partitions_of(y) if is_dask(y) else np.asarray(y)
        self.names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        self.n_columns = int(X.shape[1])
        self.y_is_vector = y.ndim == 1 if hasattr(y, "ndim") else np.ndim(y) == 1
        self.n_outputs = 1 if self.y_is_vector else int(y.shape[1])
        if isinstance(self._y, list) and len(self._y) != len(self._X):
            raise ValueError(f"X has {len(self._X)} partitions and y has {len(self._y)}; give both the same ones.")

    def __iter__(self) -> Iterator[Rows]:
        size, first = block_rows(self.n_columns + self.n_outputs), 0
        for number, part in enumerate(self._X):
            X, y = self._computed(number, part, first)
            if len(X) != len(y):
                raise ValueError(f"Partition {number}: X has {len(X):,} rows and y has {len(y):,}.")
            for begin in range(0, len(X), size):
                rows = slice(begin, begin + size)
                yield as_rows(X[rows], y[rows], first + begin, self.names)
            first += len(X)
        if not isinstance(self._y, list) and first != len(self._y):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{first}, {len(self._y)}]")

    def _computed(self, number: int, part: Any, first: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        import dask.base

        if isinstance(self._y, list):
            X, y = dask.base.compute(part, self._y[number])
            return np.asarray(X), np.asarray(y)
        X = np.asarray(part.compute())
        return X, self._y[first : first + len(X)]


def partitions_of(values: Any) -> list[Any]:
    """The partitions of a data frame, or the rows' chunks of an array."""
    if hasattr(values, "divisions"):
        return [values.partitions[number] for number in range(values.npartitions)]
    if values.ndim == 2:
        values = values.rechunk({1: -1})
    blocks = values.blocks
    return [blocks[number] for number in range(values.numblocks[0])]
