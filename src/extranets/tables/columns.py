"""What is learned about one column, and how its values are read later. One class for each kind of column.

A column may also come from a model file that nobody vouches for, so every class checks its own fields.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from extranets._arrays import Array
from extranets.tables.dates import ISO, Moments, is_date_format, parse_dates
from extranets.tables.errors import TableError, listed
from extranets.tables.rows import Rows
from extranets.tables.values import (
    MISSING,
    PLAIN,
    POINT,
    STYLES,
    TEXT,
    Mask,
    Parsed,
    as_text,
    parse_booleans,
    parse_numbers,
)

OTHER = "(other)"  # the category of all values that have no input of their own
MOST_TEXT = 10_000  # characters of a name or a category
MOST_CATEGORIES = 10_000  # with a feature each
MOST_LEVELS = 1_000_000  # that share a few features


def require(holds: object, name: Any, what: str) -> None:
    if not holds:
        raise TableError(f"The description of column {str(name)[:100]!r} is not valid: {what}.")


@dataclass(frozen=True)
class Column(ABC):
    """A feature: its name, and how many of its values were missing in training."""

    kind: ClassVar[str]
    name: str
    n_missing: int

    def __post_init__(self) -> None:
        valid = isinstance(self.name, str) and len(self.name) <= MOST_TEXT
        require(valid, self.name, "its name is not a text")
        counts = (
            isinstance(self.n_missing, int) and not isinstance(self.n_missing, bool) and 0 <= self.n_missing < 2**63
        )
        require(counts, self.name, "n_missing is not a count")

    @property
    def chosen_kind(self) -> str:
        """As in the argument ``kinds`` of ``Schema.learn``."""
        return self.kind

    @property
    def missing(self) -> bool:
        """Whether values were missing in training, so that the networks have learned what a missing value means."""
        return self.n_missing > 0

    def read(self, rows: Rows) -> npt.NDArray[Any]:
        """Values of this column's type: numbers, moments or categories. Refuses what cannot be read, by row."""
        values = rows.values(self.name)
        if values.null_count and not self.missing:
            rows.note_filled(self.name, np.asarray(pc.is_null(values)), self.without_value())
        return self._read(values, rows)

    @abstractmethod
    def _read(self, values: pa.Array, rows: Rows) -> npt.NDArray[Any]: ...

    @abstractmethod
    def described(self) -> str:
        """The values in a few words."""

    @abstractmethod
    def without_value(self) -> str:
        """In words, what stands in for a missing value that training did not have."""


@dataclass(frozen=True)
class _Numeric(Column):
    """Numbers and truth values: ``fill`` stands in for missing values."""

    fill: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_number(self.fill, self.name, "fill")


@dataclass(frozen=True)
class NumberColumn(_Numeric):
    """Numbers. ``low`` and ``high`` are the extremes of the training rows; ``fill`` is their median.

    ``style`` is how text is read.
    """

    kind: ClassVar[str] = "number"
    low: float
    high: float
    style: str = POINT

    @property
    def chosen_kind(self) -> str:
        return f"{self.kind}:{self.style}"

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_number(self.low, self.name, "low")
        _require_number(self.high, self.name, "high")
        require(self.style in STYLES, self.name, f"style must be one of {listed(STYLES)}")

    def _read(self, values: pa.Array, rows: Rows) -> Array:
        numbers, bad = parse_numbers(values, self.style, rows.source.semicolons)
        rows.refuse(bad, self.name, values, f"is not a number like {self.style}, as in training; write it so")
        rows.refuse(np.isinf(numbers), self.name, values, "is infinite")
        return numbers

    def described(self) -> str:
        return f"{self.low:g} to {self.high:g}"

    def without_value(self) -> str:
        return f"{self.fill:g}, the median"


@dataclass(frozen=True)
class BooleanColumn(_Numeric):
    """Truth values, as 0 and 1. ``share`` of the training rows are true; ``fill`` is the more frequent one.

    ``as_numbers`` says that training wrote them as 0 and 1. Another number in a new row is then that number.
    """

    kind: ClassVar[str] = "boolean"
    share: float
    as_numbers: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_number(self.share, self.name, "share")
        require(
            self.fill in (0.0, 1.0) and 0 <= self.share <= 1, self.name, "fill must be 0 or 1, and share between them"
        )
        require(isinstance(self.as_numbers, bool), self.name, "as_numbers must be true or false")

    def _read(self, values: pa.Array, rows: Rows) -> Array:
        truths, bad = parse_booleans(values)
        if self.as_numbers and bad.any():
            truths, bad = self._with_numbers(truths, bad, values, rows)
        rows.refuse(bad, self.name, values, "is neither true nor false")
        return truths

    def _with_numbers(self, truths: Array, others: Mask, values: pa.Array, rows: Rows) -> Parsed:
        """A few rows may hold only 0 and 1 of a column that counts something: then 2 is no reason to stop."""
        numbers, bad = parse_numbers(values, PLAIN, rows.source.semicolons)
        rows.refuse(np.isinf(numbers), self.name, values, "is infinite")
        rows.note_new_categories(self.name, as_text(values), others & ~bad, "the numbers that they are")
        return np.where(others, numbers, truths), others & bad

    def described(self) -> str:
        return f"{100 * self.share:.0f} % true"

    def without_value(self) -> str:
        return "true" if self.fill else "false"


@dataclass(frozen=True)
class DateColumn(Column):
    """Moments. ``first``, ``last`` and ``fill``, their median, are ISO texts; ``format`` is how text is read."""

    kind: ClassVar[str] = "date"
    fill: str
    first: str
    last: str
    has_time: bool
    format: str = ISO

    @property
    def chosen_kind(self) -> str:
        return self.kind if self.format == ISO else f"{self.kind}:{self.format}"

    def __post_init__(self) -> None:
        super().__post_init__()
        for moment in (self.fill, self.first, self.last):
            require(_is_moment(moment), self.name, "fill, first and last must be dates")
        require(isinstance(self.has_time, bool), self.name, "has_time must be true or false")
        valid = isinstance(self.format, str) and len(self.format) <= 100
        require(valid and is_date_format(self.format), self.name, "format must be one of dates")

    def _read(self, values: pa.Array, rows: Rows) -> Moments:
        moments, bad = parse_dates(values, self.format)
        written = "ISO 8601, such as 2024-12-31" if self.format == ISO else self.format
        rows.refuse(bad, self.name, values, f"is not a date (written as {written})")
        return moments

    def described(self) -> str:
        return f"{self._shown(self.first)} to {self._shown(self.last)}"

    def without_value(self) -> str:
        return f"{self._shown(self.fill)}, the median"

    def _shown(self, moment: str) -> str:
        return moment[:16].replace("T", " ") if self.has_time else moment[:10]


@dataclass(frozen=True)
class CategoryColumn(Column):
    """Texts, the most frequent first. Each of ``categories`` is a level of its own; all others share one.

    A level is a feature of its own or, with ``learned``, gets a few numbers that are learned from the target
    (:class:`extranets.tables.levels.LevelEffects`).

    ``rare`` holds the others that training had; None if they are not remembered. Only files of earlier versions list any.
    """

    kind: ClassVar[str] = "category"
    categories: tuple[str, ...]
    rare: tuple[str, ...] | None = ()
    learned: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isinstance(self.learned, bool), self.name, "learned must be true or false")
        most = MOST_LEVELS if self.learned else MOST_CATEGORIES
        for texts in (self.categories, () if self.rare is None else self.rare):
            valid = isinstance(texts, tuple) and all(isinstance(text, str) and len(text) <= MOST_TEXT for text in texts)
            require(valid and len(texts) <= most, self.name, "categories must be a limited number of short texts")
        every = (*self.categories, *(self.rare or ()))
        require(len(set(every)) == len(every), self.name, "a category is there twice")
        require(not {OTHER, MISSING} & set(every), self.name, f"{OTHER} and {MISSING} must not be among the categories")
        require(self.encoded, self.name, "there are no categories")

    @property
    def has_other(self) -> bool:
        return self.rare != ()

    @property
    def encoded(self) -> tuple[str, ...]:
        """All values that the networks know, in the order of their features."""
        return (*self.categories, *([OTHER] if self.has_other else []), *([MISSING] if self.missing else []))

    def _read(self, values: pa.Array, rows: Rows) -> npt.NDArray[np.object_]:
        text = as_text(values)
        known = pa.array(self.categories, TEXT)
        others = np.asarray(pc.and_(pc.is_valid(text), pc.invert(pc.is_in(text, known))))
        if self.rare is not None and others.any():
            new = others & ~np.asarray(pc.is_in(text, pa.array(self.rare, TEXT)))
            taken_as = repr(OTHER) if self.has_other else self.without_value()
            rows.note_new_categories(self.name, text, new, taken_as)
        # the code -1 is the last entry, (missing)
        codes = pc.fill_null(pc.index_in(text, known), -1).to_numpy(zero_copy_only=False).copy()
        codes[others] = len(self.categories)
        return np.array([*self.categories, OTHER, MISSING], dtype=object)[codes]

    def described(self) -> str:
        if self.learned:
            return f"{len(self.categories):,}, given as a few numbers each, learned from the target"
        rest = " most frequent, the others share an input" if self.has_other else ""
        return f"{len(self.categories)}{rest}: {listed(self.categories, most=4)}"

    def without_value(self) -> str:
        return "an average value" if self.learned else "none of the known values"


KINDS: dict[str, type[Column]] = {
    cls.kind: cls for cls in (NumberColumn, BooleanColumn, DateColumn, CategoryColumn)
}  # fmt: skip


def _require_number(value: Any, name: str, field: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    require(number and abs(value) <= sys.float_info.max, name, f"{field} must be a finite number")


def _is_moment(text: Any) -> bool:
    if not isinstance(text, str) or len(text) > 40:
        return False
    try:
        moment = np.datetime64(text, "us")
    except ValueError:
        return False
    return bool(np.datetime64("0001-01-01") <= moment <= np.datetime64("9999-12-31T23:59:59.999999"))
