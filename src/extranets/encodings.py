"""Numeric encodings: columns that a network sees both as they are and spread over several inputs of the first layer.

A small ReLU network cannot bend often along one column. Given a column's position within each of its quantile bins, the first layer can
bend at every edge. Only arrays are kept here; the engine computes the encoded inputs row by row and never builds the wide
table.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from extranets._arrays import Float32
from extranets.model_file import storable

Integers = npt.NDArray[np.int32]

MOST_BINS = 255  # the engine keeps a bin's number in one byte
FEWEST_VALUES = 3  # of a column that is encoded: through two values goes a straight line
SMALLEST_GAP = np.float32(1e-30)  # between edges: float32 divides by it without underflow
LOWEST_FREQUENCY, HIGHEST_FREQUENCY = 0.125, 2.0  # of the periodic encoding, in cycles per standard deviation


class _ByValue:
    """Equality and hash by the values of a dataclass's arrays."""

    def _values(self) -> tuple[bytes, ...]:
        return tuple(getattr(self, field.name).tobytes() for field in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values() == self._values()

    def __hash__(self) -> int:
        return hash(self._values())


@storable("PiecewiseLinear")
@dataclass(frozen=True, eq=False)
class PiecewiseLinear(_ByValue):
    """Input k of a column is the position of x within its bin k, ``clip((x - edge[k]) / (edge[k+1] - edge[k]), 0, 1)``.

    Column ``columns[c]`` has the edges ``edges[offsets[c]:offsets[c+1]]``, strictly increasing, and one bin less.

    Shapes: ``columns (m,)``, increasing; ``offsets (m + 1,)``; ``edges (offsets[-1],)``.
    """

    columns: Integers
    offsets: Integers
    edges: Float32

    def __post_init__(self) -> None:
        _check_columns(self.columns)
        vectors = self.offsets.ndim == self.edges.ndim == 1
        if (
            not vectors
            or len(self.offsets) != len(self.columns) + 1
            or self.offsets[[0, -1]].tolist() != [0, len(self.edges)]
        ):
            raise ValueError("offsets do not fit columns and edges")
        n_edges = np.diff(self.offsets)
        if len(self.columns) and not (n_edges.min() >= 2 and n_edges.max() <= MOST_BINS + 1):
            raise ValueError(
                f"a column has between 1 and {MOST_BINS} bins, got {int(n_edges.min()) - 1} to {n_edges.max() - 1}"
            )
        if not all((np.diff(edges) >= SMALLEST_GAP).all() for edges in self.edges_of_columns()):
            raise ValueError("the edges of a column must increase")  # this refuses NaN, too

    def edges_of_columns(self) -> list[Float32]:
        return np.split(self.edges, self.offsets[1:-1]) if len(self.columns) else []

    @property
    def n_entries(self) -> Integers:
        """Inputs that each encoded column adds. Shape: ``(m,)``."""
        return np.diff(self.offsets) - 1


@storable("Periodic")
@dataclass(frozen=True, eq=False)
class Periodic(_ByValue):
    """Inputs of a column are ``sin(2 pi f x)`` for every frequency f, then ``cos(2 pi f x)``.

    Shapes: ``columns (m,)``, increasing; ``frequencies (n,)``, in cycles per unit of x.
    """

    columns: Integers
    frequencies: Float32

    def __post_init__(self) -> None:
        _check_columns(self.columns)
        if self.frequencies.ndim != 1 or not len(self.frequencies) or not np.isfinite(self.frequencies).all():
            raise ValueError("there must be at least one frequency, and all must be finite")

    @property
    def n_entries(self) -> Integers:
        """Inputs that each encoded column adds. Shape: ``(m,)``."""
        return np.full(len(self.columns), 2 * len(self.frequencies), dtype=np.int32)


Encoding = PiecewiseLinear | Periodic


def _check_columns(columns: Integers) -> None:
    if columns.ndim != 1 or (len(columns) and (columns[0] < 0 or (np.diff(columns) <= 0).any())):
        raise ValueError("columns must be increasing and not negative")


def _distinct(ordered: Float32) -> Float32:
    return ordered[np.concatenate([[True], np.diff(ordered) >= SMALLEST_GAP])]


def _is_numeric(distinct: Float32) -> bool:
    return len(distinct) >= FEWEST_VALUES


def numeric_columns(X: Float32) -> Integers:
    """The columns that there is anything to encode of. Shape: X ``(n, k)``."""
    found = [column for column in range(X.shape[1]) if _is_numeric(_distinct(np.sort(X[:, column])))]
    return np.array(found, dtype=np.int32)


def learn_piecewise_linear(X: Float32, n_bins: int) -> PiecewiseLinear:
    """Quantiles of every numeric column as edges, the smallest and the largest value among them.

    Shape: X ``(n, k)``, the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.arange(9), np.arange(9) % 2, np.arange(9) % 3]).astype(np.float32)
    >>> encoding = learn_piecewise_linear(X, n_bins=4)
    >>> encoding.columns.tolist(), [edges.tolist() for edges in encoding.edges_of_columns()]
    ([0, 2], [[0.0, 2.0, 4.0, 6.0, 8.0], [0.0, 1.0, 2.0]])
    """
    edges = {column: _edges(X[:, column], n_bins) for column in range(X.shape[1])}
    found = {column: one for column, one in edges.items() if len(one) > 1}
    offsets = np.cumsum([0] + [len(one) for one in found.values()]).astype(np.int32)
    columns = np.array(list(found), dtype=np.int32)
    return PiecewiseLinear(columns, offsets, np.concatenate([np.empty(0, dtype=np.float32), *found.values()]))


def _edges(values: Float32, n_bins: int) -> Float32:
    """All values of a column that has few, else its quantiles, each once; nothing for a column that is not encoded."""
    ordered = np.sort(values)
    distinct = _distinct(ordered)
    if len(distinct) <= n_bins + 1:
        return distinct if _is_numeric(distinct) else distinct[:0]
    places = np.linspace(0, len(ordered) - 1, n_bins + 1)
    return _distinct(np.interp(places, np.arange(len(ordered)), ordered).astype(np.float32))


def learn_periodic(X: Float32, n_entries: int) -> Periodic:
    """Half as many frequencies as entries, from slow to fast in equal ratios; X is standardised.

    Shape: X ``(n, k)``, the training rows.
    """
    frequencies = np.geomspace(LOWEST_FREQUENCY, HIGHEST_FREQUENCY, max(1, n_entries // 2))
    return Periodic(numeric_columns(X), frequencies.astype(np.float32))
