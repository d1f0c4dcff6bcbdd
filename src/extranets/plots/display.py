"""What all displays share: numbers that are computed once, drawn into any axes, and put in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from extranets._extras import require
from extranets.evaluation import LEVELS, VAGUE, NamedValues, Predictions, binomial_limits, predict_with_targets
from extranets.metrics.checks import target_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from typing_extensions import Self  # typing has it from Python 3.11 on

COVERAGE = 0.9
LARGEST = 1e150  # the sum of the squares of many such values is finite


class NothingToShow(ValueError):
    """These predictions lack what the figure shows, such as the predictions of single networks."""


class Display(ABC):
    """The numbers of a figure. A subclass is a dataclass whose fields become JSON as they are.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure, after :meth:`plot`
    """

    ax_: Axes
    figure_: Figure | SubFigure

    @property
    def panels(self) -> tuple[str, ...]:
        """What :meth:`plot` can draw, one at a time, by name; the first is its default."""
        return ("",)

    @abstractmethod
    def title(self, panel: str = "") -> str:
        """A heading."""

    @abstractmethod
    def words(self, panel: str = "") -> str:
        """What is seen, with its numbers: the figure's text for those who cannot see it."""

    @property
    def as_hoped(self) -> bool | None:
        """Whether the figure shows what one hopes for; None if it judges nothing, or the rows are too few to tell."""
        return None

    def height(self, panel: str = "") -> float:
        """Inches that suit a figure five inches wide."""
        return 3.3

    @abstractmethod
    def _draw(self, ax: Axes, panel: str) -> None:
        """Draw one panel. Text of users goes in with ``parse_math=False``: a dollar in it does not begin a formula."""

    def plot(self, ax: Axes | None = None, *, panel: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default a new figure of pyplot.
        panel : str, optional
            One of ``panels``.

        Returns
        -------
        self, with ``ax_`` and ``figure_``
        """
        chosen = self.panels[0] if panel is None else panel
        if chosen not in self.panels:
            raise ValueError(f"panel must be one of {', '.join(map(repr, self.panels))}; got {panel!r}.")
        require("Drawing", "report", "matplotlib")
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots()[1]
        self._draw(ax, chosen)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class PredictionsDisplay(Display):
    """A display that is computed from predictions and their targets."""

    all_levels: ClassVar[bool] = False  # whether intervals of all coverages are shown, not only those of one
    needs_members: ClassVar[bool] = False

    @classmethod
    def of(cls, predictions: Predictions, coverage: float = COVERAGE) -> Self:
        """Compute the numbers, and draw nothing.

        Raises
        ------
        NothingToShow
            If the predictions lack what is shown.
        """
        check_targets(predictions)
        return cls._of(predictions, coverage)

    @classmethod
    @abstractmethod
    def _of(cls, predictions: Predictions, coverage: float) -> Self:
        """Compute the numbers from predictions that have been checked."""

    @classmethod
    def from_predictions(
        cls, predictions: Predictions, coverage: float = COVERAGE, *, ax: Axes | None = None, panel: str | None = None
    ) -> Self:
        """Compute and draw.

        Parameters
        ----------
        predictions : extranets.evaluation.Predictions
        coverage : float, default=0.9
            Nominal coverage of the intervals; one of the predictions' levels.
        ax, panel
            As in :meth:`plot`.
        """
        return cls.of(predictions, coverage).plot(ax, panel=panel)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        coverage: float = COVERAGE,
        *,
        groups: Any = None,
        time: Any = None,
        ax: Axes | None = None,
        panel: str | None = None,
    ) -> Self:
        """Predict, compute and draw.

        Parameters
        ----------
        estimator : a fitted regressor of this package
        X : array or data frame of shape (n, n_features)
        y : array of shape (n,)
        groups, time : arrays of shape (n,), optional
            What rows have in common, for the figures that show coverage by group and over time.
        coverage, ax, panel
            As in :meth:`from_predictions`.
        """
        levels = [*LEVELS, coverage] if cls.all_levels else [coverage]
        order = {
            name: NamedValues(name, np.asarray(values))
            for name, values in (("groups", groups), ("time", time))
            if values is not None
        }
        predictions = predict_with_targets(
            estimator, X, y, levels=levels, members=cls.needs_members, features=named_columns(X), **order
        )
        return cls.from_predictions(predictions, coverage, ax=ax, panel=panel)


def check_targets(predictions: Predictions) -> None:
    """Refuse targets that are not finite, or too large to square."""
    y = target_table(predictions.y, "y")
    largest = float(np.abs(y).max())
    if largest > LARGEST:
        raise ValueError(
            f"{predictions.target} reaches {largest:.3g}, which is too large: errors are squared, so values must stay "
            f"under {LARGEST:g}. Divide that column by a constant, in training and here, or correct the value."
        )


def too_few(n: int, coverage: float) -> bool:
    """Whether ``n`` rows are too few to tell their coverage, even if they are covered as often as they should be."""
    low, high = binomial_limits(round(coverage * n), n)
    return high - low > VAGUE


def named_columns(X: Any) -> Any:
    """A data frame as it is; the columns of an array or a sparse matrix as x0, x1, ..."""
    if hasattr(X, "columns"):
        return X
    table = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    return {f"x{j}": table[:, j] for j in range(table.shape[1])}
