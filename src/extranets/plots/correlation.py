"""How similar the networks' errors are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.evaluation import Predictions
from extranets.plots.display import NothingToShow, PredictionsDisplay
from extranets.plots.drawing import ACCENT, MISS
from extranets.plots.intervals import shown_rows
from extranets.uncertainty.decomposition import member_correlation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

MOST_MEMBERS = 40  # that are drawn
MOST_ROWS = 20_000
MOST_WRITTEN = 12  # members whose correlations are also written into their cells


@dataclass(eq=False)
class CorrelationDisplay(PredictionsDisplay):
    """Correlations between the errors of the networks, over rows, as a heat map.

    Errors contain the noise of the targets, which all networks share: where noise is most of the error, correlations are near
    one whatever the networks do.

    Parameters
    ----------
    correlation : array of shape (k, k)
        NaN where a network's errors do not vary.
    members : array of shape (k,)
        Numbers of the networks that are shown, at most 40.
    n_members : int
    mean, least, most : float
        Over all pairs of networks.
    """

    needs_members: ClassVar[bool] = True

    correlation: Array
    members: npt.NDArray[np.intp]
    n_members: int
    mean: float
    least: float
    most: float

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        p = predictions
        if p.members is None or len(p.members) < 2 or len(p) < 2:
            raise NothingToShow("There are no predictions of two or more networks for two or more rows to compare.")
        rows = shown_rows(p.mean, MOST_ROWS)
        matrix = member_correlation(p.members[:, rows] - p.y[rows])
        pairs = matrix[np.tril_indices(len(matrix), -1)]
        pairs = pairs[~np.isnan(pairs)]
        if not len(pairs):
            raise NothingToShow("The networks' errors do not vary, so they have no correlation.")
        n = len(matrix)
        shown = np.unique(np.linspace(0, n - 1, min(n, MOST_MEMBERS)).round().astype(np.intp))
        described = float(pairs.mean()), float(pairs.min()), float(pairs.max())
        return cls(matrix[np.ix_(shown, shown)], shown, n, *described)

    def title(self, panel: str = "") -> str:
        return "Correlation of the networks' errors"

    def words(self, panel: str = "") -> str:
        shown = f" {len(self.members)} of them are drawn." if len(self.members) < self.n_members else ""
        return (
            f"Errors of two of the {self.n_members} networks have a correlation of {self.mean:.2f} on average, from "
            f"{self.least:.2f} to {self.most:.2f}.{shown} The noise in the targets is part of every network's error."
        )

    def height(self, panel: str = "") -> float:
        return 4.2

    def _draw(self, ax: Axes, panel: str) -> None:
        """The lower triangle: darker is more correlated; negative ones have another colour, and a minus where there is room."""
        from matplotlib.collections import PatchCollection
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Rectangle

        k = len(self.members)
        cells = [(i, j) for i in range(k) for j in range(i) if np.isfinite(self.correlation[i, j])]
        values = [self.correlation[i, j] for i, j in cells]
        colours = [to_rgba(ACCENT if value >= 0 else MISS, abs(value)) for value in values]
        patches = [Rectangle((j - 0.5, i - 0.5), 1, 1) for i, j in cells]
        ax.add_collection(PatchCollection(patches, facecolors=colours, linewidths=0))
        if k <= MOST_WRITTEN:
            self._write(ax, cells)
        self._draw_scale(ax)
        ax.set(xlim=(-0.5, k - 1.5), ylim=(k - 0.5, 0.5), aspect="equal", xlabel="network", ylabel="network")
        ticks = np.unique(np.linspace(0, k - 1, min(k, 6)).round().astype(int))
        ax.set_xticks(ticks[ticks < k - 1], [str(self.members[i]) for i in ticks if i < k - 1])
        ax.set_yticks(ticks[ticks > 0], [str(self.members[i]) for i in ticks if i > 0])
        ax.spines[["top", "right", "left", "bottom"]].set_visible(False)

    def _draw_scale(self, ax: Axes) -> None:
        """What the colours mean, in the empty corner."""
        from matplotlib.patches import Rectangle

        steps = [1.0, 0.75, 0.5, 0.25, *([-0.5, -1.0] if self.least < 0 else [])]
        for row, value in enumerate(steps):
            bottom, colour = 0.93 - 0.055 * row, ACCENT if value > 0 else MISS
            box = Rectangle(
                (0.8, bottom), 0.05, 0.055, transform=ax.transAxes, color=colour, alpha=abs(value), linewidth=0
            )
            ax.add_patch(box)
            ax.annotate(f"{value:g}", (0.87, bottom + 0.0275), xycoords="axes fraction", va="center", fontsize="small")

    def _write(self, ax: Axes, cells: list[tuple[int, int]]) -> None:
        size = min(8.0, 90.0 / len(self.members))
        for i, j in cells:
            text = f"{self.correlation[i, j]:.2f}".replace("0.", ".")
            ax.annotate(text, (j, i), ha="center", va="center", fontsize=size)
