"""Errors about tables: the message names the file, the row and the column."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MOST_NAMES = 20  # of columns in one message
MOST_TEXT = 60  # characters of a value in a message


class TableError(ValueError):
    """Something in a table cannot be used. The message says where it is and what to do."""

    exit_code = 3  # of the command line


class NoRowsError(TableError):
    """A table has columns, but no rows."""


class TableWarning(UserWarning):
    """Something in a table is odd but can be used, and the message says how it is used."""


@dataclass(frozen=True)
class Source:
    """Where a data frame comes from: what messages call it, and whether it is text with semicolons between its fields."""

    file: str = "the table"
    semicolons: bool = False

    @classmethod
    def of(cls, frame: Any) -> Source:
        """What a :class:`TableReader` noted on its frames; the defaults for any other frame."""
        return cls(frame.attrs.get("file", cls.file), frame.attrs.get("semicolons", cls.semicolons))

    def error(self, message: str, *, row: Any = None, column: Any = None) -> TableError:
        """``sales.csv, row 3, column 'price': message``. Rows of a file are counted from 1, without the
        header; rows of a sheet have the numbers that Excel shows. Of a table in several files, a row is a pair of file and number.
        """
        place, row = row if isinstance(row, tuple) else (self.file, row)
        if row is not None:
            place += f", row {row}"
        if column is not None:
            place += f", column {column!r}"
        return TableError(f"{place}: {message}")


def shown(value: Any) -> str:
    """A value for a message: quoted, and cut if it is long."""
    text = str(value)
    return repr(text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "...")


def listed(names: Iterable[Any], most: int = MOST_NAMES) -> str:
    """Names for a message, of a long list only the first.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    every = [shown(name) for name in names]
    rest = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + rest


def near(name: Any, names: Iterable[str]) -> str:
    """The end of a message about a name that is not there: the one that may be meant, if there is one."""
    lower = {other.lower(): other for other in names}
    found = difflib.get_close_matches(str(name).lower(), list(lower), n=1)
    return f" (did you mean {lower[found[0]]!r}?)" if found else ""
