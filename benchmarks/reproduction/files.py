"""Results files as rows, and rows as tables and figures of a document."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = DOCS / "results"

Row = dict[str, str]


def rows_of(name: str) -> list[Row]:
    with (RESULTS / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def only(rows: list[Row], **keys: str) -> Row:
    (found,) = [row for row in rows if all(row[key] == value for key, value in keys.items())]
    return found


def number(row: Row, name: str, digits: int) -> str:
    return f"{float(row[name]):.{digits}f}"


def figure(row: Row, name: str, digits: int) -> str:
    """A figure with its error."""
    return f"{number(row, name, digits)} ± {number(row, f'{name}_se', digits)}"


def markdown(head: str, lines: list[list[str]]) -> str:
    rule = "|" + "---|" * (head.count("|") + 1)
    return "\n".join([f"| {head} |", rule, *("| " + " | ".join(line) + " |" for line in lines)])


def counted(rows: list[Row], verdict: str) -> int:
    return Counter(row["verdict"] for row in rows)[verdict]
