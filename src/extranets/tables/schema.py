"""What a table's columns are: learned from training rows, stored as JSON, applied to new rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

import pandas

from extranets.tables.columns import KINDS, CategoryColumn, Column
from extranets.tables.errors import Source, TableError, listed, near
from extranets.tables.learning import learn_columns
from extranets.tables.notes import Notes
from extranets.tables.rows import Rows

VERSION = 1
MOST_COLUMNS = 100_000


@dataclass(frozen=True)
class Schema:
    """The columns that are used, in the order of training.

    Parameters
    ----------
    columns : tuple of Column
        Subclasses know the kinds: ``number``, ``boolean``, ``date`` and ``category``.
    na_values : tuple of str
        Texts that stand for missing values besides the usual ones.
    dropped : dict of str
        Columns that are not used, with the reasons.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"area": ["50", "72", "NA"], "city": ["Ulm", "Bonn", "Ulm"], "land": ["DE"] * 3})
    >>> schema = Schema.learn(table)
    >>> [(column.name, column.kind, column.described()) for column in schema.columns]
    [('area', 'number', '50 to 72'), ('city', 'category', "2: 'Ulm', 'Bonn'")]
    >>> schema.dropped
    {'land': "it holds the same value in every row ('DE')"}
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[Column, ...]
    na_values: tuple[str, ...] = ()
    dropped: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require(isinstance(self.columns, tuple) and 0 < len(self.columns) <= MOST_COLUMNS, "there are no columns")
        _require(all(isinstance(column, Column) for column in self.columns), "every entry of columns must be a column")
        _require(len(set(self.names)) == len(self.names), "two columns have the same name")
        _require(isinstance(self.na_values, tuple) and _are_texts(self.na_values), "na_values must be texts")
        valid = isinstance(self.dropped, dict) and len(self.dropped) <= MOST_COLUMNS
        _require(
            valid and _are_texts([*self.dropped, *self.dropped.values()]), "dropped must give a reason for each name"
        )

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def learned(self) -> list[CategoryColumn]:
        """Columns of categories whose values get numbers that are learned from the target."""
        return [column for column in self.columns if isinstance(column, CategoryColumn) and column.learned]

    def part(self, columns: Sequence[Column]) -> Schema:
        """Some of the columns."""
        return Schema(tuple(columns), self.na_values)

    def kinds(self) -> dict[str, str]:
        """What :meth:`learn` decided, as its argument of this name: a part of the rows is then read in the same way."""
        return {**{column.name: column.chosen_kind for column in self.columns}, **dict.fromkeys(self.dropped, "ignore")}

    @classmethod
    def learn(
        cls,
        frame: pandas.DataFrame,
        kinds: Mapping[str, str] | None = None,
        *,
        max_categories: int = 30,
        na_values: Sequence[str] = (),
    ) -> Schema:
        """Find out what the columns of a data frame are.

        Columns that cannot help are left out, and ``dropped`` says why: those without values, with the same value in every row, of
        text that differs in nearly every row, and of whole numbers that only name the rows. The last are those that count the
        rows from 0 or 1 on (unless the name speaks of time or measure), and those that all differ and are named as an id is.

        Parameters
        ----------
        frame : DataFrame of shape (n_rows, n_columns)
            Columns may hold text, which is then taken for what it looks like.
        kinds : dict of str, optional
            What columns are, where the guess is wrong: ``"number"``, ``"boolean"``, ``"date"``, ``"date:FORMAT"`` with a
            format such as ``%d/%m/%Y``, ``"category"``, or ``"ignore"``. ``"number:1.234,5"`` says how numbers are written, if
            they are text; likewise ``1234.5``, ``1234,5`` and ``1,234.5``.
        max_categories : int, default=30
            A column of up to so many values has a feature for each of them. The values of a column with more of them get a few
            numbers each, which are learned from the target.
        na_values : sequence of str
            Further texts that stand for missing values.

        Raises
        ------
        TableError
            If a column of numbers or dates holds something else, if the order of day and month is not clear, or if no column
            can be used.
        """
        columns, dropped = learn_columns(Rows(frame, na_values), dict(kinds or {}), max_categories)
        if not columns:
            reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(dropped.items())[:20])
            raise Source.of(frame).error(f"no column can be used ({reasons or 'there are none'}).")
        return cls(tuple(columns), tuple(na_values), dropped)

    def read(self, frame: pandas.DataFrame, notes: Notes | None = None, *, strict: bool = False) -> pandas.DataFrame:
        """Rows as the columns' own types: floats, moments (``datetime64``), and texts for categories.

        Parameters
        ----------
        frame : DataFrame of shape (n_rows, ...)
            Has all columns of the schema, in any order; others are ignored.
        notes : Notes, optional
            Collects new categories and newly missing values.
        strict : bool, default=False
            Refuse both instead.

        Returns
        -------
        DataFrame of shape (n_rows, len(columns)), with the index of ``frame``
        """
        self._require_columns(frame)
        rows = Rows(frame, self.na_values, notes, strict)
        read = {column.name: column.read(rows) for column in self.columns}
        typed = {
            name: pandas.Series(values, index=frame.index, dtype=values.dtype, copy=False)
            for name, values in read.items()
        }
        return pandas.DataFrame(typed, index=frame.index, copy=False)

    def _require_columns(self, frame: pandas.DataFrame) -> None:
        present = [str(name) for name in frame.columns]
        known = set(present)
        absent = [name for name in self.names if name not in known]
        if absent:
            hint = near(absent[0], present) if len(absent) == 1 else ""
            what = "column" if len(absent) == 1 else "columns"
            raise Source.of(frame).error(f"the {what} {listed(absent)} of training cannot be found{hint}.")

    # -- as JSON -------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Texts, numbers, lists and dicts only."""
        columns = [{"kind": column.kind, **_plain(asdict(column))} for column in self.columns]
        return {
            "version": VERSION,
            "columns": columns,
            "na_values": list(self.na_values),
            "dropped": dict(self.dropped),
        }

    @classmethod
    def from_dict(cls, stored: Any) -> Schema:
        """The schema that :meth:`to_dict` described. Takes nothing on trust; raises :class:`TableError`."""
        _require(isinstance(stored, dict), "it is not a dict")
        _require(stored.get("version") == VERSION, f"its version is not {VERSION}")
        _require(
            stored.keys() == {"version", "columns", "na_values", "dropped"},
            "its entries must be version, columns, na_values and dropped",
        )
        _require(
            isinstance(stored["columns"], list) and isinstance(stored["na_values"], list),
            "columns and na_values must be lists",
        )
        return cls(tuple(map(_column, stored["columns"])), tuple(stored["na_values"]), stored["dropped"])

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Schema:
        """The schema that :meth:`to_json` described. Takes nothing on trust; raises :class:`TableError`."""
        try:
            stored = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TableError(f"The description of a table is not JSON: {error}.") from None
        return cls.from_dict(stored)


def _column(stored: Any) -> Column:
    _require(isinstance(stored, dict), "a column is not a dict")
    kind = stored.get("kind")
    _require(isinstance(kind, str) and kind in KINDS, f"there is no kind of column {str(kind)[:40]!r}")
    named = {entry.name: entry.default for entry in fields(KINDS[kind])}
    entries = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
    del entries["kind"]
    required = {name for name, default in named.items() if default is MISSING}
    fits = required <= entries.keys() <= named.keys()
    _require(fits, f"a column of kind {kind} has other entries than {sorted(named)}")
    make: Any = KINDS[kind]
    return make(**entries)


def _plain(stored: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in stored.items()}


def _are_texts(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _require(holds: object, what: str) -> None:
    if not holds:
        raise TableError(f"The description of a table is not valid: {what}.")
