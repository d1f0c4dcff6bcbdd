"""What a larger ensemble gains, with what makes its networks differ: the figure of the decorrelation study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from extranets._arrays import Array
from extranets.plots.display import Display, NothingToShow
from extranets.plots.drawing import ACCENT, DIAGONAL, GRID, INK, MISS, MUTED, SECOND, THIRD, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from typing_extensions import Self

PLAIN = "initialisation"
MASKS = "masks"
LINES: dict[str, dict[str, Any]] = {  # a broad line that the masks lie on, or leave
    PLAIN: {"color": MUTED, "linewidth": 7, "alpha": 0.4, "solid_capstyle": "round"},
    "masks, p = 0.95": {"color": MISS, "linewidth": 1.2},
    "masks, p = 0.8": {"color": MISS, "linewidth": 1.2, "linestyle": (0, (5, 2))},
    "masks, p = 0.5": {"color": MISS, "linewidth": 1.2, "linestyle": (0, (1, 1.5))},
    "rows": {"color": SECOND, "marker": "s"},
    "priors": {"color": THIRD, "marker": "D"},
    "bins": {"color": ACCENT, "marker": "o"},
    "bins, 50 units": {"color": ACCENT, "marker": "o", "markerfacecolor": "none", "linestyle": (0, (3, 2))},
    "all": {"color": INK, "marker": "X"},
}

SHARES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)  # labels of the errors


class Growth(NamedTuple):
    """Errors of the means of the first T networks, over that of one network with other first weights only. Shape: ``(k,)``."""

    sizes: Array
    errors: Array


@dataclass
class GrowthDisplay(Display):
    """Error of the mean against the number of networks, one panel for each data set of the decorrelation study.

    The unit is the error of one network that differs from others in nothing but its first weights. The dashed line is that of
    independent networks without bias: 1 / T.

    Parameters
    ----------
    curves : dict of str to dict of str to Growth
        By data set and by what makes networks differ.

    Examples
    --------
    >>> rows = [
    ...     {"data": "linear", "variant": variant, "T": T, "member_error": 2.0, "error": 1.0 + 2 / T}
    ...     for variant in ("initialisation", "masks, p = 0.5")
    ...     for T in (2, 200)
    ... ]
    >>> GrowthDisplay.of(rows).words("linear")[-74:]
    'With other first weights only 50.5 % is left; with masks, p = 0.5: 50.5 %.'
    """

    curves: dict[str, dict[str, Growth]]

    @classmethod
    def of(cls, rows: list[dict[str, Any]]) -> Self:
        """From the rows of the study's ``summarise``."""
        curves: dict[str, dict[str, Growth]] = {}
        for name in dict.fromkeys(row["data"] for row in rows):
            own = [row for row in rows if row["data"] == name]
            unit = max((row for row in own if row["variant"] == PLAIN), key=size_of)["member_error"]
            kinds = dict.fromkeys(row["variant"] for row in own)
            curves[name] = {kind: growth([row for row in own if row["variant"] == kind], unit) for kind in kinds}
        if not curves:
            raise NothingToShow("No unit is done yet.")
        return cls(curves)

    @property
    def panels(self) -> tuple[str, ...]:
        return tuple(self.curves)

    def title(self, panel: str = "") -> str:
        return f"What more networks gain: {self._named(panel)}"

    def words(self, panel: str = "") -> str:
        name = self._named(panel)
        curves = self.curves[name]
        most = int(curves[PLAIN].sizes[-1])
        rest = "; ".join(f"with {kind}: {curve.errors[-1]:.1%}" for kind, curve in curves.items() if kind != PLAIN)
        return (
            f"Squared error of the mean of {most} networks on {name}, over that of one network. Independent networks without bias "
            f"would leave {1 / most:.1%} (dashed). With other first weights only {curves[PLAIN].errors[-1]:.1%} is left; {rest}."
        ).replace("%", " %")

    def height(self, panel: str = "") -> float:
        return 4.2

    def _largest(self) -> float:
        return float(max(curve.errors.max() for curves in self.curves.values() for curve in curves.values()))

    def _named(self, panel: str) -> str:
        return panel or self.panels[0]

    def _draw(self, ax: Axes, panel: str) -> None:
        self.draw_lines(ax, panel)
        legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.1)

    def picture(self) -> Figure:
        """All panels side by side, with the same scale and one legend."""
        from matplotlib.figure import Figure

        drawing = Figure(figsize=(3.1 * len(self.panels), 4.2), layout="constrained")
        axes = drawing.subplots(1, len(self.panels), squeeze=False, sharey=True)[0]
        for ax, panel in zip(axes, self.panels, strict=True):
            self.draw_lines(ax, panel)
            ax.set_title(panel)
            ax.label_outer()
        drawing.suptitle(
            "Error of the mean of T networks: with masks (red), with other first weights only (grey), if independent (dashed)"
        )
        drawing.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
        return drawing

    def draw_lines(self, ax: Axes, panel: str) -> None:
        """All but the legend, which several panels may share."""
        curves = self.curves[self._named(panel)]
        sizes = curves[PLAIN].sizes
        ax.plot(sizes, 1 / sizes, label="independent: 1 / T", **DIAGONAL)
        for kind, (at, errors) in curves.items():
            ax.plot(at, errors, label=kind, **{"linewidth": 1.4, "markersize": 4, **LINES.get(kind, {})})
        ax.set(
            xscale="log", yscale="log", xlabel="number of networks T", ylabel="error of the mean, over one network's"
        )
        ax.set_xticks(ticks := [int(size) for size in sizes], [str(tick) for tick in ticks])
        low, high = 0.8 / sizes[-1], max(2.0, 1.3 * self._largest())
        ax.set_ylim(low, high)  # of all panels, so that they can be compared
        shown = [tick for tick in SHARES if low <= tick <= high]
        ax.set_yticks(shown, [f"{tick:g}" for tick in shown])
        ax.minorticks_off()
        ax.grid(color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)


def size_of(row: dict[str, Any]) -> int:
    return int(row["T"])


def growth(rows: list[dict[str, Any]], unit: float) -> Growth:
    """One curve; the error of one network is that of the largest ensemble's networks, one by one."""
    rows = sorted(rows, key=size_of)
    errors = [rows[-1]["member_error"], *(row["error"] for row in rows)]
    return Growth(np.array([1.0, *map(size_of, rows)]), np.array(errors) / unit)
