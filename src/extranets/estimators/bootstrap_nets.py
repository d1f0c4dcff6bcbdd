"""The naive bootstrap of networks, with the four intervals of Section 3.2 of the paper."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

from extranets._arrays import Array
from extranets._sklearn import StrOptions
from extranets.estimators.copies import warn_of_copies
from extranets.estimators.fitted import Fit
from extranets.estimators.parameters import MEMBER_COUNT, TRAINING_CONSTRAINTS, documented
from extranets.estimators.resampling import OutOfBag
from extranets.estimators.settings import resolve
from extranets.estimators.trained import TrainedRegressor, warn_of_few_degrees
from extranets.held_out import Sample
from extranets.model_file import require, storable
from extranets.networks import Ensemble
from extranets.predictor import Predictor, Units
from extranets.predictor.intervals import (
    BootstrapAveraged,
    BootstrapBiasCorrected,
    BootstrapNormal,
    BootstrapPercentile,
    JackknifePlus,
)
from extranets.predictor.noise import CentredNoise
from extranets.predictor.part import Interval, Noise, Source
from extranets.predictor.sources import Resampled

OFFERED: tuple[type[Interval], ...] = (
    BootstrapAveraged,
    BootstrapNormal,
    BootstrapBiasCorrected,
    BootstrapPercentile,
    JackknifePlus,
)


@storable("BootstrapNetsRegressor")
@documented
@dataclass(eq=False, repr=False)
class BootstrapNetsRegressor(TrainedRegressor):
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
    {bounds}
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

    n_estimators: int = 70
    hidden_layer_sizes: tuple[int, ...] | int = (50,)
    _: KW_ONLY
    noise: Literal["oob", "train"] = "oob"
    interval: Literal["averaged", "normal", "bias_corrected", "percentile", "jackknife+"] = "averaged"
    warm_start: bool = False

    intervals: ClassVar[tuple[type[Interval], ...]] = OFFERED
    changeable: ClassVar[tuple[str, ...]] = ("interval",)
    source_kind: ClassVar[type[Source]] = Resampled
    noise_kinds: ClassVar[tuple[type[Noise], ...]] = (CentredNoise,)
    extra_types: ClassVar[dict[str, Any]] = {"_out_of_bag": Array, "oob_score_": float}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        "n_estimators": [MEMBER_COUNT],
        "noise": [StrOptions({"oob", "train"})],
        "interval": [StrOptions({kind.name for kind in OFFERED})],
        "warm_start": ["boolean"],
    }

    oob_score_: float = field(init=False)
    _out_of_bag: Array = field(init=False)  # standardised, with a row for every row of the table

    @property
    def full_network_(self) -> Ensemble:
        return self._networks.ensemble[:1]

    @property
    def ensemble_(self) -> Ensemble:
        return self._networks.ensemble[1:]

    @property
    def oob_prediction_(self) -> Array:
        units = self.model_.units
        return units.as_target(units.link.target(units.y.undo(self._out_of_bag)))

    def _check_combinations(self) -> None:
        if self.interval == "jackknife+" and self.noise != "oob":
            raise ValueError("interval='jackknife+' needs out-of-bag residuals; use noise='oob'.")

    def _fit(self, sample: Sample, units: Units) -> Fit:
        seed, machine = self._seed(), self._machine()
        trainer = self._trainer(resolve(self.get_params(deep=False), len(sample.y), resamples=True), seed)
        # Network 0 sees every row once, the others their samples.
        networks, _ = trainer.networks(self.n_estimators + 1, sample, None, self._old_networks())
        source = Resampled(networks)
        bag = OutOfBag.of(source.resampled, seed, sample, machine)
        if self.noise == "oob":
            bag.check_enough_rows()
            warn_of_copies(sample)
            noise = CentredNoise.learn(bag.errors, source.n_members)
        else:
            n_parameters = networks.ensemble.parameters_per_output
            warn_of_few_degrees(n_parameters, len(sample.y), honest="oob")
            noise = CentredNoise.of_training(source, sample, machine, n_parameters)
        bag.warn_of_rows_in_every_bag()
        model = Predictor.uncalibrated(units, source, noise, self.intervals, self.interval, self._kept(bag))
        return Fit(model, {"_out_of_bag": sample.with_unused(bag.prediction), "oob_score_": bag.r2()})

    def _kept(self, bag: OutOfBag) -> tuple[Interval, ...]:
        """Intervals that hold something of this fit."""
        return (JackknifePlus(bag.in_bag, bag.residuals),) if self.interval == JackknifePlus.name else ()

    def check_extras(self, model: Predictor, extras: dict[str, Any], n_rows: int) -> None:
        found = extras["_out_of_bag"]
        require(found.shape[1:] == (model.n_outputs,), "out-of-bag predictions do not fit the outputs")
        # Rows without weight have them, too.
        require(len(found) >= n_rows, "out-of-bag predictions of fewer rows than the fit had")
