"""What is left over: residuals against predictions, and in units of their predicted standard deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from extranets._arrays import Array
from extranets.evaluation import VAGUE, Predictions
from extranets.plots.display import PredictionsDisplay
from extranets.plots.drawing import ACCENT, DIAGONAL, GRID, LONGEST_NAME, SECOND, cut, legend, percent, short
from extranets.plots.intervals import shown_rows
from extranets.predictor.part import Distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

MOST_POINTS = 1000
FARTHEST = 4.0  # standard deviations that the histogram shows; what lies farther counts in its last bars
MOST_QUANTILES = 200
GRID_POINTS = np.linspace(-FARTHEST, FARTHEST, 161)  # where the predicted density is drawn


@dataclass(eq=False)
class ResidualsDisplay(PredictionsDisplay):
    """Residuals (observed minus predicted) against predictions, their histogram, and their quantiles beside predicted ones.

    Parameters
    ----------
    mean, residual : array of shape (n_shown,)
    bias, bias_se, bias_margin : float
        Mean residual of all rows, its standard error, and how far chance alone takes it (95 %, Student's t). The last two are
        NaN for one row.
    residual_std : float
        Standard deviation of the residuals; NaN for one row.
    edges, density : array of shape (n_bars + 1,) and (n_bars,)
        Histogram of standardised residuals. Empty if all standard deviations are zero.
    expected, quantiles : array of shape (n_points,)
        Quantiles of the predictive distribution in its standard deviations, and of the standardised residuals.
    far, expected_far : float
        Share of rows more than two predicted standard deviations off, and the share that the distribution has there.
    predicted : array of shape (161,)
        Density of the predictive distribution, in its standard deviations, at even distances from one end of the histogram to
        the other.
    distribution : str
        The predictive distribution in words.
    target : str
    """

    mean: Array
    residual: Array
    bias: float
    bias_se: float
    bias_margin: float
    residual_std: float
    edges: Array
    density: Array
    expected: Array
    quantiles: Array
    far: float
    expected_far: float
    predicted: Array
    distribution: str
    target: str = "y"

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        p = predictions
        residual, rows = p.y - p.mean, shown_rows(p.mean, MOST_POINTS)
        z = p.predictive.standard_errors(p.y)
        z = z[~np.isnan(z)]  # where the standard deviation is 0, an error has no size in standard deviations
        far = float((np.abs(z) > 2).mean()) if len(z) else float("nan")
        standard = p.shape.frozen(np.zeros(()), np.ones(()))
        expected_far = float(standard.cdf(-2) + standard.sf(2))
        parts = (*_histogram(z), *_quantiles(z, p.shape))
        words = (p.distribution, p.target)
        return cls(
            p.mean[rows], residual[rows], *_bias(residual), *parts, far, expected_far, standard.pdf(GRID_POINTS), *words
        )

    @property
    def panels(self) -> tuple[str, ...]:
        return ("prediction", "histogram", "quantiles") if len(self.expected) else ("prediction",)

    @property
    def as_hoped(self) -> bool | None:
        if abs(self.bias) > self.bias_margin:
            return False
        return True if self.bias_margin <= VAGUE * self.residual_std else None

    def title(self, panel: str = "") -> str:
        names = {"histogram": "Standardised residuals", "quantiles": "Quantiles beside the predicted ones"}
        return names.get(panel, "Residuals against predictions")

    def words(self, panel: str = "") -> str:
        if panel == "histogram":
            return (
                f"{percent(self.far)} of rows are more than two predicted standard deviations off; of the predictive "
                f"distribution ({self.distribution}), {percent(self.expected_far)} are."
            )
        if panel == "quantiles":
            tails = (
                f"{self.quantiles[0]:.2f} and {self.quantiles[-1]:.2f}",
                f"{self.expected[0]:.2f} and {self.expected[-1]:.2f}",
            )
            return (
                f"The outermost standardised residuals are {tails[0]}; the quantiles of the predictive distribution "
                f"({self.distribution}) that belong to them are {tails[1]}."
            )
        if np.isnan(self.bias_se):
            return f"The residual is {short(self.bias)}; one row is too few to tell a bias from chance."
        verdict = {
            True: "which is no bias beyond chance",
            False: "which is a bias beyond chance",
            None: "which is no bias beyond chance, but the rows are too few to tell",
        }[self.as_hoped]
        return f"The mean residual is {short(self.bias)} ± {short(self.bias_se)} (standard error), {verdict}."

    def _draw(self, ax: Axes, panel: str) -> None:
        {"histogram": self._draw_histogram, "quantiles": self._draw_quantiles}.get(panel, self._draw_residuals)(ax)
        ax.grid(color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)

    def _draw_residuals(self, ax: Axes) -> None:
        ax.axhline(0, **DIAGONAL)
        ax.plot(self.mean, self.residual, "o", color=ACCENT, markersize=3, alpha=0.55, markeredgewidth=0)
        ax.set_xlabel(f"predicted {cut(self.target, LONGEST_NAME)}", parse_math=False)
        ax.set_ylabel("observed - predicted")

    def _draw_histogram(self, ax: Axes) -> None:
        ax.stairs(self.density, self.edges, fill=True, color=ACCENT, alpha=0.35, label="residuals")
        ax.plot(GRID_POINTS, self.predicted, color=SECOND, linewidth=1.6, label="predicted")
        ax.set(xlabel="residual / predicted standard deviation", ylabel="density")
        legend(ax, loc="upper left")

    def _draw_quantiles(self, ax: Axes) -> None:
        ax.axline((0, 0), slope=1, **DIAGONAL)
        ax.plot(self.expected, self.quantiles, "o", color=ACCENT, markersize=3.2, markeredgewidth=0)
        ax.set(xlabel="predicted quantile", ylabel="residual / predicted std")


def _bias(residual: Array) -> tuple[float, float, float, float]:
    from scipy.special import stdtrit

    n = len(residual)
    residual_std = float(residual.std(ddof=1)) if n > 1 else float("nan")
    error = residual_std / math.sqrt(n)
    return float(residual.mean()), error, float(stdtrit(n - 1, 0.975)) * error, residual_std


def _histogram(z: Array) -> tuple[Array, Array]:
    if not len(z):
        return np.empty(0), np.empty(0)
    n_bars = int(np.clip(2 * len(z) ** (1 / 3), 8, 40)) // 2 * 2  # even, so that zero is an edge
    edges = np.linspace(-FARTHEST, FARTHEST, n_bars + 1)
    counts, _ = np.histogram(np.clip(z, -FARTHEST, FARTHEST), edges)
    return edges, counts / (len(z) * np.diff(edges))


def _quantiles(z: Array, shape: Distribution) -> tuple[Array, Array]:
    """Expected and observed quantiles at the same probabilities: one for each residual, but at most 200."""
    if not len(z):
        return np.empty(0), np.empty(0)
    ranks = np.unique(np.linspace(0, len(z) - 1, min(len(z), MOST_QUANTILES)).round().astype(np.intp))
    return shape.multiples((ranks + 0.5) / len(z))[0], np.sort(z)[ranks]
