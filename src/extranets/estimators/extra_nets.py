"""Extra-neural networks: thinned networks, each trained on all rows (Algorithm 1 of the paper)."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from extranets import engine
from extranets._random import draw_seed
from extranets.engine.options import LOSSES, SCHEDULES
from extranets.estimators._base import NetsRegressor
from extranets.estimators._held_out import FOLD_BITS, Plan, Sample, cross_validation, errors_on, hold_out
from extranets.estimators._progress import progress_line, thread_count
from extranets.estimators._scaling import Scaling
from extranets.estimators._validation import check_training_table
from extranets.networks import Architecture, Ensemble, concatenate, draw_members
from extranets.uncertainty import noise as noise_estimates
from extranets.uncertainty.components import Array, HeldOut
from extranets.uncertainty.intervals import CONSTRUCTIONS, calibrated

MOST_LAYERS = 60  # the engine's fixed tables hold 64
AUTO_EPOCHS = (40, 400)  # fewest and most epochs of max_iter="auto"
AUTO_STEPS = 20_000  # ... which stays below this many mini-batches where it can


class ExtraNetsRegressor(NetsRegressor):
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
        share of the rows, or training residuals corrected for degrees of freedom.
    n_folds : int, default=5
        Folds of ``noise="cv"``. The folds share as many networks as the ensemble has, so they cost about one more fit.
    holdout_fraction : float in (0, 1), default=0.2
        Share of the rows that ``noise="holdout"`` keeps from training.
    interval : {"calibrated", "paper", "total"}, default="calibrated"
        Predictive variance: ``"paper"`` is spread / T + noise; ``"total"`` is spread + noise; ``"calibrated"`` is
        a * spread + b * noise with a, b >= 0 fitted to held-out residuals, so that the width adapts to x.
    warm_start : bool, default=False
        Keep the networks of the last fit and train only those that a larger ``n_estimators`` adds. The data must be the same.
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
    _seed: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, 1 << FOLD_BITS, closed="left")],
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "keep_prob": [Interval(Real, 0, 1, closed="right")],
        "loss": [StrOptions(set(LOSSES))],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "learning_rate_schedule": [StrOptions(set(SCHEDULES))],
        "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta_1": [Interval(Real, 0, 1, closed="left")],
        "beta_2": [Interval(Real, 0, 1, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "max_grad_norm": [None, Interval(Real, 0, None, closed="neither")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "max_restarts": [Interval(Integral, 0, None, closed="left")],
        "collapse_r2": [Interval(Real, None, 1, closed="neither")],
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
        grow = self._goes_on()
        X, y, weight = check_training_table(self, X, y, sample_weight, reset=not grow)
        y_is_vector, y = y.ndim == 1, y.reshape(len(y), -1)
        architecture = self._architecture(X.shape[1], y.shape[1])
        if grow:
            self._check_growth(architecture, len(y))
            seed, x_scaling, y_scaling = self._seed, self._x_scaling, self._y_scaling
        else:
            seed, x_scaling, y_scaling = draw_seed(self.random_state), Scaling.of(X, weight), Scaling.of(y, weight)
        sample = Sample(x_scaling.apply(X), y_scaling.apply(y), weight)
        plan = self._plan(len(y), seed)
        first = len(self.ensemble_) + self.n_null_ if grow else 0
        trained = self._train(architecture, sample, plan, seed, first)
        self._seed, self._x_scaling, self._y_scaling, self._y_is_vector = seed, x_scaling, y_scaling, y_is_vector
        extra = self._keep_final(trained, grow)
        self._set_noise(sample, plan, extra)
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
        if self.loss == "gaussian_nll" and self.interval != "calibrated":
            raise ValueError("With loss='gaussian_nll' the networks predict the noise; there is none to estimate.")
        check_is_fitted(self)
        X, y, weight = check_training_table(self, X, y, None, reset=False)
        y = y.reshape(len(y), -1)
        if y.shape[1] != len(self._y_scaling.centre):
            raise ValueError(
                f"y has {y.shape[1]} outputs, but the networks were fitted to {len(self._y_scaling.centre)}."
            )
        sample = Sample(self._x_scaling.apply(X), self._y_scaling.apply(y), weight)
        self._calibrate(errors_on(self.ensemble_, sample, np.arange(len(y)), thread_count(self.n_jobs)))
        return self

    # -- fit, step by step ---------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._validate_params()
        hidden = self._hidden()
        if any(not isinstance(size, Integral) or size < 1 for size in hidden) or len(hidden) > MOST_LAYERS:
            raise ValueError(
                f"hidden_layer_sizes must hold at most {MOST_LAYERS} whole numbers of at least 1; got {self.hidden_layer_sizes!r}."
            )
        if self.interval == "calibrated" and self.noise == "train":
            raise ValueError(
                "interval='calibrated' needs errors on rows that were not trained on; use noise='cv' or noise='holdout', "
                "or another interval with noise='train'."
            )

    def _hidden(self) -> tuple[int, ...]:
        sizes = self.hidden_layer_sizes
        return (sizes,) if isinstance(sizes, Integral) else tuple(sizes)  # type: ignore[arg-type]

    def _goes_on(self) -> bool:
        """True to grow the ensemble of an earlier fit; otherwise forget that, so that a failed fit leaves no fitted estimator."""
        if self.warm_start and hasattr(self, "ensemble_"):
            return True
        if hasattr(self, "ensemble_"):
            del self.ensemble_
        return False

    def _architecture(self, n_inputs: int, n_outputs: int) -> Architecture:
        heads = 2 * n_outputs if self.loss == "gaussian_nll" else n_outputs
        return Architecture(n_inputs, self._hidden(), n_outputs, heads)

    def _check_growth(self, architecture: Architecture, n_rows: int) -> None:
        have = len(self.ensemble_) + self.n_null_
        if architecture != self.ensemble_.members.architecture or self._epochs(n_rows) != self.loss_curve_.shape[1]:
            raise ValueError(
                "warm_start=True cannot change hidden_layer_sizes, loss, max_iter or the data; fit a new estimator."
            )
        if self.n_estimators < have:
            raise ValueError(f"n_estimators={self.n_estimators} must be at least {have} when warm_start=True.")

    def _options(self, n_rows: int) -> engine.Options:
        return engine.Options(
            loss=self.loss,
            n_epochs=self._epochs(n_rows),
            batch_size=self.batch_size,
            learning_rate=self.learning_rate_init,
            schedule=self.learning_rate_schedule,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            weight_decay=self.alpha,
            max_grad_norm=self.max_grad_norm or 0.0,
            validation_fraction=self.validation_fraction if self.early_stopping else 0.0,
            patience=self.n_iter_no_change,
            tolerance=self.tol,
            n_starts=self.n_restarts,
            max_restarts=self.max_restarts,
            collapse_r2=self.collapse_r2,
        )

    def _epochs(self, n_rows: int) -> int:
        if self.max_iter != "auto":
            return int(self.max_iter)
        fewest, most = AUTO_EPOCHS
        return int(np.clip(AUTO_STEPS // -(-n_rows // self.batch_size), fewest, most))

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
        ids = np.arange(first, self.n_estimators, dtype=np.uint32)
        if plan is not None:
            ids = np.concatenate([ids, plan.extra_ids()])
        members = draw_members(architecture, self.keep_prob, seed, ids, null=self.null_members)
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

    def _keep_final(self, trained: engine.Trained, grow: bool) -> Ensemble:
        """Store the final members and how their training went; returns the others."""
        n_final = int(np.searchsorted(trained.ensemble.members.ids, 1 << FOLD_BITS))
        final = trained.ensemble[:n_final]
        restarts = trained.n_attempts[:n_final] - self.n_restarts
        curve = trained.loss_curve[:n_final]
        if grow:
            final = concatenate(self.ensemble_, final)
            restarts = np.concatenate([self.restarts_, restarts])
            curve = np.concatenate([self.loss_curve_, curve])
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
        self.restarts_, self.loss_curve_ = restarts, curve
        self.n_null_ = self.n_estimators - len(final)
        self.n_iter_ = int((~np.isnan(curve)).sum(axis=1).max())
        self.ensemble_ = final
        return trained.ensemble[n_final:]

    def _set_noise(self, sample: Sample, plan: Plan | None, extra: Ensemble) -> None:
        n_threads = thread_count(self.n_jobs)
        if plan is not None:
            self._calibrate(plan.errors(self.ensemble_, extra, sample, n_threads))
            return
        n_outputs = sample.y.shape[1]
        variance = np.ones(n_outputs)
        if self.loss == "squared_error":
            held = errors_on(self.ensemble_, sample, np.arange(len(sample.y)), n_threads)
            n_parameters = len(self.ensemble_.parameters) / len(self.ensemble_)
            variance = noise_estimates.training_variance(held.residual, held.weight, n_parameters)
        self._store_noise(variance, None)

    def _calibrate(self, held: HeldOut) -> None:
        """Noise and calibration factors from errors on rows that were not trained on."""
        learned = self.loss == "gaussian_nll"
        n_members, n_outputs = len(self.ensemble_), held.residual.shape[1]
        variance = np.ones(n_outputs) if learned else noise_estimates.held_out_variance(held, n_members)
        self._store_noise(variance, calibrated.fit_factors(held, held.noise * variance, n_members))

    def _store_noise(self, variance: Array, factors: Array | None) -> None:
        self._noise, self._factors = variance, factors
        in_units = variance * self._y_scaling.scale**2
        self.calibration_ = factors[:, 0] if factors is not None and self._y_is_vector else factors
        self.noise_variance_ = None
        if self.loss == "squared_error":
            self.noise_variance_ = float(in_units[0]) if self._y_is_vector else in_units
