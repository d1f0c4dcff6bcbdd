"""What one pass over a table tells about its columns: exactly what can be counted, and the rest from rows that were drawn at random.

Kinds of columns are guessed from the drawn rows, by the rules for tables in memory. Counted in all rows are gaps, categories with how often
they occur (up to 100,000 of a column), whether a column is constant, and whether it numbers the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.compute as pc

from extranets.tables.columns import MOST_CATEGORIES, OTHER, CategoryColumn, Column
from extranets.tables.doubts import doubt
from extranets.tables.errors import Source
from extranets.tables.learning import ID_COUNT, ID_SHARE, IGNORE, asking
from extranets.tables.row_numbers import why_row_number
from extranets.tables.rows import Rows
from extranets.tables.schema import Schema
from extranets.tables.values import as_text, is_text

MOST_COUNTED = 100_000  # categories of a column
FIRST = 1000  # values of a column that tell whether it may number the rows


@dataclass
class Survey:
    """What is known of one column after some blocks."""

    name: str
    counted: bool  # whether it is known to hold categories, whatever it looks like
    n: int = 0
    n_missing: int = 0
    holds: str = ""  # numbers, text, ...
    seen_in: str = ""
    constant: bool = True
    numbers_rows: bool = True
    counts: dict[str, int] | None = field(default_factory=dict)  # None: too many
    first: pa.Array | None = None  # values

    def add(self, values: pa.Array, source: Source) -> None:
        """The next block."""
        self._check_type(values, source)
        known = values.drop_null()
        if self.first is None:
            self.first = values.slice(0, FIRST)
        self.constant = self.constant and self._goes_on_constant(known)
        self.numbers_rows = self.numbers_rows and self._goes_on_counting(values)
        if self.counts is not None and (self.counted or is_text(values.type)):
            self._count(known)
        self.n += len(values)
        self.n_missing += values.null_count

    def _check_type(self, values: pa.Array, source: Source) -> None:
        holds = _what_it_holds(values)
        if holds and self.holds and holds != self.holds:
            there = "above" if source.file == self.seen_in else f"in {self.seen_in}"
            raise source.error(
                f"it holds {holds}, but {self.holds} {there}. Write the column in one way in the whole table.",
                column=self.name,
            )
        if holds and not self.holds:
            self.holds, self.seen_in = holds, source.file

    def _goes_on_constant(self, known: pa.Array) -> bool:
        if self.n_missing + len(known) == 0:
            return True
        first = self.first.drop_null() if self.first is not None else known
        if not len(first) or not len(known):
            return len(known) == 0 and self.n == 0
        return bool(pc.all(pc.equal(known, first[0])).as_py())

    def _goes_on_counting(self, values: pa.Array) -> bool:
        if values.null_count or not len(values) or self.first is None or self.first.null_count:
            return False
        if not pa.types.is_integer(values.type) and not (
            is_text(values.type) and why_row_number("unnamed: 0", values.slice(0, 2))
        ):
            return False
        try:
            numbers = pc.cast(values, pa.int64()).to_numpy(zero_copy_only=False)
            begin = pc.cast(self.first, pa.int64())[0].as_py()
        except pa.ArrowInvalid:
            return False
        return bool((numbers == begin + self.n + np.arange(len(numbers))).all())

    def _count(self, known: pa.Array) -> None:
        assert self.counts is not None
        found = pc.value_counts(as_text(known))
        texts, numbers = found.field("values").to_pylist(), found.field("counts").to_pylist()
        for text, number in zip(texts, numbers, strict=True):
            self.counts[text] = self.counts.get(text, 0) + number
        if len(self.counts) > MOST_COUNTED:
            self.counts = None

    @property
    def why_row_number(self) -> str:
        """As for tables in memory; empty if nothing suggests it."""
        assert self.first is not None
        return why_row_number(self.name, self.first) if self.numbers_rows else ""

    def is_of_categories(self, drawn: pa.Array) -> bool:
        """Whether it only looks like names or free text because so few rows were drawn."""
        n_drawn = pc.count_distinct(drawn).as_py()
        looks_free = is_text(drawn.type) and n_drawn > ID_COUNT and n_drawn > ID_SHARE * len(drawn) and not doubt(drawn)
        return looks_free and self.counts is not None and len(self.counts) <= ID_SHARE * self.n

    def completed(self, column: Column, max_categories: int) -> Column:
        """What was learned from drawn rows, with what all rows say."""
        column = replace(column, n_missing=self.n_missing)
        if not isinstance(column, CategoryColumn):
            return column
        if self.counts is None:
            return replace(column, rare=None)
        order = sorted((text for text in self.counts if text != OTHER), key=lambda text: (-self.counts[text], text))  # type: ignore[index]
        learned = len(order) > max_categories
        if learned or len(order) > MOST_CATEGORIES:  # effects are learned from drawn rows
            complete = set(order) == set(column.categories)
            return replace(column, learned=learned, rare=column.rare if complete else None)
        return replace(column, categories=tuple(order), learned=False, rare=None if OTHER in self.counts else ())


def _what_it_holds(values: pa.Array) -> str:
    if values.null_count == len(values):
        return ""
    if is_text(values.type):
        return "text"
    if pa.types.is_timestamp(values.type):
        return "dates"
    return "truth values" if pa.types.is_boolean(values.type) else "numbers"


def survey_block(surveys: Mapping[str, Survey], frame: pandas.DataFrame, na_values: Sequence[str]) -> None:
    """One block of all columns."""
    rows = Rows(frame, na_values)
    for name, survey in surveys.items():
        survey.add(rows.values(name), rows.source)


def learn_schema(
    surveys: Mapping[str, Survey],
    drawn: pandas.DataFrame,
    kinds: Mapping[str, str] | None,
    max_categories: int,
    na_values: Sequence[str],
) -> Schema:
    """The schema of a table, from drawn rows and from what was counted in all rows."""
    how: dict[str, Any] = {"max_categories": max_categories, "na_values": na_values}
    given, why = dict(kinds or {}), {}
    for name in surveys.keys() - given.keys() if len(surveys) > 1 else ():
        if surveys[name].why_row_number:
            why[name] = f"{surveys[name].why_row_number}; {asking(name, 'number')} keeps it"
    own = {**given, **dict.fromkeys(why, IGNORE)}
    found, rows = Schema.learn(drawn, own, **how), Rows(drawn, na_values)
    of_categories = [n for n in found.dropped.keys() - own.keys() if surveys[n].is_of_categories(rows.values(n))]
    if of_categories:
        found = Schema.learn(drawn, {**own, **dict.fromkeys(of_categories, "category")}, **how)
    columns = tuple(surveys[column.name].completed(column, max_categories) for column in found.columns)
    for name in found.dropped.keys() - own.keys():
        if not surveys[name].constant and "the same value in every row" in found.dropped[name]:
            why[name] = (
                f"all but a few of its values are the same: in {len(drawn):,} rows that were drawn at random, all are"
            )
        if surveys[name].n_missing < surveys[name].n and found.dropped[name] == "it holds no values":
            why[name] = f"it holds hardly any values: in {len(drawn):,} rows that were drawn at random, none"
    return Schema(columns, found.na_values, {**found.dropped, **why})
