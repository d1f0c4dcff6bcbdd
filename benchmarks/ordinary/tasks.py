"""Which methods are run on which tables and splits."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.contest.records import Task
from benchmarks.ordinary.manifest import Table, largest
from benchmarks.ordinary.methods import FAST, SLOW
from benchmarks.ordinary.rows import Label

SMALL = 3_000  # rows that the slow methods can take


def tasks(
    tables: Iterable[Table],
    methods: Iterable[str],
    n_splits: int | None = None,
    *,
    inner: bool = False,
    full: bool = False,
) -> list[Task]:
    """The first split of every table before the second of any, so that the records of a stopped run can be compared.

    With ``full`` only the largest tables and the fast methods are left.
    """
    chosen = [table for table in tables if not full or table in largest()]
    methods = [name for name in methods if not full or name in FAST]
    return [
        Task(str(Label(table.name, inner, full)), split, method)
        for split in range(max((table.n_splits for table in chosen), default=0))
        for table in chosen
        for method in methods
        if split < min(_n_splits(table, method), n_splits or table.n_splits)
    ]


def _n_splits(table: Table, method: str) -> int:
    if method in SLOW:
        return 1 if table.rows < SMALL else 0
    return table.n_splits
