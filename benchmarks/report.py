"""Results of one benchmark, printed as a table and written as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.timing import Stopwatch

Row = dict[str, Any]
NOT_INSTALLED = "not installed"
QUIET_COLUMNS = {"others": ("others' CPU", ".0%"), "discarded": ("repeated", "d")}


@dataclass
class Section:
    """``columns`` gives each key of a row its heading and its format; text and missing values are shown as they are."""

    title: str
    columns: dict[str, tuple[str, str]]
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {"title": self.title, "rows": self.rows, "notes": self.notes}


def target(value: float, limit: float | None, watch: Stopwatch | None = None, *, at_least: bool = True) -> Row:
    """The columns that compare a figure with its target, and say how quiet the machine was if it is a time."""
    row: Row = {"target": limit, "met": None}
    if limit is not None:
        row["met"] = value >= limit if at_least else value <= limit
    if watch is None:
        return row
    met = None if limit is None else watch.verdict(row["met"])
    return {**row, "met": met, "others": watch.others, "discarded": watch.discarded}


def _text(value: Any, spec: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "[red]no[/red]"
    return value if isinstance(value, str) else format(value, spec)


def print_section(console: Console, section: Section) -> None:
    console.print(section.title, style="bold", highlight=False)
    table = Table()
    for heading, spec in section.columns.values():
        table.add_column(heading, justify="right" if spec else "left")
    for row in section.rows:
        table.add_row(*(_text(row.get(key), spec) for key, (_, spec) in section.columns.items()))
    console.print(table)
    for note in section.notes:
        console.print(f"  {note}", style="dim", highlight=False, soft_wrap=True)
    console.print()


def print_machine(console: Console, machine: dict[str, str]) -> None:
    table = Table(show_header=False)
    for key, value in machine.items():
        table.add_row(key, value)
    console.print(table)
