"""The rows that networks are trained on: converted to the engines' types and checked once, so that no engine does it again."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets._arrays import Float32
from extranets.networks import Members

LARGEST_COUNT = np.iinfo(np.uint16).max
MOST_ROWS = 2**32 - 1  # rows are numbered in 32 bits


@dataclass(frozen=True, init=False, eq=False)
class TrainingData:
    """Rows for training, and which of them each member sees.

    Any array or list of numbers is taken; what is float32 and contiguous already is not copied.

    Parameters
    ----------
    X : array of shape (n, k)
        Inputs, finite.
    y : array of shape (n, n_outputs) or (n,)
        Targets, finite; one axis means one output.
    weight : array of shape (n,), optional
        Sample weights, finite and not negative. None: all ones.
    counts : integer array of shape (n_samples_drawn, n), optional
        How often each row stands in a sample: bootstrap counts, or 0 for the rows of a held-out fold.
    count_rows : integer array of shape (n_members,), optional
        Which row of ``counts`` a member trains on; -1 means every row once.
    adversarial : array of shape (k,), optional
        Adversarial training (Lakshminarayanan et al., 2017): every row of a mini-batch joins it a second time, each
        input moved by this step, in the units of ``X``, to where the row's loss grows.

    Attributes
    ----------
    X, y, weight, adversarial : contiguous float32 arrays, y with two axes
    counts : contiguous uint16 array
    count_rows : contiguous int32 array

    Raises
    ------
    ValueError
        Names the argument that cannot be used.

    Examples
    --------
    >>> data = TrainingData([[0, 1], [2, 3], [4, 5]], [1, 2, 3], counts=[[2, 0, 1]], count_rows=[0, -1])
    >>> data.X.dtype, data.y.shape, data.weight
    (dtype('float32'), (3, 1), None)
    """

    X: Float32
    y: Float32
    weight: Float32 | None
    counts: npt.NDArray[np.uint16] | None
    count_rows: npt.NDArray[np.int32] | None
    adversarial: Float32 | None

    def __init__(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        weight: npt.ArrayLike | None = None,
        *,
        counts: npt.ArrayLike | None = None,
        count_rows: npt.ArrayLike | None = None,
        adversarial: npt.ArrayLike | None = None,
    ) -> None:
        table = _table(X)
        n, k = table.shape
        samples = None if counts is None else _counts(counts, n)
        converted = {
            "X": table,
            "y": _targets(y, n),
            "weight": None if weight is None else _not_negative("weight", weight, n, "row"),
            "counts": samples,
            "count_rows": _count_rows(count_rows, samples),
            "adversarial": None if adversarial is None else _not_negative("adversarial", adversarial, k, "column of X"),
        }
        for name, value in converted.items():
            object.__setattr__(self, name, value)

    def row_counts(self, sample: int) -> npt.NDArray[np.integer]:
        """How often each row stands in ``sample``, which is a row of ``counts``, or -1 for every row once. Shape: ``(n,)``."""
        return np.ones(len(self.X), dtype=int) if self.counts is None or sample < 0 else self.counts[sample]

    def of_members(self, some: slice | npt.NDArray[np.intp]) -> TrainingData:
        """The data for some of the members of a call: the same rows, and these members' entries of ``count_rows``."""
        part = copy.copy(self)
        if self.count_rows is not None:
            object.__setattr__(part, "count_rows", self.count_rows[some])
        return part

    def check_members(self, members: Members) -> None:
        """Raise ValueError unless these members can be trained on these rows."""
        a = members.architecture
        for name, array, n in (("X", self.X, a.n_inputs), ("y", self.y, a.n_outputs)):
            fits = array.shape[1] == n
            require(fits, f"{name} has the wrong number of columns: the networks have {n}, got {array.shape[1]}")
        fits = self.count_rows is None or len(self.count_rows) == len(members)
        require(fits, f"count_rows must have one entry for each of {len(members)} members")


def float32(values: npt.ArrayLike) -> Float32:
    """A contiguous array of the type in which networks read and write."""
    return np.ascontiguousarray(values, dtype=np.float32)


def require(condition: bool, message: str) -> None:
    """Raise ValueError unless the condition holds."""
    if not condition:
        raise ValueError(message)


def _numbers(name: str, values: npt.ArrayLike) -> Float32:
    try:
        with np.errstate(over="ignore"):  # too large becomes infinite
            return float32(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from None


def _is_finite(values: Float32) -> bool:
    """By the smallest and the largest value, of which NaN is both: a mask would take a quarter of the table's memory."""
    return bool(np.isfinite(values.min()) and np.isfinite(values.max()))


def _table(X: npt.ArrayLike) -> Float32:
    table = _numbers("X", X)
    require(table.ndim == 2, f"X must have two axes, got shape {table.shape}")
    require(1 <= len(table) <= MOST_ROWS, f"X must have at least one row and at most {MOST_ROWS:,}")
    require(table.shape[1] >= 1, "X must have at least one column")
    require(_is_finite(table), "X must be finite in float32")
    return table


def _targets(y: npt.ArrayLike, n_rows: int) -> Float32:
    targets = _numbers("y", y)
    targets = targets[:, None] if targets.ndim == 1 else targets
    require(targets.ndim == 2, f"y must have one axis or two, got shape {targets.shape}")
    require(len(targets) == n_rows, f"X and y must have the same number of rows, got {n_rows} and {len(targets)}")
    require(targets.shape[1] >= 1, "y must have at least one column")
    require(_is_finite(targets), "y must be finite in float32")
    return targets


def _not_negative(name: str, values: npt.ArrayLike, n: int, of: str) -> Float32:
    """One number for each row or column."""
    numbers = _numbers(name, values)
    require(numbers.shape == (n,), f"{name} must have one entry for each {of}, shape ({n},), got {numbers.shape}")
    require(bool(_is_finite(numbers) and numbers.min() >= 0), f"{name} must be finite and not negative")
    return numbers


def _integers(name: str, values: npt.ArrayLike) -> npt.NDArray[np.integer]:
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of unequal lengths
        raise ValueError(f"{name} must be an array of integers: {error}") from None
    require(array.dtype.kind in "biu" or array.size == 0, f"{name} must hold integers, got {array.dtype}")
    return array


def _counts(counts: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.uint16]:
    array = _integers("counts", counts)
    fits = array.ndim == 2 and array.shape[1] == n_rows
    require(fits, f"counts must have one column for each row of X, shape (n_samples, {n_rows}), got {array.shape}")
    within = array.size == 0 or (array.min() >= 0 and array.max() <= LARGEST_COUNT)
    require(bool(within), f"counts must lie between 0 and {LARGEST_COUNT}")
    return np.ascontiguousarray(array, dtype=np.uint16)


def _count_rows(
    count_rows: npt.ArrayLike | None, counts: npt.NDArray[np.uint16] | None
) -> npt.NDArray[np.int32] | None:
    if count_rows is None:
        require(counts is None, "counts needs count_rows, which says who trains on which sample")
        return None
    array = _integers("count_rows", count_rows)
    require(array.ndim == 1, f"count_rows must have one axis, got shape {array.shape}")
    n_samples = 0 if counts is None else len(counts)
    within = array.size == 0 or (array.min() >= -1 and array.max() < n_samples)
    require(bool(within), f"count_rows points outside counts: entries must be -1, or rows of {n_samples} samples")
    if counts is not None:
        drawn = np.unique(array[array >= 0])
        require(all(counts[sample].any() for sample in drawn), "count_rows names a sample without rows")
    return np.ascontiguousarray(array, dtype=np.int32)
