"""Coverage in parts of the table that someone named: over time, by group, and by how new rows are to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from extranets import metrics
from extranets.evaluation import Predictions, binomial_limits
from extranets.plots._columns import Bins, binned
from extranets.plots.display import NothingToShow, PredictionsDisplay, too_few
from extranets.plots.drawing import DIAGONAL, Dots, counted, cut, dots, percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

MOST_PARTS, FEWEST_ROWS = 10, 20  # of time, and in one of them
MOST_GROUPS = 20  # that have a line of their own, the largest
LONGEST_LABEL = 34
MOST_COLUMNS = 12  # with values outside, that are listed
EDGES = (0.5, 0.9, 0.99)  # of scores of novelty


@dataclass(frozen=True)
class Part:
    """Some rows. Limits of the coverage hold for all parts of a display at once, with 95 % confidence."""

    label: str
    n: int
    coverage: float
    low: float
    high: float
    mean_width: float
    interval_score: float
    nominal: float

    @property
    def verdict(self) -> str:
        if self.high < self.nominal:
            return "too low"
        if self.low > self.nominal:
            return "too high"
        return "too few rows to tell" if too_few(self.n, self.nominal) else "as promised"


def parts_of(predictions: Predictions, coverage: float, bins: Bins) -> list[Part]:
    """One for each bin, in their order."""
    p, found = predictions, []
    lower, upper = p.at(coverage)
    inside = (lower <= p.y) & (p.y <= upper)
    for code, label in enumerate(bins.labels):
        rows = bins.codes == code
        n, hits = int(rows.sum()), int(inside[rows].sum())
        limits = binomial_limits(hits, n, 1 - 0.05 / len(bins.labels))
        bounds = p.y[rows], lower[rows], upper[rows]
        width, score = metrics.mean_width(*bounds), metrics.interval_score(*bounds, coverage)
        found.append(Part(label, n, hits / n, *limits, width, score, coverage))
    return found


@dataclass(eq=False)
class PartsDisplay(PredictionsDisplay):
    """Coverage by part: what the displays below share.

    Parameters
    ----------
    name : str
        What the parts are parts of: a column.
    parts : list of Part
    coverage : float
        Nominal.
    """

    name: str
    parts: list[Part]
    coverage: float

    what: ClassVar[str]

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the verdicts."""
        parts = [{**vars(part), "verdict": part.verdict} for part in self.parts]
        return {**vars(self), "parts": parts}

    @property
    def broken(self) -> list[Part]:
        """Parts that cover too little or too much, beyond chance."""
        return [part for part in self.parts if part.verdict in ("too low", "too high")]

    @property
    def as_hoped(self) -> bool | None:
        if self.broken:
            return False
        return None if all(too_few(part.n, self.coverage) for part in self.parts) else True

    def words(self, panel: str = "") -> str:
        worst = min(self.parts, key=lambda part: part.high)
        seen = (
            f"the lowest is {percent(worst.coverage)} of {counted(worst.n, 'row')} where {self.name} is {worst.label}"
        )
        few = ", but the rows are too few to tell" if self.as_hoped is None else ""
        verdict = (
            f"In {len(self.broken)} of {counted(len(self.parts), self.what)} coverage differs from {percent(self.coverage)} beyond chance"
            if self.broken
            else f"In none of {counted(len(self.parts), self.what)} coverage differs from {percent(self.coverage)} beyond chance{few}"
        )
        return f"{verdict}; {seen}."

    def height(self, panel: str = "") -> float:
        return 0.8 + 0.34 * len(self.parts)

    def _draw(self, ax: Axes, panel: str) -> None:
        coverage, low, high = ([getattr(part, name) for part in self.parts] for name in ("coverage", "low", "high"))
        labels = [cut(part.label, LONGEST_LABEL) for part in self.parts]
        broken = [part in self.broken for part in self.parts]
        dots(ax, labels, [Dots("coverage", coverage, low, high)], broken)
        ax.axvline(self.coverage, **DIAGONAL)
        ax.set_xlim(right=1.01)
        ax.set_xlabel(f"observed coverage (dashed: nominal {percent(self.coverage)})", loc="right")


@dataclass(eq=False)
class CoverageOverTimeDisplay(PartsDisplay):
    """Coverage in up to ten parts of time, the earliest first, each with about as many rows, twenty or more.

    Parameters
    ----------
    name : str
        The column of times.
    parts : list of Part
        Their limits hold for all at once, with 95 % confidence.
    coverage : float
        Nominal.
    """

    what: ClassVar[str] = "part"

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        if predictions.time is None:
            raise NothingToShow("No column of times was named (--time COLUMN), so there is no coverage over time.")
        name, values = predictions.time
        n_parts = min(MOST_PARTS, max(1, len(predictions) // FEWEST_ROWS))
        return cls(name, parts_of(predictions, coverage, binned(name, values, n_parts)), coverage)

    def title(self, panel: str = "") -> str:
        return f"Coverage over time: {self.name}"


@dataclass(eq=False)
class CoverageByGroupDisplay(PartsDisplay):
    """Coverage in the largest groups, up to twenty, and in all others together.

    Parameters
    ----------
    name : str
        The column that names groups.
    parts : list of Part
        Their limits hold for all at once, with 95 % confidence.
    coverage : float
        Nominal.
    """

    what: ClassVar[str] = "group"

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        if predictions.groups is None:
            raise NothingToShow("No column of groups was named (--group COLUMN), so there is no coverage by group.")
        name, values = predictions.groups
        texts = np.array([str(value) for value in values], dtype=object)
        return cls(name, parts_of(predictions, coverage, binned(name, texts, MOST_GROUPS, MOST_GROUPS)), coverage)

    def title(self, panel: str = "") -> str:
        return f"Coverage by group: {self.name}"


@dataclass(frozen=True)
class Outside:
    """A column with values outside of what the training rows cover."""

    name: str
    n: int
    coverage: float  # of these rows


@dataclass(eq=False)
class NoveltyDisplay(PartsDisplay):
    """Coverage by how far rows are from the training rows, and in rows outside of what these cover.

    Parameters
    ----------
    name : str
        "novelty"
    parts : list of Part
        By score; rows outside are the last, if there are any.
    coverage : float
        Nominal.
    n_outside : int
        Rows outside in some column.
    columns : list of Outside
        The columns in which they are, at most twelve, those with the most rows first.
    """

    n_outside: int
    columns: list[Outside]

    what: ClassVar[str] = "part"

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        p = predictions
        if p.novelty is None or p.outside is None:
            raise NothingToShow("The model does not keep what its training rows cover; fit it again to see it.")
        lower, upper = p.at(coverage)
        inside = (lower <= p.y) & (p.y <= upper)
        columns = [
            Outside(str(name), int(rows.sum()), float(inside[rows].mean()))
            for name, rows in p.outside.items()
            if rows.any()
        ]
        columns.sort(key=lambda column: -column.n)
        out = np.any(list(p.outside.values()), axis=0)
        return cls(
            "novelty", parts_of(p, coverage, _scores(p.novelty, out)), coverage, int(out.sum()), columns[:MOST_COLUMNS]
        )

    def title(self, panel: str = "") -> str:
        return "Coverage by novelty"

    def words(self, panel: str = "") -> str:
        if not self.n_outside:
            return f"No row lies outside of what the training rows cover. {super().words()}"
        lie = "row lies" if self.n_outside == 1 else "rows lie"
        names = ", ".join(column.name for column in self.columns)
        outside = f"{self.n_outside:,} {lie} outside of what the training rows cover, in {names}"
        return f"{outside}; {percent(self.parts[-1].coverage)} of them are covered. {super().words()}"


def _scores(novelty: Sequence[float] | np.ndarray, outside: np.ndarray) -> Bins:
    """Scores between the edges, and rows outside."""
    texts = [short(edge) for edge in (0, *EDGES, 1)]
    labels = np.array([f"{low} to {high}" for low, high in pairwise(texts)] + ["outside"])
    codes = np.where(outside, len(labels) - 1, np.searchsorted(EDGES, np.asarray(novelty), side="left"))
    present, codes = np.unique(codes, return_inverse=True)
    return Bins("novelty", "number", labels[present].tolist(), codes.astype(np.intp))
