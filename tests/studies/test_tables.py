"""Tables in every format."""

from __future__ import annotations

import csv
import io
import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from extranets.studies.tables import Figure, figures, number, render, value_and_error

ROWS = [
    {"method": "extra-nets", "p": 0.995, "T": 30, "mspe": Figure(1 / 3, 0.0123)},
    {"method": "50 % [bold] & a_b|c", "p": None, "T": np.int64(70), "mspe": Figure(-12.3456, None)},
    {"method": "bootstrap", "T": 70, "mspe": None},
]
HEADINGS = {"method": "Method", "p": "p", "T": "T", "mspe": "MSPE ($)"}


def shown(table, width=100):
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


# -- rounding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (12.3401, 0.0502, ("12.340", "0.050")),
        (12.3401, 0.0996, ("12.34", "0.10")),  # rounding gives the error another digit
        (0.999999, 0.012, ("1.000", "0.012")),
        (-0.0004, 0.05, ("0.000", "0.050")),  # not minus zero
        (12345.6, 123.0, ("12350", "120")),
        (3.0, 1.0, ("3.0", "1.0")),
        (1.5e-9, 2e-10, ("1.5e-09", "2e-10")),
        (0.25, 0.0, ("0.25", "0")),
        (0.25, None, ("0.25", "")),
        (0.25, math.nan, ("0.25", "")),
        (math.nan, 0.1, ("nan", "")),
        (None, None, ("", "")),
    ],
)
def test_a_figure_is_rounded_to_two_digits_of_its_error(value, error, expected):
    assert value_and_error(Figure(value, error)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.95, "0.95"),
        (2 / 3, "0.6667"),
        (0.99996, "1.000"),
        (123456.789, "123457"),
        (2e20 / 3, "6.667e+19"),
        (-3e-9, "-3e-09"),
        (np.float64(0.5), "0.5"),
        (np.int64(7), "7"),
        (math.inf, "inf"),
    ],
)
def test_a_number_without_error_has_four_digits(value, expected):
    assert number(value) == expected


def test_errors_join_their_values():
    rows = [{"a": 1.0, "a_se": 0.1, "b_se": 2.0, "c": "x"}, {"a": None, "a_se": None}]
    assert figures(rows) == [{"a": Figure(1.0, 0.1), "b_se": 2.0, "c": "x"}, {"a": Figure(None, None)}]


# -- formats -----------------------------------------------------------------------------------------------------------


def test_terminal_table_shows_rounded_figures():
    lines = shown(render(ROWS, HEADINGS)).splitlines()
    cells = [line.split("  ") for line in lines if line.strip() and "─" not in line]
    assert [[c.strip() for c in line if c.strip()] for line in cells] == [
        ["Method", "p", "T", "MSPE ($)"],
        ["extra-nets", "0.995", "30", "0.333 ± 0.012"],
        ["50 % [bold] & a_b|c", "70", "-12.35"],
        ["bootstrap", "70"],
    ]


def test_markdown_shows_rounded_figures():
    assert render(ROWS, HEADINGS, "markdown") == textwrap.dedent(
        r"""
        | Method               |     p |   T |      MSPE ($) |
        |:---------------------|------:|----:|--------------:|
        | extra-nets           | 0.995 |  30 | 0.333 ± 0.012 |
        | 50 % [bold] & a_b\|c |       |  70 |        -12.35 |
        | bootstrap            |       |  70 |               |
        """
    ).strip("\n")


def test_latex_shows_rounded_figures():
    assert render(ROWS, HEADINGS, "latex") == textwrap.dedent(
        r"""
        \begin{tabular}{lrrr}
        \toprule
        Method & p & T & MSPE (\$) \\
        \midrule
        extra-nets & 0.995 & 30 & $0.333 \pm 0.012$ \\
        50 \% [bold] \& a\_b|c &  & 70 & $-12.35$ \\
        bootstrap &  & 70 &  \\
        \bottomrule
        \end{tabular}
        """
    ).strip("\n")


def test_latex_escapes_every_special_sign():
    body = render([{"x": "\\&%$#_{}~^<>\n"}], None, "latex").splitlines()[4]
    assert body == (
        r"\textbackslash{}\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}" + r"  \\"
    )


def test_latex_writes_powers_of_ten_in_math_mode():
    lines = render([{"x": 1.5e20, "y": Figure(-1.5e-9, 2e-10)}], None, "latex").splitlines()
    assert lines[4] == r"$1.5 \times 10^{20}$ & $-1.5 \times 10^{-9} \pm 2 \times 10^{-10}$ \\"


def test_csv_keeps_every_digit_and_separates_errors():
    back = list(csv.reader(io.StringIO(render(ROWS, HEADINGS, "csv"))))
    assert back == [
        ["method", "p", "T", "mspe", "mspe_se"],
        ["extra-nets", "0.995", "30", repr(1 / 3), "0.0123"],
        ["50 % [bold] & a_b|c", "", "70", "-12.3456", ""],
        ["bootstrap", "", "70", "", ""],
    ]


def test_csv_writes_numpy_numbers_nan_and_quotes():
    text = render([{"a": np.float64(0.1), "b": math.nan, "c": -math.inf, "d": 'x,"y"'}], None, "csv")
    assert text == 'a,b,c,d\n0.1,nan,-inf,"x,""y"""'


def test_parquet_keeps_all_values(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    render(ROWS, HEADINGS, "parquet", tmp_path / "table.parquet")
    assert parquet.read_table(tmp_path / "table.parquet").to_pydict() == {
        "method": [row["method"] for row in ROWS],
        "p": [0.995, None, None],
        "T": [30, 70, 70],
        "mspe": [1 / 3, -12.3456, None],
        "mspe_se": [0.0123, None, None],
    }


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow: pip install .*\[tables\]"):
        render(ROWS, None, "parquet", tmp_path / "table.parquet")


def test_columns_are_chosen_and_default_to_all_keys():
    assert render(ROWS, ["T", "absent"], "csv") == "T,absent\n30,\n70,\n70,"
    assert render([{"a": 1}, {"b": 2}], None, "csv") == "a,b\n1,\n,2"


@pytest.mark.parametrize("format", ["csv", "markdown", "latex"])
def test_no_rows_make_a_table_with_headings_only(format):
    text = render([], ["first", "second"], format)
    assert "first" in text and "second" in text


def test_unknown_formats_and_useless_paths_are_refused(tmp_path):
    with pytest.raises(ValueError, match="table, csv, parquet, markdown, latex; got 'html'"):
        render(ROWS, None, "html")
    with pytest.raises(ValueError, match="needs a path"):
        render(ROWS, None, "parquet")
    with pytest.raises(ValueError, match="only Parquet"):
        render(ROWS, None, "csv", tmp_path / "table.csv")


WITHOUT = """
import sys
sys.modules["pandas"] = sys.modules["pyarrow"] = None
from extranets.studies.tables import render
for format in ("csv", "markdown", "latex"):
    print(render([{"a": 1}], None, format))
print(sorted({"rich", "matplotlib"} & set(sys.modules)))
"""


def test_text_needs_neither_pandas_nor_pyarrow():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
