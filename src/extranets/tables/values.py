"""Columns as Arrow arrays of few types, and text as numbers and truth values.

Missing values are nulls. What is parsed comes back as a NumPy array with a mask of the values that could not be read.

How numbers are written is a property of the column, found out once, from all training rows, and kept: what a cell means
never depends on the cells beside it. A style is named after how it writes a large number.

- ``1234.5`` and ``1234,5``: a decimal point or comma.
- ``1,234.5`` and ``1.234,5``: groups of three digits as well.
- ``1234``: no value in training had a point or a comma. New values may have a decimal point or comma. But a comma before three
  digits, as in ``1,250``, is not read, as it may divide thousands; nor is a point in a file with semicolons, where commas are
  decimal.

The style that reads most values of a column is taken. Two may read all of them: ``1.250`` is 1.25 or 1250. A point is then
decimal, except in a file with semicolons, where nobody can tell. A comma is then decimal in a file with semicolons; elsewhere
it divides thousands if another column has decimal points, and nobody can tell if none has. What nobody can tell is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow as pa
import pyarrow.compute as pc

from extranets._arrays import Array
from extranets.tables.errors import Source

Mask = npt.NDArray[np.bool_]
Parsed = tuple[Array, Mask]

TEXT = pa.large_string()  # 32-bit offsets would overflow at 2 GB of text
MOMENT = pa.timestamp("us")
LARGEST_WHOLE = 2.0**63  # whole doubles below it are whole numbers of 64 bits
WHOLE_DIGITS = 18  # that always fit into them
MISSING = "(missing)"  # the category of missing values, and so also a word for them

# fmt: off
MISSING_WORDS = (
    "", "NA", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "NULL", "null", "Null", "None", "none", "NaT", "<NA>",
    "?", "-", ".", MISSING,
)
# fmt: on
TRUE_WORDS = ("true", "yes", "y", "t", "1", "1.0")  # 1.0 is how pandas writes a 1 if the column has gaps
FALSE_WORDS = ("false", "no", "n", "f", "0", "0.0")

PLAIN, POINT, COMMA, POINT_GROUPED, COMMA_GROUPED = "1234", "1234.5", "1234,5", "1,234.5", "1.234,5"
_PATTERNS = {
    POINT: r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$",
    COMMA: r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$",
    POINT_GROUPED: r"^[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d*)?$",
    COMMA_GROUPED: r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d*)?$",
}
STYLES = (PLAIN, *_PATTERNS)
_DIVIDERS = {POINT_GROUPED: ",", COMMA_GROUPED: "."}


def column_values(column: pandas.Series, source: Source, na_values: Sequence[str] = ()) -> pa.Array:
    """A column as one Arrow array of whole numbers, doubles, truth values, moments or trimmed text; nulls where a value is missing."""
    array = as_arrow(column)
    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = pc.cast(array, kind.value_type), kind.value_type
    if pa.types.is_decimal(kind) and kind.scale <= 0 and kind.precision - kind.scale <= WHOLE_DIGITS:
        array, kind = pc.cast(array, pa.int64()), pa.int64()
    if pa.types.is_integer(kind):  # not as doubles, which cannot tell codes of more than 15 digits apart
        return null_numbers(array, na_values)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return null_numbers(pc.cast(array, pa.float64(), safe=False), na_values)
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return array
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _as_moments(array)
    if is_text(kind):
        return null_words(pc.utf8_trim_whitespace(pc.cast(array, TEXT)), (*MISSING_WORDS, *na_values))
    raise source.error(
        f"values of type {kind} cannot be used. Turn them into numbers or text; or leave the column out: "
        f"kinds={{{column.name!r}: 'ignore'}} (--kind {shlex.quote(f'{column.name}=ignore')}).",
        column=column.name,
    )


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def as_arrow(column: pandas.Series) -> pa.Array:
    """A column as one Arrow array of its own type."""
    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # objects of several types, as a spreadsheet has them
        array = pa.array(
            [None if absent else _written(value) for value, absent in zip(column, column.isna(), strict=True)], TEXT
        )
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _written(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_WHOLE
    return f"{value:.0f}" if whole else str(value)


def _as_moments(array: pa.Array) -> pa.Array:
    """Time zones end here: what is left is universal time, to the microsecond."""
    zoned = getattr(array.type, "tz", None) is not None  # a date has no zone
    return pc.cast(pc.cast(array, pa.timestamp("us", "UTC"), safe=False) if zoned else array, MOMENT, safe=False)


def null_words(text: pa.Array, words: Sequence[str]) -> pa.Array:
    """Null where the text is one of the words."""
    return null_where(text, pc.is_in(text, pa.array(words, text.type)))


def null_where(text: pa.Array, gone: pa.Array) -> pa.Array:
    """Null where ``gone`` is true or null. (Before Arrow 24 ``if_else`` with a null spoils slices of text.)"""
    return pc.replace_with_mask(text, gone, pa.scalar(None, text.type))


def null_numbers(numbers: pa.Array, words: Sequence[str]) -> pa.Array:
    """Null where a number is NaN or one that the words name, such as -999."""
    parsed, bad = parse_numbers(pa.array(list(words), TEXT))
    doubles = pc.cast(numbers, pa.float64(), safe=False)
    named = pc.is_in(doubles, pa.array(parsed[~bad]))
    return pc.if_else(pc.or_kleene(named, pc.is_nan(doubles)), pa.scalar(None, numbers.type), numbers)


def as_text(values: pa.Array) -> pa.Array:
    """Any column as text. Truth values are written as Python does, whole numbers without a point."""
    if pa.types.is_boolean(values.type):
        return pc.if_else(values, pa.scalar("True", TEXT), pa.scalar("False", TEXT))
    if pa.types.is_floating(values.type):  # Arrow writes 10000000000.0 as 1e+10
        whole = pc.and_(pc.equal(pc.floor(values), values), pc.less(pc.abs(values), LARGEST_WHOLE))
        digits = pc.cast(pc.if_else(whole, values, pa.scalar(None, values.type)), pa.int64())
        return pc.coalesce(pc.cast(digits, TEXT), pc.cast(values, TEXT))
    return pc.cast(values, TEXT)


# -- parsing -----------------------------------------------------------------------------------------------------------


def parse_numbers(values: pa.Array, style: str = POINT, semicolons: bool = False) -> Parsed:
    """Numbers as they are, truth values as 0 and 1, text by its digits, which are written in the given style.

    ``semicolons`` says that the values are those of a file with semicolons between its fields.
    """
    if pa.types.is_timestamp(values.type):
        return _nothing_parsed(values)
    if not is_text(values.type):
        return _floats(values), np.zeros(len(values), dtype=bool)
    return _parse_plain(values, semicolons) if style == PLAIN else _parse_styled(values, style)


def fitting_styles(text: pa.Array) -> list[str]:
    """The style that reads most values; and another one, if it reads as many but makes other numbers of them."""
    points, commas = _any_has(text, "."), _any_has(text, ",")
    likely = [POINT] + [COMMA, POINT_GROUPED] * commas + [COMMA_GROUPED] * points
    bad = {style: _unlike(text, _PATTERNS[style]).sum() for style in likely}
    fitting = [style for style in likely if bad[style] == min(bad.values())]
    return fitting if points or commas else [PLAIN]


def _parse_styled(text: pa.Array, style: str) -> Parsed:
    if style == POINT:
        try:
            return _floats(text), np.zeros(len(text), dtype=bool)
        except pa.ArrowInvalid:
            pass  # a value is not a number, or has a plus sign
    bad = _unlike(text, _PATTERNS[style])
    good = pc.replace_substring_regex(null_where(text, pa.array(bad)), r"^\+", "")
    if style in _DIVIDERS:
        good = pc.replace_substring(good, _DIVIDERS[style], "")
    return _floats(pc.replace_substring(good, ",", ".")), bad


def _parse_plain(text: pa.Array, semicolons: bool) -> Parsed:
    numbers, bad = _parse_styled(text, POINT)
    if bad.any():
        with_commas, still_bad = _parse_styled(text, COMMA)
        numbers, bad = np.where(bad, with_commas, numbers), bad & still_bad
    unclear = _mask(pc.match_substring_regex(text, rf"^[+-]?[1-9]\d{{0,2}}([{',.' if semicolons else ','}]\d{{3}})+$"))
    return numbers, bad | unclear


def parse_booleans(values: pa.Array) -> Parsed:
    """1 and 0 for true and false, for yes and no, for their first letters, and for themselves; in any case of letters."""
    if pa.types.is_timestamp(values.type):
        return _nothing_parsed(values)
    words = pc.utf8_lower(as_text(values))
    true = _mask(pc.is_in(words, pa.array(TRUE_WORDS, TEXT)))
    false = _mask(pc.is_in(words, pa.array(FALSE_WORDS, TEXT)))
    missing = _mask(pc.is_null(values))
    return np.where(true, 1.0, np.where(false, 0.0, np.nan)), ~(true | false | missing)


def _floats(values: pa.Array) -> Array:
    if pa.types.is_boolean(values.type):
        values = pc.cast(values, pa.uint8())
    # Whole numbers of more than 15 digits are rounded; text is checked either way.
    return np.asarray(pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _any_has(text: pa.Array, sign: str) -> bool:
    return bool(pc.any(pc.match_substring(text, sign)).as_py())


def _unlike(text: pa.Array, pattern: str) -> Mask:
    return _mask(pc.invert(pc.match_substring_regex(text, pattern)))


def _mask(values: pa.Array) -> Mask:
    return np.asarray(pc.fill_null(values, False).to_numpy(zero_copy_only=False), dtype=bool)


def _nothing_parsed(values: pa.Array) -> Parsed:
    return np.full(len(values), np.nan), _mask(pc.is_valid(values))
