"""From training rows to columns: what kind each one is, and what has to be remembered about it."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extranets._warnings import warn_user
from extranets.tables.columns import (
    KINDS,
    MOST_LEVELS,
    MOST_TEXT,
    OTHER,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
)
from extranets.tables.dates import ISO, ambiguous, date_formats, is_date_format, parse_dates, short_year_format
from extranets.tables.doubts import NEARLY_ALL, are_codes, doubt
from extranets.tables.errors import TableError, TableWarning, listed, near, shown
from extranets.tables.numbers import likely_styles, settled, signed_example
from extranets.tables.row_numbers import why_row_number
from extranets.tables.rows import Rows
from extranets.tables.values import STYLES, TEXT, as_text, is_text, parse_booleans, parse_numbers

ID_SHARE, ID_COUNT = 0.5, 100  # a column of text with more distinct values than both names the rows
FIRST = 200  # values that must all be truth values before the whole column is looked at
IGNORE = "ignore"
NUMBER_KINDS = [f"number:{style}" for style in STYLES]


class Dropped(Exception):
    """A column is not used; the message says why."""


def learn_columns(rows: Rows, kinds: dict[str, str], max_categories: int) -> tuple[list[Column], dict[str, str]]:
    """Columns that are used, and the reasons why others are not."""
    names = list(rows.frame.columns)
    _check_kinds(rows, kinds, names)
    columns, dropped = [], {}
    for name in names:
        try:
            columns.append(_learn(rows, name, kinds.get(name), max_categories))
        except Dropped as reason:
            dropped[name] = str(reason)
    return columns, dropped


def _check_kinds(rows: Rows, kinds: dict[str, str], names: list[str]) -> None:
    for name, kind in kinds.items():
        if name not in names:
            raise rows.source.error(f"kinds names the column {name!r}, which is not there{near(name, names)}.")
        if kind not in (*KINDS, IGNORE, *NUMBER_KINDS) and not kind.startswith("date:"):
            known = listed([*KINDS, "date:FORMAT", IGNORE, *NUMBER_KINDS])
            raise TableError(f"kinds[{name!r}] must be one of {known}; got {shown(kind)}.")
        if kind.startswith("date:") and not is_date_format(kind.removeprefix("date:")):
            example = "kinds={" + f"{name!r}: 'date:%d/%m/%Y'" + "}"
            raise rows.source.error(
                f"{shown(kind)} is not a format of dates; an example of one is {example}.", column=name
            )


def _learn(rows: Rows, name: str, kind: str | None, max_categories: int) -> Column:
    if kind == IGNORE:
        raise Dropped("kinds says so")
    values = rows.values(name)
    if values.null_count == len(values):
        raise Dropped("it holds no values")
    if kind is None:
        _drop_constant(values)
        kind = _guess(rows, name, values)
    if kind.startswith("date"):
        return _learn_date(rows, name, values, kind)
    if kind == "category":
        return _learn_category(name, values, max_categories)
    return _learn_boolean(rows, name, values) if kind == "boolean" else _learn_number(rows, name, values, kind)


def _drop_constant(values: pa.Array) -> None:
    if values.null_count == 0 and pc.count_distinct(values).as_py() == 1 and len(values) > 1:
        raise Dropped(f"it holds the same value in every row ({shown(values[0].as_py())})")


# -- guesses -----------------------------------------------------------------------------------------------------------


def _guess(rows: Rows, name: str, values: pa.Array) -> str:
    """The kind that a column looks like."""
    if pa.types.is_timestamp(values.type):
        return "date"
    if _are_truths(values):
        return "boolean"
    if not is_text(values.type) or _are_numbers(rows, name, values):
        _drop_row_numbers(rows, name, values)
        return "number"
    format = _date_format(rows, name, values)
    if format is not None:
        return f"date:{format}"
    _refuse_signs(rows, name, values)
    but = doubt(values)
    _drop_identifiers(name, values, but)
    if but:
        keep = asking(name, "category")
        warn_user(
            f"{rows.source.file}, column {name!r}: it is taken for categories, but {but}. If it holds categories: {keep}.",
            TableWarning,
        )
    return "category"


def _are_truths(values: pa.Array) -> bool:
    """Whether all values are true or false, yes or no, 1 or 0. Of a large column of other things, only the first are read."""
    return not any(parse_booleans(part)[1].any() for part in (values.slice(0, FIRST), values))


def _drop_row_numbers(rows: Rows, name: str, values: pa.Array) -> None:
    why = why_row_number(name, values)
    if why and rows.frame.shape[1] > 1:  # a table's only column is all that can be learned from
        raise Dropped(f"{why}; {asking(name, 'number')} keeps it")


def _are_numbers(rows: Rows, name: str, text: pa.Array) -> bool:
    numbers, bad = parse_numbers(text, likely_styles(text)[0])
    share = 1 - bad.sum() / (len(text) - text.null_count)
    if share < NEARLY_ALL or are_codes(text, numbers, bad):
        return False
    rows.refuse(
        bad, name, text, f"is not a number, as {_most(share)} values of the column are. {_advice(name, text, bad)}"
    )
    return True


def _date_format(rows: Rows, name: str, text: pa.Array) -> str | None:
    """How dates are written, if the column holds dates."""
    fitting, best, share = date_formats(text)
    two = ambiguous(fitting)
    if two is not None:
        day, month = two
        example = shown(text.drop_null()[0].as_py())
        raise rows.source.error(
            f"{example} may be a date with the day or with the month first. "
            f"{_either(name, f'date:{day}', f'date:{month}')}",
            column=name,
        )
    if not fitting and share >= NEARLY_ALL:
        bad = parse_dates(text, best)[1]
        rows.refuse(
            bad, name, text, f"is not a date, as {_most(share)} values of the column are. {_advice(name, text, bad)}"
        )
    return fitting[0] if fitting else None


def _most(share: float) -> str:
    return f"{100 * share:.4g} % of the" if share < 0.9999 else "nearly all"


def _advice(name: str, text: pa.Array, bad: Any) -> str:
    value = text[int(np.argmax(bad))].as_py()
    return (
        f"Mend it; or take it for a missing value: na_values=[{shown(value)}] (--na {shlex.quote(value)}); or take the column "
        f"for categories: {asking(name, 'category')}"
    )


def asking(name: str, kind: str) -> str:
    """How to ask for a kind, in Python and on the command line."""
    return f"kinds={{{name!r}: {kind!r}}} (--kind {shlex.quote(f'{name}={kind}')})"


def _either(name: str, kind: str, other: str) -> str:
    return f"Say which: {asking(name, kind)} or {asking(name, other)}."


def _refuse_signs(rows: Rows, name: str, text: pa.Array) -> None:
    example = signed_example(text)
    if example is not None:
        raise rows.source.error(
            f"{shown(example)} is a number with a sign of currency or percent, which is not read. Remove the sign from the "
            f"values; or take the column for categories: {asking(name, 'category')}.",
            column=name,
        )


def _drop_identifiers(name: str, text: pa.Array, but: str) -> None:
    distinct = pc.count_distinct(text).as_py()
    if distinct > ID_COUNT and distinct > ID_SHARE * len(text):
        format = short_year_format(text)
        looks, kind = (
            ("names or free text", "category") if format is None else ("dates with short years", f"date:{format}")
        )
        raise Dropped(
            f"it looks like {looks}: {distinct:,} different values in {len(text):,} rows; {asking(name, kind)} keeps it"
            + (f"; but {but}" if but else "")
        )


# -- what is remembered ------------------------------------------------------------------------------------------------


def _learn_number(rows: Rows, name: str, values: pa.Array, kind: str) -> NumberColumn:
    style = kind.partition(":")[2]
    styles = [style] if style else likely_styles(values)
    numbers, bad = parse_numbers(values, styles[0], rows.source.semicolons)
    rows.refuse(bad, name, values, f"is not a number, like {styles[0]}")
    style = settled(rows, name, values, styles, _either(name, f"number:{styles[0]}", f"number:{styles[-1]}"))
    if style != styles[0]:
        numbers = parse_numbers(values, style)[0]
    rows.refuse(np.isinf(numbers), name, values, "is infinite")
    known = numbers[~np.isnan(numbers)]
    median = _median(known)
    return NumberColumn(name, values.null_count, median, float(known.min()), float(known.max()), style)


def _median(known: Any) -> float:
    """The lower of the two values in the middle: it always occurs in the data, and cannot overflow as a mean of two could."""
    return float(np.partition(known, (len(known) - 1) // 2)[(len(known) - 1) // 2])


def _learn_boolean(rows: Rows, name: str, values: pa.Array) -> BooleanColumn:
    truths, bad = parse_booleans(values)
    rows.refuse(bad, name, values, "is neither true nor false")
    share = float(np.nanmean(truths))
    as_numbers = not pa.types.is_boolean(values.type) and not parse_numbers(values)[1].any()
    # The more frequent value; of equally frequent ones the smaller, which is also the median of a column of numbers.
    return BooleanColumn(name, values.null_count, float(share > 0.5), share, as_numbers)


def _learn_date(rows: Rows, name: str, values: pa.Array, kind: str) -> DateColumn:
    format = kind.partition(":")[2]
    if not format and not pa.types.is_timestamp(values.type):
        format = _date_format(rows, name, as_text(values)) or ISO
    format = format or ISO
    moments, bad = parse_dates(values, format)
    rows.refuse(bad, name, values, f"is not a date; give its format, such as kinds={{{name!r}: 'date:%d/%m/%Y'}}")
    known = np.sort(moments[~np.isnat(moments)])
    fill, first, last = (str(moment) for moment in (known[(len(known) - 1) // 2], known[0], known[-1]))
    has_time = bool((known != known.astype("datetime64[D]")).any())
    return DateColumn(name, values.null_count, fill, first, last, has_time, format)


def _learn_category(name: str, values: pa.Array, max_categories: int) -> CategoryColumn:
    """All values, the most frequent first; of equally frequent ones, those that come first in the alphabet."""
    counts = pc.value_counts(as_text(values).drop_null())
    table = pa.table({"text": counts.field("values"), "count": counts.field("counts")})
    table = table.filter(pc.not_equal(table["text"], pa.scalar(OTHER, TEXT)))
    longest = pc.max(pc.utf8_length(table["text"])).as_py()
    if longest is not None and longest > MOST_TEXT:
        raise Dropped(f"it holds texts of up to {longest:,} characters, too long for categories")
    order = table.sort_by([("count", "descending"), ("text", "ascending")])["text"].to_pylist()
    others = (
        len(order) < len(counts) or len(order) > MOST_LEVELS
    )  # the data have a value "(other)" already, or too many
    return CategoryColumn(
        name, values.null_count, tuple(order[:MOST_LEVELS]), None if others else (), len(order) > max_categories
    )
