"""Predicted against observed, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.evaluation import Predictions, binomial_limits
from extranets.plots.display import PredictionsDisplay
from extranets.plots.drawing import ACCENT, DIAGONAL, LONGEST_NAME, MISS, counted, cut, legend, percent, share_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

MOST_ROWS = 400  # more would overlap too much


@dataclass(eq=False)
class PredictionIntervalDisplay(PredictionsDisplay):
    """Observed targets over their predictions, each with its interval as a vertical line: a miss lies off its line.

    Parameters
    ----------
    y, mean, lower, upper : array of shape (n_shown,)
    coverage : float
        Nominal.
    observed : float
        Share of all rows that lie inside their intervals.
    n : int
        All rows; at most 400 of them are shown, evenly spread over the predictions.
    target : str
    """

    y: Array
    mean: Array
    lower: Array
    upper: Array
    coverage: float
    observed: float
    n: int
    target: str = "y"

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        p = predictions
        lower, upper = p.at(coverage)
        observed = float(((lower <= p.y) & (p.y <= upper)).mean())
        rows = shown_rows(p.mean)
        return cls(p.y[rows], p.mean[rows], lower[rows], upper[rows], coverage, observed, len(p), p.target)

    def title(self, panel: str = "") -> str:
        return f"Predicted and observed with {percent(self.coverage)} intervals"

    def words(self, panel: str = "") -> str:
        low, high = binomial_limits(round(self.observed * self.n), self.n)
        shown = f"; {len(self.y)} of them are drawn" if len(self.y) < self.n else ""
        return (
            f"The {percent(self.coverage)} intervals hold {percent(self.observed)} of {counted(self.n, 'row')} "
            f"(95 % limits {share_range(low, high)}){shown}."
        )

    def _draw(self, ax: Axes, panel: str) -> None:
        bottom, top = finite_range(self.y, self.mean, self.lower, self.upper)
        inside = (self.lower <= self.y) & (self.y <= self.upper)
        for rows, colour, shape, name in ((inside, ACCENT, "o", "inside"), (~inside, MISS, "X", "outside")):
            ends = np.clip([self.lower[rows], self.upper[rows]], bottom, top)
            ax.vlines(self.mean[rows], *ends, color=colour, linewidth=0.8, alpha=0.35)
            ax.plot(self.mean[rows], self.y[rows], shape, color=colour, markersize=3.2, linewidth=0, label=name)
        ax.axline((self.mean[0], self.mean[0]), slope=1, **DIAGONAL)
        ax.set_ylim(bottom, top)
        ax.set_xlabel(f"predicted {cut(self.target, LONGEST_NAME)}", parse_math=False)
        ax.set_ylabel(f"observed {cut(self.target, LONGEST_NAME)}, and interval", parse_math=False)
        legend(ax, loc="upper left")


def shown_rows(mean: Array, most: int = MOST_ROWS) -> npt.NDArray[np.intp]:
    """All rows, or ``most`` of them spread evenly over the predictions. Shape: mean ``(n,)`` -> ``(at most most,)``.

    Examples
    --------
    >>> shown_rows(np.array([3.0, 1.0, 2.0, 0.0]), 2).tolist()
    [0, 1]
    """
    if len(mean) <= most:
        return np.arange(len(mean))
    middles = (np.arange(most) + 0.5) * len(mean) / most
    return np.sort(np.argsort(mean, kind="stable")[middles.astype(np.intp)])


def finite_range(*parts: Array) -> tuple[float, float]:
    """The range of all finite numbers, with a margin; it is never empty."""
    values = np.concatenate([np.ravel(part) for part in parts])
    values = values[np.isfinite(values)]
    bottom, top = float(values.min()), float(values.max())
    margin = 0.04 * (top - bottom) or 0.5 * (abs(top) or 1.0)
    return bottom - margin, top + margin
