"""Where intervals hold too few targets: a search of the table that does not sell noise as a finding.

Every bin of every feature, and every combination of bins of two features, is a region. The chance of as few hits as observed is
that of a binomial with the nominal coverage. The best of many regions looks bad by chance alone, so the probabilities are
adjusted by Holm's method for all regions that were looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.evaluation import Predictions, binomial_limits
from extranets.plots._columns import Bins, binned_columns
from extranets.plots.display import NothingToShow, PredictionsDisplay, too_few
from extranets.plots.drawing import DIAGONAL, Dots, counted, cut, dots, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

BINS = 4
FEWEST_ROWS = 20
MOST_PAIRED = 12  # features whose pairs are searched: those by which the widths vary most
MOST_LISTED = 8
SIGNIFICANT = 0.05
LONGEST_LABEL = 34


@dataclass(frozen=True)
class Region:
    """Rows in one bin of one feature, or in one bin each of two features. ``adjusted`` is Holm's probability."""

    parts: tuple[str, ...]
    n: int
    missed: int
    coverage: float
    low: float
    high: float
    probability: float
    adjusted: float

    @property
    def where(self) -> str:
        return " and ".join(self.parts)

    @property
    def beyond_chance(self) -> bool:
        return self.adjusted < SIGNIFICANT

    @property
    def verdict(self) -> str:
        if self.beyond_chance:
            return "too low"
        return "may be chance" if self.probability < 0.5 else "not low"


@dataclass(eq=False)
class RegionsDisplay(PredictionsDisplay):
    """The regions with the strongest evidence of too little coverage.

    Parameters
    ----------
    regions : list of Region
        At most eight, the most striking first. A part of a region that is listed already is left out.
    n_searched : int
        Regions that were looked at, all of at least 20 rows.
    n_beyond_chance : int
        Searched regions that cover too little, beyond chance.
    coverage : float
        Nominal.
    most_rows : int
        Rows of the largest region that was looked at.
    """

    regions: list[Region]
    n_searched: int
    n_beyond_chance: int
    coverage: float
    most_rows: int

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        p = predictions
        lower, upper = p.at(coverage)
        missed = ((p.y < lower) | (p.y > upper)).astype(np.float64)
        columns = sorted(binned_columns(p.features, BINS), key=lambda bins: -bins.explained(upper - lower))
        found = _Search.of([bins for bins in columns if len(bins.labels) > 1], missed, coverage)
        if not len(found.n):
            raise NothingToShow(f"No part of the table has {FEWEST_ROWS} rows, so coverage cannot be judged by region.")
        n_beyond_chance = int((found.adjusted < SIGNIFICANT).sum())
        return cls(found.listed(), len(found.n), n_beyond_chance, coverage, int(found.n.max()))

    @property
    def as_hoped(self) -> bool | None:
        if self.n_beyond_chance:
            return False
        return None if too_few(self.most_rows, self.coverage) else True

    def title(self, panel: str = "") -> str:
        return "Worst-covered regions"

    def words(self, panel: str = "") -> str:
        worst = self.regions[0]
        seen = f"{percent(worst.coverage)} of {worst.n:,} rows are covered where {worst.where}"
        searched = counted(self.n_searched, "region")
        if self.n_beyond_chance:
            cover = "covers" if self.n_beyond_chance == 1 else "cover"
            return (
                f"{self.n_beyond_chance} of {searched} {cover} less than {percent(self.coverage)} beyond chance. "
                f"The most striking: {seen}."
            )
        few = "" if self.as_hoped else ", but the rows are too few to tell"
        return (
            f"None of {searched} covers less than {percent(self.coverage)} beyond what chance makes of so many "
            f"comparisons{few}. The most striking: {seen}."
        )

    def height(self, panel: str = "") -> float:
        return 0.8 + 0.44 * len(self.regions)

    def _draw(self, ax: Axes, panel: str) -> None:
        coverage, low, high = ([getattr(r, name) for r in self.regions] for name in ("coverage", "low", "high"))
        labels = ["\n".join(cut(part, LONGEST_LABEL) for part in region.parts) for region in self.regions]
        dots(ax, labels, [Dots("coverage", coverage, low, high)], [region.beyond_chance for region in self.regions])
        ax.axvline(self.coverage, **DIAGONAL)
        ax.set_xlim(right=1.01)
        ax.set_xlabel(
            f"observed coverage (dashed: nominal {percent(self.coverage)})", loc="right"
        )  # names leave little room


@dataclass(frozen=True, eq=False)
class _Search:
    """All regions. Shapes: all ``(n_regions,)`` except parts, which has the bins (feature, code) of each region."""

    columns: list[Bins]
    parts: list[frozenset[tuple[int, int]]]
    n: npt.NDArray[np.intp]
    missed: npt.NDArray[np.intp]
    probability: Array
    adjusted: Array

    @classmethod
    def of(cls, columns: list[Bins], missed: Array, coverage: float) -> _Search:
        from scipy.special import bdtr

        found = [region for group in _groups(columns) for region in _counted(group, columns, missed)]
        n, bad = (np.array([region[i] for region in found], dtype=np.intp) for i in (1, 2))
        probability = bdtr(n - bad, n, coverage)
        return cls(columns, [region[0] for region in found], n, bad, probability, holm(probability))

    def listed(self) -> list[Region]:
        taken: list[frozenset[tuple[int, int]]] = []
        regions: list[Region] = []
        for i in np.lexsort((-self.missed, self.probability)).tolist():
            if len(regions) == MOST_LISTED:
                break
            if not any(earlier <= self.parts[i] for earlier in taken):
                taken.append(self.parts[i])
                regions.append(self._region(i))
        return regions

    def _region(self, i: int) -> Region:
        n, missed = int(self.n[i]), int(self.missed[i])
        where = tuple(self.columns[feature].where(code) for feature, code in sorted(self.parts[i]))
        limits = binomial_limits(n - missed, n)
        return Region(where, n, missed, 1 - missed / n, *limits, float(self.probability[i]), float(self.adjusted[i]))


def _groups(columns: list[Bins]) -> Iterator[tuple[int, ...]]:
    yield from ((i,) for i in range(len(columns)))
    yield from combinations(range(min(len(columns), MOST_PAIRED)), 2)


def _counted(
    group: tuple[int, ...], columns: list[Bins], missed: Array
) -> Iterator[tuple[frozenset[tuple[int, int]], int, int]]:
    """The bins, rows and misses of every region of one or two features that has enough rows."""
    sizes = tuple(len(columns[i].labels) for i in group)
    codes = np.ravel_multi_index([columns[i].codes for i in group], sizes)
    n, bad = (np.bincount(codes, weights, int(np.prod(sizes))) for weights in (None, missed))
    for cell in np.flatnonzero(n >= FEWEST_ROWS).tolist():
        bins = (int(code) for code in np.unravel_index(cell, sizes))
        yield frozenset(zip(group, bins, strict=True)), int(n[cell]), int(bad[cell])


def holm(probability: Array) -> Array:
    """Holm's adjusted probabilities: those under 0.05 are all true findings with 95 % confidence. Shape: ``(m,)``.

    Examples
    --------
    >>> holm(np.array([0.01, 0.5, 0.03])).tolist()
    [0.03, 0.5, 0.06]
    """
    order = np.argsort(probability)
    scaled = probability[order] * np.arange(len(probability), 0, -1)
    adjusted = np.empty_like(scaled)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted
