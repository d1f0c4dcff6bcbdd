"""Extra-neural networks: thinned networks, each trained on all rows (Algorithm 1 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from extranets import engine
from extranets._arrays import Array
from extranets.encodings import has_numeric_columns
from extranets.engine import Moments
from extranets.estimators import _probe as probing
from extranets.estimators._automatic import LEVELS, Effort, settings
from extranets.estimators._conformal import warn_if_infinite
from extranets.estimators._cv_plus import CvPlus
from extranets.estimators._fitted import Fitted
from extranets.estimators._held_out import ENOUGH_ROWS, FIRST_FOLD_ID, Plan, Sample, cross_validation
from extranets.estimators._noise_model import FEWEST_ROWS, NoiseModel, WithNoise
from extranets.estimators._parameters import (
    ENCODINGS,
    HELD_OUT_CONSTRAINTS,
    LOSS,
    MEMBER_COUNT,
    TRAINING_CONSTRAINTS,
    EnsembleSize,
    HeldOutParameters,
    documented,
)
from extranets.estimators._probe import Probe
from extranets.estimators._scaling import blocks
from extranets.estimators._stored import check_variances
from extranets.estimators._trained import TRAINED_TYPES, TrainedRegressor
from extranets.estimators._validation import check_table
from extranets.model_file import require, storable
from extranets.model_file.typed import check_types
from extranets.networks import Architecture, Ensemble, Members, draw_members
from extranets.onnx_graph import Bounds, Value
from extranets.uncertainty import predictive
from extranets.uncertainty.components import Components, HeldOut, unbiased
from extranets.uncertainty.intervals import Construction, calibrated, paper, total
from extranets.uncertainty.noise import held_out_variance

AUTOMATIC = ("hidden_layer_sizes", "learning_rate_init", "alpha", "batch_size", "max_iter")  # they follow the rows
SETTINGS = (*AUTOMATIC, "numeric_encoding", "noise_model")
CANDIDATES: dict[str, tuple[str | None, ...]] = {
    "low": ("piecewise_linear", None),
    "medium": ("piecewise_linear", None),
    "high": ("piecewise_linear", None, "periodic"),
}
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
    },
    "fast": {"effort": "low", "n_estimators": 8},
    "accurate": {"effort": "high", "n_estimators": 32, "n_folds": 10},
}
EXPECTED = ("rmse", "interval_score", "coverage")  # in held_out_scores_
EXPECTED_LEVEL = 0.9  # of its intervals


@storable("ExtraNetsRegressor")
@documented
@dataclass(eq=False, repr=False)
class ExtraNetsRegressor(HeldOutParameters, TrainedRegressor, EnsembleSize):
    """Ensemble of thinned ReLU networks with prediction intervals.

    Each of ``n_estimators`` networks loses hidden units by its own fixed Bernoulli mask and is trained from its own random
    start on all rows. Their mean predicts; their spread and the residual noise give the interval. Features and targets are
    standardised inside, from training rows.

    What is ``"auto"`` follows the table; ``settings_`` tells what it became. See also :meth:`from_preset` and
    :func:`extranets.tune`.

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
        logarithms of squared errors on held-out rows, at least 100 of them. ``"auto"``: networks where that is possible.
    interval : {"calibrated", "paper", "total", "cv+"}, default="calibrated"
        Predictive variance: ``"paper"`` is spread / T + noise; ``"total"`` is spread + noise; ``"calibrated"`` is
        a * spread + b * noise with a >= 1/T and b fitted to held-out residuals, so that the width adapts to x. ``"cv+"`` gives
        intervals that need no distribution, from the folds' networks and their errors (with ``noise="cv"``); variances
        are then those of ``"calibrated"``.
    distribution : {"student", "normal"}, default="student"
        Shape of the predictive distribution. ``"student"``: Student's t, whose degrees of freedom are fitted to errors on
        held-out rows. Below 100 of them it allows for the uncertainty of the noise instead, as for a sample of so many
        rows from a Normal distribution; without any it is Normal.
    {warm_start}
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
        Of Student's t as predictive distribution; None where it is Normal.
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
    hidden_layer_sizes: tuple[int, ...] | int | Literal["auto"] = "auto"  # type: ignore[assignment]
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
    noise_model: Literal["auto", "constant", "networks"] = "auto"
    interval: Literal["calibrated", "paper", "total", "cv+"] = "calibrated"
    distribution: Literal["student", "normal"] = "student"
    warm_start: bool = False

    constructions: ClassVar[dict[str, Construction]] = {
        "calibrated": calibrated.variances,
        "paper": paper.variances,
        "total": total.variances,
        "cv+": calibrated.variances,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        **HELD_OUT_CONSTRAINTS,
        "n_estimators": [MEMBER_COUNT],
        **{name: [StrOptions({"auto"}), *TRAINING_CONSTRAINTS[name]] for name in AUTOMATIC if name != "max_iter"},
        "keep_prob": [Interval(Real, 0, 1, closed="right")],
        "effort": [StrOptions(set(LEVELS))],
        "loss": [LOSS],
        "numeric_encoding": [None, StrOptions({"auto", *ENCODINGS})],
        "null_members": [StrOptions({"redraw", "drop"})],
        "noise_model": [StrOptions({"auto", "constant", "networks"})],
        "distribution": [StrOptions({"student", "normal"})],
        "interval": [StrOptions(set(constructions))],
        "warm_start": ["boolean"],
    }
    _once: ClassVar[dict[str, Any]] = {"numeric_encoding": None, "noise_model": "constant", "distribution": "normal"}
    _learned_types: ClassVar[dict[str, Any]] = {
        **TRAINED_TYPES,
        "n_null_": int,
        "_cv_plus": CvPlus | None,
        "_noise_model": NoiseModel | None,
        "_dof": Array | None,
        "_expected": dict[str, Array] | None,
        "settings_": dict[str, Any] | None,
    }

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
    def degrees_of_freedom_(self) -> float | Array | None:
        return None if self.distribution == "normal" else super().degrees_of_freedom_  # it may be set after fit

    @property
    def held_out_scores_(self) -> dict[str, Any] | None:
        if self._expected is None:
            return None
        unit = self._y_scaling.scale
        in_units = {name: values * unit for name, values in self._expected.items()}
        in_units["coverage"] = np.where(unit > 0, self._expected["coverage"], 1.0)  # what is constant is always right
        return {name: float(values[0]) if self._y_is_vector else values for name, values in in_units.items()}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.interval == "cv+" and self.noise != "cv":
            raise ValueError("interval='cv+' needs the folds of noise='cv'.")
        if self.noise_model == "networks" and (self.noise == "train" or self.loss == "gaussian_nll"):
            raise ValueError(
                "noise_model='networks' needs errors on rows that were not trained on (noise='cv' or 'holdout') and networks "
                "that do not predict a variance themselves (loss='squared_error')."
            )

    def _check_hidden(self) -> None:
        if not isinstance(self.hidden_layer_sizes, str):
            super()._check_hidden()

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("tuning_", None)  # what a search found is about the fit that it ended with

    # -- settings that follow the table --------------------------------------------------------------------------------

    def _learn(self, sample: Sample) -> dict[str, Any]:
        seed, n_rows = self._seed(), len(sample.y)
        if self.noise_model == "networks" and not self._can_model_noise(n_rows):
            raise ValueError(
                f"noise_model='networks' needs at least {FEWEST_ROWS} held-out rows, and of {n_rows} rows fewer are held out; "
                "use 'auto' or 'constant'."
            )
        probe = self._probe(sample, seed)
        resolved = self._resolved(n_rows, probe)
        learned = resolved._learn_with(resolved._options(n_rows), sample, seed)
        return {**learned, "settings_": {name: getattr(resolved, name) for name in SETTINGS}}

    def _resolved(self, n_rows: int, probe: Probe | None) -> ExtraNetsRegressor:
        """A copy in which nothing is ``"auto"``, for the length of a fit."""
        given = None if isinstance(self.batch_size, str) else self.batch_size
        found = settings(n_rows, probe.effort if probe else self.effort, given) | {
            "numeric_encoding": probe.encoding if probe else None,
            "noise_model": "networks" if self._can_model_noise(n_rows) else "constant",
        }
        resolved = copy(self)
        for name, value in found.items():
            if isinstance(getattr(self, name), str) and getattr(self, name) == "auto":  # an array has no truth value
                setattr(resolved, name, value)
        resolved._probed = probe
        return resolved

    def _can_model_noise(self, n_rows: int) -> bool:
        plan = self._plan(n_rows, seed=0)
        return plan is not None and self.loss == "squared_error" and len(plan.held_rows()) >= FEWEST_ROWS

    def _probe(self, sample: Sample, seed: int) -> Probe | None:
        """Try encodings on halves of the rows; None where nothing is to be learned from that."""
        plan = self._plan(len(sample.y), seed)
        encodings = self._encodings(sample)
        has_curve = plan is not None and not plan.keeps_rows_from_final
        if plan is not None and plan.keeps_rows_from_final:
            sample = sample.part(plan.fold_of_row < 0)  # held-out rows have no say
        if len(sample.y) < probing.FEWEST_ROWS or not (has_curve or len(encodings) > 1):
            return None
        some, halves = probing.halves(sample, seed)
        # Long training overfits the few rows of a trial, and would say more about that than about encodings.
        quick: Effort = "low" if self.effort == "low" else "medium"
        trials = [found for each in encodings if (found := self._trial(each, quick, some, halves, seed)) is not None]
        best = min(trials, key=lambda found: found[0], default=None)  # None: all diverge, and so will the fit
        if best is not None and self.effort == "high":
            own = self._trial(best[1].encoding, "high", some, halves, seed)
            # Where noise rules, long training overfits all rows too. A part of them cannot tell.
            if own is not None and (own[0] <= best[0] or len(some.y) < len(sample.y)):
                best = own
        return None if best is None else best[1]

    def _encodings(self, sample: Sample) -> Sequence[str | None]:
        """That come into question."""
        if self.numeric_encoding != "auto":
            return [self.numeric_encoding]
        has_layers = isinstance(self.hidden_layer_sizes, str) or len(self._hidden()) > 0  # without, models are linear
        return CANDIDATES[self.effort] if has_layers and has_numeric_columns(sample.X) else [None]

    def _trial(
        self, encoding: str | None, effort: Effort, some: Sample, halves: Plan, seed: int
    ) -> tuple[float, Probe] | None:
        """The error of an encoding and an effort, and what is kept of the trial; None if its networks diverge."""
        trial = self._resolved(len(some.y), Probe(encoding, effort, 0, np.empty(0)))
        trial._task = f"Trial, {encoding or 'no encoding'}: "
        recipe = trial._recipe(trial._options(len(some.y)), some, halves, seed)
        try:
            held = trial._held_out_errors(recipe, some, halves)
        except engine.TrainingDiverged:
            return None
        probe = Probe(encoding, effort, len(some.y) // 2, held_out_variance(held, self.n_estimators))
        # The choice must not depend on n_estimators, which a warm start may raise.
        return float(held_out_variance(held, probing.MEMBERS).sum()), probe

    def _held_out(self, fitted: Fitted, extra: Ensemble, sample: Sample, plan: Plan) -> HeldOut:
        held = super()._held_out(fitted, extra, sample, plan)
        if self._probed is None or plan.keeps_rows_from_final or len(held.weight) < FEWEST_ROWS:
            return held  # few errors would lower themselves by chance
        n_rows = len(sample.y)
        n_seen = n_rows - len(plan.held_rows()) // plan.n_folds
        error = held_out_variance(held, len(fitted.ensemble))
        return probing.as_if_trained_on_all(held, self._probed.shrinkage(error, n_seen, n_rows))

    def _plan(self, n_rows: int, seed: int) -> Plan | None:
        if self.noise != "cv" or self.interval == "cv+":  # CV+ compares with every row
            return super()._plan(n_rows, seed)
        if self.loss == "gaussian_nll" and self.interval != "calibrated":
            return None
        return cross_validation(n_rows, self.n_folds, self.n_estimators, seed, enough=ENOUGH_ROWS)

    # -- members -------------------------------------------------------------------------------------------------------

    def _sampling(self) -> tuple[Any, ...]:
        return (self.keep_prob, self.null_members)

    def _draw(self, architecture: Architecture, seed: int, ids: npt.NDArray[np.uint32]) -> Members:
        null = (
            self.null_members if len(ids) and ids[0] < FIRST_FOLD_ID else "redraw"
        )  # a fold must not lose all members
        return draw_members(architecture, self.keep_prob, seed, ids, null=null)

    def _learned(self, fitted: Fitted, extra: Ensemble, sample: Sample, plan: Plan | None) -> dict[str, Any]:
        learned = super()._learned(fitted, extra, sample, plan)
        learned["n_null_"] = fitted.n_null
        learned["_learns_noise"] |= learned["_noise_model"] is not None
        learned["_cv_plus"] = None
        if self.interval == "cv+" and plan is not None:
            ensembles = plan.ensembles(fitted.ensemble, extra)
            learned["_cv_plus"] = CvPlus.of(ensembles, plan, sample, lambda e: self._moments_of(e, fitted.recipe))
        return learned

    def _noise_of(self, fitted: Fitted, extra: Ensemble, sample: Sample, plan: Plan | None) -> dict[str, Any]:
        if plan is None or self.noise_model == "constant":
            return {
                "_dof": None,
                "_expected": None,
                **super()._noise_of(fitted, extra, sample, plan),
                "_noise_model": None,
            }
        held = self._held_out(fitted, extra, sample, plan)
        model, variance = NoiseModel.fit(held, sample.X[plan.held_rows()], fitted.recipe.seed, self._machine())
        return {
            **self._noise_from(held._replace(noise=variance), len(fitted.ensemble), True),
            "_noise_model": model,
        }

    def _noise_from(self, held: HeldOut, n_members: int, learned: bool) -> dict[str, Any]:
        found = super()._noise_from(held, n_members, learned)
        dof = None
        if self.distribution == "student" and len(held.weight) < predictive.FEWEST_ROWS:
            dof = np.full(held.residual.shape[1], predictive.small_sample_dof(len(held.weight)))
            factor = dof / (dof - 2)
            found["_noise"] = found["_noise"] * factor
            found["_factors"][0] *= factor  # b's term has the noise as a factor
        elif self.distribution == "student":
            # Of one construction, so that they are still right when the interval is changed after fit.
            std = self._held_out_std("calibrated", held, n_members, found)
            errors = np.divide(held.residual, std, out=np.zeros_like(std), where=std > 0)
            dof = predictive.fit_dof(errors, held.weight)
        own = self._held_out_std(self.interval, held, n_members, found)
        return {**found, "_dof": dof, "_expected": expected_scores(held, own, dof)}

    def _held_out_std(self, interval: str, held: HeldOut, n_members: int, found: dict[str, Any]) -> Array:
        """Of the held-out rows' errors, as an interval builds it, and with what their smaller ensembles add.

        Shape: -> ``(n, n_outputs)``.
        """
        own = unbiased(held.spread, held.n_members)
        spread = own * (1 - 1 / n_members)  # of the final members, with divisor n_members
        noise = held.noise * found["_noise"]
        epistemic, aleatoric = self.constructions[interval](spread, noise, n_members, found["_factors"])
        return np.sqrt(epistemic + aleatoric + own * (1 / held.n_members - 1 / n_members))

    def _moments(self) -> Moments:
        moments = super()._moments()
        return moments if self._noise_model is None else WithNoise(moments, self._noise_model, self._machine())

    def _mean_moments(self) -> Moments:
        return super()._moments()

    def _graph_moments(self, x: Value) -> tuple[Value, Value, Value | None]:
        mean, spread, noise = super()._graph_moments(x)
        return mean, spread, noise if self._noise_model is None else self._noise_model.graph(x)

    def _predicts_noise(self) -> bool:
        return super()._predicts_noise() or self._noise_model is not None

    def _check_learned(self) -> None:
        super()._check_learned()
        if self._noise_model is not None:
            shape, own = self._fitted.recipe.architecture, self._noise_model.ensemble.members.architecture
            require(
                (own.n_inputs, own.n_outputs) == (self.n_features_in_, shape.n_outputs) and not shape.learns_noise,
                "the networks of the noise do not fit the others",
            )
        if self._cv_plus is not None:
            self._cv_plus.check_architecture(self._fitted.recipe.architecture)
        self._check_distribution(len(self._y_scaling.centre))

    def _check_distribution(self, n_outputs: int) -> None:
        if self._dof is not None:
            require(self._dof.shape == (n_outputs,), "degrees of freedom do not fit the outputs")
            require((np.isfinite(self._dof) & (self._dof > 2)).all(), "degrees of freedom are not above 2")
        if self._expected is not None:
            check_types(self._expected, dict.fromkeys(EXPECTED, Array))
            for name, values in self._expected.items():
                check_variances(values, (n_outputs,), name)
        if self.settings_ is not None:
            check_types(self.settings_, dict.fromkeys(SETTINGS, Any))

    def _bounds(self, X: Any, parts: Components, levels: Array) -> Array:
        if self.interval != "cv+":
            return super()._bounds(X, parts, levels)
        kept, X = self._kept_folds(), check_table(self, X)
        bounds = np.concatenate(
            [
                kept.interval(
                    self._x_scaling.apply(X[rows]), levels, lambda e: self._moments_of(e, self._fitted.recipe)
                )
                for rows in blocks(X.shape[0])
            ]
        )
        warn_if_infinite(bounds, levels, len(kept.residuals), "Fit to more rows.")
        bounds = np.moveaxis(self._y_scaling.undo(np.moveaxis(bounds, 1, -1)), -1, 1)
        return bounds[:, 0] if self._y_is_vector else bounds

    def _graph_bounds(self, x: Value, mean: Value, std: Value, levels: Array) -> Bounds:
        if self.interval != "cv+":
            return super()._graph_bounds(x, mean, std, levels)
        return self._kept_folds().graph_bounds(x, self._y_scaling, levels)

    def _kept_folds(self) -> CvPlus:
        if self._cv_plus is None:
            raise ValueError("interval='cv+' was set after fit, which kept no folds' networks; call fit again.")
        return self._cv_plus


def expected_scores(held: HeldOut, std: Array, dof: Array | None) -> dict[str, Array]:
    """What to expect on new rows, from held-out ones. Shape: std ``(n, n_outputs)`` -> ``(n_outputs,)`` each."""
    half = std * predictive.multiples([(1 + EXPECTED_LEVEL) / 2], dof)[..., 0]
    size = np.abs(held.residual)
    score = 2 * half + 2 / (1 - EXPECTED_LEVEL) * np.maximum(size - half, 0)
    values = dict(zip(EXPECTED, (size**2, score, (size <= half).astype(np.float64)), strict=True))
    means = {name: np.average(each, axis=0, weights=held.weight) for name, each in values.items()}
    return {**means, "rmse": np.sqrt(means["rmse"])}
