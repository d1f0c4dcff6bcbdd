"""The documents whose figures come from results files: all their tables and sentences with figures."""

from __future__ import annotations

from benchmarks.reproduction import left_open, of_methods, table_1, tables_2_and_3, units
from benchmarks.reproduction.files import DOCS

DOCUMENTS = {
    "reproduction.md": lambda: [units.table(), *table_1.blocks(), *left_open.blocks(), *tables_2_and_3.blocks()],
    "methods.md": of_methods.blocks,
}


def squeezed(text: str) -> str:
    """Without line breaks and double blanks, so that a sentence may be broken anywhere."""
    return " ".join(text.split())


def missing(name: str) -> list[str]:
    """Blocks that a document lacks."""
    text = squeezed((DOCS / name).read_text(encoding="utf-8"))
    return [block for block in DOCUMENTS[name]() if squeezed(block) not in text]
