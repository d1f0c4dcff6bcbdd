"""Results files as rows, and rows as tables and figures of a document."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = DOCS / "results"

Row = dict[str, str]


def text_of(name: str) -> str:
    """The only door to a results file."""
    return (RESULTS / name).read_text(encoding="utf-8")


def rows_of(name: str) -> list[Row]:
    return list(csv.DictReader(text_of(name).splitlines()))


def stored(name: str) -> Any:
    return json.loads(text_of(name))


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
