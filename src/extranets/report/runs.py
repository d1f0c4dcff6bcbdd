"""From a study's run folder to the numbers and sentences of a report."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from numbers import Real
from typing import Any

from extranets import plots
from extranets.studies import registry, runs, summary
from extranets.studies.compare import COLUMNS, compare
from extranets.studies.tables import Figure, figures, number, value_and_error

Row = dict[str, Any]

VERDICTS = ("reproduced", "better", "contradicts")
KINDS = {
    "learner": "Single learners",
    "average": "Averages over learners",
    "truth": "True quantities, over fresh training sets",
}


@dataclass
class Cell:
    text: str
    is_number: bool


@dataclass
class Table:
    """A table to read: every cell as text, means with their standard errors."""

    caption: str
    headings: list[str]
    rows: list[list[Cell]]


@dataclass
class RunSummary:
    """All that a report of a run shows, ready for JSON.

    Attributes
    ----------
    title : str
    about : dict
        Configuration, versions, machine and start.
    units_done, units : int
        The figures of an unfinished run are those of the units that are done.
    rows : list of dict
        The study's summary with all digits; ``x_se`` is the standard error of ``x``.
    tables : the same to read
    comparison : list of dict
        Every figure that the paper prints beside ours, with its verdict.
    compared : the same to read; contradictions are ``contradictions``
    verdicts : dict of str to int
    figures, absent
        As in :class:`Summary`.
    """

    title: str
    about: dict[str, str]
    units_done: int
    units: int
    rows: list[Row]
    tables: list[Table]
    comparison: list[Row]
    compared: Table
    contradictions: Table
    verdicts: dict[str, int]
    figures: dict[str, plots.Display]
    absent: dict[str, str]

    @property
    def finished(self) -> bool:
        return self.units_done == self.units


def summarise_run(folder: str | os.PathLike[str]) -> RunSummary:
    """Everything a report shows of a run, finished or not.

    Parameters
    ----------
    folder : path-like
        As ``extranets study ... --out`` made it.

    Raises
    ------
    extranets.studies.runs.FolderError
        If the folder is not a run of a known study.
    """
    run = runs.load(folder)
    rows = summary(run)
    comparison = compare(run.study(registry()), run.records)
    drawn, absent = _figures(run.name, rows)
    counts = Counter(row["verdict"] for row in comparison)
    return RunSummary(
        title=f"Study: {run.name}",
        about=_about(run),
        units_done=len(run.results),
        units=len(run.units),
        rows=rows,
        tables=_tables(rows),
        comparison=comparison,
        compared=_table("All printed figures beside those of this run", comparison, COLUMNS),
        contradictions=_table(
            "Printed figures that this run contradicts",
            [row for row in comparison if row["verdict"] == "contradicts"],
            COLUMNS,
        ),
        verdicts={verdict: counts[verdict] for verdict in VERDICTS} | {"without a verdict": counts[None]},
        figures=drawn,
        absent=absent,
    )


def _about(run: runs.Run) -> dict[str, str]:
    versions = run.origin.get("versions", {})
    machine = run.origin.get("machine", {})
    return {
        "folder": str(run.folder),
        **{key: "default" if value is None else _listed(value) for key, value in run.configuration.items()},
        "units": f"{len(run.results)} of {len(run.units)} done",
        "started": str(run.origin.get("started", "unknown")),
        "versions": ", ".join(f"{name} {value}" for name, value in versions.items()),
        "machine": ", ".join(str(machine[key]) for key in ("platform", "variant") if key in machine),
    }


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _figures(study: str, rows: list[Row]) -> tuple[dict[str, plots.Display], dict[str, str]]:
    paper: dict[str, plots.Display] = {"paper": plots.PaperDisplay.of()} if study == "simulation" else {}
    try:
        return {"study": plots.StudyDisplay.of(study, rows), **paper}, {}
    except plots.NothingToShow as reason:
        return {}, {"study": str(reason)}


def _tables(rows: list[Row]) -> list[Table]:
    """One table; or one for each kind of row, where rows of different kinds have different columns."""
    kinds = list(dict.fromkeys(row.get("kind") for row in rows))
    return [
        _table(
            KINDS.get(kind or "", "Means with standard errors"),
            figures(
                {key: value for key, value in row.items() if key != "kind"} for row in rows if row.get("kind") == kind
            ),
        )
        for kind in kinds
    ]


def _table(caption: str, rows: list[Row], columns: dict[str, str] | None = None) -> Table:
    if columns is None:
        columns = {key: key.replace("_", " ") for row in rows for key in row}
    return Table(caption, list(columns.values()), [[_cell(row.get(key)) for key in columns] for row in rows])


def _cell(value: Any) -> Cell:
    if value is None:
        return Cell("", False)
    if isinstance(value, Figure):
        return Cell(" ± ".join(filter(None, value_and_error(value))), True)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return Cell(number(value) if is_number else str(value), is_number)
