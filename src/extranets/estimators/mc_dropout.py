"""Monte Carlo dropout: one network, many thinned passes (Section 3.3 of the paper)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from extranets import engine
from extranets._arrays import Array
from extranets._random import Purpose, draw_seed, uniforms
from extranets.engine import Moments, reference
from extranets.engine.reference_encoding import column_of_input
from extranets.estimators._fitted import Recipe
from extranets.estimators._held_out import Sample, cross_validation
from extranets.estimators._onnx import network_moments
from extranets.estimators._parameters import (
    HELD_OUT_CONSTRAINTS,
    LOSS,
    MOST_COUNT,
    TRAINING_CONSTRAINTS,
    HeldOutParameters,
    documented,
)
from extranets.estimators._trained import TRAINED_TYPES, TrainedRegressor
from extranets.metrics import gaussian_log_likelihood, mixture_log_likelihood
from extranets.model_file import storable
from extranets.networks import Ensemble
from extranets.onnx_graph import Value
from extranets.uncertainty.components import HeldOut
from extranets.uncertainty.intervals import Construction, calibrated, total
from extranets.uncertainty.noise import held_out_variance

CANDIDATES = (0.995, 0.99, 0.95, 0.9, 0.8, 0.5)  # keep probabilities that "auto" tries
BLOCK_SIZE = 2**22  # pass predictions at once


@storable("MCDropoutRegressor")
@documented
@dataclass(eq=False, repr=False)
class MCDropoutRegressor(HeldOutParameters, TrainedRegressor):
    """One network trained with dropout, which predicts many times, each time with other units dropped.

    The mean of the passes predicts. The variance is their spread, without 1/T (the passes share one set of weights), plus the
    noise: measured on rows that were held out (Zhu & Laptev 2017) or, with ``loss="gaussian_nll"``, predicted by the network
    (Kendall & Gal 2017; Serpell et al. 2019). Passes are drawn from the fit's own streams, so that predictions are
    reproducible, and a pass is one thinned network for all rows.

    Parameters
    ----------
    {hidden}
    keep_prob : float in (0, 1] or "auto", default=0.95
        Probability that a hidden unit is kept, in training and in every pass. ``"auto"`` takes the one of 0.995, 0.99, 0.95,
        0.9, 0.8 and 0.5 with the largest likelihood on held-out rows.
    input_keep_prob : float in (0, 1], default=1.0
        The same for the inputs.
    n_passes : int, default=200
        Stochastic passes of a prediction. May be changed after fit.
    loss : {"squared_error", "gaussian_nll"}, default="squared_error"
        With ``"gaussian_nll"`` the network predicts a mean and a variance.
    {adam}
    {training}
    {held_out}
    interval : {"total", "calibrated"}, default="total"
        ``"total"`` is spread + noise; ``"calibrated"`` is a * spread + b * noise with a >= 1/T and b fitted to held-out residuals.
    {common}

    Attributes
    ----------
    ensemble_ : Ensemble
        The one network.
    keep_prob_ : float
        The keep probability in use.
    keep_prob_scores_ : dict of float to float, or None
        What ``keep_prob="auto"`` saw: mean held-out log-likelihood (of standardised targets) by keep probability.
    noise_variance_ : float or array of shape (n_outputs,)
        Residual variance in squared units of the target; None where the network predicts it.
    calibration_ : array of shape (2,) or (2, n_outputs), or None
        Factors a and b of ``interval="calibrated"``.
    {fitted}

    References
    ----------
    Gal, Y. and Ghahramani, Z. (2016). Dropout as a Bayesian approximation. International Conference on Machine Learning.

    Examples
    --------
    >>> from extranets import MCDropoutRegressor
    >>> from extranets.data import linear_process
    >>> X_train, y_train, X_test, y_test = linear_process(500, random_state=0).split(400)
    >>> model = MCDropoutRegressor(max_iter=60, random_state=0).fit(X_train, y_train)
    >>> model.predict_members(X_test).shape
    (200, 100)
    """

    keep_prob: float | Literal["auto"] = 0.95
    _: KW_ONLY
    input_keep_prob: float = 1.0
    n_passes: int = 200
    loss: Literal["squared_error", "gaussian_nll"] = "squared_error"
    interval: Literal["total", "calibrated"] = "total"

    constructions: ClassVar[dict[str, Construction]] = {"total": total.variances, "calibrated": calibrated.variances}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        **HELD_OUT_CONSTRAINTS,
        "keep_prob": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right")],
        "input_keep_prob": [Interval(Real, 0, 1, closed="right")],
        "n_passes": [Interval(Integral, 1, MOST_COUNT, closed="left")],
        "loss": [LOSS],
        "interval": [StrOptions(set(constructions))],
    }
    _learned_types: ClassVar[dict[str, Any]] = {
        **TRAINED_TYPES,
        "keep_prob_": float,
        "keep_prob_scores_": dict[float, float] | None,
    }

    def log_likelihood(self, X: Any, y: Any, tau: float | Array | None = None) -> float:
        """Mean log predictive density of the passes as a mixture, as Gal & Ghahramani compute it.

        log p(y | x) = log((1/T) sum_t N(y; f_t(x), 1/tau)): every pass is a Gaussian of precision ``tau``.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        tau : float or array of shape (n_outputs,), optional
            Precision in the target's units; 1 / ``noise_variance_`` unless given.
        """
        X, y = self._check_held_out(X, y)
        std = np.sqrt(self._pass_variance(tau))
        step = max(1, BLOCK_SIZE // self.n_passes)
        total = 0.0
        for begin in range(0, len(y), step):
            rows = slice(begin, begin + step)
            passes = self._y_scaling.undo(self._members(self._x_scaling.apply(X[rows])))
            total += len(y[rows]) * mixture_log_likelihood(y[rows], passes, np.broadcast_to(std, y[rows].shape))
        return total / len(y)

    def _pass_variance(self, tau: float | Array | None) -> Array:
        """Variance of every pass as a Gaussian. Shape: ``(n_outputs,)``."""
        if tau is None and self._learns_noise:
            raise ValueError(
                "With loss='gaussian_nll' there is no single tau; pass one, or score predict_dist instead."
            )
        if tau is None:
            with np.errstate(divide="ignore"):  # a constant target has no noise
                tau = 1 / (self._constant_noise() * self._y_scaling.scale**2)
        tau, outputs = np.asarray(tau, dtype=np.float64), self._y_scaling.scale
        if tau.shape not in ((), outputs.shape) or not (np.isfinite(tau) & (tau > 0)).all():
            raise ValueError(
                f"tau must be positive and finite, one number or one for each of {len(outputs)} outputs; got {tau}."
            )
        return np.broadcast_to(1 / tau, outputs.shape)

    # -- fit -----------------------------------------------------------------------------------------------------------

    def _options(self, n_rows: int) -> engine.Options:
        keep = 1.0 if self.keep_prob == "auto" else float(self.keep_prob)
        return replace(super()._options(n_rows), dropout_keep=keep, input_keep=self.input_keep_prob)

    def _learn(self, sample: Sample) -> dict[str, Any]:
        options, scores = self._options(len(sample.y)), None
        if self.keep_prob == "auto":
            scores = self._held_out_scores(options, sample)
            options = replace(options, dropout_keep=max(scores, key=scores.__getitem__))
        learned = self._learn_with(options, sample, self._seed())
        return {**learned, "keep_prob_": options.dropout_keep, "keep_prob_scores_": scores}

    def _held_out_scores(self, options: engine.Options, sample: Sample) -> dict[float, float]:
        """Mean log-likelihood of held-out rows for every candidate."""
        seed = draw_seed(self.random_state)
        plan = self._plan(len(sample.y), seed) or cross_validation(len(sample.y), self.n_folds, 1, seed)
        scores = {}
        for keep in CANDIDATES:
            recipe = self._recipe(replace(options, dropout_keep=keep), sample, plan, seed)
            scores[keep] = held_out_likelihood(self._held_out_errors(recipe, sample, plan), recipe)
        return scores

    # -- prediction ----------------------------------------------------------------------------------------------------

    def _construction(self) -> dict[str, Any]:
        return {**super()._construction(), "n_passes": self.n_passes}

    def _passes(self, recipe: Recipe) -> dict[str, Any]:
        self._validate_params()  # n_passes may have changed since fit
        return {
            **self._machine(),
            "n_passes": self.n_passes,
            "dropout_keep": recipe.options.dropout_keep,
            "input_keep": recipe.options.input_keep,
            "seed": recipe.seed,
        }

    def _moments_of(self, ensemble: Ensemble, recipe: Recipe) -> Moments:
        return engine.moments(ensemble, **self._passes(recipe))

    def _members(self, X: npt.NDArray[np.float32]) -> npt.NDArray[np.floating]:
        heads = engine.forward(self.ensemble_, X, **self._passes(self._fitted.recipe))
        return heads[:, :, : self._fitted.recipe.architecture.n_outputs]

    def _graph_moments(self, x: Value) -> tuple[Value, Value, Value | None]:
        self._validate_params()  # n_passes may have changed since fit
        factors = pass_factors(self.ensemble_, self.n_passes, self._fitted.recipe)
        return network_moments(x, self.ensemble_, factors)


def pass_factors(network: Ensemble, n_passes: int, recipe: Recipe) -> list[Array]:
    """What every pass multiplies the inputs, and then the units of each hidden layer, by.

    Shape: ``(n_passes, 1, n_units)`` for each of them.
    """
    members = network.members
    layers = reference.unflatten(network.parameters, members.architecture, members.widths[0])
    keeps = recipe.options.dropout_keep, recipe.options.input_keep
    columns = column_of_input(members.architecture.encoding, members.architecture.n_inputs)

    def of_pass(index: int) -> list[Array]:
        draw = partial(uniforms, recipe.seed, index, Purpose.PASS)
        return reference.dropout_factors(draw, layers, 1, *keeps, columns)

    return [np.stack(factors) for factors in zip(*map(of_pass, range(n_passes)), strict=True)]


def held_out_likelihood(held: HeldOut, recipe: Recipe) -> float:
    noise = held.noise if recipe.architecture.learns_noise else held_out_variance(held, 1)
    std = np.sqrt(held.spread + noise)
    return gaussian_log_likelihood(held.residual, np.zeros_like(std), std, sample_weight=held.weight)
