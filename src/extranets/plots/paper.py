"""The paper's figures that need no run: the variance of the masks against p, and the two simulated processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from extranets._arrays import Array
from extranets.data.processes import linear_process, nonlinear_process
from extranets.plots.display import Display
from extranets.plots.drawing import ACCENT, GRID, MISS, legend, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

PROCESSES = {"nonlinear": nonlinear_process, "linear": linear_process}
KEEP_PROBS = (0.995, 0.99, 0.95, 0.9, 0.8)  # of the paper's studies
N_BARS = 40


@dataclass
class PaperDisplay(Display):
    """Variance p (1 - p) of a mask's entry, and the distribution of the targets of 1,500 simulated rows of each process.

    Parameters
    ----------
    keep_prob, variance : array of shape (n,)
        The curve.
    edges, counts : dict of str to array of shape (n_bars + 1,) or (n_bars,)
        Histogram of the targets by process.
    mean, std, noise : dict of str to float
        Mean and standard deviation of the targets, and standard deviation of the noise in them.

    Examples
    --------
    >>> display = PaperDisplay.of()
    >>> display.panels
    ('masks', 'nonlinear process', 'linear process')
    >>> print(display.words("masks"))
    An entry of a mask has the variance p (1 - p): 0.25 at p = 0.5, 0.16 at the paper's smallest p of 0.8, and 0.00498 at 0.995.
    """

    keep_prob: Array
    variance: Array
    edges: dict[str, Array]
    counts: dict[str, Array]
    mean: dict[str, float]
    std: dict[str, float]
    noise: dict[str, float]

    @classmethod
    def of(cls, seed: int = 0) -> Self:
        """Simulate one data set of each process."""
        drawn = {name: draw(random_state=seed) for name, draw in PROCESSES.items()}
        bars = {name: np.histogram(sample.y, N_BARS) for name, sample in drawn.items()}
        p = np.linspace(0, 1, 101)
        return cls(
            p,
            p * (1 - p),
            {name: edges for name, (_, edges) in bars.items()},
            {name: counts.astype(np.float64) for name, (counts, _) in bars.items()},
            {name: float(sample.y.mean()) for name, sample in drawn.items()},
            {name: float(sample.y.std()) for name, sample in drawn.items()},
            {name: sample.noise_sd for name, sample in drawn.items()},
        )

    @property
    def panels(self) -> tuple[str, ...]:
        return ("masks", *(f"{name} process" for name in self.counts))

    def title(self, panel: str = "") -> str:
        if panel in ("", "masks"):
            return "Variance of the Bernoulli masks"
        return f"Targets of the {panel}"

    def words(self, panel: str = "") -> str:
        if panel in ("", "masks"):
            least, most = min(KEEP_PROBS), max(KEEP_PROBS)
            return (
                f"An entry of a mask has the variance p (1 - p): {self.variance.max():g} at p = 0.5, {least * (1 - least):.2g} at "
                f"the paper's smallest p of {least:g}, and {short(most * (1 - most))} at {most:g}."
            )
        name = panel.removesuffix(" process")
        return (
            f"The targets of {self.counts[name].sum():,.0f} simulated rows have the mean {short(self.mean[name])} and the "
            f"standard deviation {short(self.std[name])}; the noise in them has {self.noise[name]:g}."
        )

    def _draw(self, ax: Axes, panel: str) -> None:
        if panel in ("", "masks"):
            at = np.array(KEEP_PROBS)
            ax.plot(self.keep_prob, self.variance, color=ACCENT)
            ax.plot(at, at * (1 - at), "o", color=MISS, markersize=4, label="p of the paper's studies")
            ax.set(xlabel="probability p that a unit is kept", ylabel="variance of a mask's entry")
            legend(ax, loc="lower center")
        else:
            name = panel.removesuffix(" process")
            ax.stairs(self.counts[name], self.edges[name], fill=True, color=ACCENT, alpha=0.35)
            ax.axvline(self.mean[name], color=MISS, linewidth=1.4, label="mean")
            ax.set(xlabel="target y", ylabel="rows")
            legend(ax, loc="upper right")
        ax.grid(color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)
