"""Monte Carlo dropout: one network, many thinned passes (Section 3.3 of the paper)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from extranets import engine
from extranets._arrays import Array
from extranets._sklearn import Range, StrOptions
from extranets.engine import Moments
from extranets.estimators.copies import warn_of_copies
from extranets.estimators.fitted import Fit
from extranets.estimators.parameters import (
    HELD_OUT_CONSTRAINTS,
    LOSS,
    TRAINING_CONSTRAINTS,
    documented,
)
from extranets.estimators.settings import Settings, resolve
from extranets.estimators.trained import TrainedRegressor, check_rows_for, noise_without_rows
from extranets.held_out import Plan, Sample, cross_validation, plan_rows
from extranets.metrics import gaussian_log_likelihood, mixture_log_likelihood
from extranets.model_file import storable
from extranets.networks import Ensemble
from extranets.predictor import Evidence, Predictor, Units
from extranets.predictor.distributions import Normal
from extranets.predictor.intervals import INTERVALS, Calibrated, Total
from extranets.predictor.noise import ConstantNoise, HeadNoise
from extranets.predictor.part import Interval, Noise, Source
from extranets.predictor.sources import DropoutPasses, Recipe
from extranets.predictor.sources.dropout_passes import passes
from extranets.predictor.sources.networks import MOST_PASSES
from extranets.uncertainty.components import HeldOut

CANDIDATES = (0.995, 0.99, 0.95, 0.9, 0.8, 0.5)  # keep probabilities that "auto" tries
BLOCK_SIZE = 2**22  # pass predictions at once
OFFERED: tuple[type[Interval], ...] = (Total, Calibrated)


@storable("MCDropoutRegressor")
@documented
@dataclass(eq=False, repr=False)
class MCDropoutRegressor(TrainedRegressor):
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
    {bounds}
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

    hidden_layer_sizes: tuple[int, ...] | int = (50,)
    keep_prob: float | Literal["auto"] = 0.95
    _: KW_ONLY
    input_keep_prob: float = 1.0
    n_passes: int = 200
    loss: Literal["squared_error", "gaussian_nll"] = "squared_error"
    noise: Literal["cv", "holdout", "train"] = "cv"
    n_folds: int = 5
    holdout_fraction: float = 0.2
    interval: Literal["total", "calibrated"] = "total"

    intervals: ClassVar[tuple[type[Interval], ...]] = OFFERED
    changeable: ClassVar[tuple[str, ...]] = ("interval", "n_passes")
    leaves_rows_out: ClassVar[bool] = True
    source_kind: ClassVar[type[Source]] = DropoutPasses
    noise_kinds: ClassVar[tuple[type[Noise], ...]] = (ConstantNoise, HeadNoise)
    extra_types: ClassVar[dict[str, Any]] = {"keep_prob_scores_": dict[float, float] | None}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        **HELD_OUT_CONSTRAINTS,
        "keep_prob": [StrOptions({"auto"}), Range(Real, 0, 1, closed="right")],
        "input_keep_prob": [Range(Real, 0, 1, closed="right")],
        "n_passes": [Range(Integral, 1, MOST_PASSES, closed="both")],
        "loss": [LOSS],
        "interval": [StrOptions({kind.name for kind in OFFERED})],
    }

    keep_prob_scores_: dict[float, float] | None = field(init=False)

    @property
    def keep_prob_(self) -> float:
        return self._networks.recipe.options.dropout_keep

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
        model = self._chosen()
        std = np.sqrt(self._pass_variance(model, tau))
        assert isinstance(model.source, DropoutPasses)  # which `source_kind` sees to
        step = max(1, BLOCK_SIZE // model.source.n_members)
        total, latent = float(model.units.link.log_slope(y).mean(axis=1).sum()), model.units.link.latent(y)
        for begin in range(0, len(y), step):
            rows = slice(begin, begin + step)
            predicted = model.units.y.undo(model.source.members(model.units.x.apply(X[rows]), self._machine()))
            total += len(y[rows]) * mixture_log_likelihood(latent[rows], predicted, np.broadcast_to(std, y[rows].shape))
        return total / len(y)

    def _pass_variance(self, model: Predictor, tau: float | Array | None) -> Array:
        """Variance of every pass as a Gaussian. Shape: ``(n_outputs,)``."""
        if tau is None and model.noise.differs:
            raise ValueError(
                "With loss='gaussian_nll' there is no single tau; pass one, or score predict_dist instead."
            )
        if tau is None:
            with np.errstate(divide="ignore"):  # a constant target has no noise
                tau = 1 / (model.noise.factor * model.units.y.scale**2)
        tau = np.asarray(tau, dtype=np.float64)
        if tau.shape not in ((), (model.n_outputs,)) or not (np.isfinite(tau) & (tau > 0)).all():
            raise ValueError(
                f"tau must be positive and finite, one number or one for each of {model.n_outputs} outputs; got {tau}."
            )
        return np.broadcast_to(1 / tau, (model.n_outputs,))

    # -- fit -----------------------------------------------------------------------------------------------------------

    def _check_combinations(self) -> None:
        check_rows_for(self.interval, self.noise)

    def _fit(self, sample: Sample, units: Units) -> Fit:
        seed, n_rows = self._seed(), len(sample.y)
        plan = self._plan(sample, seed)
        scores = self._likelihoods(sample, plan, seed) if self.keep_prob == "auto" else None
        keep = float(self.keep_prob) if scores is None else max(scores, key=scores.__getitem__)
        if plan is not None:
            warn_of_copies(sample)
        network, folds = self._trainer(self._thinned(n_rows, keep), seed).networks(1, sample, plan)
        source = DropoutPasses(network, self.n_passes)
        if plan is None:
            noise = noise_without_rows(source, sample, network.ensemble.parameters_per_output, self._machine())
            return Fit(
                Predictor.uncalibrated(units, source, noise, OFFERED, self.interval), {"keep_prob_scores_": scores}
            )
        held = plan.errors(network.ensemble, folds, sample, lambda each: self._moments_of(each, network.recipe))
        evidence = Evidence(held, self.n_passes)
        noise = HeadNoise.of(units.n_outputs) if source.learns_noise else ConstantNoise.learn(held, self.n_passes)
        model = Predictor.from_rows(units, source, noise, evidence, OFFERED, self.interval, Normal.learn)
        return Fit(model, {"keep_prob_scores_": scores})

    def _plan(self, sample: Sample, seed: int) -> Plan | None:
        noise = "train" if self.loss == "gaussian_nll" and not INTERVALS[self.interval].needs_rows else self.noise
        n_folds, fraction = self.n_folds, self.holdout_fraction
        return plan_rows(noise, len(sample.y), 1, seed, n_folds=n_folds, fraction=fraction, parting=sample.parting)

    def _thinned(self, n_rows: int, keep: float) -> Settings:
        return resolve(self.get_params(deep=False), n_rows, keep_prob=1.0, dropout_keep=keep)  # no fixed mask

    def _moments_of(self, network: Ensemble, recipe: Recipe) -> Moments:
        return engine.moments(network, passes(recipe, self.n_passes), **self._machine())

    def _likelihoods(self, sample: Sample, plan: Plan | None, seed: int) -> dict[float, float]:
        """Mean log-likelihood of held-out rows for every candidate."""
        n_rows = len(sample.y)
        plan = plan or cross_validation(n_rows, self.n_folds, 1, seed, parting=sample.parting)
        found = {}
        for keep in CANDIDATES:
            trainer = self._trainer(self._thinned(n_rows, keep), seed)
            found[keep] = self._likelihood(trainer.held_out_errors(sample, plan, self._moments_of))
        return found

    def _likelihood(self, held: HeldOut) -> float:
        """Mean log-likelihood of held-out rows, whose variance is what ``interval="total"`` gives them: spread + noise."""
        learned = self.loss == "gaussian_nll"
        noise = held.noise if learned else ConstantNoise.learn(held, self.n_passes).factor
        std = np.sqrt(held.spread + noise)
        return gaussian_log_likelihood(held.residual, np.zeros_like(std), std, sample_weight=held.weight)
