"""Columns of whole numbers that only name the rows: a row number, or an id.

A measurement may have a different value in every row, too, so that alone is no reason to leave a column out. These are:

- It counts the rows: 0, 1, 2, ... or 1, 2, 3, ... in the order of the rows; unless its name has a word of time or
  measure in it (year, week, rank, dose).
- Its values all differ, and its name says that it is an id: id, customer_id, PassengerId, index, row, nr, ...

Both only if no value is missing and there are enough rows. A column without a name may begin anywhere and be short.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extranets.tables.values import WHOLE_DIGITS, is_text

FEWEST_ROWS = 20  # in fewer rows an honest measurement may well count 1, 2, 3, ...
UNNAMED = re.compile(r"unnamed[_: ]+\d+", re.IGNORECASE)  # pandas writes "Unnamed: 0"
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # "customerID" is of two words
# fmt: off
ID_NAMES = frozenset((
    "id", "index", "idx", "row", "rowid", "rowindex", "rownum", "rownumber", "rowno", "rownr", "rowname", "rownames", "nr", "no",
    "obs", "serial", "serialnumber", "serialno", "key",
))
MEASURES = frozenset((
    "age", "count", "date", "day", "days", "depth", "distance", "dose", "epoch", "game", "generation", "hour", "hours", "level",
    "minute", "minutes", "month", "months", "period", "position", "quarter", "rank", "round", "season", "second", "seconds", "step",
    "t", "temperature", "time", "trend", "trial", "week", "weeks", "year", "years", "yr",
))
# fmt: on


def why_row_number(name: str, values: pa.Array) -> str:
    """Why a column of numbers seems to name the rows only; empty if nothing suggests it."""
    unnamed = UNNAMED.fullmatch(name) is not None
    if len(values) < (2 if unnamed else FEWEST_ROWS) or not _are_whole(values):
        return ""
    words = [word.lower() for word in WORD.findall(name)]
    numbers = pc.cast(values, pa.int64(), safe=False).to_numpy(
        zero_copy_only=False
    )  # a gap is NaN, and so counts nothing
    counts = bool((np.diff(numbers) == 1).all())
    if unnamed:
        return "it has no name and counts the rows" if counts else ""
    if counts and numbers[0] in (0, 1) and not MEASURES.intersection(words):
        return f"it counts the rows from {numbers[0]} on, as a row number does"
    named = "".join(words) in ID_NAMES or words[-1:] == ["id"]
    if named and pc.count_distinct(values).as_py() == len(values):
        return "its name is that of an id, and its whole numbers all differ"  # not how many: folds of a table say the same, once
    return ""


def _are_whole(values: pa.Array) -> bool:
    """Whether all values are whole numbers, written without a point if they are text."""
    if is_text(values.type):
        return bool(pc.all(pc.match_substring_regex(values, rf"^\d{{1,{WHOLE_DIGITS}}}$")).as_py())
    return pa.types.is_integer(values.type)
