"""What all estimators of this package share: the frame of `fit`, and all that comes after it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from extranets._arrays import Array
from extranets.engine import Moments
from extranets.estimators import _frames
from extranets.estimators._conformal import SMALLEST_STD, Conformal
from extranets.estimators._fitted import fit_info
from extranets.estimators._held_out import Sample, errors_on
from extranets.estimators._onnx import OnnxEstimator
from extranets.estimators._parameters import CommonParameters
from extranets.estimators._scaling import Scaling, blocks, fingerprint
from extranets.estimators._stored import StoredEstimator, check_variances
from extranets.estimators._validation import check_levels, check_table, check_training_table
from extranets.model_file import require
from extranets.uncertainty import predictive
from extranets.uncertainty.components import Components, HeldOut
from extranets.uncertainty.conformal import conformal_scores
from extranets.uncertainty.intervals import Construction, calibrated, total
from extranets.uncertainty.noise import held_out_variance

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen
    from typing_extensions import Self  # typing has it from Python 3.11 on


class NetsRegressor(CommonParameters, StoredEstimator, OnnxEstimator, RegressorMixin, BaseEstimator, ABC):
    """Shared interface. A subclass's `_learn` gives what is listed here; all of it is in standardised units."""

    interval = "total"  # a parameter where there is a choice
    constructions: ClassVar[dict[str, Construction]] = {"total": total.variances}

    _x_scaling: Scaling
    _y_scaling: Scaling
    _y_is_vector: bool
    _learns_noise: bool  # the networks predict a variance for every row
    _noise: Array  # (n_outputs,): residual variance, or the factor of what networks predict for it
    _factors: Array | None  # (2, n_outputs): of the calibrated construction; None: no rows were held out
    _dof: Array | None = None  # (n_outputs,): of Student's t as predictive distribution; None: it is Normal
    _conformal: Conformal | None  # set by conformalize, forgotten by fit
    _learned_names: tuple[str, ...]  # of all that the last fit set

    # -- fit -----------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the networks and estimate the noise.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows in the loss and in all averages; rows of weight zero are left out.

        Returns
        -------
        self
        """
        begin = time.monotonic()
        self._check_parameters()
        self._forget()  # a fit that fails leaves no fitted estimator
        X, y, weight, used = check_training_table(self, X, y, sample_weight, reset=not self.__sklearn_is_fitted__())
        y_is_vector, y = y.ndim == 1, y.reshape(len(y), -1)
        x_scaling, y_scaling = Scaling.of(X, weight, "X"), Scaling.of(y, weight, "y")
        sample = Sample(x_scaling.apply(X), y_scaling.apply(y), weight, fingerprint(X, y, weight), used)
        learned = self._learn(sample)
        # Nothing failed: only now is the estimator fitted.
        learned |= {"_x_scaling": x_scaling, "_y_scaling": y_scaling, "_y_is_vector": y_is_vector, "_conformal": None}
        learned["fit_info_"] = fit_info(X.shape, begin)
        self.__dict__.update(learned, _learned_names=tuple(learned))
        return self

    def _check_parameters(self) -> None:
        self._validate_params()
        self._check_hidden()

    def check_parameters(self) -> None:
        self._check_parameters()

    @property
    def target_is_vector_(self) -> bool:
        return self._y_is_vector

    def _forget(self) -> None:
        for name in self.__dict__.pop("_learned_names", ()):
            del self.__dict__[name]

    @abstractmethod
    def _learn(self, sample: Sample) -> dict[str, Any]:
        """Everything that `fit` sets, by attribute. Assigns nothing itself."""

    @property
    def noise_variance_(self) -> float | Array | None:
        if self._learns_noise:
            return None
        in_units = self._constant_noise() * self._y_scaling.scale**2
        return float(in_units[0]) if self._y_is_vector else in_units

    @property
    def calibration_(self) -> Array | None:
        if "calibrated" not in self.constructions:
            raise AttributeError(f"{type(self).__name__} calibrates nothing")
        return self._factors[:, 0] if self._factors is not None and self._y_is_vector else self._factors

    @property
    def degrees_of_freedom_(self) -> float | Array | None:
        return float(self._dof[0]) if self._y_is_vector and self._dof is not None else self._dof

    def _constant_noise(self) -> Array:
        """Residual variance of standardised outputs, where it is the same for all rows. Shape: ``(n_outputs,)``."""
        return self._noise

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learned_names")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    # -- point predictions ---------------------------------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Point predictions: the mean of the predictive distribution.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviation, sqrt(epistemic + aleatoric variance).

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        std : array of the same shape, only with ``return_std=True``
        """
        self._check_fitted()
        if not return_std:
            return self._as_target(self._parts(X, self._mean_moments())[0])
        parts = self.predict_components(X)
        return parts.mean, parts.std

    def predict_members(self, X: Any) -> Array:
        """Predictions of the single networks, shape (n_members, n_samples[, n_outputs])."""
        check_is_fitted(self)
        X = check_table(self, X)
        out = np.concatenate(
            [self._y_scaling.undo(self._members(self._x_scaling.apply(X[rows]))) for rows in blocks(X.shape[0])], axis=1
        )
        return out[:, :, 0] if self._y_is_vector else out

    # -- predictive distribution ---------------------------------------------------------------------------------------

    def predict_components(self, X: Any) -> Components:
        """Predictive mean, and epistemic and aleatoric variance as the chosen ``interval`` builds them.

        Returns
        -------
        Components
            Named tuple ``(mean, epistemic, aleatoric)`` with properties ``total`` and ``std``; every array has shape
            (n_samples,) or (n_samples, n_outputs). Variances are in squared units of the target.
        """
        self._check_fitted()
        moments = self._moments()
        mean, spread, noise = self._parts(X, moments)
        epistemic, aleatoric = self.constructions[self.interval](spread, noise, moments.n_members, self._factors)
        unit = self._y_scaling.scale**2
        aleatoric = np.broadcast_to(aleatoric * unit, mean.shape).copy()
        return Components(self._as_target(mean), self._as_target(epistemic * unit), self._as_target(aleatoric))

    def predict_var(self, X: Any) -> Array:
        """Total predictive variance, shape (n_samples,) or (n_samples, n_outputs)."""
        return self.predict_components(X).total

    def predict_interval(self, X: Any, coverage: float | Sequence[float] = 0.9, *, as_frame: bool = False) -> Any:
        """Central prediction intervals: quantiles of :meth:`predict_dist`, or conformal after :meth:`conformalize`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        coverage : float or list of float, default=0.9
            Probability, strictly between 0 and 1, that an interval is meant to hold the target.
        as_frame : bool, default=False
            Return a data frame (polars for polars input, else pandas, with the index of ``X``) with columns
            ``prediction, lower_90, upper_90, ...``; with several outputs, ``prediction_0, lower_90_0, ...``.

        Returns
        -------
        array of shape (n_samples, 2), lower bounds first
            A list of levels appends an axis: (n_samples, 2, n_levels). Several outputs stand before the bounds:
            (n_samples, n_outputs, 2[, n_levels]).
        """
        levels, single = check_levels("coverage", coverage)
        parts = self.predict_components(X)
        if self._conformal is None:
            bounds = self._bounds(X, parts, levels)
        else:
            bounds = self._conformal.interval(parts, levels, self._construction())
        if as_frame:
            return _frames.interval_frame(X, parts.mean, bounds, levels)
        return bounds[..., 0] if single else bounds

    def _bounds(self, X: Any, parts: Components, levels: Array) -> Array:
        """Intervals before any conformal step. Shape: ``(n[, n_outputs], 2, n_levels)``."""
        return predictive.interval(parts.mean, parts.std, levels, self.degrees_of_freedom_)

    def predict_quantiles(self, X: Any, alpha: float | Sequence[float] = (0.05, 0.5, 0.95)) -> Array:
        """Quantiles of the predictive distribution, shape (n_samples[, n_outputs], n_levels); no last axis for a scalar."""
        levels, single = check_levels("alpha", alpha)
        parts = self.predict_components(X)
        values = predictive.quantiles(parts.mean, parts.std, levels, self.degrees_of_freedom_)
        return values[..., 0] if single else values

    def predict_dist(self, X: Any) -> rv_continuous_frozen:
        """The predictive distribution, frozen: ``scipy.stats.norm``, or ``t`` where ``degrees_of_freedom_`` are known.

        It has pdf, cdf, ppf, mean, var, interval, rvs.
        """
        parts = self.predict_components(X)
        return predictive.distribution(parts.mean, parts.std, self.degrees_of_freedom_)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: int | np.random.RandomState | None = None) -> Array:
        """Draws from the predictive distribution, shape (n_samples_X[, n_outputs], n_samples)."""
        parts = self.predict_components(X)
        # Row after row, so that a table in blocks has the same draws as a whole one.
        levels = check_random_state(random_state).uniform(size=(*parts.mean.shape, n_samples))
        dist = predictive.distribution(parts.mean, parts.std, self.degrees_of_freedom_)
        return np.moveaxis(dist.ppf(np.moveaxis(levels, -1, 0)), 0, -1)

    # -- rows that were held out ---------------------------------------------------------------------------------------

    def estimate_noise(self, X: Any, y: Any) -> Self:
        """Set the residual variance (and the calibration) from rows that the networks never saw: the paper's construction.

        Do not pass rows on which intervals will be judged. What :meth:`conformalize` learned is forgotten.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        self
        """
        sample = self._held_out_sample(X, y)
        if self._learns_noise and self.interval not in ("calibrated", "cv+"):
            raise ValueError(
                "Networks predict the noise of every row; there is none to estimate. Fit with loss='squared_error' and, where "
                "it is a parameter, noise_model='constant'."
            )
        moments = self._moments()
        held = errors_on(moments, sample, np.arange(len(sample.y)))
        self.__dict__.update(self._noise_from(held, moments.n_members, self._learns_noise), _conformal=None)
        return self

    def conformalize(self, X: Any, y: Any) -> Self:
        """Make intervals cover by construction, from rows that were not used to fit (split conformal prediction).

        ``predict_interval`` then gives mean plus or minus a multiple of the predicted standard deviation, the multiple being
        an exact quantile of the held-out rows' errors in such units. If they and the new rows are exchangeable, the coverage
        is at least the one asked for, on average, whatever the distribution; and the width still adapts to x. Quantiles,
        variances and ``predict_dist`` stay as they are. A new ``fit`` forgets it.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            At least coverage / (1 - coverage) rows: 9 for 0.9, 99 for 0.99.
        y : array of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        self

        Examples
        --------
        >>> from extranets import ExtraNetsRegressor
        >>> from extranets.data import linear_process
        >>> X_train, y_train, X_rest, y_rest = linear_process(600, random_state=0).split(300)
        >>> model = ExtraNetsRegressor(n_estimators=5, max_iter=40, random_state=0).fit(X_train, y_train)
        >>> model.conformalize(X_rest[:200], y_rest[:200]).predict_interval(X_rest[200:], coverage=0.9).shape
        (100, 2)
        """
        _, y = self._check_held_out(X, y)
        parts = self.predict_components(X)
        scores = conformal_scores(self._as_target(y), parts.mean, np.maximum(parts.std, SMALLEST_STD))
        self._conformal = Conformal(self._construction(), scores)
        return self

    def _noise_from(self, held: HeldOut, n_members: int, learned: bool) -> dict[str, Any]:
        """Residual variance and, where an interval uses them, the calibration's factors; by attribute."""
        variance = np.ones(held.residual.shape[1]) if learned else held_out_variance(held, n_members)
        calibrates = "calibrated" in self.constructions
        factors = calibrated.fit_factors(held, held.noise * variance, n_members) if calibrates else None
        return {"_noise": variance, "_factors": factors}

    def _check_held_out(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Checked rows with their targets. Shape: y ``(n, n_outputs)``."""
        check_is_fitted(self)
        X, y, _, _ = check_training_table(self, X, y, None, reset=False)
        y = y.reshape(len(y), -1)
        if y.shape[1] != len(self._y_scaling.centre):
            raise ValueError(
                f"y has {y.shape[1]} outputs, but the networks were fitted to {len(self._y_scaling.centre)}."
            )
        return X, y

    def _construction(self) -> dict[str, Any]:
        """Parameters that may change after fit and change the predictive distribution."""
        return {"interval": self.interval}

    def _held_out_sample(self, X: Any, y: Any) -> Sample:
        X, y = self._check_held_out(X, y)
        self._check_interval()
        return Sample(self._x_scaling.apply(X), self._y_scaling.apply(y), np.ones(len(y)))

    # -- in a model file -----------------------------------------------------------------------------------------------

    def _check_learned(self) -> None:
        n_outputs = len(self._y_scaling.centre)
        require(len(self._x_scaling.centre) == self.n_features_in_, "the scaling of X does not fit the features")
        require(not self._y_is_vector or n_outputs == 1, "a vector as target, and several outputs")
        self._check_noise(n_outputs)
        if self._factors is not None:
            check_variances(self._factors, (2, n_outputs), "calibration")
        if self._conformal is not None:
            require(self._conformal.construction.keys() == self._construction().keys(), "another construction")
            one_row = () if self._y_is_vector else (n_outputs,)
            require(self._conformal.scores.shape[1:] == one_row, "conformal scores do not fit the outputs")

    def _check_noise(self, n_outputs: int) -> None:
        check_variances(self._noise, (n_outputs,), "noise")

    # -- shared parts --------------------------------------------------------------------------------------------------

    @abstractmethod
    def _moments(self) -> Moments:
        """What makes the predictions."""

    @abstractmethod
    def _members(self, X: npt.NDArray[np.float32]) -> npt.NDArray[np.floating]:
        """Shape: X ``(n, k)``, standardised -> ``(n_members, n, n_outputs)``, standardised."""

    def _mean_moments(self) -> Moments:
        """The same where only the mean is wanted, if that is cheaper."""
        return self._moments()

    def _check_fitted(self) -> None:
        check_is_fitted(self)
        self._check_interval()

    def _check_interval(self) -> None:
        if self.interval not in self.constructions:
            raise ValueError(f"interval must be one of {sorted(self.constructions)}; got {self.interval!r}.")

    def _parts(self, X: Any, moments: Moments) -> tuple[Array, Array, Array]:
        """Mean in the target's units; spread and noise variance in standardised units.

        Shape: mean, spread ``(n, n_outputs)``; noise ``(n, n_outputs)``, or ``(1, n_outputs)`` where it is constant.
        """
        X = check_table(self, X)
        shape = (X.shape[0], len(self._y_scaling.centre))
        mean, spread = np.empty(shape), np.empty(shape)
        learned = np.empty(shape) if self._learns_noise else None
        for rows in blocks(shape[0]):
            block_mean, spread[rows], noise = moments(self._x_scaling.apply(X[rows]))
            mean[rows] = self._y_scaling.undo(block_mean)
            if learned is not None:
                learned[rows] = noise
        noise = self._constant_noise()[None, :]
        return mean, spread, noise if learned is None else noise * learned

    def _as_target(self, values: Array) -> Array:
        """One output as a vector, if the target was one."""
        return values[:, 0] if self._y_is_vector else values
