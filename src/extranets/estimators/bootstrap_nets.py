"""The naive bootstrap of networks, with the four intervals of Section 3.2 of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions

from extranets import engine
from extranets._arrays import Array
from extranets._warnings import warn_user
from extranets.engine import Moments
from extranets.estimators._conformal import warn_if_infinite
from extranets.estimators._copies import warn_of_copies
from extranets.estimators._fitted import Fitted
from extranets.estimators._held_out import Plan, Sample
from extranets.estimators._onnx import in_units, network_moments, network_predictions
from extranets.estimators._parameters import MEMBER_COUNT, TRAINING_CONSTRAINTS, EnsembleSize, documented
from extranets.estimators._resampling import JackknifePlus, bootstrap_counts, out_of_bag
from extranets.estimators._scaling import blocks
from extranets.estimators._stored import check_variances
from extranets.estimators._trained import TRAINED_TYPES, TrainedRegressor
from extranets.estimators._validation import check_table
from extranets.model_file import require, storable
from extranets.networks import Ensemble, Members
from extranets.onnx_graph import Bounds, Value, percentile_bounds
from extranets.uncertainty.components import Components
from extranets.uncertainty.intervals import (
    Construction,
    bootstrap_averaged,
    bootstrap_bias_corrected,
    bootstrap_normal,
    bootstrap_percentile,
)
from extranets.uncertainty.noise import held_out_variance

if TYPE_CHECKING:
    from typing_extensions import Self

FILES: dict[str, ModuleType] = {
    "averaged": bootstrap_averaged,
    "normal": bootstrap_normal,
    "bias_corrected": bootstrap_bias_corrected,
    "percentile": bootstrap_percentile,
    "jackknife+": bootstrap_averaged,
}


@dataclass(frozen=True)
class CentredMoments:
    """Moments of the resampled networks about the centre that a construction chooses."""

    full: Moments
    resampled: Moments
    construction: ModuleType

    @property
    def n_members(self) -> int:
        return self.resampled.n_members

    def __call__(self, X: npt.NDArray[np.float32]) -> tuple[Array, Array, None]:
        mean, spread, _ = self.resampled(X)
        return self.construction.centre(self.full(X)[0], mean), spread, None


@storable("BootstrapNetsRegressor")
@documented
@dataclass(eq=False, repr=False)
class BootstrapNetsRegressor(TrainedRegressor, EnsembleSize):
    """Networks trained on resampled rows, and one on all of them.

    Each of ``n_estimators`` networks trains on as many rows as there are, drawn with replacement. Rows that a network did not
    draw are out of its bag: they measure the noise, so that no row need be held out.

    Parameters
    ----------
    n_estimators : int, default=70
        Number of resampled networks.
    {hidden}
    {adam}
    {training}
    noise : {"oob", "train"}, default="oob"
        Residual variance from out-of-bag predictions, or from training residuals corrected for degrees of freedom.
    interval : {"averaged", "normal", "bias_corrected", "percentile", "jackknife+"}, default="averaged"
        What predicts, and its variance. With f the network trained on all rows, f_bar the mean of the resampled ones, s^2
        their spread, and noise the residual variance of f or f_bar (as in the paper, so that s^2 enters the wider ones twice): ``"averaged"`` is f_bar with s^2 / T + noise; ``"normal"`` is f with s^2 + noise; ``"bias_corrected"``
        is 2 f - f_bar with s^2 + noise; ``"percentile"`` is f with quantiles of the resampled networks' predictions, which
        hold no noise and so cover the regression function, not new targets (variances and quantiles of the predictive
        distribution are those of ``"normal"``). ``"jackknife+"`` is f_bar with intervals that
        need no distribution, from out-of-bag residuals (jackknife+-after-bootstrap; with ``noise="oob"``).
    {warm_start}
    {common}

    Attributes
    ----------
    ensemble_ : Ensemble
        The resampled networks.
    full_network_ : Ensemble
        The one network trained on all rows.
    oob_prediction_ : array of shape (n_samples,) or (n_samples, n_outputs)
        Mean of the networks that did not draw a row; NaN where there is none (or the row's weight is zero).
    oob_score_ : float
        R^2 of ``oob_prediction_``.
    noise_variance_ : float or array of shape (n_outputs,)
        Residual variance of f_bar (``"averaged"``, ``"jackknife+"``) or of f, in squared units of the target.
    {fitted}

    Examples
    --------
    >>> from extranets import BootstrapNetsRegressor
    >>> from extranets.data import linear_process
    >>> X_train, y_train, X_test, y_test = linear_process(500, random_state=0).split(400)
    >>> model = BootstrapNetsRegressor(n_estimators=20, max_iter=40, random_state=0).fit(X_train, y_train)
    >>> bool(model.oob_score_ > 0.9)
    True
    """

    _: KW_ONLY
    noise: Literal["oob", "train"] = "oob"
    interval: Literal["averaged", "normal", "bias_corrected", "percentile", "jackknife+"] = "averaged"
    warm_start: bool = False

    constructions: ClassVar[dict[str, Construction]] = {name: file.variances for name, file in FILES.items()}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        "n_estimators": [MEMBER_COUNT],
        "noise": [StrOptions({"oob", "train"})],
        "interval": [StrOptions(set(FILES))],
        "warm_start": ["boolean"],
    }

    _learned_types: ClassVar[dict[str, Any]] = {
        **{name: kind for name, kind in TRAINED_TYPES.items() if name != "_noise"},
        "_noises": dict[str, Array],
        "_out_of_bag": Array,
        "oob_score_": float,
        "_jackknife": JackknifePlus | None,
    }

    honest_noise = "oob"

    @property
    def full_network_(self) -> Ensemble:
        return self._fitted.ensemble[:1]

    @property
    def ensemble_(self) -> Ensemble:
        return self._fitted.ensemble[1:]

    @property
    def oob_prediction_(self) -> Array:
        return self._as_target(self._y_scaling.undo(self._out_of_bag))

    # -- training: member 0 sees every row once, the others their samples -------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.interval == "jackknife+" and self.noise != "oob":
            raise ValueError("interval='jackknife+' needs out-of-bag residuals; use noise='oob'.")

    def _n_members(self) -> int:
        return self.n_estimators + 1

    def _plan(self, n_rows: int, seed: int) -> None:
        return None

    def _counts(
        self, members: Members, plan: Plan | None, n_rows: int, seed: int
    ) -> tuple[npt.NDArray[np.uint16] | None, npt.NDArray[np.int32] | None]:
        resampled = members.ids > 0
        rows = np.where(resampled, np.cumsum(resampled) - 1, -1)
        return bootstrap_counts(seed, members.ids[resampled], n_rows), rows.astype(np.int32)

    # -- out-of-bag rows, and the noise of every centre ----------------------------------------------------------------

    def _noise_of(self, fitted: Fitted, extra: Ensemble, sample: Sample, plan: Plan | None) -> dict[str, Any]:
        from sklearn.metrics import r2_score  # slow to import

        resampled = fitted.ensemble[1:]
        in_bag = bootstrap_counts(fitted.recipe.seed, resampled.members.ids, len(sample.y)) > 0
        held, usable = out_of_bag(resampled, in_bag, sample, self._machine())
        self._check_out_of_bag(usable)
        if self.noise == "oob":
            warn_of_copies(sample)
            noises = self._noises_by(lambda file: held_out_variance(held, n_averaged(file, len(resampled))))
        else:
            noises = self._residual_variances(fitted, sample, fitted.ensemble.parameters_per_output)
        prediction = np.full(sample.y.shape, np.nan)
        prediction[usable] = held.residual + sample.y[usable]
        known = sample.y[usable], prediction[usable], sample.weight[usable]
        return {
            "_noises": noises,
            "_factors": None,
            "_out_of_bag": sample.with_unused(prediction),
            "oob_score_": r2_score(*known[:2], sample_weight=known[2]) if usable.sum() > 1 else np.nan,
            "_jackknife": JackknifePlus(in_bag, prediction - sample.y) if self.interval == "jackknife+" else None,
        }

    def _check_out_of_bag(self, usable: npt.NDArray[np.bool_]) -> None:
        if self.noise == "oob" and usable.sum() < 2:
            raise ValueError(
                f"Only {int(usable.sum())} rows are out of some network's bag, too few for noise='oob'; use a larger "
                "n_estimators or noise='train'."
            )
        if not usable.all():
            warn_user(
                f"{int((~usable).sum())} rows are in every network's sample and have no out-of-bag prediction; use a larger "
                "n_estimators.",
            )

    def _noises_by(self, variance: Callable[[ModuleType], Array]) -> dict[str, Array]:
        """A noise variance for every construction; those with the same centre have the same."""
        by_centre = {file.centre: variance(file) for file in {file.centre: file for file in FILES.values()}.values()}
        return {name: by_centre[file.centre] for name, file in FILES.items()}

    def _residual_variances(self, fitted: Fitted, sample: Sample, n_parameters: float) -> dict[str, Array]:
        """Mean squared residuals of every centre on the sample's rows, corrected for degrees of freedom."""
        full, resampled = fitted.ensemble[:1], fitted.ensemble[1:]
        return self._noises_by(
            lambda file: self._training_noise(self._centred(full, resampled, file), sample, n_parameters)
        )

    def estimate_noise(self, X: Any, y: Any) -> Self:
        sample = self._held_out_sample(X, y)
        self.__dict__.update(_noises=self._residual_variances(self._fitted, sample, 0.0), _conformal=None)
        return self

    estimate_noise.__doc__ = TrainedRegressor.estimate_noise.__doc__

    def _check_learned(self) -> None:
        super()._check_learned()
        require(not self._learns_noise and len(self._fitted.ensemble) >= 2, "no networks of a bootstrap")
        n_outputs = len(self._y_scaling.centre)
        require(self._out_of_bag.shape[1:] == (n_outputs,), "out-of-bag predictions do not fit the outputs")
        if self._jackknife is not None:
            shapes = self._jackknife.in_bag.shape[0], self._jackknife.residuals.shape[1]
            require(shapes == (len(self.ensemble_), n_outputs), "the jackknife+ does not fit the networks")

    def _check_noise(self, n_outputs: int) -> None:
        require(self._noises.keys() == FILES.keys(), "noise of other constructions")
        for name, noise in self._noises.items():
            check_variances(noise, (n_outputs,), f"noise of {name!r}")

    # -- prediction ----------------------------------------------------------------------------------------------------

    def _centred(self, full: Ensemble, resampled: Ensemble, construction: ModuleType) -> Moments:
        return CentredMoments(
            engine.moments(full, **self._machine()), engine.moments(resampled, **self._machine()), construction
        )

    def _moments(self) -> Moments:
        return self._centred(self.full_network_, self.ensemble_, FILES[self.interval])

    def _constant_noise(self) -> Array:
        return self._noises[self.interval]  # which may have changed since fit

    def _bounds(self, X: Any, parts: Components, levels: Array) -> Array:
        if self.interval not in ("percentile", "jackknife+"):
            return super()._bounds(X, parts, levels)
        self._check_jackknife()
        X = check_table(self, X)
        bounds = np.concatenate([self._member_bounds(X[rows], levels) for rows in blocks(X.shape[0])])
        if self._jackknife is not None:
            warn_if_infinite(bounds, levels, len(self._jackknife.residuals), "Fit to more rows.")
        return bounds[:, 0] if self._y_is_vector else bounds

    def _check_jackknife(self) -> None:
        if self.interval == "jackknife+" and self._jackknife is None:
            raise ValueError("interval='jackknife+' was set after fit, which kept no samples; call fit again.")

    def _member_bounds(self, X: Any, levels: Array) -> Array:
        """Shape: ``(n, k)`` -> ``(n, n_outputs, 2, n_levels)``."""
        members = self._y_scaling.undo(self._members(self._x_scaling.apply(X)))
        if self.interval == "percentile" or self._jackknife is None:
            return bootstrap_percentile.bounds(members, levels)
        return self._jackknife.interval(members, self._y_scaling.scale, levels)

    # -- the same as a graph -------------------------------------------------------------------------------------------

    def _graph_moments(self, x: Value) -> tuple[Value, Value, None]:
        mean, spread, _ = network_moments(x, self.ensemble_)
        full = network_predictions(x, self.full_network_).mean(0)
        return FILES[self.interval].centre(full, mean), spread, None

    def _graph_bounds(self, x: Value, mean: Value, std: Value, levels: Array) -> Bounds:
        if self.interval not in ("percentile", "jackknife+"):
            return super()._graph_bounds(x, mean, std, levels)
        self._check_jackknife()
        members = in_units(network_predictions(x, self.ensemble_), self._y_scaling)
        if self.interval == "percentile" or self._jackknife is None:
            return percentile_bounds(members, len(self.ensemble_), levels)
        return self._jackknife.graph_bounds(members, self._y_scaling.scale, levels)


def n_averaged(construction: ModuleType, n_members: int) -> int:
    """Networks whose mean is the centre: a single one errs by the whole spread, a mean of T by 1/T of it."""
    return n_members if construction is bootstrap_averaged else 1
