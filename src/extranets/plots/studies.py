"""Figures of the studies' run folders: rows of dots with their errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from extranets.plots.display import Display, NothingToShow
from extranets.plots.drawing import DIAGONAL, Dots, dots, legend, percent, short
from extranets.studies.printed import printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

Row = dict[str, Any]

LEVELS = {"90 %": "non_coverage_10", "95 %": "non_coverage_05", "99 %": "non_coverage_01"}
ERRORS = 2.0  # standard errors to each side


@dataclass
class Series:
    """Dots of one colour, one for each label of the chart; NaN where there is none."""

    name: str
    value: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def add(self, value: float | None, error: float | None) -> None:
        middle = float("nan") if value is None else value
        half = ERRORS * (error or 0.0)
        self.value.append(middle)
        self.low.append(middle - half)
        self.high.append(middle + half)


@dataclass
class Chart:
    """What one panel shows: a row of dots for each label."""

    title: str
    words: str
    xlabel: str
    labels: list[str]
    series: list[Series]
    lines: list[float] = field(default_factory=list)  # where dots should be


@dataclass
class StudyDisplay(Display):
    """A study's summary rows as dots, with bars of two standard errors to each side.

    - simulation: observed coverage of the 90, 95 and 99 % intervals, one panel for each process;
    - correlation: mean correlation of the learners as the paper measured it, with joint resampling, and over training sets;
    - uci: RMSE beside the printed one, one panel for each data set;
    - hypotheses: squared errors under each hypothesis beside the printed one, one panel for each process and method;
    - decorrelation: errors of single networks and of the mean of the largest ensembles, one panel for each data set.

    Examples
    --------
    >>> row = {"dataset": "boston", "column": "extra-nets T=70", "rmse": 2.9, "rmse_se": 0.1}
    >>> StudyDisplay.of("uci", [row]).words("boston")
    'On boston, the least RMSE is 2.9, by extra-nets T=70. The paper prints 2.8 for the same column.'
    """

    charts: list[Chart]

    @classmethod
    def of(cls, study: str, rows: list[Row]) -> Self:
        """From a study's name and the rows of its ``summarise``."""
        makers: dict[str, Callable[[list[Row]], list[Chart]]] = {
            "simulation": _coverage_charts,
            "correlation": _correlation_charts,
            "uci": _rmse_charts,
            "hypotheses": _hypotheses_charts,
            "decorrelation": _decorrelation_charts,
        }
        charts = makers[study](rows) if study in makers else []
        if not charts:
            raise NothingToShow("No unit is done yet, or the study has no figures.")
        return cls(charts)

    @property
    def panels(self) -> tuple[str, ...]:
        return tuple(chart.title for chart in self.charts)

    def title(self, panel: str = "") -> str:
        return self._chart(panel).title

    def words(self, panel: str = "") -> str:
        return self._chart(panel).words

    def height(self, panel: str = "") -> float:
        chart = self._chart(panel)
        return 1.0 + (0.2 + 0.12 * len(chart.series)) * len(chart.labels)

    def _chart(self, panel: str) -> Chart:
        return next((chart for chart in self.charts if chart.title == panel), self.charts[0])

    def _draw(self, ax: Axes, panel: str) -> None:
        chart = self._chart(panel)
        for line in chart.lines:
            ax.axvline(line, **DIAGONAL)
        dots(ax, chart.labels, [Dots(part.name, part.value, part.low, part.high) for part in chart.series])
        ax.set_xlabel(chart.xlabel)
        if len(chart.series) > 1:
            legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.1)


def _coverage_charts(rows: list[Row]) -> list[Chart]:
    """The largest ensembles of every method and keep probability."""
    most = max((row["T"] for row in rows), default=0)
    processes = dict.fromkeys(row["process"] for row in rows)
    return [
        _coverage_chart(process, [row for row in rows if (row["process"], row["T"]) == (process, most)])
        for process in processes
    ]


def _coverage_chart(process: str, rows: list[Row]) -> Chart:
    series = [Series(level) for level in LEVELS]
    for part, measure in zip(series, LEVELS.values(), strict=True):
        for row in rows:
            part.add(1 - row[measure], row[f"{measure}_se"])
    labels = [row["method"] + (f", p = {row['p']:g}" if row["p"] else "") for row in rows]
    least, most = min(series[0].value), max(series[0].value)
    words = (
        f"On the {process} process, with {rows[0]['T']} networks or passes, the 90 % intervals of {len(rows)} methods hold "
        f"{percent(least)} to {percent(most)} of the test rows, means over {rows[0]['replications']} data sets."
    )
    return Chart(
        f"{process} process", words, "observed coverage (dashed: nominal)", labels, series, lines=[0.90, 0.95, 0.99]
    )


def _rmse_charts(rows: list[Row]) -> list[Chart]:
    datasets = dict.fromkeys(row["dataset"] for row in rows)
    return [_rmse_chart(name, [row for row in rows if row["dataset"] == name]) for name in datasets]


def _rmse_chart(dataset: str, rows: list[Row]) -> Chart:
    paper = {line["column"]: line for line in printed("uci") if line["dataset"] == dataset}
    ours, theirs = Series("this run"), Series("printed")
    for row in rows:
        ours.add(row["rmse"], row["rmse_se"])
        line = paper.get(row["column"], {})
        theirs.add(*(float(line[key]) if line.get(key) else None for key in ("printed", "standard_error")))
    best = min(rows, key=lambda row: row["rmse"])
    line = paper.get(best["column"], {})
    beside = f" The paper prints {float(line['printed']):g} for the same column." if line.get("printed") else ""
    words = f"On {dataset}, the least RMSE is {short(best['rmse'])}, by {best['column']}.{beside}"
    return Chart(dataset, words, "RMSE", [row["column"] for row in rows], [ours, theirs])


def _correlation_charts(rows: list[Row]) -> list[Chart]:
    series, labels = Series("correlation"), []
    for row in rows:
        if row["kind"] == "average":
            labels.append(f"{row['version']} resampling")
            series.add(row["average_correlation"], None)
        elif row["kind"] == "truth":
            labels.append(f"fresh training sets,\n{row['process']} process")
            series.add(row["correlation"], row["correlation_se"])
    found = zip(labels, series.value, strict=True)
    seen = "; ".join(f"{label.replace(chr(10), ' ')}: {value:.2f}" for label, value in found)
    words = f"Mean correlation of two learners. {seen[:1].upper()}{seen[1:]}."
    return [Chart("Correlation of learners", words, "mean correlation", labels, [series], [0.0])] if labels else []


def _hypotheses_charts(rows: list[Row]) -> list[Chart]:
    kinds = dict.fromkeys((row["process"], row["method"]) for row in rows)
    return [
        _hypotheses_chart(*kind, [row for row in rows if (row["process"], row["method"]) == kind]) for kind in kinds
    ]


def _hypotheses_chart(process: str, method: str, rows: list[Row]) -> Chart:
    mean, smallest = Series("mean over data sets"), Series("smallest of them")
    for row in rows:
        mean.add(row["mspe"], row["mspe_se"])
        smallest.add(row["smallest"], None)
    reached = [row for row in rows if row["as_small"]]
    words = (
        f"Squared error of {method} for T = 30 on the {process} process if one thing is changed; dashed: the printed "
        f"{rows[0]['printed']:g}. Data sets with an error as small are there under {len(reached)} of {len(rows)} hypotheses."
    )
    labels = [row["hypothesis"] for row in rows]
    return Chart(f"{method}, {process} process", words, "MSPE", labels, [mean, smallest], [rows[0]["printed"]])


def _decorrelation_charts(rows: list[Row]) -> list[Chart]:
    most = max((row["T"] for row in rows), default=0)
    names = dict.fromkeys(row["data"] for row in rows)
    return [_decorrelation_chart(name, [r for r in rows if (r["data"], r["T"]) == (name, most)]) for name in names]


def _decorrelation_chart(data: str, rows: list[Row]) -> Chart:
    one, mean = Series("one network"), Series(f"mean of {rows[0]['T']}")
    for row in rows:
        one.add(row["member_error"], row["member_error_se"])
        mean.add(row["error"], row["error_se"])
    alike = "; ".join(f"{row['variant']}: {row['correlation']:.2f}" for row in rows)
    words = f"Squared errors on {data}, in variances of the target. Correlation of two networks' errors: {alike}."
    return Chart(data, words, "mean squared error", [row["variant"] for row in rows], [one, mean])
