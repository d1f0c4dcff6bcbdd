"""Every figure in docs/reproduction.md and docs/methods.md is that of a results file."""

from __future__ import annotations

import re

import pytest

from benchmarks import reproduction
from benchmarks.reproduction import DOCS, DOCUMENTS, FIRST, files, squeezed

# Figures that no run gives: settings, what the paper prints, places in it. What is left must be in a block of DOCUMENTS.
SETTINGS = [
    r"`[^`]*`",  # commands, options, file names
    r"\]\([^)]*\)",  # links
    r"^#.*$",  # headings
    r"learning rate of Table \d is 0\.01|R\^2 below 0\.5|, at most 2\b|short at 2\b",
    r"Tables? \d",
    r"\bT = 50 and 70\b|\bT = (30|50|70)\b",
    r"\bp = \.(95|995)\b|\bat p = 0\.5, where",
    r"\b(90|95|99) % intervals|at least 5 %",
    r"B = 100 resamples of the 300 test rows|100 simulated data sets|on 40 data sets|mean of 200 networks|for 200 networks|divided by 200",
    r"falls as 1 / T|would be 1 if|for T from 2 to 200",
    r"10 data sets of each process and 10 splits",
    r"hidden layer of 50 units|100 for protein|batch 32|40 epochs|360 steps|51,480|\b50 units",
    r"515,345 x 90|463,715 and 51,630 rows",
    r"20 splits; protein 5|40 passes|published (20,000|40)\b|400 on the small sets",
    r"\b(400|40|2,000|20,000|100) epochs|400 to 2,000",
]


def documents():
    return pytest.mark.parametrize("name", DOCUMENTS)


@documents()
def test_the_documents_have_what_the_results_say(name):
    assert reproduction.missing(name) == []


@documents()
def test_every_other_number_is_a_setting(name):
    text = squeezed_lines(name)
    for block in sorted(map(squeezed, reproduction.blocks(name)), key=len, reverse=True):
        text = text.replace(block, " ")
    for pattern in SETTINGS:
        text = re.sub(pattern, " ", text, flags=re.MULTILINE)
    assert re.findall(r"[^.|\n]*\d[^.|\n]*", text) == []


def squeezed_lines(name):
    """Paragraphs on a line each; the rows of tables joined, as blocks are."""
    paragraphs = (DOCS / name).read_text(encoding="utf-8").split("\n\n")
    return "\n".join(map(squeezed, paragraphs))


@documents()
def test_every_section_names_the_command_and_the_files_that_its_figures_come_from(name, monkeypatch):
    opened, real = [], files.text_of
    monkeypatch.setattr(files, "text_of", lambda name: (opened.append(name), real(name))[1])
    for heading, make in DOCUMENTS[name].items():
        text = reproduction.sections(name)[heading]
        opened.clear()
        assert make()
        read = set(opened)
        assert read <= set(re.findall(r"results/(\w+\.(?:csv|json))", text)), heading
        assert re.search(r"`(extranets study|python -m) ", text), heading
        assert read or (name, heading) == ("reproduction.md", FIRST)  # numbers of units are those of the studies


@documents()
def test_every_results_file_that_is_named_is_there(name):
    named = re.findall(r"results/(\w+\.(?:csv|json))", (DOCS / name).read_text(encoding="utf-8"))
    assert named and all((files.RESULTS / file).is_file() for file in named)


def test_a_figure_that_is_not_in_the_results_is_found(monkeypatch, tmp_path):
    (tmp_path / "reproduction.md").write_text(
        (DOCS / "reproduction.md")
        .read_text(encoding="utf-8")
        .replace("0.567", "0.568")
        .replace("reproduced", "repeated")
    )
    monkeypatch.setattr(reproduction, "DOCS", tmp_path)
    assert reproduction.missing("reproduction.md")
