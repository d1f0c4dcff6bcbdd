"""Why a column of text that counts as categories may be meant as something else."""

from __future__ import annotations

import shlex

import numpy as np
import pyarrow as pa

from extranets._arrays import Array
from extranets.tables.dates import ISO, mixed_formats
from extranets.tables.errors import listed, shown
from extranets.tables.numbers import grouped_example, likely_styles
from extranets.tables.values import Mask, parse_numbers

NEARLY_ALL = 0.95  # if so large a share of the values are numbers or dates, the others are mistakes
MOST_WORDS, FEWEST_NUMBERS = 5, 10  # so few different words among so many numbers may stand for missing values
MOST_CODES, ROWS_PER_CODE = 12, 5  # so few different whole numbers, in so many rows each, may be names of groups


def are_codes(text: pa.Array, numbers: Array, bad: Mask) -> bool:
    """Whether a column is one of a few whole numbers and a few words, such as 9, 10, 11, 12 and "other"."""
    known = numbers[~np.isnan(numbers)]
    if not bad.any() or (known % 1 != 0).any():
        return False
    n_codes, n_words = len(np.unique(known)), len(text.filter(pa.array(bad)).unique())
    return 2 <= n_codes <= MOST_CODES and ROWS_PER_CODE * n_codes <= len(known) and n_words <= MOST_WORDS


def doubt(text: pa.Array) -> str:
    """What in a column of text suggests numbers or dates, and what to do then; empty if nothing does."""
    example = grouped_example(text)
    if example is not None:
        return f"{shown(example)} looks like a number, but a number with such signs before or between its digits is not read"
    return _words_among_numbers(text) or _mixed_dates(text)


def _words_among_numbers(text: pa.Array) -> str:
    bad = parse_numbers(text, likely_styles(text)[0])[1]
    n_words, n_values = int(bad.sum()), len(text) - text.null_count
    share = 1 - n_words / n_values
    words = text.filter(pa.array(bad)).unique().to_pylist()
    digits = any(character.isdigit() for word in words for character in word)
    if len(words) > MOST_WORDS or (digits and share < NEARLY_ALL) or n_values - n_words < max(FEWEST_NUMBERS, n_words):
        return ""
    options = " ".join(f"--na {shlex.quote(word)}" for word in words)
    stands = "that stands" if len(words) == 1 else "those stand"
    return (
        f"{100 * share:.0f} % of its values are numbers, and the others {listed(words)}. If {stands} for missing values: "
        f"na_values={words!r} ({options})"
    )


def _mixed_dates(text: pa.Array) -> str:
    formats = mixed_formats(text)
    if not formats:
        return ""
    ways = ", ".join(f"{shown(value)} ({'ISO 8601' if format == ISO else format})" for format, value in formats.items())
    return (
        f"its dates are written in {len(formats)} ways: {ways}. Write all of them in one way, best as 2024-12-31, and the "
        "column counts as a date"
    )
