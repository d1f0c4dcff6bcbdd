"""From a study's run folder to the numbers and sentences of a report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from extranets import plots
from extranets.report.run_tables import Table, beside, explained, table
from extranets.studies import registry, runs, summary
from extranets.studies.compare import COLUMNS, compare
from extranets.studies.tables import figures

Row = dict[str, Any]

VERDICTS = ("reproduced", "better", "contradicts")
# What the verdicts mean, or why there is none.
GROUPED = (
    "Verdicts come in groups. Figures for T = 30, 50 and 70 are of the same networks, and all of the paper's figures of a process are of one "
    "data set, so that they agree or contradict together."
)
MEANINGS = {
    "simulation": (
        "“Reproduced”: this run could have given the printed figure. Table 1 is one data set, so at least 5 % of this run's data sets must be "
        "as extreme as its figures, on both sides together. “Better”: they are not, and ours is a smaller error, or a share outside the "
        "intervals that is nearer to its level. “Contradicts”: neither. With fewer than 40 data sets there is no verdict.",
        GROUPED,
    ),
    "correlation": (
        "“Reproduced”: the printed figure differs from ours by less than two standard errors of the difference and the rounding of the "
        "printed one. “Contradicts”: it differs by more. A correlation has no better side. The learners are of another data set than the "
        "paper's, so that there is no verdict on their means.",
    ),
    "uci": (
        "“Reproduced”: the printed error differs from ours by less than two standard errors of the difference and the rounding of the "
        "printed one. “Better”: ours is smaller by more. “Contradicts”: ours is larger by more. What of a row is not as in the paper, such "
        "as fewer splits or another algorithm, stands beside the verdict.",
    ),
    "hypotheses": (
        "This study asks what could explain the printed point errors, which are smaller than ours: one thing is changed at a time. A printed "
        "error is explained if at least 5 % of the data sets are as extreme, on both sides together, which with 40 data sets is one of them. "
        "An explanation must change extra-nets and the bootstrap, and leave Monte Carlo dropout as it is, on both processes.",
    ),
    "decorrelation": (
        "The paper prints no figure of this. It says that masks make the networks independent, so that the error of their mean falls as 1 / T: "
        "the dashed line of the first figures. Where the lines of masks lie on the broad line of other first weights only, masks do nothing "
        "that first weights do not do. On the UCI sets the errors hold the noise of the target, which no ensemble can remove.",
    ),
}  # fmt: skip
KINDS = {
    "learner": "Single learners",
    "average": "Averages over learners",
    "truth": "True quantities, over fresh training sets",
}


@dataclass
class RunSummary:
    """All that a report of a run shows, ready for JSON.

    Attributes
    ----------
    title : str
    meanings : tuple of str
        What the verdicts mean, or why there is none.
    about : dict
        Configuration, versions, machine and start.
    units_done, units : int
        The figures of an unfinished run are those of the units that are done.
    rows : list of dict
        The study's summary with all digits; ``x_se`` is the standard error of ``x``.
    tables : the same to read
    comparison : list of dict
        Every figure that the paper prints beside ours, with its verdict.
    beside : the same in the paper's tables; of the hypotheses study, what each change explains
    compared : the same as a list to read; contradictions are ``contradictions``
    verdicts : dict of str to int
    figures, absent
        As in :class:`Summary`.
    """

    title: str
    meanings: tuple[str, ...]
    about: dict[str, str]
    units_done: int
    units: int
    rows: list[Row]
    tables: list[Table]
    comparison: list[Row]
    beside: list[Table]
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
        meanings=MEANINGS[run.name],
        about=_about(run),
        units_done=len(run.results),
        units=len(run.units),
        rows=rows,
        tables=_tables(rows),
        comparison=comparison,
        beside=[explained(rows)] if run.name == "hypotheses" and rows else beside(comparison),
        compared=table("All printed figures beside those of this run", comparison, COLUMNS),
        contradictions=table(
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
    """The study's figures, the one to remember first; and why there is none."""
    makers: dict[str, Callable[[list[Row]], plots.Display]] = {
        "decorrelation": plots.GrowthDisplay.of,
        "correlation": plots.LearnersDisplay.of,
    }
    drawn: dict[str, plots.Display] = {}
    absent: dict[str, str] = {}
    try:
        if study in makers:
            drawn["picture"] = makers[study](rows)
        drawn["study"] = plots.StudyDisplay.of(study, rows)
    except plots.NothingToShow as reason:
        absent["study"] = str(reason)
    if study in ("simulation", "decorrelation"):
        drawn["paper"] = plots.PaperDisplay.of()
    return drawn, absent


def _tables(rows: list[Row]) -> list[Table]:
    """One table; or one for each kind of row, where rows of different kinds have different columns."""
    kinds = list(dict.fromkeys(row.get("kind") for row in rows))
    return [
        table(
            KINDS.get(kind or "", "Means with standard errors"),
            figures(
                {key: value for key, value in row.items() if key != "kind"} for row in rows if row.get("kind") == kind
            ),
        )
        for kind in kinds
    ]
