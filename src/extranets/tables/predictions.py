"""The regressor's own predictions, for tables: block by block, so that the encoded table is never in memory as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from extranets._arrays import Array
from extranets.predictor.predictive import Predictive, together
from extranets.predictor.units import TooFarError
from extranets.tables.errors import Source

if TYPE_CHECKING:
    from typing_extensions import Self

F = TypeVar("F", bound=Callable[..., Any])


def _if_inside(method: str) -> Callable[[F], F]:
    """Decorator: the method is there if the regressor inside has it."""
    return available_if(lambda self: hasattr(self._inside(), method))


@contextmanager
def naming_rows(encoded: pandas.DataFrame) -> Iterator[None]:
    """Around predictions of an encoded table: an error about a value too far from training names its row and column."""
    try:
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

    @abstractmethod
    def encode(self, X: Any) -> pandas.DataFrame:
        """The numbers that ``regressor_`` takes."""

    @abstractmethod
    def _by_block(self, X: Any, method: str, *args: Any, **named: Any) -> list[Any]:
        """What a method of ``regressor_`` gives for each block of rows."""

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Point predictions of shape (n_samples[, n_outputs]); with ``return_std`` standard deviations, too."""
        if not return_std:
            return np.concatenate(self._by_block(X, "predict"))
        return tuple(map(np.concatenate, zip(*self._by_block(X, "predict", return_std=True), strict=True)))

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
    def predict_interval(self, X: Any, coverage: float | Sequence[float] = 0.9, *, as_frame: bool = False) -> Any:
        """Prediction intervals of shape (n_samples[, n_outputs], 2[, n_levels]), or a data frame like ``X``."""
        if not as_frame:
            return np.concatenate(self._by_block(X, "predict_interval", coverage))
        frame = pandas.concat(self._by_block(X, "predict_interval", coverage, as_frame=True))
        if type(X).__module__.startswith("polars"):
            import polars

            return polars.DataFrame({name: frame[name].to_numpy() for name in frame})
        return frame

    @_if_inside("predict_quantiles")
    def predict_quantiles(self, X: Any, alpha: float | Sequence[float] = (0.05, 0.5, 0.95)) -> Array:
        """Quantiles of the predictive distribution, shape (n_samples[, n_outputs][, n_levels])."""
        return np.concatenate(self._by_block(X, "predict_quantiles", alpha))

    @_if_inside("predict_dist")
    def predict_dist(self, X: Any) -> Any:
        """The predictive distribution as one frozen ``scipy.stats`` distribution."""
        return self.predictive(X).frozen()

    @_if_inside("predictive")
    def predictive(self, X: Any) -> Predictive:
        """The predictive distributions with their scores: ``crps(y)``, ``log_likelihood(y)``, and more."""
        return together(self._by_block(X, "predictive"))

    @_if_inside("sample_y")
    def sample_y(self, X: Any, n_samples: int = 1, random_state: int | np.random.RandomState | None = None) -> Array:
        """Draws from the predictive distribution, shape (n_samples_X[, n_outputs], n_samples)."""
        # One generator for all blocks: an integer would give each the same draws.
        return np.concatenate(self._by_block(X, "sample_y", n_samples, check_random_state(random_state)))

    # -- rows that were held out ---------------------------------------------------------------------------------------

    @_if_inside("conformalize")
    def conformalize(self, X: Any, y: Any) -> Self:
        """Make intervals cover by construction, from rows that were not used to fit: see the regressor's own method."""
        encoded = self.encode(X)
        with naming_rows(encoded):
            self.regressor_.conformalize(encoded, y)
        return self

    @_if_inside("update")
    def update(self, X: Any, y: Any) -> Self:
        """Let intervals follow the errors of new rows, in their order: see the regressor's own method."""
        encoded = self.encode(X)
        with naming_rows(encoded):
            self.regressor_.update(encoded, y)
        return self

    @_if_inside("estimate_noise")
    def estimate_noise(self, X: Any, y: Any) -> Self:
        """Set the residual variance from rows that were not used to fit: see the regressor's own method."""
        encoded = self.encode(X)
        with naming_rows(encoded):
            self.regressor_.estimate_noise(encoded, y)
        return self
