"""Whether intervals hold as many targets as they promise: at all levels, and in narrow and wide intervals alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from extranets import metrics
from extranets._arrays import Array
from extranets.evaluation import CONFIDENCE, VAGUE, Predictions, binomial_limits, coverage_table
from extranets.plots._columns import binned
from extranets.plots.display import NothingToShow, PredictionsDisplay, too_few
from extranets.plots.drawing import ACCENT, DIAGONAL, GRID, MISS, MUTED, SECOND, counted, legend, percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self


@dataclass(eq=False)
class CalibrationDisplay(PredictionsDisplay):
    """Observed against nominal coverage, with 95 % limits; and the same for the quantiles of the predictive distribution.

    Intervals do not see a shift of all predictions as such; quantiles do.

    Parameters
    ----------
    nominal, observed, low, high : array of shape (n_levels,)
    quantile_levels, quantile_observed : array of shape (99,)
    coverage : float
        The level that matters most: all is well only if it is kept.
    band : float
        The curve of a model whose levels are all right is at most this far from the diagonal with 95 % confidence. The
        limits hold for one level at a time, so some of them are missed by chance.
    """

    all_levels: ClassVar[bool] = True

    nominal: Array
    observed: Array
    low: Array
    high: Array
    quantile_levels: Array
    quantile_observed: Array
    coverage: float
    band: float

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        from scipy.stats import kstwo

        p = predictions
        rows = coverage_table(p)
        nominal, observed, low, high = np.array([(row.nominal, row.observed, row.low, row.high) for row in rows]).T
        quantiles = metrics.calibration_curve(p.predictive.normal_errors(p.y), 0.0, 1.0, by="quantile")
        # Observed coverage is the distribution function of the lowest level that holds each target, so its
        # distance from the nominal one is that of Kolmogorov and Smirnov.
        band = float(kstwo.ppf(CONFIDENCE, len(p)))
        return cls(nominal, observed, low, high, *quantiles, coverage, band)

    @property
    def error(self) -> float:
        """Mean distance of observed from nominal coverage."""
        return float(np.abs(self.observed - self.nominal).mean())

    @property
    def kept(self) -> int:
        """Levels that lie within the limits of their observed coverage."""
        return int(self._within.sum())

    @property
    def coverage_kept(self) -> bool:
        """Whether ``coverage`` is among these levels."""
        return bool(self._within[np.isclose(self.nominal, self.coverage)].all())

    @property
    def as_hoped(self) -> bool | None:
        if not (self.in_band and self.coverage_kept):
            return False
        return None if self._farthest_limits > VAGUE else True

    @property
    def in_band(self) -> bool:
        """Whether the curve is no farther from the diagonal than chance allows."""
        return bool(np.abs(self.observed - self.nominal).max() <= self.band)

    @property
    def _within(self) -> npt.NDArray[np.bool_]:
        return (self.low <= self.nominal) & (self.nominal <= self.high)

    @property
    def _farthest_limits(self) -> float:
        return float((self.high - self.low).max())

    def title(self, panel: str = "") -> str:
        return "Calibration"

    def words(self, panel: str = "") -> str:
        worst = int(np.argmax(np.abs(self.observed - self.nominal)))
        return (
            f"{self._verdict} Observed coverage differs from the nominal one by {100 * self.error:.1f} points on average, most "
            f"at {percent(self.nominal[worst])}, where it is {percent(self.observed[worst])}. Quantiles of the predictive "
            f"distribution differ by {100 * np.abs(self.quantile_observed - self.quantile_levels).mean():.1f} points on average."
        )

    @property
    def _verdict(self) -> str:
        if self.as_hoped is None:
            return (
                f"The rows are too few to tell: 95 % limits lie up to {100 * self._farthest_limits:.0f} points apart."
            )
        but = "" if self.coverage_kept else f", but not at {percent(self.coverage)}"
        return (
            f"The nominal coverage lies within the 95 % limits at {self.kept} of {counted(len(self.nominal), 'level')}{but}. The "
            f"curve as a whole {'is no' if self.in_band else 'is'} farther off than chance allows ({100 * self.band:.1f} points)."
        )

    def height(self, panel: str = "") -> float:
        return 3.6

    def _draw(self, ax: Axes, panel: str) -> None:
        ax.axline((0, 0), (1, 1), **DIAGONAL)
        ax.fill_between(self.nominal, self.low, self.high, color=ACCENT, alpha=0.2, linewidth=0, label="95 % limits")
        ax.plot(self.nominal, self.observed, color=ACCENT, linewidth=1.8, label="intervals")
        ax.plot(
            self.quantile_levels, self.quantile_observed, color=SECOND, linestyle=":", linewidth=1.6, label="quantiles"
        )
        ax.set(xlabel="nominal", ylabel="observed", xlim=(0, 1), ylim=(0, 1))
        ax.grid(color=GRID, linewidth=0.8)
        legend(ax, loc="upper left")


MOST_BINS, FEWEST_ROWS = 5, 20


@dataclass(eq=False)
class CoverageByWidthDisplay(PredictionsDisplay):
    """Observed coverage in groups of rows from the narrowest to the widest intervals.

    Parameters
    ----------
    width, error, observed, low, high : array of shape (n_groups,)
        Mean width, root mean squared error, coverage and its limits, which hold for all groups at once with 95 % confidence.
    n : array of shape (n_groups,)
    coverage : float
        Nominal.
    """

    width: Array
    error: Array
    observed: Array
    low: Array
    high: Array
    n: Array
    coverage: float

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        p = predictions
        lower, upper = p.at(coverage)
        width = upper - lower
        usable = np.isfinite(width)
        n_groups = min(MOST_BINS, int(usable.sum()) // FEWEST_ROWS)
        if n_groups < 2 or np.ptp(width[usable]) <= 1e-9 * np.abs(width[usable]).max():
            raise NothingToShow("Too few rows, or intervals of one width only, to compare narrow and wide intervals.")
        inside = ((lower <= p.y) & (p.y <= upper))[usable]
        groups = binned("width", width[usable], n_groups)
        n, hits = groups.counts(), groups.counts(inside)
        limits = [binomial_limits(int(h), int(m), 1 - 0.05 / len(n)) for h, m in zip(hits, n, strict=True)]
        error = np.sqrt(groups.counts((p.y - p.mean)[usable] ** 2) / n)
        low, high = np.array(limits).T
        return cls(groups.counts(width[usable]) / n, error, hits / n, low, high, n, coverage)

    @property
    def broken(self) -> list[int]:
        """Groups whose coverage differs from the nominal one beyond chance."""
        return np.flatnonzero((self.high < self.coverage) | (self.low > self.coverage)).tolist()

    @property
    def as_hoped(self) -> bool | None:
        if self.broken:
            return False
        return None if too_few(int(self.n.min()), self.coverage) else True

    def title(self, panel: str = "") -> str:
        return "Does the width follow the error?"

    def words(self, panel: str = "") -> str:
        verdict = {
            True: "In no group does coverage differ from the nominal one beyond chance.",
            False: f"In {len(self.broken)} of {len(self.n)} groups coverage differs from the nominal one beyond chance.",
            None: "In no group does coverage differ from the nominal one beyond chance, but the rows are too few to tell.",
        }[self.as_hoped]
        return (
            f"From the narrowest to the widest of {len(self.n)} groups of rows, the mean width goes from {short(self.width[0])} "
            f"to {short(self.width[-1])}, the typical error from {short(self.error[0])} to {short(self.error[-1])}, and the "
            f"coverage from {percent(self.observed[0])} to {percent(self.observed[-1])}. {verdict}"
        )

    def _draw(self, ax: Axes, panel: str) -> None:
        ax.axhline(self.coverage, **DIAGONAL)
        ax.annotate("nominal", (0.99, self.coverage), xycoords=("axes fraction", "data"), color=MUTED, ha="right", va="bottom", fontsize="small")  # fmt: skip
        for i, (x, y) in enumerate(zip(self.width, self.observed, strict=True)):
            colour, shape = (MISS, "X") if i in self.broken else (ACCENT, "o")
            ax.vlines(x, self.low[i], self.high[i], color=colour, linewidth=1.6, alpha=0.55)
            ax.plot(x, y, shape, color=colour, markersize=6)
        ax.set(xlabel=f"mean width of {percent(self.coverage)} intervals", ylabel="observed coverage")
        ax.set_ylim(top=1.01)
        ax.grid(axis="y", color=GRID, linewidth=0.8)
