"""The figure beside Table 2: bootstrap means of every learner, and the observed mean in black."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from extranets.plots.display import Display, NothingToShow
from extranets.plots.drawing import ACCENT, GRID, INK, MUTED, legend, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

Row = dict[str, Any]

MOST_LABELS = 30  # that have room beside each other
ENDS = {"whislo": "q05", "q1": "q25", "med": "q50", "q3": "q75", "whishi": "q95"}
WHOSE = {
    "separate": "rows resampled for each learner, as in the paper",
    "joint": "rows resampled for all learners at once",
}


@dataclass
class LearnersDisplay(Display):
    """A box from quartile to quartile of each learner's bootstrap means, whiskers to 5 and 95 %; one panel for each resampling.

    Parameters
    ----------
    learners : dict of str to list of dict
        By version of the exercise: the learners' quantiles ``q05`` to ``q95``, and their numbers as ``learner``.
    averages : dict of str to dict
        Of each version: ``observed_mean`` and ``average_correlation``.
    """

    learners: dict[str, list[Row]]
    averages: dict[str, Row]

    @classmethod
    def of(cls, rows: list[Row]) -> Self:
        """From the rows of the correlation study's ``summarise``."""
        averages = {row["version"]: row for row in rows if row["kind"] == "average"}
        if not averages:
            raise NothingToShow("The paper's exercise, units 'separate' and 'joint', is not done yet.")
        own = {name: [r for r in rows if r["kind"] == "learner" and r["version"] == name] for name in averages}
        return cls(own, averages)

    @property
    def panels(self) -> tuple[str, ...]:
        return tuple(self.averages)

    def title(self, panel: str = "") -> str:
        return f"Bootstrap means of the learners: {WHOSE[self._named(panel)]}"

    def words(self, panel: str = "") -> str:
        name = self._named(panel)
        middles = [row["q50"] for row in self.learners[name]]
        return (
            f"Medians of {len(middles)} learners' bootstrap means, {short(min(middles))} to {short(max(middles))}; the observed mean is "
            f"{short(self.averages[name]['observed_mean'])} (black). The boxes reach from quartile to quartile, the lines from 5 to 95 %. "
            f"The mean correlation of two learners is {self.averages[name]['average_correlation']:.3f}: the boxes look the same "
            "whether learners agree or not."
        )

    def _named(self, panel: str) -> str:
        return panel or self.panels[0]

    def _draw(self, ax: Axes, panel: str) -> None:
        name = self._named(panel)
        every = -(-len(self.learners[name]) // MOST_LABELS)
        boxes = [
            {
                "label": "" if place % every else str(row["learner"]),
                "fliers": [],
                **{end: row[q] for end, q in ENDS.items()},
            }
            for place, row in enumerate(self.learners[name])
        ]
        line = {"color": MUTED}
        ax.bxp(boxes, showfliers=False, boxprops=line, whiskerprops=line, capprops=line, medianprops={"color": ACCENT})
        ax.axhline(self.averages[name]["observed_mean"], color=INK, label="observed mean")
        ax.set(xlabel="learner", ylabel="bootstrap mean")
        ax.tick_params(axis="x", labelsize="x-small")
        ax.grid(axis="y", color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)
        legend(ax, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.1)
