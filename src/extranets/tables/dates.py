"""Text as dates: ISO 8601, or one format for the whole column."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow as pa
import pyarrow.compute as pc

from extranets.tables.values import TEXT, Mask, as_text, null_where

Moments = npt.NDArray[np.datetime64]

ISO = "ISO8601"
DAY_FIRST = ("%d/%m/%Y", "%d-%m-%Y")
MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y")
CLEAR_DAYS = (
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%B %d, %Y",
    *DAY_FIRST,
    *MONTH_FIRST,
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
FORMATS = (ISO, *(day + time for day in CLEAR_DAYS for time in TIMES))
# With a year of two digits nobody can be certain which part is which: these formats are suggested, but never guessed.
SHORT_YEARS = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y")
TWO_NUMBERS = r"\d\D+.*\d"
SAMPLE = 200  # values that a format must read before it is tried on all
ENOUGH = 0.95  # of the values that several formats must read together


def parse_dates(values: pa.Array, format: str = ISO) -> tuple[Moments, Mask]:
    """Moments of universal time, NaT where there is none, and a mask of values that are not dates in this format."""
    missing = np.asarray(pc.is_null(values).to_numpy(zero_copy_only=False))
    if pa.types.is_timestamp(values.type):
        return _microseconds(values.to_numpy(zero_copy_only=False)), np.zeros(len(values), dtype=bool)
    text = as_text(values)
    # pandas takes even the words "now" and "today" for dates
    digits = null_where(text, pc.invert(pc.match_substring_regex(text, r"\d")))
    series = pandas.Series(digits.to_numpy(zero_copy_only=False), dtype=object)
    found = pandas.to_datetime(series, format=format, errors="coerce", utc=True)
    moments = _microseconds(found.dt.tz_localize(None).to_numpy())
    return moments, np.isnat(moments) & ~missing


def date_formats(text: pa.Array) -> tuple[list[str], str, float]:
    """Formats that read all values; and the one that reads most, with the share of values that it reads.

    A column is looked at as a whole only if its first values look like dates.
    """
    known = text.drop_null()
    sample = known.slice(0, SAMPLE)
    likely = [format for format in FORMATS if _share(sample, format) > 0.5] if _numerous(sample) > 0.5 else []
    shares = {format: _share(known, format) for format in likely}
    best = max(shares, key=lambda format: shares[format], default=ISO)
    return [format for format, share in shares.items() if share == 1.0], best, shares.get(best, 0.0)


def mixed_formats(text: pa.Array) -> dict[str, str]:
    """Several formats that together read nearly all values, each with a value; empty if there are no such formats.

    Looks at values from all over the column. Each format is the one that reads most of what those before it do not read.
    """
    known = text.drop_null()
    sample = left = known.take(pa.array(np.unique(np.linspace(0, len(known) - 1, SAMPLE).astype(np.int64))))
    if _numerous(sample) < ENOUGH:
        return {}
    found: dict[str, str] = {}
    while len(left):
        bad = {format: parse_dates(left, format)[1] for format in (*FORMATS, *SHORT_YEARS)}
        unread = min(bad.values(), key=np.sum)
        if unread.all():
            break
        best = [format for format in bad if (bad[format] == unread).all()]
        found[" or ".join(ambiguous(best) or best[:1])] = left[int(np.argmin(unread))].as_py()
        left = left.filter(pa.array(unread))
    return found if len(found) > 1 and len(left) <= (1 - ENOUGH) * len(sample) else {}


def short_year_format(text: pa.Array) -> str | None:
    """A format with a year of two digits that reads the first values, if there is one."""
    sample = text.drop_null().slice(0, SAMPLE)
    return next((format for format in SHORT_YEARS if _share(sample, format) == 1.0), None)


def is_date_format(format: str) -> bool:
    """Whether dates can be read in this format."""
    try:
        parse_dates(pa.array(["1"], TEXT), format)
    except (ValueError, re.error):  # an unknown directive, or one that is there twice
        return False
    return format == ISO or "%" in format


def ambiguous(formats: Iterable[str]) -> tuple[str, str] | None:
    """Two formats that differ in which number is the day, if there are two."""
    every = list(formats)
    day = [format for format in every if format.startswith(("%d/%m/", "%d-%m-"))]
    month = [format for format in every if format.startswith(("%m/%d/", "%m-%d-"))]
    return (day[0], month[0]) if day and month else None


def _numerous(text: pa.Array) -> float:
    """The share of values with two numbers in them. Words need not be tried in 56 formats."""
    return float(pc.mean(pc.match_substring_regex(text, TWO_NUMBERS)).as_py() or 0.0)


def _share(text: pa.Array, format: str) -> float:
    return 1.0 - float(parse_dates(text, format)[1].mean()) if len(text) else 0.0


def _microseconds(moments: npt.NDArray) -> Moments:
    return moments.astype("datetime64[us]")
