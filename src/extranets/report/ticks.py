"""Ticks of the page's figures: labels as its script writes them, and only as many as have room."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import Formatter, MaxNLocator, ScalarFormatter

from extranets.plots.drawing import tick_labels

LETTER, GAP = 6.5, 8.0  # points: the widest digit at the page's size of letters, and between two labels
LINE = 12.0
STEPS = [1, 2, 5, 10]
MOST_TICKS = 9


def set_ticks(ax: Axes) -> None:
    """Label the axes of numbers. An axis keeps its labels if they are names or its scale is logarithmic."""
    for axis, locator in ((ax.xaxis, Roomy(ax)), (ax.yaxis, MaxNLocator("auto", steps=STEPS))):
        if isinstance(axis.get_major_formatter(), ScalarFormatter):
            axis.set_major_locator(locator)
            axis.set_major_formatter(Numbers())
            if axis is ax.xaxis and tick_labels(axis.get_majorticklocs()).base:
                axis.labelpad += LINE  # the axis' own label goes below the number that is left out


class Numbers(Formatter):
    """Labels with equally many digits. A number that is left out of all of them stands at the end of the axis."""

    base = ""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return tick_labels([x]).texts[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        texts, self.base = tick_labels(values)
        return texts

    def get_offset(self) -> str:
        return f"+ {self.base}" if self.base else ""


class Roomy(MaxNLocator):
    """Ticks below a figure, so few that their labels stand side by side."""

    def __init__(self, ax: Axes) -> None:
        super().__init__(MOST_TICKS, steps=STEPS)
        self.ax = ax

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        points = self.ax.get_window_extent().width * 72 / self.ax.figure.dpi
        for n in range(MOST_TICKS, 1, -1):
            self.set_params(nbins=n)
            ticks = super().tick_values(vmin, vmax)
            room = points * (ticks[1] - ticks[0]) / (vmax - vmin)
            if max(map(len, tick_labels(ticks).texts)) * LETTER + GAP <= room:
                break
        return ticks
