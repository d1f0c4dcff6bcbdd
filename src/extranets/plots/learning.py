"""How the networks learned: the loss by epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.evaluation import Predictions
from extranets.plots.display import NothingToShow, PredictionsDisplay
from extranets.plots.drawing import ACCENT, GRID, MISS, counted, legend, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

LOGARITHMIC = 20.0  # a loss that falls by a larger factor is drawn on a logarithmic scale


@dataclass(eq=False)
class LearningCurveDisplay(PredictionsDisplay):
    """Training loss by epoch: the median of the networks, and the band that holds the middle 80 % of them.

    Parameters
    ----------
    epoch, median, low, high : array of shape (n_epochs,)
        Over the networks that were still learning.
    running : array of shape (n_epochs,)
        Their number.
    stopped : array of shape (n_stopped,)
        Last epochs of the networks that stopped before the others.
    """

    epoch: npt.NDArray[np.intp]
    median: Array
    low: Array
    high: Array
    running: npt.NDArray[np.intp]
    stopped: npt.NDArray[np.intp]

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        curve = predictions.loss_curve
        known = np.empty((0, 0)) if curve is None else np.isfinite(np.atleast_2d(curve))
        if curve is None or not known.any():
            raise NothingToShow("The model keeps no loss by epoch.")
        losses = np.where(known, np.atleast_2d(curve), np.nan)[:, known.any(axis=0)]
        low, median, high = np.nanpercentile(losses, [10, 50, 90], axis=0)
        running = np.isfinite(losses)
        last = running.shape[1] - np.argmax(running[running.any(axis=1), ::-1], axis=1)
        epochs = np.arange(1, running.shape[1] + 1)
        return cls(epochs, median, low, high, running.sum(axis=0), np.sort(last[last < last.max()]))

    def title(self, panel: str = "") -> str:
        return "Learning curves"

    def words(self, panel: str = "") -> str:
        stopped = (
            f" {counted(len(self.stopped), 'network')} stopped earlier than the last." if len(self.stopped) else ""
        )
        return (
            f"The training loss of {counted(int(self.running[0]), 'network')} goes from {short(self.median[0])} to "
            f"{short(self.median[-1])} (medians) in {counted(int(self.epoch[-1]), 'epoch')}.{stopped}"
        )

    def _draw(self, ax: Axes, panel: str) -> None:
        if self.running.max() > 1:
            band: dict[str, Any] = {"color": ACCENT, "alpha": 0.22, "linewidth": 0}
            ax.fill_between(self.epoch, self.low, self.high, label="middle 80 %", **band)
        ax.plot(self.epoch, self.median, "." if len(self.epoch) == 1 else "-", color=ACCENT, label="median")
        if len(self.stopped):
            at = self.median[self.stopped - 1]
            ax.plot(self.stopped, at, "x", color=MISS, markersize=5, label="a network stops")
        if self.low.min() > 0 and self.median.max() > LOGARITHMIC * self.median.min():
            ax.set_yscale("log")
        ax.set(xlabel="epoch", ylabel="training loss")
        ax.grid(color=GRID, linewidth=0.8)
        legend(ax, loc="upper right")
