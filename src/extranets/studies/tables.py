"""Rows as tables: on the terminal, in CSV and Parquet with full precision, and rounded by their errors in Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from extranets._extras import require

if TYPE_CHECKING:
    from rich.table import Table

Row = Mapping[str, Any]
Columns = Sequence[str] | Mapping[str, str]

FORMATS = ("table", "csv", "parquet", "markdown", "latex")
ERROR_SUFFIX = "_se"
DIGITS = 4  # significant digits of a number that has no error
MOST_DECIMALS = 9  # of a figure; smaller errors are written with powers of ten


class Figure(NamedTuple):
    """A number with its standard error, shown in one cell. Either may be None."""

    value: float | None
    error: float | None


def figures(rows: Iterable[Row], suffix: str = ERROR_SUFFIX) -> list[dict[str, Any]]:
    """Join every ``x`` with its ``x_se`` into a :class:`Figure`.

    Examples
    --------
    >>> figures([{"method": "bootstrap", "mspe": 1.5, "mspe_se": 0.1}])
    [{'method': 'bootstrap', 'mspe': Figure(value=1.5, error=0.1)}]
    """
    return [
        {
            key: Figure(value, row[key + suffix]) if key + suffix in row else value
            for key, value in row.items()
            if not (key.endswith(suffix) and key.removesuffix(suffix) in row)
        }
        for row in rows
    ]


@overload
def render(rows: Iterable[Row], columns: Columns | None = None, format: Literal["table"] = "table") -> Table: ...
@overload
def render(rows: Iterable[Row], columns: Columns | None, format: Literal["csv", "markdown", "latex"]) -> str: ...
@overload
def render(
    rows: Iterable[Row], columns: Columns | None, format: Literal["parquet"], path: str | os.PathLike[str]
) -> None: ...
@overload
def render(
    rows: Iterable[Row], columns: Columns | None, format: str, path: str | os.PathLike[str] | None = None
) -> Table | str | None: ...
def render(
    rows: Iterable[Row],
    columns: Columns | None = None,
    format: str = "table",
    path: str | os.PathLike[str] | None = None,
) -> Table | str | None:
    """Make a table.

    In the formats for reading, a :class:`Figure` is rounded to two significant digits of its error: ``12.340 ± 0.050``. None and
    keys that a row lacks make empty cells. CSV and Parquet keep all digits, and the error has a column of its own, ``x_se``.

    Parameters
    ----------
    rows : iterable of mappings
        Cells are texts, numbers, figures or None.
    columns : sequence of str, or mapping of str to str, optional
        Keys to show, in this order; a mapping also gives their headings, which CSV and Parquet do not use. Default: all keys.
    format : {"table", "csv", "parquet", "markdown", "latex"}, default="table"
    path : path-like, optional
        File to write to. Parquet needs one; the others do not take one.

    Returns
    -------
    rich.table.Table, str or None
        For ``rich``'s ``print``; text without a final newline; or nothing for Parquet.

    Examples
    --------
    >>> rows = [{"method": "extra-nets", "mspe": Figure(12.3401, 0.0502)}, {"method": "bootstrap", "mspe": None}]
    >>> print(render(rows, {"method": "Method", "mspe": "MSPE"}, "markdown"))
    | Method     |           MSPE |
    |:-----------|---------------:|
    | extra-nets | 12.340 ± 0.050 |
    | bootstrap  |                |
    >>> print(render(rows, ["method", "mspe"], "csv"))
    method,mspe,mspe_se
    extra-nets,12.3401,0.0502
    bootstrap,,
    """
    rows = list(rows)
    headings = _headings(rows, columns)
    if format == "parquet":
        if path is None:
            raise ValueError("format='parquet' needs a path to write to.")
        _write_parquet(_wide(rows, list(headings)), path)
        return None
    makers: dict[str, Callable[..., Any]] = {"table": _table, "csv": _csv, "markdown": _markdown, "latex": _latex}
    if format not in makers:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}.")
    if path is not None:
        raise ValueError(f"format={format!r} returns its result; only Parquet is written to a path.")
    return makers[format](rows, headings)


def _headings(rows: list[Row], columns: Columns | None) -> dict[str, str]:
    if columns is None:
        columns = list(dict.fromkeys(key for row in rows for key in row))
    return dict(columns) if isinstance(columns, Mapping) else {key: key for key in columns}


# -- numbers as text ---------------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """A number to read: four significant digits, but no digit before the point is rounded away.

    Examples
    --------
    >>> [number(x) for x in (0.995, 1 / 3, 12345.678, 70, -0.0, 1.5e-7)]
    ['0.995', '0.3333', '12346', '70', '0', '1.5e-07']
    """
    if isinstance(value, Integral):
        return str(int(value))
    value = float(value)
    if value == 0 or not math.isfinite(value):
        return f"{abs(value):g}" if value == 0 else str(value)
    exponent = _exponent(value, DIGITS)
    places = f".{max(DIGITS - 1 - exponent, 0)}f" if -DIGITS <= exponent <= 15 else f".{DIGITS - 1}e"
    # What was written with few digits, such as 0.995, is shown as it was.
    return min(repr(value), f"{value:{places}}", key=len)


def value_and_error(figure: Figure) -> tuple[str, str]:
    """Both numbers, rounded to two significant digits of the error; an empty text for what is not known.

    Examples
    --------
    >>> value_and_error(Figure(12.3401, 0.0996)), value_and_error(Figure(12345.6, 123.0)), value_and_error(Figure(1.5, None))
    (('12.34', '0.10'), ('12350', '120'), ('1.5', ''))
    """
    value, error = figure
    if value is None:
        return "", ""
    if error is None or not (math.isfinite(error) and math.isfinite(value)):
        return number(value), ""
    if error == 0:
        return number(value), "0"
    decimals = 1 - _exponent(error, 2)
    if not -15 <= decimals <= MOST_DECIMALS:
        return number(value), number(error)
    return _rounded(value, decimals), _rounded(error, decimals)


def _exponent(value: float, digits: int) -> int:
    """The power of ten of the first digit, after rounding to ``digits``: 0.0996 with two digits is 1.0e-1."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def _rounded(value: float, decimals: int) -> str:
    text = f"{round(float(value), decimals):.{max(decimals, 0)}f}"
    return text.lstrip("-") if float(text) == 0 else text


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (Real, Figure)) and not isinstance(cell, bool)


def _alignments(rows: list[Row], keys: Iterable[str]) -> list[Literal["left", "right"]]:
    """Numbers to the right; a column with any text to the left."""
    cells = [[row[key] for row in rows if row.get(key) is not None] for key in keys]
    return ["right" if column and all(map(_is_number, column)) else "left" for column in cells]


# -- formats to read ---------------------------------------------------------------------------------------------------


def _plain_cell(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Figure):
        return " ± ".join(filter(None, value_and_error(cell)))
    return number(cell) if _is_number(cell) else str(cell)


def _table(rows: list[Row], headings: dict[str, str]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for heading, side in zip(headings.values(), _alignments(rows, headings), strict=True):
        table.add_column(Text(heading), justify=side)
    for row in rows:
        table.add_row(*(Text(_plain_cell(row.get(key))) for key in headings))  # Text: brackets are not markup
    return table


def _markdown(rows: list[Row], headings: dict[str, str]) -> str:
    sides = _alignments(rows, headings)
    cells = [[_plain_cell(row.get(key)) for key in headings] for row in rows]
    lines = [[_escaped_markdown(cell) for cell in line] for line in [list(headings.values()), *cells]]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(sides))]
    rule = [
        ":" + "-" * (w + 1) if side == "left" else "-" * (w + 1) + ":" for w, side in zip(widths, sides, strict=True)
    ]
    padded = [
        [f"{cell:{'<' if side == 'left' else '>'}{w}}" for cell, w, side in zip(line, widths, sides, strict=True)]
        for line in lines
    ]
    body = [f"| {' | '.join(line)} |" for line in padded]
    return "\n".join([body[0], f"|{'|'.join(rule)}|", *body[1:]])


def _escaped_markdown(text: str) -> str:
    return re.sub(r"([\\|*`<])", r"\\\1", " ".join(text.splitlines()))


LATEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\n": " ",
}


def _latex(rows: list[Row], headings: dict[str, str]) -> str:
    """A tabular with the rules of the booktabs package."""
    sides = "".join(side[0] for side in _alignments(rows, headings))
    lines = [[_latex_cell(row.get(key)) for key in headings] for row in rows]
    head, *body = (" & ".join(line) + r" \\" for line in [[_escaped_latex(h) for h in headings.values()], *lines])
    begin, end = rf"\begin{{tabular}}{{{sides}}}", r"\end{tabular}"
    return "\n".join([begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end])


def _latex_cell(cell: Any) -> str:
    if isinstance(cell, Figure):
        value, error = value_and_error(cell)
        return rf"${_with_powers(value)} \pm {_with_powers(error)}$" if error else _latex_number(value)
    return _latex_number(number(cell)) if _is_number(cell) else _escaped_latex("" if cell is None else str(cell))


def _latex_number(text: str) -> str:
    """Signs and powers need math mode: a hyphen is not a minus sign."""
    return f"${_with_powers(text)}$" if "e" in text or text.startswith("-") else text


def _with_powers(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    return rf"{mantissa} \times 10^{{{int(exponent)}}}" if exponent else text


def _escaped_latex(text: str) -> str:
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)


# -- formats to compute with -------------------------------------------------------------------------------------------


def _csv(rows: list[Row], headings: dict[str, str]) -> str:
    wide = _wide(rows, list(headings))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(wide)
    writer.writerows(zip(*wide.values(), strict=True))  # None becomes an empty field, a float its repr
    return text.getvalue().rstrip("\n")


def _write_parquet(wide: dict[str, list[Any]], path: str | os.PathLike[str]) -> None:
    require("A Parquet file", "tables", "pyarrow")
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(wide), os.fspath(path))


def _wide(rows: list[Row], keys: list[str]) -> dict[str, list[Any]]:
    """Columns of plain values. The errors of figures get a column of their own."""
    wide: dict[str, list[Any]] = {}
    for key in keys:
        cells = [row.get(key) for row in rows]
        wide[key] = [_plain_value(cell.value if isinstance(cell, Figure) else cell) for cell in cells]
        if any(isinstance(cell, Figure) for cell in cells):
            wide[key + ERROR_SUFFIX] = [
                _plain_value(cell.error) if isinstance(cell, Figure) else None for cell in cells
            ]
    return wide


def _plain_value(cell: Any) -> Any:
    """Without NumPy's types, whose repr is not a number."""
    if isinstance(cell, bool) or not isinstance(cell, Real):
        return cell
    return int(cell) if isinstance(cell, Integral) else float(cell)
