"""The documents whose figures come from results files: all their tables and sentences with figures, by section."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.reproduction import left_open, of_methods, table_1, tables_2_and_3, units
from benchmarks.reproduction.files import DOCS

FIRST = ""  # heading of what comes before the first section
DOCUMENTS: dict[str, dict[str, Callable[[], list[str]]]] = {
    "reproduction.md": {
        FIRST: units.blocks,
        "Table 1: the simulation": table_1.blocks,
        "What could explain the point errors?": left_open.hypotheses,
        "Table 2: are the learners independent?": tables_2_and_3.learners,
        "Do masks make members less alike?": left_open.decorrelation,
        "Table 3: the UCI data sets": tables_2_and_3.data_sets,
        "YearPredictionMSD": tables_2_and_3.sentences_of_year,
    },
    "methods.md": {
        FIRST: of_methods.sentences,
        "RMSE (published: verdict)": of_methods.errors,
        "Log-likelihood (published: verdict)": of_methods.likelihoods,
        "RMSE / log-likelihood / coverage at 90 % / interval score": of_methods.all_scores,
    },
}


def squeezed(text: str) -> str:
    """Without line breaks and double blanks, so that a sentence may be broken anywhere."""
    return " ".join(text.split())


def sections(name: str) -> dict[str, str]:
    """A document's text by heading, squeezed."""
    first, *others = re.split(r"^## ", (DOCS / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    parted = (section.partition("\n") for section in others)
    return {FIRST: squeezed(first), **{heading: squeezed(text) for heading, _, text in parted}}


def blocks(name: str) -> list[str]:
    return [block for make in DOCUMENTS[name].values() for block in make()]


def missing(name: str) -> list[str]:
    """Blocks that their section lacks."""
    text = sections(name)
    return [
        block
        for heading, make in DOCUMENTS[name].items()
        for block in make()
        if squeezed(block) not in text.get(heading, "")
    ]
