"""A table of numbers that memory cannot hold: taken in once, block by block, and then read in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32, blocks
from extranets.blocks.learning import Drawn, Moments
from extranets.blocks.memory import Budget
from extranets.blocks.scratch import Scratch
from extranets.engine import WindowedData

Rows = tuple[Array, Array]
Report = Callable[[float], object]
BLOCK_NUMBERS = 1 << 20  # 8 MB
MOST_BLOCK_ROWS = 65_536


def block_rows(n_numbers: int) -> int:
    """How many rows of so many numbers are worked on at a time."""
    return max(1, min(MOST_BLOCK_ROWS, BLOCK_NUMBERS // n_numbers))


class NumberBlocks(Protocol):
    """Rows of numbers, block by block."""

    @property
    def names(self) -> list[str] | None: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def n_outputs(self) -> int: ...

    @property
    def y_is_vector(self) -> bool: ...

    @property
    def n_rows(self) -> int | None:
        """None where it is not known before the end."""

    def __iter__(self) -> Iterator[Rows]:
        """Shape: ``(n, n_columns)``, ``(n, n_outputs)``, float64 and finite."""


@dataclass(frozen=True)
class TakenIn:
    """What one pass has learned, and where the rows are.

    Attributes
    ----------
    x, y : Moments
    drawn : integer array of shape (n_drawn,), ascending
        Places of the rows that were drawn.
    X, Y : float64 arrays of shape (n_drawn, k) and (n_drawn, n_outputs)
        These rows.
    scratch : Scratch
        All rows; columns less ``centre``, divided by ``unit``.
    centre, unit : arrays of shape (k,)
    """

    x: Moments
    y: Moments
    drawn: npt.NDArray[np.intp]
    X: Array
    Y: Array
    scratch: Scratch
    centre: Array
    unit: Array

    @property
    def n_rows(self) -> int:
        return self.scratch.n_rows


def take_in(table: NumberBlocks, scratch: Scratch, budget: Budget, progress: Report | None = None) -> TakenIn:
    """One pass over a table. Rows are stored in units of the first block, as single precision needs units of about one."""
    drawn: Drawn[Rows] = Drawn(budget.n_kept(table.n_columns + table.n_outputs), _take, _join)
    x: Moments | None = None
    for X, Y in _evenly(table, block_rows(table.n_columns + table.n_outputs)):
        own = Moments.of(X), Moments.of(Y)
        if x is None:
            x, y = own
            centre, unit = x.mean, _unit_of(x)
        else:
            x, y = x + own[0], y + own[1]
        drawn.add(scratch.n_rows, len(X), (X, Y))
        scratch.append(_in_units(X, centre, unit, scratch.n_rows, table.names), Y)
        if progress is not None and table.n_rows:
            progress(min(1.0, scratch.n_rows / table.n_rows))
    if x is None:
        raise ValueError(
            "Found array with 0 sample(s) (n_samples=0) while a minimum of 2 is required: the table has no rows."
        )
    rows, (X, Y) = drawn.result()
    return TakenIn(x, y, rows, X, Y, scratch, centre, unit)


def _evenly(table: Iterable[Rows], size: int) -> Iterator[Rows]:
    """Blocks of so many rows, the last one shorter: moments are then the same bits however the table is cut."""
    waiting: list[Rows] = []
    count = 0
    for rows in table:
        waiting.append(rows)
        count += len(rows[0])
        if count >= size:
            X, Y = _join(waiting)
            whole = count // size * size
            yield from ((X[at : at + size], Y[at : at + size]) for at in range(0, whole, size))
            waiting, count = [(X[whole:], Y[whole:])], count - whole
    if count:
        yield _join(waiting)


def _take(rows: Rows, some: npt.NDArray[np.intp]) -> Rows:
    return rows[0][some], rows[1][some]


def _join(parts: list[Rows]) -> Rows:
    return np.concatenate([X for X, _ in parts]), np.concatenate([Y for _, Y in parts])


def _unit_of(first: Moments) -> Array:
    std = np.sqrt(first.variance)
    largest = np.maximum(np.abs(first.low), np.abs(first.high))
    unit = np.where(std > 0, std, largest)
    return np.where((unit > 0) & np.isfinite(unit), unit, 1.0)


def _in_units(X: Array, centre: Array, unit: Array, first_row: int, names: list[str] | None) -> Float32:
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = ((X - centre) / unit).astype(np.float32)
    if not np.isfinite(scaled.sum()) and not np.isfinite(scaled).all():
        row, column = np.argwhere(~np.isfinite(scaled))[0]
        name = column if names is None else repr(names[column])
        raise ValueError(
            f"Row {first_row + row}, column {name} holds {X[row, column]:.3g}, which is too far from the first rows of the table for "
            "single precision. Check the value and its unit."
        )
    return scaled


@dataclass(frozen=True, eq=False)
class AllRows:
    """All rows of a table, of which some are in memory as a sample. A `RowSource` for the engine: standardised rows.

    Attributes
    ----------
    taken : TakenIn
    shift, factor : float32 arrays of shape (k,)
        Standardised columns are those of the scratch file, times factor, plus shift.
    target : function of float64 targets, in the user's units
        Gives the standardised ones, float32.
    window_bytes : int
    """

    taken: TakenIn
    shift: Float32
    factor: Float32
    target: Callable[[Array], Float32]
    window_bytes: int

    @classmethod
    def of(
        cls, taken: TakenIn, centre: Array, factor: Array, target: Callable[[Array], Float32], budget: Budget
    ) -> AllRows:
        """For columns that are standardised to ``(x - centre) * factor``. Shape: ``(k,)`` each."""
        shift, slope = (taken.centre - centre) * factor, taken.unit * factor
        n_numbers = taken.scratch.n_columns + taken.scratch.n_outputs
        return cls(taken, shift.astype(np.float32), slope.astype(np.float32), target, budget.window_bytes(n_numbers))

    @property
    def n_rows(self) -> int:
        return self.taken.n_rows

    @property
    def n_columns(self) -> int:
        return self.taken.scratch.n_columns

    @property
    def n_outputs(self) -> int:
        return self.taken.scratch.n_outputs

    def read(self, begin: int, end: int) -> tuple[Float32, Float32]:
        """Shape: -> ``(end - begin, n_columns)``, ``(end - begin, n_outputs)``."""
        X = self.taken.scratch.columns(begin, end)
        X *= self.factor
        X += self.shift
        return X, self.target(self.taken.scratch.targets(begin, end))

    def training_data(
        self,
        counts: npt.NDArray[np.uint16] | None = None,
        count_rows: npt.NDArray[np.int32] | None = None,
        *,
        inputs: Callable[[Float32], Float32] | None = None,
        adversarial: Float32 | None = None,
    ) -> WindowedData:
        """For the engine; ``counts`` are those of the rows in memory. Shape: counts ``(n_samples, n_drawn)``."""
        return WindowedData(self, self.taken.drawn, counts, count_rows, inputs, adversarial)


def moments_of_targets(taken: TakenIn, latent: Callable[[Array], Array]) -> Moments:
    """Of what a function makes of the targets of all rows. Shape: latent ``(n, n_outputs)`` -> ``(n, n_outputs)``."""
    found: Moments | None = None
    for rows in blocks(taken.n_rows):
        own = Moments.of(latent(taken.scratch.targets(rows.start, rows.stop)))
        found = own if found is None else found + own
    assert found is not None
    return found
