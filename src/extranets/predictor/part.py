"""What every kind of part of a fitted model promises.

A part is one file with all of itself: how it is learned, how it is evaluated, its ONNX nodes, what it stores (its fields) and how
a stored one is checked. A `Predictor` is a list of parts; model files and ONNX graphs walk that list and know none by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from extranets._arrays import Array, Float32
from extranets.engine import Machine, Moments
from extranets.held_out import Plan, Sample
from extranets.model_file import require
from extranets.networks import Ensemble
from extranets.onnx_graph import Bounds, Value
from extranets.predictor.strata import Beside
from extranets.predictor.units import Units
from extranets.uncertainty.components import HeldOut

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen
    from typing_extensions import Self  # typing has it from Python 3.11 on

CRPS_POINTS = 10_000
FARTHEST = 38.0  # standard deviations: floats know no smaller tail of a Normal distribution

Number = TypeVar("Number", Array, Value)  # the same arithmetic for arrays and for values of an ONNX graph


@dataclass(frozen=True)
class Choice:
    """Parameters of an estimator that may change after fit; None where it has no such parameter."""

    interval: str | None = None
    distribution: str | None = None
    n_passes: int | None = None


@dataclass(frozen=True)
class Folds:
    """The networks that left each fold out, and how networks of their kind predict."""

    ensembles: list[Ensemble]
    moments_of: Callable[[Ensemble], Moments]
    plan: Plan
    sample: Sample


@dataclass(frozen=True)
class Evidence:
    """What is known about errors on rows that were not trained on: what parts learn from.

    ``n_members`` counts the final networks. ``folds`` is None where other rows than those of the fit were held out.
    """

    held: HeldOut
    n_members: float
    folds: Folds | None = None


class Source(ABC):
    """What predicts: networks, and how their predictions become a mean and a spread. All of it is in standardised units."""

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @property
    @abstractmethod
    def n_outputs(self) -> int: ...

    @property
    @abstractmethod
    def n_members(self) -> float:
        """Networks or passes that a prediction averages; of a weighted mean, as many as would vary as much."""

    @property
    def learns_noise(self) -> bool:
        """Whether the networks predict the variance of the noise, too."""
        return False

    @abstractmethod
    def moments(self, machine: Machine) -> Moments:
        """What computes mean, spread and predicted noise of rows."""

    def mean_moments(self, machine: Machine) -> Moments:
        """The same where only the mean is wanted, if that is cheaper."""
        return self.moments(machine)

    @abstractmethod
    def members(self, X: Float32, machine: Machine) -> npt.NDArray[np.floating]:
        """Every network's own prediction. Shape: ``(n, k)`` -> ``(n_members, n, n_outputs)``."""

    def deviations(self, X: Float32, machine: Machine) -> Array:
        """How functions that the networks hold for possible differ from their mean, in independent directions: the sum of squares
        is the spread. Shape: ``(n, k)`` -> ``(n_directions, n, n_outputs)``."""
        members = self.members(X, machine).astype(np.float64)
        found: Array = (members - members.mean(axis=0)) / np.sqrt(len(members))
        return found

    @abstractmethod
    def graph(self, x: Value) -> tuple[Value, Value, Value | None]:
        """What `moments` computes, as a part of a graph. Shape: x ``(n, k)``, float32."""

    def graph_members(self, x: Value) -> Value:
        """What `members` computes, as a part of a graph."""
        raise TypeError(f"No interval asks {type(self).__name__} for its members' predictions in a graph.")

    def choosing(self, choice: Choice, interval: type[Interval]) -> Source:
        """As the parameters that may change after fit ask for it."""
        return self

    def construction(self) -> dict[str, Any]:
        """Parameters that may change after fit and change the predicted standard deviation."""
        return {}


class Noise(ABC):
    """Variance of the noise, standardised: a factor for each output times what differs between rows."""

    factor: Array  # (n_outputs,)
    differs: ClassVar[bool]  # between rows

    def evaluate(self, X: Float32, predicted: Array | None, machine: Machine) -> Array:
        """Shape: X ``(n, k)``, predicted (by the source) ``(n, n_outputs)`` -> ``(n or 1, n_outputs)``."""
        shape = self._shape(X, predicted, machine)
        return self.factor[None, :] if shape is None else self.factor[None, :] * shape

    def graph(self, x: Value, predicted: Value | None) -> Value | Array:
        """The same as a part of a graph."""
        shape = self._graph_shape(x, predicted)
        return self.factor[None, :] if shape is None else shape * self.factor[None, :]

    def _shape(self, X: Float32, predicted: Array | None, machine: Machine) -> Array | None:
        """What the factor multiplies; None for ones."""
        return None

    def _graph_shape(self, x: Value, predicted: Value | None) -> Value | None:
        return None

    def choosing(self, choice: Choice, interval: type[Interval]) -> Noise:
        """As the parameters that may change after fit ask for it."""
        return self

    def widened(self, widening: Array) -> Noise:
        """With a larger variance. Shape: widening ``(n_outputs,)``."""
        widened: Noise = replace(cast(Any, self), factor=self.factor * widening)
        return widened

    @abstractmethod
    def relearned(self, source: Source, sample: Sample, machine: Machine) -> tuple[Noise, HeldOut]:
        """From other rows, which the networks did not see; and the errors on them."""

    def check_fits(self, source: Source) -> None:
        """Refuse, by ``ValueError``, a stored part that does not go with these networks."""
        check_variances(self.factor, (source.n_outputs,), "noise")


class Interval(ABC):
    """How the members' spread and the noise become the two variances of a prediction, and perhaps bounds of its own."""

    name: ClassVar[str]
    centre: ClassVar[str] = "mean"  # what predicts, where a source has several (see sources/resampled.py)
    needs_rows: ClassVar[bool] = False  # that were held out
    on_request: ClassVar[bool] = False  # learned only if `interval` names it at fit, because it stores much
    needs_every_row: ClassVar[bool] = False  # held out once: it compares with each of them
    own_bounds: ClassVar[bool] = False  # that need no distribution
    predictive: ClassVar[bool] = False  # bounds of its own are quantiles of targets, and not only of what networks say
    missing: ClassVar[str] = "is not there; call fit again."  # message where the fit did not learn it

    @classmethod
    def learn(cls, evidence: Evidence, noise: Array) -> Self:
        """From held-out rows. Shape: noise ``(n, n_outputs)``, the variance that is expected of the rows' noise."""
        return cls()

    @abstractmethod
    def variances(self, spread: Number, noise: Number, n_members: float) -> tuple[Number, Number]:
        """Epistemic and aleatoric variance. Shape: ``(n, n_outputs)``; a constant noise may have one row."""

    def centres(self, X: Float32, source: Source, machine: Machine) -> npt.NDArray[np.floating]:
        """Predictions that bounds of its own are made from. Shape: ``(n, k)`` -> ``(n_centres, n, n_outputs)``, standardised."""
        raise TypeError(f"interval={self.name!r} has no bounds of its own.")

    def bounds(self, centres: npt.NDArray[np.floating], units: Units, levels: Array, beside: Beside) -> Array:
        """From its centres, in the target's units, by the level of the tail that a bound ends.

        Shape: ``(n, n_outputs, n_levels)``.
        """
        raise TypeError(f"interval={self.name!r} has no bounds of its own.")

    def graph_bounds(self, x: Value, source: Source, units: Units, levels: Array) -> Bounds:
        """The same as a part of a graph."""
        raise TypeError(f"interval={self.name!r} has no bounds of its own.")

    def warn_if_infinite(self, bounds: Array, levels: Array, beside: Beside) -> None:
        """Where too few rows make bounds of its own infinite. Shape: bounds ``(n, ..., n_levels)``, levels of coverage."""
        return

    def widened(self, widening: Array) -> Interval:
        """What there is to do where the variance of the noise becomes so many times as large."""
        return self

    def relearned(self, evidence: Evidence, noise: Array) -> Interval:
        """From other rows; what was kept of the fit's own rows stays."""
        return self

    def check_fits(self, source: Source) -> None:
        """Refuse, by ``ValueError``, a stored part that does not go with these networks."""
        return


class Distribution(ABC):
    """Shape of the predictive distribution: the same for all rows, at mean 0 and standard deviation 1."""

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def learn(cls, errors: Array, weight: Array) -> tuple[Distribution, Array]:
        """From held-out errors, target less prediction, in units of their predicted standard deviations; and the factor by
        which variances should grow.

        Shape: errors ``(n, n_outputs)``, weight ``(n,)`` -> widening ``(n_outputs,)``.
        """

    @classmethod
    @abstractmethod
    def without_rows(cls) -> Distribution:
        """What it is where no rows were held out."""

    @abstractmethod
    def multiples(self, levels: Array) -> Array:
        """Quantiles at mean 0 and standard deviation 1. Shape: ``(n_levels,)`` -> ``(n_outputs or 1, n_levels)``."""

    @abstractmethod
    def frozen(self, mean: Array, std: Array) -> rv_continuous_frozen:
        """As a frozen distribution of scipy. Shape: ``(n,)`` or ``(n, n_outputs)``."""

    @property
    def dof(self) -> Array | None:
        """Degrees of freedom, where it has any. Shape: ``(n_outputs,)``."""
        return None

    def describe(self) -> str:
        """In words, for reports."""
        return self.name

    # Scores of predictions. Shape: y, mean, std ``(n,)`` or ``(n, n_outputs)``, weight ``(n,)``; `metrics` says what they mean.

    def log_likelihood(self, y: Array, mean: Array, std: Array, weight: Array | None = None) -> float:
        return float(np.average(self.frozen(mean, std).logpdf(y), axis=0, weights=weight).mean())

    def crps(self, y: Array, mean: Array, std: Array, weight: Array | None = None) -> float:
        """By 10,000 evenly spaced quantiles; an error of a constant (std 0) counts as it is."""
        error = np.reshape(y - mean, (len(y), -1))
        scale = np.reshape(std, error.shape)
        z = np.divide(error, scale, out=np.zeros_like(error), where=scale > 0)
        points = self.multiples((np.arange(CRPS_POINTS) + 0.5) / CRPS_POINTS)
        points = np.broadcast_to(points, (error.shape[1], CRPS_POINTS))
        own = np.stack([_crps_of_points(*both) for both in zip(points, z.T, strict=True)], axis=1)
        scores = np.where(scale > 0, scale * own, np.abs(error))
        return float(np.average(scores, axis=0, weights=weight).mean())

    def normal_errors(self, y: Array, mean: Array, std: Array) -> Array:
        """Errors of a standard Normal distribution that are as likely. Shape: as y."""
        predicted = self.frozen(mean, std)
        with np.errstate(over="ignore"):
            below, above = predicted.cdf(y), predicted.sf(y)
        errors = np.where(below < above, ndtri(below), -ndtri(above))  # by the smaller tail, where floats are dense
        return np.clip(errors, -FARTHEST, FARTHEST)

    def check_fits(self, source: Source) -> None:
        """Refuse, by ``ValueError``, a stored part that does not go with these networks."""
        return


LearnShape = Callable[[Array, Array], tuple[Distribution, Array]]  # as `Distribution.learn`


def _crps_of_points(points: Array, z: Array) -> Array:
    """Of a distribution that has these points, ascending, each as likely. Shape: ``(k,)``, ``(n,)`` -> ``(n,)``."""
    k = len(points)
    sums = np.concatenate([[0.0], np.cumsum(points)])
    below = np.searchsorted(points, z)
    distance = (z * (2 * below - k) + sums[-1] - 2 * sums[below]) / k
    return distance - (2 * np.arange(k) - k + 1) @ points / k**2


def check_variances(values: Array, shape: tuple[int, ...], name: str) -> None:
    require(values.shape == shape, f"{name} has shape {values.shape} instead of {shape}")
    require((np.isfinite(values) & (values >= 0)).all(), f"{name} is negative or not finite")
