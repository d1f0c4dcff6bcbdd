"""Which rows are held out together: at random, whole groups, or blocks of time that only look back."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from extranets._arrays import refuse_masked
from extranets._random import Purpose, generator

Integers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Parting:
    """What rows have in common when they are parted into folds.

    Shape: ``number (n,)``: of each row's group, or the rank of its time, the earliest first; equal times have equal ranks.
    """

    kind: Literal["groups", "time"]
    number: Integers

    @classmethod
    def of(cls, groups: Any, time: Any, n_rows: int) -> Parting | None:
        """What users give, checked; None where neither is given. Shapes: ``(n_rows,)``."""
        if groups is not None and time is not None:
            raise ValueError(
                "Give groups or time, not both: rows are held out as whole groups, or as blocks of time. For groups in time "
                "order, give time."
            )
        if groups is not None:
            return cls("groups", numbered_groups(groups, n_rows))
        return None if time is None else cls("time", time_ranks(time, n_rows))

    @property
    def looks_back(self) -> bool:
        """Whether networks see nothing that is later than the rows that they are judged by."""
        return self.kind == "time"

    def part(self, rows: npt.NDArray[np.bool_] | Integers) -> Parting:
        return Parting(self.kind, self.number[rows])

    def check(self) -> Parting:
        """Refuse rows that cannot be parted."""
        if len(np.unique(self.number)) < 2:
            what = "two groups" if self.kind == "groups" else "two different times"
            raise ValueError(f"{self.kind} must have at least {what} among the rows that are used; there is only one.")
        return self


def fold_of_row(n_rows: int, n_folds: int, seed: int, parting: Parting | None = None) -> Integers:
    """The fold in which each row is held out; -1 for the earliest block of time, which never is. Fewer folds where they must be.

    Shape: -> ``(n_rows,)``.
    """
    if parting is None:
        return generator(seed, Purpose.ROWS).permutation(n_rows) % min(n_folds, n_rows)
    if parting.looks_back:
        return blocks_of_time(parting.number, n_folds)
    return whole_groups(parting.number, n_folds, seed)


def whole_groups(number: Integers, n_folds: int, seed: int) -> Integers:
    """Folds as equal as whole groups allow: the largest groups first, each into the fold with the fewest rows. Shape: ``(n,)``.

    Examples
    --------
    >>> sizes = np.bincount(whole_groups(np.repeat(np.arange(4), [5, 1, 2, 2]), 2, seed=0))
    >>> sizes.tolist()
    [5, 5]
    """
    _, group, sizes = np.unique(number, return_inverse=True, return_counts=True)
    drawn = generator(seed, Purpose.ROWS).permutation(len(sizes))
    fold_of_group = np.empty(len(sizes), dtype=np.intp)
    held = np.zeros(min(n_folds, len(sizes)), dtype=np.intp)
    for each in drawn[np.argsort(-sizes[drawn], kind="stable")]:
        fold_of_group[each] = np.argmin(held)
        held[fold_of_group[each]] += sizes[each]
    return fold_of_group[group]


def blocks_of_time(rank: Integers, n_folds: int) -> Integers:
    """``n_folds + 1`` blocks as equal as whole times allow. Fold 0 is the latest; the earliest block is -1. Shape: ``(n,)``.

    Examples
    --------
    >>> blocks_of_time(np.array([5, 0, 1, 1, 3, 4]), 2).tolist()
    [0, -1, 1, 1, 1, 0]
    """
    n = len(rank)
    ordered = np.sort(rank)
    borders = np.flatnonzero(np.diff(ordered)) + 1  # where another time begins
    wanted = np.arange(1, n_folds + 1) * n / (n_folds + 1)
    firsts = np.unique(borders[np.abs(borders[:, None] - wanted).argmin(axis=0)])
    block = np.searchsorted(ordered[firsts], rank, side="right")
    return np.where(block > 0, len(firsts) - block, -1)


def held_share(parting: Parting, fraction: float, seed: int) -> npt.NDArray[np.bool_]:
    """Random groups, or the latest times, with about a share of the rows: at least one of them, and not all. Shape: ``(n,)``.

    Examples
    --------
    >>> held_share(Parting("time", np.array([3, 0, 1, 2, 2])), 0.5, seed=0).tolist()
    [True, False, False, True, True]
    """
    _, number = np.unique(parting.number, return_inverse=True)
    n_parts = int(number.max()) + 1
    order = n_parts - 1 - np.arange(n_parts)  # the latest first
    if not parting.looks_back:
        order = generator(seed, Purpose.ROWS).permutation(n_parts)
    held = np.cumsum(np.bincount(order[number]))[:-1]
    n_held = np.abs(held - fraction * len(number)).argmin()
    return np.asarray(order[number] <= n_held)


# -- what users give ---------------------------------------------------------------------------------------------------


def numbered_groups(groups: Any, n_rows: int) -> Integers:
    """Numbers of groups that may be named by anything. Shape: ``(n_rows,)``."""
    numbers: dict[Any, int] = {}
    named = _named(groups, n_rows)
    return np.fromiter((numbers.setdefault(value, len(numbers)) for value in named), dtype=np.intp, count=n_rows)


def group_names(groups: Any, n_rows: int) -> list[str]:
    """Names of groups as texts, so that they are known again whether a table has them as numbers or as texts.

    Examples
    --------
    >>> group_names(np.array([1.0, 2.5]), 2), group_names(["1", True], 2)
    (['1', '2.5'], ['1', 'True'])
    """
    return [_as_text(value) for value in _named(groups, n_rows)]


def _as_text(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _named(groups: Any, n_rows: int) -> list[Any]:
    """What users give, checked."""
    values: list[Any] = _column(groups, "groups", n_rows).tolist()
    for row, value in enumerate(values):
        if value is None or value != value or str(value) == "<NA>":
            raise ValueError(f"groups has no value in row {row}; fill it in, or leave the row out.")
    return values


def time_ranks(time: Any, n_rows: int) -> Integers:
    """Ranks of numbers, dates, or texts such as 2024-05-31. Shape: ``(n_rows,)``."""
    values = _column(time, "time", n_rows)
    if values.dtype.kind not in "biufM":
        values = _as_dates(time, values)
    missing = np.isnat(values) if values.dtype.kind == "M" else ~np.isfinite(values)
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise ValueError(f"time has no value in row {row} ({values[row]}); fill it in, or leave the row out.")
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def _as_dates(given: Any, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns of time zones, which it takes as they are meant
            return np.asarray(given, dtype="datetime64[us]")
    except (TypeError, ValueError):
        raise ValueError(
            "time must hold numbers, dates, or texts such as 2024-05-31 that can be put in order; for other texts, see "
            "pandas.to_datetime."
        ) from None


def _column(given: Any, name: str, n_rows: int) -> npt.NDArray[Any]:
    refuse_masked(given, name)
    values = np.asarray(given)
    if values.shape != (n_rows,):
        raise ValueError(f"{name} must have one value for each of the {n_rows} rows; its shape is {values.shape}.")
    return values
