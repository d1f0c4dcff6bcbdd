"""Columns as Arrow arrays of few types, and text as numbers and truth values.

Missing values are nulls. What is parsed comes back as a NumPy array with a mask of the values that could not be read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow as pa
import pyarrow.compute as pc

from extranets.tables.errors import Source

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Parsed = tuple[Floats, Mask]

TEXT = pa.large_string()  # 32-bit offsets would overflow at 2 GB of text
MOMENT = pa.timestamp("us")
MISSING = "(missing)"  # the category that stands for no value, and so also a word for it

# fmt: off
MISSING_WORDS = (
    "", "NA", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "NULL", "null", "Null", "None", "none", "NaT", "<NA>",
    "?", "-", ".", MISSING,
)
# fmt: on
TRUE_WORDS = ("true", "yes", "y", "t", "1")
FALSE_WORDS = ("false", "no", "n", "f", "0")

POINT_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
COMMA_NUMBER = r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$"


def column_values(column: pandas.Series, source: Source, na_values: Sequence[str] = ()) -> pa.Array:
    """A column as one Arrow array of doubles, truth values, moments or trimmed text; nulls where a value is missing."""
    array = as_arrow(column)
    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = pc.cast(array, kind.value_type), kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return null_numbers(pc.cast(array, pa.float64(), safe=False), na_values)
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return array
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _as_moments(array)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return null_words(pc.utf8_trim_whitespace(pc.cast(array, TEXT)), (*MISSING_WORDS, *na_values))
    raise source.error(f"values of type {kind} cannot be used; turn them into numbers or text.", column=column.name)


def as_arrow(column: pandas.Series) -> pa.Array:
    """A column as one Arrow array of its own type."""
    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # objects of several types, as a spreadsheet has them
        array = pa.array(
            [None if absent else str(value) for value, absent in zip(column, column.isna(), strict=True)], TEXT
        )
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _as_moments(array: pa.Array) -> pa.Array:
    """Time zones end here: what is left is universal time, to the microsecond."""
    zoned = getattr(array.type, "tz", None) is not None  # a date has no zone
    return pc.cast(pc.cast(array, pa.timestamp("us", "UTC"), safe=False) if zoned else array, MOMENT, safe=False)


def null_words(text: pa.Array, words: Sequence[str]) -> pa.Array:
    """Null where the text is one of the words."""
    return pc.if_else(pc.is_in(text, pa.array(words, text.type)), pa.scalar(None, text.type), text)


def null_numbers(numbers: pa.Array, words: Sequence[str]) -> pa.Array:
    """Null where a number is NaN or one that the words name, such as -999."""
    parsed, bad = parse_numbers(pa.array(list(words), TEXT))
    named = pc.is_in(numbers, pa.array(parsed[~bad]))
    return pc.if_else(pc.or_kleene(named, pc.is_nan(numbers)), pa.scalar(None, pa.float64()), numbers)


def as_text(values: pa.Array) -> pa.Array:
    """Any column as text. Truth values are written as Python does, whole numbers without a point."""
    if pa.types.is_boolean(values.type):
        return pc.if_else(values, pa.scalar("True", TEXT), pa.scalar("False", TEXT))
    return pc.cast(values, TEXT)


# -- parsing -----------------------------------------------------------------------------------------------------------


def parse_numbers(values: pa.Array, decimal_comma: bool = False) -> Parsed:
    """Numbers as they are, truth values as 0 and 1, text by its digits. With a decimal comma, "3,14" is a number as well.

    All values of an array are written one way: where some have a point and others a comma, the fewer are bad.
    """
    if pa.types.is_timestamp(values.type):
        return _nothing_parsed(values)
    try:
        return _floats(values), np.zeros(len(values), dtype=bool)
    except pa.ArrowInvalid:
        bad = _unlike(values, POINT_NUMBER)
    if decimal_comma and bad.any():
        bad_commas = _unlike(values, COMMA_NUMBER)
        if bad_commas.sum() < bad.sum():
            values, bad = pc.replace_substring(values, ",", ".", max_replacements=1), bad_commas
    good = pc.if_else(pa.array(bad), pa.scalar(None, TEXT), values)
    return _floats(pc.replace_substring_regex(good, r"^\+", "")), bad


def parse_booleans(values: pa.Array) -> Parsed:
    """1 and 0 for true and false, for yes and no, for their first letters, and for themselves; in any case of letters."""
    if pa.types.is_timestamp(values.type):
        return _nothing_parsed(values)
    words = pc.utf8_lower(as_text(values))
    true = _mask(pc.is_in(words, pa.array(TRUE_WORDS, TEXT)))
    false = _mask(pc.is_in(words, pa.array(FALSE_WORDS, TEXT)))
    missing = _mask(pc.is_null(values))
    return np.where(true, 1.0, np.where(false, 0.0, np.nan)), ~(true | false | missing)


def _floats(values: pa.Array) -> Floats:
    if pa.types.is_boolean(values.type):
        values = pc.cast(values, pa.uint8())
    return np.asarray(pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _unlike(text: pa.Array, pattern: str) -> Mask:
    return _mask(pc.invert(pc.match_substring_regex(text, pattern)))


def _mask(values: pa.Array) -> Mask:
    return np.asarray(pc.fill_null(values, False).to_numpy(zero_copy_only=False), dtype=bool)


def _nothing_parsed(values: pa.Array) -> Parsed:
    return np.full(len(values), np.nan), _mask(pc.is_valid(values))
