"""What is odd in new rows but can be used: gathered for each column, and told once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from extranets._warnings import warn_once
from extranets.predictor.novelty import NoveltyWarning
from extranets.tables.errors import TableWarning, listed

MOST_EXAMPLES = 5


class Notes:
    """New categories, newly missing values, and values outside of training, in the rows read so far.

    Holds counts and a few examples, so that it stays small however many rows there are.

    Examples
    --------
    >>> notes = Notes()
    >>> notes.add_new_categories("colour", {"teal": 2}, "'(other)'")
    >>> notes.add_new_categories("colour", {"pink": 1, "teal": 1}, "'(other)'")
    >>> print(*notes.lines())
    Column 'colour': 4 rows hold values that were not seen in training, taken as '(other)': 'teal', 'pink'.
    """

    def __init__(self) -> None:
        self._new: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._more: set[str] = set()  # columns with more new values than examples
        self._filled: Counter[str] = Counter()
        self._taken_as: dict[str, str] = {}
        self._n_rows = 0
        self._outside: Counter[tuple[str, str]] = Counter()  # by column, and how it is outside
        self._where: dict[tuple[str, str], list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._new or self._filled or self._outside)

    def add_new_categories(self, column: str, counts: Mapping[str, int], taken_as: str) -> None:
        """Rows by value, and what the values are taken as."""
        self._taken_as[column] = taken_as
        self._new[column] += sum(counts.values())
        examples = self._examples.setdefault(column, [])
        for value in counts:
            if value in examples:
                continue
            if len(examples) < MOST_EXAMPLES:
                examples.append(value)
            else:
                self._more.add(column)

    def add_filled(self, column: str, count: int, taken_as: str) -> None:
        """Rows without a value in a column that had one in every training row."""
        self._taken_as[column] = taken_as
        self._filled[column] += count

    def add_rows(self, count: int) -> None:
        """That were looked at."""
        self._n_rows += count

    def add_outside(self, column: str, rows: Sequence[Any], what: str) -> None:
        """Labels of rows whose values are outside of training, and in words how: what follows "lies" or "is"."""
        self._outside[column, what] += len(rows)
        named = self._where.setdefault((column, what), [])
        named += [_shown(row) for row in rows[: MOST_EXAMPLES - len(named)]]

    def lines(self) -> list[str]:
        """One sentence for each column and oddity."""
        return self._odd() + self.outside()

    def outside(self) -> list[str]:
        """Those on values outside of training. Of a single row they depend on the columns alone."""
        if self._n_rows == 1:
            return [f"Column {name!r}: the value is {what}." for name, what in self._outside]
        return [
            f"Column {name!r}: {count:,} of {self._n_rows:,} values {'is' if count == 1 else 'are'} {what}, in "
            f"{'row' if count == 1 else 'rows'} {', '.join(self._where[name, what])}{' and others' if count > MOST_EXAMPLES else ''}."
            for (name, what), count in self._outside.items()
        ]

    def _odd(self) -> list[str]:
        new = [
            f"Column {name!r}: {_rows(count)} values that were not seen in training, taken as {self._taken_as[name]}: "
            f"{self._values(name)}."
            for name, count in self._new.items()
        ]
        filled = [
            f"Column {name!r}: {_rows(count)} no value, although none was missing in training; taken as {self._taken_as[name]}."
            for name, count in self._filled.items()
        ]
        return new + filled

    def warn(self) -> None:
        """One warning that holds all lines of a kind, if there are any."""
        for lines, category in ((self._odd(), TableWarning), (self.outside(), NoveltyWarning)):
            if lines:
                warn_once(" ".join(lines), category)

    def _values(self, column: str) -> str:
        return listed(self._examples[column]) + (" and others" if column in self._more else "")


def _shown(row: Any) -> str:
    """A row's label; of a table in several files it is a pair of file and number."""
    return f"{row[1]} of {row[0]}" if isinstance(row, tuple) else str(row)


def _rows(count: int) -> str:
    return f"{count:,} row holds" if count == 1 else f"{count:,} rows hold"
