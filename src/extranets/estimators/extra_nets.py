"""Extra-neural networks: thinned networks, each trained on all rows (Algorithm 1 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal

from extranets import engine
from extranets._arrays import Float32
from extranets._sklearn import Range, StrOptions
from extranets.encodings import numeric_columns
from extranets.engine import Moments
from extranets.estimators.automatic import AUTOMATIC, LEVELS, Effort, choices
from extranets.estimators.copies import warn_of_copies
from extranets.estimators.fitted import Fit
from extranets.estimators.parameters import (
    DISTANCE_CONSTRAINTS,
    HELD_OUT_CONSTRAINTS,
    LOSS,
    MEMBER_COUNT,
    TRAINING_CONSTRAINTS,
    documented,
)
from extranets.estimators.settings import ENCODINGS, hidden_units, resolve
from extranets.estimators.trained import TrainedRegressor, check_rows_for, noise_without_rows
from extranets.estimators.trials import Trials, as_if_trained_on_all
from extranets.held_out import ENOUGH_ROWS, Plan, Sample, plan_rows
from extranets.model_file import storable
from extranets.model_file.typed import check_types
from extranets.networks import Ensemble
from extranets.predictor import Evidence, Folds, Predictor, Units
from extranets.predictor.distributions import LEARNERS
from extranets.predictor.intervals import INTERVALS, Calibrated, CvPlus, Paper, Total
from extranets.predictor.noise import ConstantNoise, HeadNoise, NetworkNoise
from extranets.predictor.noise.likelier import learn_noise, name_of
from extranets.predictor.noise.networks import FEWEST_ROWS
from extranets.predictor.part import Interval, Noise, Source
from extranets.predictor.sources import TrainedNetworks
from extranets.uncertainty.components import HeldOut

CANDIDATES: dict[str, tuple[str | None, ...]] = {
    "low": ("piecewise_linear", None),
    "medium": ("piecewise_linear", None),
    "high": ("piecewise_linear", None, "periodic"),
}
CHOSEN: dict[str, Any] = {  # what `settings_` tells
    "hidden_layer_sizes": tuple[int, ...],
    "learning_rate_init": float,
    "alpha": float,
    "batch_size": int,
    "max_iter": int,
    "numeric_encoding": str | None,
    "noise_model": str,
}
OFFERED: tuple[type[Interval], ...] = (Calibrated, Paper, Total, CvPlus)
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {
        "n_estimators": 70,
        "hidden_layer_sizes": (50,),
        "keep_prob": 0.95,
        "numeric_encoding": None,
        "learning_rate_init": 0.01,
        "learning_rate_schedule": "constant",
        "max_iter": 40,
        "batch_size": 32,
        "beta_2": 0.999,
        "alpha": 0.0,
        "noise": "train",
        "noise_model": "constant",
        "interval": "paper",
        "distribution": "normal",
        "distance_factor": 0.0,
        "bounds": None,
    },
    "fast": {"effort": "low", "n_estimators": 8},
    "accurate": {"effort": "high", "n_estimators": 32, "n_folds": 10},
}


@storable("ExtraNetsRegressor")
@documented
@dataclass(eq=False, repr=False)
class ExtraNetsRegressor(TrainedRegressor):
    """Ensemble of thinned ReLU networks with prediction intervals.

    Each of ``n_estimators`` networks loses hidden units by its own fixed Bernoulli mask and is trained from its own random
    start on all rows. Their mean predicts; their spread and the residual noise give the interval. Features and targets are
    standardised inside, from training rows.

    What is ``"auto"`` follows the table; ``settings_`` tells what it became. See also :meth:`from_preset`.

    Parameters
    ----------
    n_estimators : int, default=16
        Number of networks.
    hidden_layer_sizes : tuple of int or "auto", default="auto"
        Units per hidden layer before thinning; ``()`` makes linear models. ``"auto"``: two layers of 50, or of 100 from 2,000
        rows on.
    keep_prob : float in (0, 1], default=0.9
        Probability that a hidden unit is kept. Smaller values thin more and train faster.
    effort : {"low", "medium", "high"}, default="medium"
        How much work ``"auto"`` puts into each network: units and epochs. What the parameters below say of ``"auto"`` is for
        ``"medium"``.
    loss : {"squared_error", "gaussian_nll"}, default="squared_error"
        With ``"gaussian_nll"`` each network predicts a mean and a variance, and the noise is their mean variance.
    learning_rate_init : float or "auto", default="auto"
        First step size of Adam. ``"auto"``: 0.005 for less than 2,000 rows, else 0.002.
    {schedule}
    max_iter : int or "auto", default="auto"
        Epochs. ``"auto"``: 3,000 mini-batches for less than 2,000 rows, but between 50 and 400 epochs; then from 60 epochs to 40 at
        50,000 rows.
    batch_size : int or "auto", default="auto"
        ``"auto"``: 16 for less than 2,000 rows, 32 for less than 20,000, else 64.
    beta_1, beta_2, epsilon : float, default=0.9, 0.99, 1e-7
        Adam's constants.
    numeric_encoding : {"auto", "piecewise_linear", "periodic"} or None, default="auto"
        What the networks see of a column with more than two values, besides the column itself. ``"piecewise_linear"``: its
        position, from 0 to 1, within each of ``n_bins`` bins between quantiles of the training rows, so that the first layer can
        bend at every edge; beyond the smallest and the largest training value only the column itself still counts.
        ``"periodic"``: sines and cosines of ``n_bins // 2`` frequencies. ``"auto"``: what has the smaller error when networks
        that are trained on one half of the rows (of at most 5,000) predict the other half; None for fewer than 40 rows and for
        networks without hidden layers.
    {n_bins}
    alpha : float or "auto", default="auto"
        Decoupled weight decay. ``"auto"``: 0.05 for less than 2,000 rows, else 0.01.
    {starts}
    null_members : {"redraw", "drop"}, default="redraw"
        What to do with a mask that empties a hidden layer. Dropped members are counted in ``n_null_``.
    {held_out}
    noise_model : {"auto", "constant", "networks"}, default="auto"
        ``"constant"``: the noise is the same everywhere. ``"networks"``: it depends on x; small networks are fitted to the
        logarithms of squared errors on held-out rows, at least 100 of them. ``"auto"``: networks where that is possible and
        they are likelier on errors that they have not seen.
    interval : {"calibrated", "paper", "total", "cv+"}, default="calibrated"
        Predictive variance: ``"paper"`` is spread / T + noise; ``"total"`` is spread + noise; ``"calibrated"`` is
        a * spread + b * noise with a >= 1/T and b fitted to held-out residuals, so that the width adapts to x. ``"cv+"`` gives
        intervals that need no distribution, from the folds' networks and their errors (with ``noise="cv"``); variances
        are then those of ``"calibrated"``.
    {chosen_distribution}
    {distance}
    {warm_start}
    {bounded}
    {common}

    Attributes
    ----------
    ensemble_ : Ensemble
        The trained networks: masks, widths and stacked parameters.
    settings_ : dict
        What parameters that may be ``"auto"`` were in the fit.
    held_out_scores_ : dict or None
        What to expect on new rows: ``rmse``, and ``interval_score`` and ``coverage`` of 90 % intervals, from errors on held-out
        rows; None where no rows were held out. The interval is that of the fit, and its two or three factors come from the same
        rows, so of few rows the coverage says little. For ``interval="cv+"`` they are those of ``"calibrated"``.
    noise_variance_ : float or array of shape (n_outputs,)
        Residual variance in squared units of the target; None where the networks predict it.
    degrees_of_freedom_ : float or array of shape (n_outputs,), or None
        Of Student's t as predictive distribution; None where it has another shape.
    calibration_ : array of shape (2,) or (2, n_outputs), or None
        Factors a and b of ``interval="calibrated"``; None where no rows were held out.
    n_null_ : int
        Members dropped because of an empty layer.
    {fitted}

    Notes
    -----
    Networks that leave rows out see fewer of them than the final ones, so their errors are too large. With ``noise="cv"`` the
    errors are therefore lowered by what a learning curve predicts: a power of the rows, through the errors of the folds'
    networks and those of networks that saw half of the rows (of at most 5,000). They are never raised, and not lowered where
    fewer than 100 rows are held out. ``interval="cv+"`` does without.

    Examples
    --------
    >>> from extranets import ExtraNetsRegressor
    >>> from extranets.data import nonlinear_process
    >>> X_train, y_train, X_test, y_test = nonlinear_process(600, random_state=0).split(500)
    >>> model = ExtraNetsRegressor(random_state=0).fit(X_train, y_train)
    >>> lower, upper = model.predict_interval(X_test, coverage=0.9).T
    >>> bool(((lower <= y_test) & (y_test <= upper)).mean() > 0.8)
    True
    """

    n_estimators: int = 16
    hidden_layer_sizes: tuple[int, ...] | int | Literal["auto"] = "auto"
    keep_prob: float = 0.9
    _: KW_ONLY
    effort: Effort = "medium"
    loss: Literal["squared_error", "gaussian_nll"] = "squared_error"
    numeric_encoding: Literal["auto", "piecewise_linear", "periodic"] | None = "auto"  # type: ignore[assignment]
    learning_rate_init: float | Literal["auto"] = "auto"  # type: ignore[assignment]
    batch_size: int | Literal["auto"] = "auto"  # type: ignore[assignment]
    alpha: float | Literal["auto"] = "auto"  # type: ignore[assignment]
    beta_2: float = 0.99
    null_members: Literal["redraw", "drop"] = "redraw"
    noise: Literal["cv", "holdout", "train"] = "cv"
    n_folds: int = 5
    holdout_fraction: float = 0.2
    noise_model: Literal["auto", "constant", "networks"] = "auto"
    interval: Literal["calibrated", "paper", "total", "cv+"] = "calibrated"
    distribution: str = "auto"
    distance_factor: float = 1.0
    bounds: tuple[float | None, float | None] | Literal["auto"] | None = "auto"
    warm_start: bool = False

    intervals: ClassVar[tuple[type[Interval], ...]] = OFFERED
    changeable: ClassVar[tuple[str, ...]] = ("interval", "distribution")
    leaves_rows_out: ClassVar[bool] = True
    fits_blocks: ClassVar[bool] = True
    expects: ClassVar[bool] = True
    _set_by_others: ClassVar[tuple[str, ...]] = ("tuning_",)  # by `tune`
    source_kind: ClassVar[type[Source]] = TrainedNetworks
    noise_kinds: ClassVar[tuple[type[Noise], ...]] = (ConstantNoise, HeadNoise, NetworkNoise)
    extra_types: ClassVar[dict[str, Any]] = {"settings_": dict[str, Any] | None}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        **HELD_OUT_CONSTRAINTS,
        **DISTANCE_CONSTRAINTS,
        "n_estimators": [MEMBER_COUNT],
        **{name: [StrOptions({"auto"}), *TRAINING_CONSTRAINTS[name]] for name in AUTOMATIC if name != "max_iter"},
        "keep_prob": [Range(Real, 0, 1, closed="right")],
        "effort": [StrOptions(set(LEVELS))],
        "loss": [LOSS],
        "numeric_encoding": [None, StrOptions({"auto", *ENCODINGS})],
        "null_members": [StrOptions({"redraw", "drop"})],
        "noise_model": [StrOptions({"auto", "constant", "networks"})],
        "distribution": [StrOptions(set(LEARNERS))],
        "interval": [StrOptions({kind.name for kind in OFFERED})],
        "warm_start": ["boolean"],
    }

    settings_: dict[str, Any] | None = field(init=False)
    tuning_: list[dict[str, Any]] = field(init=False)

    @classmethod
    def from_preset(cls, preset: str, **parameters: Any) -> ExtraNetsRegressor:
        """An unfitted estimator with the settings of a name.

        Parameters
        ----------
        preset : {"default", "paper", "fast", "accurate"}
            ``"paper"``: 70 networks with one hidden layer of 50 units, trained for 40 epochs at a constant rate, without
            encodings; noise from training residuals, and the paper's interval. ``"fast"``: less of everything, for tables that
            are large or tried often. ``"accurate"``: twice as many networks, wider and trained longer (up to 5,000 rows only
            where trials say that this pays), and errors from ten folds; ten to twenty times the work of the default.
        parameters : any
            Parameters that differ from the preset's.

        Examples
        --------
        >>> from extranets import ExtraNetsRegressor
        >>> ExtraNetsRegressor.from_preset("paper", n_estimators=5).get_params()["interval"]
        'paper'
        """
        if preset not in PRESETS:
            raise ValueError(f"preset must be one of {sorted(PRESETS)}; got {preset!r}.")
        return cls(**{**PRESETS[preset], **parameters})

    @property
    def n_null_(self) -> int:
        return self._networks.n_drawn - len(self._networks.ensemble)

    # -- fit, from a standardised sample to a model --------------------------------------------------------------------

    def _check_combinations(self) -> None:
        check_rows_for(self.interval, self.noise)
        if self.interval == "cv+" and self.noise != "cv":
            raise ValueError("interval='cv+' needs the folds of noise='cv'.")
        if self.noise_model == "networks" and (self.noise == "train" or self.loss == "gaussian_nll"):
            raise ValueError(
                "noise_model='networks' needs errors on rows that were not trained on (noise='cv' or 'holdout') and networks "
                "that do not predict a variance themselves (loss='squared_error')."
            )

    def _fit(self, sample: Sample, units: Units) -> Fit:
        seed, n_rows, parameters = self._seed(), sample.n_rows, self.get_params(deep=False)
        plan = self._plan(sample, seed)
        noise_model = self._possible_noise_model(plan, n_rows)
        trials = Trials(self._encodings(sample), self.effort, self.n_estimators)
        trial = trials.best(sample, plan, seed, partial(self._attempt, seed))
        encoding, effort = (trial.encoding, trial.effort) if trial else (None, self.effort)
        settings = resolve(parameters, n_rows, **choices(parameters, n_rows, effort, encoding))
        if plan is not None:
            warn_of_copies(sample)
        trainer = self._trainer(settings, seed)
        networks, extra = trainer.networks(self.n_estimators, sample, plan, self._old_networks())
        if plan is None:
            noise = noise_without_rows(networks, sample, networks.ensemble.parameters_per_output, self._machine())
            model = Predictor.uncalibrated(units, networks, noise, OFFERED, self.interval)
        else:
            folds = Folds(plan.ensembles(networks.ensemble, extra), self._moments_of, plan, sample)
            errors = plan.errors(networks.ensemble, extra, sample, self._moments_of)
            held = as_if_trained_on_all(errors, trial, plan, networks.n_members)
            step = 1 if sample.parting is None else -(-len(held.weight) // ENOUGH_ROWS)
            rows = plan.held_rows()[::step]
            noise, held = self._noise_from(held.every(step), networks, sample.X[rows], noise_model)
            evidence = Evidence(held, networks.n_members, folds)
            learn_shape = LEARNERS[self.distribution]
            model = Predictor.from_rows(units, networks, noise, evidence, OFFERED, self.interval, learn_shape)
            model = model.expecting(evidence, sample.y[rows])
        model = model.widening(sample.X, self.distance_factor, self._machine())
        chosen = {name: getattr(settings, name) for name in CHOSEN if name != "noise_model"}
        return Fit(model, {"settings_": {**chosen, "noise_model": name_of(noise)}})

    def _plan(self, sample: Sample, seed: int) -> Plan | None:
        """Which rows to hold out for the noise and the intervals; None where neither needs them."""
        kind = INTERVALS[self.interval]
        if kind.needs_every_row and sample.parting is not None and sample.parting.looks_back:
            raise ValueError(
                f"interval={self.interval!r} needs an error of every row, and with time the earliest rows have none; use "
                f"interval={Calibrated.name!r}."
            )
        plan = plan_rows(
            "train" if self.loss == "gaussian_nll" and not kind.needs_rows else self.noise,
            len(sample.y),
            self.n_estimators,
            seed,
            n_folds=self.n_folds,
            fraction=self.holdout_fraction,
            enough=None if kind.needs_every_row else ENOUGH_ROWS,
            parting=sample.parting,
        )
        return None if plan is None else replace(plan, n_beside=sample.n_beside)

    def _possible_noise_model(self, plan: Plan | None, n_rows: int) -> str:
        """What is asked for, as far as the held-out rows allow it."""
        possible = plan is not None and self.loss == "squared_error" and len(plan.held_rows()) >= FEWEST_ROWS
        if self.noise_model == "networks" and not possible:
            raise ValueError(
                f"noise_model='networks' needs at least {FEWEST_ROWS} held-out rows, and of {n_rows} rows fewer are held out; "
                "use 'auto' or 'constant'."
            )
        return self.noise_model if possible else "constant"

    def _encodings(self, sample: Sample) -> Sequence[str | None]:
        """Encodings to choose from."""
        if self.numeric_encoding != "auto":
            return [self.numeric_encoding]
        sizes = self.hidden_layer_sizes
        has_layers = isinstance(sizes, str) or len(hidden_units(sizes)) > 0  # without layers, models are linear
        return CANDIDATES[self.effort] if has_layers and len(numeric_columns(sample.X)) else [None]

    def _attempt(self, seed: int, encoding: str | None, effort: Effort, sample: Sample, plan: Plan) -> HeldOut:
        """One trial: held-out errors of networks with an encoding and an effort."""
        n_rows, parameters = len(sample.y), self.get_params(deep=False)
        settings = resolve(parameters, n_rows, **choices(parameters, n_rows, effort, encoding))
        trainer = self._trainer(settings, seed, f"Trial, {encoding or 'no encoding'}: ")
        return trainer.held_out_errors(sample, plan, lambda ensemble, recipe: self._moments_of(ensemble))

    def _moments_of(self, ensemble: Ensemble) -> Moments:
        return engine.moments(ensemble, **self._machine())

    def _noise_from(
        self, held: HeldOut, networks: TrainedNetworks, X: Float32, noise_model: str
    ) -> tuple[Noise, HeldOut]:
        """The noise, and the held-out errors with what it gives their rows. Shape: X ``(n, k)``, the rows of ``held``."""
        if networks.learns_noise:
            return HeadNoise.of(networks.n_outputs), held
        return learn_noise(noise_model, held, X, networks.n_members, networks.recipe.seed, self._machine())

    def check_extras(self, model: Predictor, extras: dict[str, Any], n_rows: int) -> None:
        if extras["settings_"] is not None:  # as it is in early files
            check_types(extras["settings_"], CHOSEN)
