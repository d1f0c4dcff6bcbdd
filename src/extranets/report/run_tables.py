"""Tables of a run's report: the study's own rows, and the paper's tables with this run's figures in their cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from extranets.studies.printed import PLACES, printed
from extranets.studies.tables import Figure, number, value_and_error

Row = dict[str, Any]

MEASURES = {
    "mape": "MAPE",
    "mspe": "MSPE",
    "rmse": "RMSE",
    "non_coverage_01": "outside 99 %",
    "non_coverage_05": "outside 95 %",
    "non_coverage_10": "outside 90 %",
    "sd": "standard deviation",
}


@dataclass
class Cell:
    """Text of a cell; in a table of the paper also what stands below it, and the verdict on it."""

    text: str
    is_number: bool
    below: str = ""
    verdict: str = ""


@dataclass
class Table:
    """A table to read: every cell as text, means with their standard errors."""

    caption: str
    headings: list[str]
    rows: list[list[Cell]]


def table(caption: str, rows: Iterable[Row], columns: dict[str, str] | None = None) -> Table:
    """Rows as they are; ``columns`` gives the keys to show and their headings."""
    rows = list(rows)
    if columns is None:
        columns = {key: key.replace("_", " ") for row in rows for key in row}
    return Table(caption, list(columns.values()), [[cell(row.get(key)) for key in columns] for row in rows])


def cell(value: Any) -> Cell:
    if value is None:
        return Cell("", False)
    if isinstance(value, Figure):
        return Cell(" ± ".join(filter(None, value_and_error(value))), True)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return Cell(number(value) if is_number else str(value), is_number)


# -- the paper's tables ------------------------------------------------------------------------------------------------


def beside(comparison: list[Row]) -> list[Table]:
    """The paper's tables, of a study's comparison. A cell has our figure, the printed one and the verdict."""
    places = dict.fromkeys(row["place"] for row in comparison)
    tables = [of_place(place, [row for row in comparison if row["place"] == place]) for place in places]
    return [*tables, learners()] if PLACES["correlation_learners"] in places else tables


def of_place(place: str, rows: list[Row]) -> Table:
    """One table of the paper. Table 3 has data sets and methods; the others have measures for columns."""
    found = {position(place, row): row for row in rows}
    names, heads = (list(dict.fromkeys(key[side] for key in found)) for side in (0, 1))
    cells = [[cell(name), *(with_printed(found.get((name, head))) for head in heads)] for name in names]
    return Table(f"{place} of the paper, with this run's figures", ["", *heads], cells)


def position(place: str, row: Row) -> tuple[str, str]:
    """Names of the row and the column that a figure belongs to."""
    if place == PLACES["uci"]:
        dataset, _, column = row["what"].partition(", ")
        return dataset, column
    return row["what"], MEASURES.get(row["measure"], row["measure"].replace("_", " "))


def with_printed(row: Row | None) -> Cell:
    """Our figure; below it the printed one, the verdict, and what of the run is not as in the paper."""
    if row is None:
        return Cell("", False)
    remarks = "; ".join(filter(None, (row["verdict"], row["note"]))) or "no verdict"
    return Cell(cell(row["ours"]).text, True, f"printed {number(row['printed'])}: {remarks}", row["verdict"] or "")


def learners() -> Table:
    """The paper's single learners; they are of another data set than ours, so that only their means are compared."""
    lines = printed("correlation_learners")
    columns = {key: key.replace("_", " ") for key in lines[0]} | {"observed_mean": "mean prediction"}
    rows = [{key: float(text) for key, text in line.items()} | {"learner": line["learner"]} for line in lines]
    return table("Table 2 as the paper prints it: its single learners", rows, columns)


def explained(rows: list[Row]) -> Table:
    """What each change of the hypotheses study explains: MSPE, and how many of the method's printed point errors."""
    kinds = list(dict.fromkeys((row["process"], row["method"]) for row in rows))
    lines: dict[str, dict[tuple[str, str], Row]] = {}
    for row in rows:
        lines.setdefault(row["what"], {})[row["process"], row["method"]] = row
    unit = {kind: next(row["printed"] for row in rows if (row["process"], row["method"]) == kind) for kind in kinds}
    heads = [f"{process}: {method}, printed {number(unit[process, method])}" for process, method in kinds]
    cells = [[cell(what), *(count_of(own.get(kind)) for kind in kinds)] for what, own in lines.items()]
    return Table(
        "What each change explains: MSPE for T = 30, and of the printed point errors", ["perhaps", *heads], cells
    )


def count_of(row: Row | None) -> Cell:
    if row is None:
        return Cell("no network is left", False)
    return Cell(
        cell(Figure(row["mspe"], row["mspe_se"])).text,
        True,
        f"{row['explained']} of {row['tested']} explained" if row["tested"] else "too few data sets for a count",
    )
