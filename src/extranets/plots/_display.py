"""What all displays share: numbers that are computed once, drawn into any axes, and put in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from extranets.evaluation import LEVELS, Predictions, predict_with_targets
from extranets.plots.extra import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from typing_extensions import Self  # typing has it from Python 3.11 on

COVERAGE = 0.9


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
    def kinds(self) -> tuple[str, ...]:
        """The views that :meth:`plot` can draw; the first is its default."""
        return ("",)

    @abstractmethod
    def title(self, kind: str = "") -> str:
        """A heading."""

    @abstractmethod
    def words(self, kind: str = "") -> str:
        """What is seen, with its numbers: the figure's text for those who cannot see it."""

    @property
    def as_hoped(self) -> bool | None:
        """Whether what is seen is what one wishes to see; None for a figure that judges nothing."""
        return None

    def height(self, kind: str = "") -> float:
        """Inches that suit a figure five inches wide."""
        return 3.3

    @abstractmethod
    def _draw(self, ax: Axes, kind: str) -> None:
        """Draw one view. Text of users goes in with ``parse_math=False``: a dollar in it is no formula."""

    def plot(self, ax: Axes | None = None, *, kind: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default a new figure of pyplot.
        kind : str, optional
            One of ``kinds``.

        Returns
        -------
        self, with ``ax_`` and ``figure_``
        """
        chosen = self.kinds[0] if kind is None else kind
        if chosen not in self.kinds:
            raise ValueError(f"kind must be one of {', '.join(map(repr, self.kinds))}; got {kind!r}.")
        require("matplotlib")
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots()[1]
        self._draw(ax, chosen)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class PredictionsDisplay(Display):
    """A display that is computed from predictions and their targets."""

    all_levels: ClassVar[bool] = False  # whether intervals of all coverages are shown, not of one
    needs_members: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def of(cls, predictions: Predictions, coverage: float = COVERAGE) -> Self:
        """Compute the numbers, and draw nothing.

        Raises
        ------
        NothingToShow
            If the predictions lack what is shown.
        """

    @classmethod
    def from_predictions(
        cls, predictions: Predictions, coverage: float = COVERAGE, *, ax: Axes | None = None, kind: str | None = None
    ) -> Self:
        """Compute and draw.

        Parameters
        ----------
        predictions : extranets.evaluation.Predictions
        coverage : float, default=0.9
            Nominal coverage of the intervals; one of the predictions' levels.
        ax, kind
            As in :meth:`plot`.
        """
        return cls.of(predictions, coverage).plot(ax, kind=kind)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        coverage: float = COVERAGE,
        *,
        ax: Axes | None = None,
        kind: str | None = None,
    ) -> Self:
        """Predict, compute and draw.

        Parameters
        ----------
        estimator : a fitted regressor of this package
        X : array or data frame of shape (n, n_features)
        y : array of shape (n,)
        coverage, ax, kind
            As in :meth:`from_predictions`.
        """
        levels = [*LEVELS, coverage] if cls.all_levels else [coverage]
        predictions = predict_with_targets(
            estimator, X, y, levels=levels, members=cls.needs_members, features=named_columns(X)
        )
        return cls.from_predictions(predictions, coverage, ax=ax, kind=kind)


def named_columns(X: Any) -> Any:
    """A data frame as it is; the columns of an array or a sparse matrix as x0, x1, ..."""
    if hasattr(X, "columns"):
        return X
    table = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    return {f"x{j}": table[:, j] for j in range(table.shape[1])}
