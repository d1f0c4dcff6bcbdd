"""Extra-neural networks: thinned networks, each trained on all rows (Algorithm 1 of the paper)."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from extranets import engine
from extranets._random import draw_seed
from extranets.estimators._base import NetsRegressor
from extranets.estimators._fitted import Fitted, Recipe
from extranets.estimators._held_out import (
    FOLD_BITS,
    Plan,
    Sample,
    cross_validation,
    errors_on,
    hold_out,
    member_name,
    noise_from_held_out,
)
from extranets.estimators._progress import progress_line, thread_count
from extranets.estimators._scaling import Scaling
from extranets.estimators._training import TRAINING_CONSTRAINTS, TrainingParameters
from extranets.estimators._validation import check_training_table
from extranets.networks import Architecture, Ensemble, draw_members
from extranets.uncertainty.components import Array
from extranets.uncertainty.intervals import CONSTRUCTIONS
from extranets.uncertainty.noise import training_variance


class ExtraNetsRegressor(TrainingParameters, NetsRegressor):
    """Ensemble of thinned ReLU networks with prediction intervals.

    Each of ``n_estimators`` networks loses hidden units by its own fixed Bernoulli mask and is trained from its own random
    start on all rows. Their mean predicts; their spread and the residual noise give the interval. Features and targets are
    standardised inside, from training rows.

    Parameters
    ----------
    n_estimators : int, default=70
        Number of networks.
    hidden_layer_sizes : tuple of int, default=(50,)
        Units per hidden layer before thinning; ``()`` makes linear models.
    keep_prob : float in (0, 1], default=0.95
        Probability that a hidden unit is kept. Smaller values thin more and train faster.
    loss : {"squared_error", "gaussian_nll"}, default="squared_error"
        With ``"gaussian_nll"`` each network predicts a mean and a variance, and the noise is their mean variance.
    learning_rate_init : float, default=0.01
        First step size of Adam.
    learning_rate_schedule : {"linear", "cosine", "constant"}, default="linear"
        How the step size falls to zero over the whole training.
    max_iter : int or "auto", default="auto"
        Epochs. ``"auto"``: 400, fewer when that would pass 20,000 mini-batches, never under 40.
    batch_size : int, default=32
    alpha : float, default=0.0
        Decoupled weight decay.
    beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-7
        Adam's constants.
    max_grad_norm : float or None, default=None
        Largest Euclidean norm of a mini-batch's gradient.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of each member's rows, stop when the loss on them has not improved by ``tol`` for
        ``n_iter_no_change`` epochs, and restore the best weights.
    validation_fraction : float in (0, 1), default=0.1
    n_iter_no_change : int, default=10
    tol : float, default=1e-4
        In units of the loss on standardised targets.
    n_restarts : int, default=1
        Starts per network, of which the one with the smallest training loss is kept.
    max_restarts : int, default=5
        How many starts of a network may be replaced because their loss overflowed or the network collapsed.
    collapse_r2 : float, default=1e-4
        A network counts as collapsed when its training R^2 is below this (its units have died and it predicts a constant).
    null_members : {"redraw", "drop"}, default="redraw"
        What to do with a mask that empties a hidden layer. Dropped members are counted in ``n_null_``.
    noise : {"cv", "holdout", "train"}, default="cv"
        Where the residual variance comes from: out-of-fold predictions (the final networks still see all rows), a held-out
        share of the rows, or training residuals corrected for degrees of freedom (with ``interval="paper"`` or ``"total"``).
    n_folds : int, default=5
        Folds of ``noise="cv"``. Every fold has n_estimators / n_folds networks of its own (at least ten, at most n_estimators),
        so with 50 networks or more the folds cost about one more fit.
    holdout_fraction : float in (0, 1), default=0.2
        Share of the rows that ``noise="holdout"`` keeps from training.
    interval : {"calibrated", "paper", "total"}, default="calibrated"
        Predictive variance: ``"paper"`` is spread / T + noise; ``"total"`` is spread + noise; ``"calibrated"`` is
        a * spread + b * noise with a, b >= 0 fitted to held-out residuals, so that the width adapts to x.
    warm_start : bool, default=False
        Keep the networks of the last fit and train only those that a larger ``n_estimators`` adds (and the folds' networks
        anew). The data and all other parameters must be the same.
    n_jobs : int or None, default=None
        Threads. None uses all cores (or ``OMP_NUM_THREADS``). Results do not depend on it.
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
        1 shows a progress line.

    Attributes
    ----------
    ensemble_ : Ensemble
        The trained networks: masks, widths and stacked parameters.
    noise_variance_ : float or array of shape (n_outputs,)
        Residual variance in squared units of the target; None where the networks predict it.
    calibration_ : array of shape (2,) or (2, n_outputs), or None
        Factors a and b of ``interval="calibrated"``; None where no rows were held out.
    restarts_ : array of shape (n_members,)
        Starts of each network that were replaced.
    n_null_ : int
        Members dropped because of an empty layer.
    loss_curve_ : array of shape (n_members, max_iter)
        Mean training loss per epoch; NaN after an early stop.
    n_iter_ : int
        Epochs of the longest training.

    Examples
    --------
    >>> from extranets import ExtraNetsRegressor
    >>> from extranets.data import nonlinear_process
    >>> X_train, y_train, X_test, y_test = nonlinear_process(600, random_state=0).split(500)
    >>> model = ExtraNetsRegressor(n_estimators=20, random_state=0).fit(X_train, y_train)
    >>> lower, upper = model.predict_interval(X_test, coverage=0.9).T
    >>> bool(((lower <= y_test) & (y_test <= upper)).mean() > 0.8)
    True
    """

    restarts_: npt.NDArray[np.int32]
    loss_curve_: npt.NDArray[np.float32]
    n_null_: int
    n_iter_: int
    calibration_: Array | None
    noise_variance_: float | Array | None
    _fitted: Fitted

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        "n_estimators": [Interval(Integral, 1, 1 << FOLD_BITS, closed="left")],
        "keep_prob": [Interval(Real, 0, 1, closed="right")],
        "null_members": [StrOptions({"redraw", "drop"})],
        "noise": [StrOptions({"cv", "holdout", "train"})],
        "n_folds": [Interval(Integral, 2, 200, closed="both")],
        "holdout_fraction": [Interval(Real, 0, 1, closed="neither")],
        "interval": [StrOptions(set(CONSTRUCTIONS))],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_estimators: int = 70,
        hidden_layer_sizes: tuple[int, ...] | int = (50,),
        keep_prob: float = 0.95,
        *,
        loss: Literal["squared_error", "gaussian_nll"] = "squared_error",
        learning_rate_init: float = 0.01,
        learning_rate_schedule: Literal["constant", "linear", "cosine"] = "linear",
        max_iter: int | Literal["auto"] = "auto",
        batch_size: int = 32,
        alpha: float = 0.0,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        max_grad_norm: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-4,
        n_restarts: int = 1,
        max_restarts: int = 5,
        collapse_r2: float = 1e-4,
        null_members: Literal["redraw", "drop"] = "redraw",
        noise: Literal["cv", "holdout", "train"] = "cv",
        n_folds: int = 5,
        holdout_fraction: float = 0.2,
        interval: Literal["calibrated", "paper", "total"] = "calibrated",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.hidden_layer_sizes = hidden_layer_sizes
        self.keep_prob = keep_prob
        self.loss = loss
        self.learning_rate_init = learning_rate_init
        self.learning_rate_schedule = learning_rate_schedule
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.alpha = alpha
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.max_grad_norm = max_grad_norm
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.n_restarts = n_restarts
        self.max_restarts = max_restarts
        self.collapse_r2 = collapse_r2
        self.null_members = null_members
        self.noise = noise
        self.n_folds = n_folds
        self.holdout_fraction = holdout_fraction
        self.interval = interval
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExtraNetsRegressor:
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
        self._check_parameters()
        old = self._fit_to_grow()
        X, y, weight = check_training_table(self, X, y, sample_weight, reset=old is None)
        y_is_vector, y = y.ndim == 1, y.reshape(len(y), -1)
        x_scaling, y_scaling = Scaling.of(X, weight, "X"), Scaling.of(y, weight, "y")
        recipe = self._recipe(x_scaling, y_scaling, len(y))
        if old is not None:
            self._check_growth(old, recipe)
        seed = draw_seed(self.random_state) if old is None else old.seed
        sample = Sample(x_scaling.apply(X), y_scaling.apply(y), weight)
        plan = self._plan(len(y), seed)
        trained = self._train(recipe.architecture, sample, plan, seed, first=0 if old is None else old.n_estimators)
        fitted, extra = self._assemble(old, trained, recipe, seed)
        noise, factors = self._noise_of(fitted.ensemble, extra, sample, plan)
        # Nothing failed: only now is the estimator fitted.
        self._x_scaling, self._y_scaling, self._y_is_vector = x_scaling, y_scaling, y_is_vector
        self._fitted = fitted
        self.restarts_, self.loss_curve_, self.n_null_ = fitted.restarts, fitted.loss_curve, fitted.n_null
        self.n_iter_ = int((~np.isnan(fitted.loss_curve)).sum(axis=1).max())
        self.ensemble_ = fitted.ensemble
        self._store_noise(noise, factors)
        return self

    def estimate_noise(self, X: Any, y: Any) -> ExtraNetsRegressor:
        """Set the residual variance (and the calibration) from rows that the networks never saw: the paper's construction.

        Do not pass rows on which intervals will be judged.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        self
        """
        X, y = self._check_held_out(X, y)
        if self.ensemble_.members.architecture.learns_noise and self.interval != "calibrated":
            raise ValueError("With loss='gaussian_nll' the networks predict the noise; there is none to estimate.")
        sample = Sample(self._x_scaling.apply(X), self._y_scaling.apply(y), np.ones(len(y)))
        held = errors_on(self.ensemble_, sample, np.arange(len(y)), thread_count(self.n_jobs))
        self._store_noise(*noise_from_held_out(held, self.ensemble_))
        return self

    # -- fit, step by step ---------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._validate_params()
        self._check_hidden()
        if self.interval == "calibrated" and self.noise == "train":
            raise ValueError(
                "interval='calibrated' needs errors on rows that were not trained on; use noise='cv' or noise='holdout', "
                "or another interval with noise='train'."
            )

    def _fit_to_grow(self) -> Fitted | None:
        """The earlier fit, if it is to be grown; otherwise it is forgotten, so that a failed fit leaves no fitted estimator."""
        if self.warm_start and hasattr(self, "ensemble_"):
            return self._fitted
        if hasattr(self, "ensemble_"):
            del self.ensemble_
        return None

    def _recipe(self, x_scaling: Scaling, y_scaling: Scaling, n_rows: int) -> Recipe:
        return Recipe(
            self._architecture(len(x_scaling.centre), len(y_scaling.centre)),
            self._options(n_rows),
            (self.keep_prob, self.null_members, self.noise, self.holdout_fraction),
            np.concatenate([x_scaling.centre, x_scaling.scale, y_scaling.centre, y_scaling.scale, [n_rows]]).tobytes(),
        )

    def _check_growth(self, old: Fitted, recipe: Recipe) -> None:
        if recipe != old.recipe:
            raise ValueError(
                "warm_start=True adds networks to those of the last fit, so only n_estimators may change since then, not "
                "the data or how networks are trained. Set warm_start=False to fit anew."
            )
        if self.n_estimators < old.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least {old.n_estimators} when warm_start=True."
            )

    def _plan(self, n_rows: int, seed: int) -> Plan | None:
        """Which rows to hold out for the noise and the calibration; None where neither needs them."""
        if self.noise == "train" or (self.loss == "gaussian_nll" and self.interval != "calibrated"):
            return None
        if self.noise == "holdout":
            return hold_out(n_rows, self.holdout_fraction, seed)
        return cross_validation(n_rows, self.n_folds, self.n_estimators, seed)

    def _train(
        self, architecture: Architecture, sample: Sample, plan: Plan | None, seed: int, first: int
    ) -> engine.Trained:
        """Train final members ``first`` to ``n_estimators``, and the plan's own members, in one call."""
        new = np.arange(first, self.n_estimators, dtype=np.uint32)
        members = draw_members(architecture, self.keep_prob, seed, new, null=self.null_members)
        if plan is not None:
            members += draw_members(architecture, self.keep_prob, seed, plan.extra_ids())
        try:
            with progress_line(f"Training {len(members)} networks", self.verbose) as progress:
                return engine.train(
                    members,
                    sample.X,
                    sample.y,
                    self._options(len(sample.y)),
                    seed,
                    sample_weight=None if (sample.weight == 1).all() else sample.weight,
                    counts=None if plan is None else plan.counts(),
                    count_rows=None if plan is None else plan.fold_of_member(members.ids),
                    n_threads=thread_count(self.n_jobs),
                    progress=progress,
                )
        except engine.TrainingDiverged as error:
            raise engine.TrainingDiverged(
                f"The loss of {len(error.members)} of {len(members)} networks was not finite in any of their starts (first: "
                f"{member_name(error.members[0])}). Lower learning_rate_init, or set max_grad_norm=1.0.",
                error.members,
            ) from None

    def _assemble(
        self, old: Fitted | None, trained: engine.Trained, recipe: Recipe, seed: int
    ) -> tuple[Fitted, Ensemble]:
        """The final members, old and new, and how their training went; and the members that left a fold out."""
        n_final = int(np.searchsorted(trained.ensemble.members.ids, 1 << FOLD_BITS))
        final = trained.ensemble[:n_final]
        restarts = trained.n_attempts[:n_final] - self.n_restarts
        curve = trained.loss_curve[:n_final]
        if old is not None:
            final = old.ensemble + final
            restarts = np.concatenate([old.restarts, restarts])
            curve = np.concatenate([old.loss_curve, curve])
        if len(final) == 0:
            raise ValueError("Every mask emptied a hidden layer; use a larger keep_prob or null_members='redraw'.")
        if trained.collapsed.any():
            warnings.warn(
                f"{int(trained.collapsed.sum())} of {len(trained.collapsed)} networks still had a training R^2 below "
                f"collapse_r2={self.collapse_r2} after {self.max_restarts} restarts. If X does explain y, use wider layers "
                "or a smaller learning_rate_init.",
                ConvergenceWarning,
                stacklevel=3,
            )
        fitted = Fitted(recipe, seed, self.n_estimators, final, restarts, curve)
        return fitted, trained.ensemble[n_final:]

    def _noise_of(
        self, ensemble: Ensemble, extra: Ensemble, sample: Sample, plan: Plan | None
    ) -> tuple[Array, Array | None]:
        """Residual variance and, where rows were held out, the calibration's factors."""
        n_threads = thread_count(self.n_jobs)
        if plan is not None:
            return noise_from_held_out(plan.errors(ensemble, extra, sample, n_threads), ensemble)
        n_outputs = sample.y.shape[1]
        if ensemble.members.architecture.learns_noise:
            return np.ones(n_outputs), None
        errors = errors_on(ensemble, sample, np.arange(len(sample.y)), n_threads)
        per_output = len(ensemble.parameters) / len(ensemble) / n_outputs
        return training_variance(errors.residual, errors.weight, per_output), None

    def _store_noise(self, variance: Array, factors: Array | None) -> None:
        self._noise, self._factors, self._conformal = variance, factors, None
        in_units = variance * self._y_scaling.scale**2
        self.calibration_ = factors[:, 0] if factors is not None and self._y_is_vector else factors
        self.noise_variance_ = None
        if not self.ensemble_.members.architecture.learns_noise:
            self.noise_variance_ = float(in_units[0]) if self._y_is_vector else in_units
