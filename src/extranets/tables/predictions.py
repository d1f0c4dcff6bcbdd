"""The regressor's own predictions, for tables: block by block, so that the encoded table is never in memory as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import pandas
from sklearn.utils.metaestimators import available_if

from extranets._arrays import Array
from extranets._warnings import muted
from extranets.estimators.mean_and_std import MeanAndStd
from extranets.predictor.novelty import NoveltyWarning
from extranets.predictor.predictive import Predictive, together
from extranets.predictor.units import TooFarError
from extranets.tables.errors import Source
from extranets.tables.novelty import novelty_of, outside_columns
from extranets.tables.schema import Schema

if TYPE_CHECKING:
    from typing_extensions import Self

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def _if_inside(method: str) -> Callable[[F], F]:
    """Decorator: the method is there if the regressor inside has it."""
    return available_if(lambda self: hasattr(self._inside(), method))


@contextmanager
def naming_rows(encoded: pandas.DataFrame) -> Iterator[None]:
    """Around predictions of an encoded table: an error about a value too far from training names its row and column.

    Rows outside of training are told of in the table's own columns (`note_outside`), not in those of the encoded one.
    """
    try:
        with muted(NoveltyWarning):
            yield
    except TooFarError as error:
        # Only numbers can be so far out, and their features have the names of their columns.
        hits = (encoded.iloc[:, error.column] == error.value).to_numpy()
        if not hits.any():  # the value is a target's
            raise
        row, column = encoded.index[int(np.argmax(hits))], encoded.columns[error.column]
        raise Source.of(encoded).error(f"{error.value:g} {error.what}", row=row, column=column) from error


class TablePredictions(ABC):
    """Methods that predict. Those that not every regressor has are there if the regressor inside has them."""

    regressor_: Any
    schema_: Schema

    @abstractmethod
    def encode(self, X: Any) -> pandas.DataFrame:
        """The numbers that ``regressor_`` takes."""

    @abstractmethod
    def _each_block(
        self, X: Any, use: Callable[[pandas.DataFrame, dict[str, Any]], T], beside: Mapping[str, Any] | None = None
    ) -> list[T]:
        """What a function makes of each encoded block of rows, and of these rows' part of what is ``beside``."""

    def _by_block(
        self, X: Any, method: str, *args: Any, beside: Mapping[str, Any] | None = None, **named: Any
    ) -> list[Any]:
        """What a method of ``regressor_`` gives for each block of rows; of what is ``beside``, it gets these rows' part."""
        return self._each_block(
            X, lambda encoded, own: getattr(self.regressor_, method)(encoded, *args, **own, **named), beside
        )

    @abstractmethod
    def beside(self, X: Any, groups: Any = None, weights: Any = None) -> dict[str, Any]:
        """Groups and weights of rows, as far as ``regressor_`` needs them."""

    @abstractmethod
    def _remember_beside(self, X: Any, groups: Any, weights: Any) -> dict[str, Any]:
        """What users give, columns or their names, as columns; predictions then find them by name."""

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Point predictions of shape (n_samples[, n_outputs]); with ``return_std`` standard deviations, too."""
        if not return_std:
            return np.concatenate(self._by_block(X, "predict"))
        return MeanAndStd(map(np.concatenate, zip(*self._by_block(X, "predict", return_std=True), strict=True)))

    @_if_inside("predict_members")
    def predict_members(self, X: Any) -> Array:
        """Predictions of the single networks, shape (n_members, n_samples[, n_outputs])."""
        return np.concatenate(self._by_block(X, "predict_members"), axis=1)

    @_if_inside("predict_components")
    def predict_components(self, X: Any) -> Any:
        """Mean, epistemic and aleatoric variance: see the regressor's own method."""
        blocks = self._by_block(X, "predict_components")
        return type(blocks[0])(*map(np.concatenate, zip(*blocks, strict=True)))

    @_if_inside("predict_var")
    def predict_var(self, X: Any) -> Array:
        """Total predictive variance, shape (n_samples[, n_outputs])."""
        return np.concatenate(self._by_block(X, "predict_var"))

    @_if_inside("predict_interval")
    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] = 0.9,
        *,
        as_frame: bool = False,
        groups: Any = None,
        weights: Any = None,
        novelty: bool = False,
    ) -> Any:
        """Prediction intervals of shape (n_samples[, n_outputs], 2[, n_levels]), or a data frame like ``X``.

        Groups and weights are found in ``X`` if :meth:`conformalize` got their columns' names, else they are given here. With
        ``novelty``, the data frame has :meth:`predict_novelty` as its last column.
        """
        beside = self.beside(X, groups, weights)
        if not as_frame:
            named = {"novelty": True} if novelty else {}  # which the regressor refuses
            return np.concatenate(self._by_block(X, "predict_interval", coverage, beside=beside, **named))

        def block(encoded: pandas.DataFrame, own: dict[str, Any]) -> pandas.DataFrame:
            found: pandas.DataFrame = self.regressor_.predict_interval(encoded, coverage, as_frame=True, **own)
            if novelty:
                found["novelty"] = novelty_of(self.schema_, self.regressor_, encoded)
            return found

        frame = pandas.concat(self._each_block(X, block, beside))
        if type(X).__module__.startswith("polars"):
            import polars

            return polars.DataFrame({name: frame[name].to_numpy() for name in frame})
        return frame

    @_if_inside("predict_quantiles")
    def predict_quantiles(
        self, X: Any, alpha: float | Sequence[float] = (0.05, 0.5, 0.95), *, groups: Any = None, weights: Any = None
    ) -> Array:
        """Quantiles of the predictive distribution, shape (n_samples[, n_outputs][, n_levels])."""
        return np.concatenate(self._by_block(X, "predict_quantiles", alpha, beside=self.beside(X, groups, weights)))

    @_if_inside("predict_dist")
    def predict_dist(self, X: Any, *, groups: Any = None, weights: Any = None) -> Any:
        """The predictive distribution as one frozen ``scipy.stats`` distribution."""
        return _joined(self._by_block(X, "predict_dist", beside=self.beside(X, groups, weights)))

    @_if_inside("predictive")
    def predictive(self, X: Any) -> Predictive:
        """The predictive distributions with their scores: ``crps(y)``, ``log_likelihood(y)``, and more."""
        return together(self._by_block(X, "predictive"))

    @_if_inside("sample_y")
    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
        *,
        groups: Any = None,
        weights: Any = None,
    ) -> Array:
        """Draws of the targets of all rows together, shape (n_samples_X[, n_outputs], n_samples)."""
        functions = self.regressor_.draw_functions(n_samples, random_state)  # the same in all blocks
        beside = self.beside(X, groups, weights)
        return np.concatenate(self._by_block(X, "sample_y", functions=functions, beside=beside))

    @_if_inside("predict_covariance")
    def predict_covariance(self, X: Any) -> Array:
        """Covariance of the targets of every two rows, shape (n_samples, n_samples[, n_outputs])."""
        encoded = self.encode(X)
        with naming_rows(encoded):
            return self.regressor_.predict_covariance(encoded)

    # -- rows unlike those of training ---------------------------------------------------------------------------------

    @property
    def knows_novelty(self) -> bool:
        """Whether the regressor keeps what training rows cover."""
        return bool(getattr(self.regressor_, "knows_novelty", False))

    @_if_inside("predict_novelty")
    def predict_novelty(self, X: Any) -> Array:
        """How far rows are from the training rows, from 0 to 1: see the regressor's own method.

        Rows with a value outside of training (:meth:`predict_outside`) have a score of 1.
        """
        return np.concatenate(
            self._each_block(X, lambda encoded, _: novelty_of(self.schema_, self.regressor_, encoded))
        )

    @_if_inside("predict_outside")
    def predict_outside(self, X: Any) -> pandas.DataFrame:
        """Which values lie outside of what the training rows cover, with a margin: a data frame of truth values.

        Numbers and dates: see the regressor's own method. A date is outside, too, where training covers no such part of the year or
        the week. A category is outside if training did not have it.
        """
        return pandas.concat(
            self._each_block(X, lambda encoded, _: outside_columns(self.schema_, self.regressor_, encoded))
        )

    # -- rows that were held out ---------------------------------------------------------------------------------------

    @_if_inside("conformalize")
    def conformalize(
        self,
        X: Any,
        y: Any,
        *,
        tails: Literal["separate", "joint"] = "separate",
        groups: Any = None,
        weights: Any = None,
    ) -> Self:
        """Make intervals cover by construction, from rows that were not used to fit: see the regressor's own method.

        ``groups`` and ``weights`` may be names of columns. Predictions then find them in their tables; the columns need not be
        among those that the regressor uses.

        Examples
        --------
        >>> from extranets import ExtraNetsRegressor
        >>> from extranets.data import simulated_rents
        >>> from extranets.tables import TableRegressor
        >>> flats = simulated_rents(500, random_state=0)
        >>> X, y = flats.drop(columns=["flat", "rent"]), flats["rent"]
        >>> model = TableRegressor(ExtraNetsRegressor(3, max_iter=20, random_state=0)).fit(X[:200], y[:200])
        >>> model.conformalize(X[200:450], y[200:450], groups="balcony").predict_interval(X[450:]).shape
        (50, 2)
        """
        return self._with_encoded("conformalize", X, y, tails=tails, **self._remember_beside(X, groups, weights))

    @_if_inside("conformalize_training_rows")
    def conformalize_training_rows(
        self,
        X: Any = None,
        *,
        tails: Literal["separate", "joint"] = "separate",
        groups: Any = None,
        weights: Any = None,
    ) -> Self:
        """For CV+ and jackknife+: see the regressor's own method. ``X`` is the table of the fit, if columns are named."""
        self.regressor_.conformalize_training_rows(tails=tails, **self._remember_beside(X, groups, weights))
        return self

    @_if_inside("update")
    def update(self, X: Any, y: Any) -> Self:
        """Let intervals follow the errors of new rows, in their order: see the regressor's own method."""
        return self._with_encoded("update", X, y)

    @_if_inside("estimate_noise")
    def estimate_noise(self, X: Any, y: Any) -> Self:
        """Set the residual variance from rows that were not used to fit: see the regressor's own method."""
        return self._with_encoded("estimate_noise", X, y)

    def _with_encoded(self, method: str, X: Any, y: Any, **named: Any) -> Self:
        encoded = self.encode(X)
        with naming_rows(encoded):
            getattr(self.regressor_, method)(encoded, y, **named)
        return self


def _joined(blocks: list[Any]) -> Any:
    """One frozen distribution of all rows."""
    if hasattr(blocks[0].dist, "joined"):
        return blocks[0].dist.joined(blocks)
    named = {name: np.concatenate([block.kwds[name] for block in blocks]) for name in blocks[0].kwds}
    return blocks[0].dist(*blocks[0].args, **named)  # what is not named all rows share, such as degrees of freedom
