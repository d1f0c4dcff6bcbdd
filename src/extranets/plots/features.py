"""Where intervals are wide, and why: width and the networks' disagreement by feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.evaluation import Predictions
from extranets.plots._columns import Bins, Kind, binned_columns
from extranets.plots.display import NothingToShow, PredictionsDisplay
from extranets.plots.drawing import ACCENT, GRID, cut, legend, percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

MOST_BINS = 6
MOST_DRAWN = 6
LONGEST_LABEL = 22


@dataclass(eq=False)
class FeatureBins:
    """One feature in bins.

    ``variation`` is the share of the widths' variance that lies between the bins, from 0 to 1. Shapes: ``(n_bins,)``.
    """

    name: str
    kind: Kind
    variation: float
    labels: list[str]
    n: Array
    width: Array
    epistemic_share: Array
    coverage: Array


@dataclass(eq=False)
class WidthByFeatureDisplay(PredictionsDisplay):
    """Mean width of intervals, and the epistemic share of the variance, in bins of each feature.

    Parameters
    ----------
    features : list of FeatureBins
        Those whose bins differ most in width come first. The first six are the ``panels``, by name.
    coverage : float
        Nominal.
    """

    features: list[FeatureBins]
    coverage: float

    @classmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        lower, upper = predictions.at(coverage)
        covered = (lower <= predictions.y) & (predictions.y <= upper)
        columns = [bins for bins in binned_columns(predictions.features, MOST_BINS) if len(bins.labels) > 1]
        if not columns:
            raise NothingToShow("There is no feature that varies, so widths cannot be compared by feature.")
        found = [_feature(bins, predictions, upper - lower, covered) for bins in columns]
        return cls(sorted(found, key=lambda feature: -feature.variation), coverage)

    @property
    def panels(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features[:MOST_DRAWN])

    def title(self, panel: str = "") -> str:
        return self._feature(panel).name

    def words(self, panel: str = "") -> str:
        feature = self._feature(panel)
        narrow, wide = int(np.argmin(feature.width)), int(np.argmax(feature.width))
        return (
            f"By {feature.name}, {percent(self.coverage)} intervals are narrowest for “{feature.labels[narrow]}” (mean width "
            f"{short(feature.width[narrow])}, {percent(feature.epistemic_share[narrow])} of the variance epistemic) and widest "
            f"for “{feature.labels[wide]}” ({short(feature.width[wide])}, {percent(feature.epistemic_share[wide])})."
        )

    def _feature(self, panel: str) -> FeatureBins:
        return next((feature for feature in self.features if feature.name == panel), self.features[0])

    def height(self, panel: str = "") -> float:
        return 1.1 + 0.3 * len(self._feature(panel).labels)

    def _draw(self, ax: Axes, panel: str) -> None:
        feature = self._feature(panel)
        rows = np.arange(len(feature.labels))
        largest = max(feature.width[np.isfinite(feature.width)], default=1.0) or 1.0
        width = np.minimum(feature.width, 1.1 * largest)  # an infinite bar goes to the edge
        ax.barh(rows, width, height=0.62, color=ACCENT, alpha=0.28, label="width")
        ax.barh(rows, width * feature.epistemic_share, height=0.62, color=ACCENT, label="epistemic share")
        for row, (value, share) in enumerate(zip(feature.width, feature.epistemic_share, strict=True)):
            text = f" {short(value)} · {100 * share:.0f} %"
            ax.annotate(text, (width[row], row), va="center", fontsize="small")
        ax.set_yticks(rows, [cut(label, LONGEST_LABEL) for label in feature.labels], parse_math=False)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlim(0, 1.32 * largest)
        ax.set_xlabel(f"mean width of {percent(self.coverage)} intervals")
        ax.grid(axis="x", color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)
        legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.1)


def _feature(bins: Bins, p: Predictions, width: Array, covered: npt.NDArray[np.bool_]) -> FeatureBins:
    n = bins.counts()
    total = bins.counts(p.epistemic + p.aleatoric)
    share = np.divide(bins.counts(p.epistemic), total, out=np.zeros_like(total), where=total > 0)
    means = bins.counts(width) / n
    return FeatureBins(
        bins.name, bins.kind, bins.explained(width), bins.labels, n, means, share, bins.counts(covered) / n
    )
