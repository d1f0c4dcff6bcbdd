"""Which sign separates the fields of a text."""

from __future__ import annotations

import csv
import io
from itertools import islice

# If two split the rows equally well, the first is taken: commas also occur in numbers and names.
DELIMITERS = (";", "\t", "|", ",")
SAMPLE_ROWS = 1000


def find_delimiter(text: str, complete: bool) -> str:
    """The delimiter that splits the rows like the header; a comma if none splits the header.

    Parameters
    ----------
    text : the beginning of the file
    complete : whether it is the whole file; if not, the last row may be cut off and is left out

    Examples
    --------
    >>> find_delimiter("height;weight\\n1,80;72,5\\n", complete=True)
    ';'
    >>> find_delimiter("price, EUR;size\\n2,559;22\\n", complete=True)
    ';'
    """
    best, best_score = ",", (0.0, 1)
    for delimiter in DELIMITERS:
        counts = [len(row) for row in sample_rows(text, delimiter, complete)]
        if counts and counts[0] > 1:
            # The header splits, so this may be it even if no row fits: then the rows are ragged.
            score = (sum(count == counts[0] for count in counts) / len(counts), counts[0])
            best, best_score = max((best, best_score), (delimiter, score), key=lambda found: found[1])
    return best


def check_delimiter(delimiter: str) -> str:
    """The delimiter, if it can be used; else a ValueError."""
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ValueError(
            f"A delimiter is a single ASCII character, such as a comma or a semicolon, but not a quote; got {delimiter!r}."
        )
    return delimiter


def sample_rows(text: str, delimiter: str, complete: bool) -> list[list[str]]:
    """The first rows, header included, without empty lines."""
    if not complete:
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    found = []
    try:
        for row in islice(rows, SAMPLE_ROWS):
            found += [row] if row else []
    except csv.Error:  # a field is longer than this reader allows, as after a quote that is never closed
        return found
    return found if complete or len(found) >= SAMPLE_ROWS else found[:-1]
