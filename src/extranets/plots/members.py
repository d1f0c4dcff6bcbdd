"""What more networks gain: error and width against the number of members."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from extranets import metrics
from extranets._arrays import Array
from extranets.evaluation import Predictions
from extranets.plots.display import NothingToShow, PredictionsDisplay
from extranets.plots.drawing import ACCENT, DIAGONAL, GRID, percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self


@dataclass(eq=False)
class MembersDisplay(PredictionsDisplay):
    """Error, width and coverage of the first 1, 2, 3, 5, 7, 10, ... members.

    The error is that of their mean. The intervals are computed anew, with the shape of the model's distribution and
    the variance between those members plus the model's own noise variance. They differ from the
    model's intervals where the model computes its variance in another way.

    Parameters
    ----------
    n_members : array of shape (k,)
    rmse, width, observed : array of shape (k,)
    own_rmse, own_width : float
        Of the model's own predictions and intervals.
    coverage : float
        Nominal.
    """

    needs_members: ClassVar[bool] = True

    n_members: npt.NDArray[np.intp]
    rmse: Array
    width: Array
    observed: Array
    own_rmse: float
    own_width: float
    coverage: float

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        p = predictions
        if p.members is None or len(p.members) < 2:
            raise NothingToShow("There are no predictions of two or more networks to compare.")
        counts = np.array(_counts(len(p.members)))
        scores = [_scores(p, mean, spread, coverage) for mean, spread in _running(p.members, counts)]
        rmse, width, observed = np.array(scores).T
        own_width = metrics.mean_width(p.y, *p.at(coverage))
        return cls(counts, rmse, width, observed, metrics.rmse(p.y, p.mean), own_width, coverage)

    @property
    def panels(self) -> tuple[str, ...]:
        return ("error", "width")

    def title(self, panel: str = "") -> str:
        return "Width against the number of networks" if panel == "width" else "Error against the number of networks"

    def words(self, panel: str = "") -> str:
        n = f"{self.n_members[-1]} networks"
        if panel == "width":
            return (
                f"Mean width of {percent(self.coverage)} intervals from the spread of the first networks and the model's noise: "
                f"{short(self.width[0])} with one network, {short(self.width[-1])} with {n} (coverage "
                f"{percent(self.observed[-1])}). The model's own intervals have {short(self.own_width)} (dashed)."
            )
        gain = 1 - self.rmse[-1] / self.rmse[0] if self.rmse[0] > 0 else 0.0
        change = f"{percent(abs(gain))} {'less' if gain >= 0 else 'more'}"
        return (
            f"Root mean squared error of the first networks' mean: {short(self.rmse[0])} with one network, "
            f"{short(self.rmse[-1])} with {n}, {change}. The model's own predictions have {short(self.own_rmse)} (dashed)."
        )

    def _draw(self, ax: Axes, panel: str) -> None:
        values, own = (self.width, self.own_width) if panel == "width" else (self.rmse, self.own_rmse)
        if np.isfinite(own):
            ax.axhline(own, **DIAGONAL)
        ax.plot(self.n_members, values, "o-", color=ACCENT, linewidth=1.6, markersize=4)
        ax.set_xscale("log")
        ax.set_xticks(_ticks(self.n_members), [str(n) for n in _ticks(self.n_members)])
        ax.minorticks_off()
        ax.set(xlabel="number of networks", ylabel="mean width" if panel == "width" else "RMSE")
        ax.grid(color=GRID, linewidth=0.8)


def _counts(n_members: int) -> list[int]:
    """The numbers of members that are looked at.

    Examples
    --------
    >>> _counts(12), _counts(70)
    ([1, 2, 3, 5, 7, 10, 12], [1, 2, 3, 5, 7, 10, 20, 30, 50, 70])
    """
    steps = [first * 10**power for power in range(6) for first in (1, 2, 3, 5, 7)]
    return [*(step for step in steps if step < n_members), n_members]


def _ticks(counts: npt.NDArray[np.intp]) -> list[int]:
    """The counts that get a label: few enough to be read side by side."""
    inner = [int(n) for n in counts[:-1] if str(n)[0] in "125" and n < 0.75 * counts[-1]]
    return [*inner, int(counts[-1])]


def _running(members: Array, counts: npt.NDArray[np.intp]) -> list[tuple[Array, Array]]:
    """Mean and variance of the first members, at the given counts, in one pass (Welford)."""
    mean, squares, found = np.zeros(members.shape[1]), np.zeros(members.shape[1]), []
    for n, member in enumerate(members, start=1):
        step = member - mean
        mean = mean + step / n
        squares = squares + step * (member - mean)
        if n in counts:
            found.append((mean, squares / n))
    return found


def _scores(p: Predictions, mean: Array, spread: Array, coverage: float) -> tuple[float, float, float]:
    """Of a latent mean and its variance. Shape: ``(n,)`` each."""
    predictive = p.predictive
    some = replace(predictive, latent=predictive.latent._replace(mean=mean, epistemic=spread))
    lower, upper = some.quantiles(np.array([(1 - coverage) / 2, (1 + coverage) / 2])).T
    own = some.components().mean
    return metrics.rmse(p.y, own), metrics.mean_width(p.y, lower, upper), metrics.coverage(p.y, lower, upper)
