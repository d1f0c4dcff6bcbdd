"""The parameters that estimators share: defaults, what they may be, what they mean to the engine, and their documentation.

Estimators are dataclasses: the generated constructor stores its arguments and does nothing else, which is scikit-learn's
rule, and a parameter that several estimators have is declared and described once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from extranets import engine
from extranets._arrays import Float32
from extranets._progress import thread_count
from extranets.encodings import MOST_BINS, Encoding, learn_periodic, learn_piecewise_linear
from extranets.engine.options import LOSSES, SCHEDULES, Loss
from extranets.estimators._held_out import FOLD_BITS
from extranets.networks import MOST_LAYERS, Architecture

MOST_COUNT = 1 << 30  # the engine counts in 32 bits
AUTO_EPOCHS = (40, 400)  # fewest and most epochs of max_iter="auto"
AUTO_STEPS = 20_000  # ... which stays below this many mini-batches where it can

MEMBER_COUNT = Interval(Integral, 1, (1 << FOLD_BITS) - 1, closed="left")
LOSS = StrOptions(set(LOSSES))

# -- what every estimator has --------------------------------------------------------------------------------------------

COMMON_CONSTRAINTS: dict[str, list[Any]] = {
    "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


@dataclass(eq=False, repr=False)
class CommonParameters:
    hidden_layer_sizes: tuple[int, ...] | int = (50,)
    _: KW_ONLY
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def _hidden(self) -> tuple[int, ...]:
        sizes = self.hidden_layer_sizes
        return (sizes,) if isinstance(sizes, Integral) else tuple(sizes)  # type: ignore[arg-type]

    def _check_hidden(self) -> None:
        hidden = self._hidden()
        if any(not isinstance(size, Integral) or size < 1 for size in hidden) or len(hidden) > MOST_LAYERS:
            raise ValueError(
                f"hidden_layer_sizes must hold at most {MOST_LAYERS} whole numbers of at least 1; "
                f"got {self.hidden_layer_sizes!r}."
            )


@dataclass(eq=False, repr=False)
class EnsembleSize:
    """Last among the bases, so that the number of networks is the first argument."""

    n_estimators: int = 70


# -- networks that Adam trains -------------------------------------------------------------------------------------------

ADAM_CONSTRAINTS: dict[str, list[Any]] = {
    **COMMON_CONSTRAINTS,
    "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
    "learning_rate_schedule": [StrOptions(set(SCHEDULES))],
    "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, MOST_COUNT, closed="left")],
    "batch_size": [Interval(Integral, 1, MOST_COUNT, closed="left")],
    "beta_1": [Interval(Real, 0, 1 - 1e-6, closed="both")],
    "beta_2": [Interval(Real, 0, 1 - 1e-6, closed="both")],
    "epsilon": [Interval(Real, 1e-30, None, closed="left")],
}

ENCODINGS: dict[str, Callable[[Float32, int], Encoding]] = {
    "piecewise_linear": learn_piecewise_linear,
    "periodic": learn_periodic,
}

TRAINING_CONSTRAINTS: dict[str, list[Any]] = {
    **ADAM_CONSTRAINTS,
    "device": [StrOptions(set(engine.DEVICES))],
    "numeric_encoding": [None, StrOptions(set(ENCODINGS))],
    "n_bins": [Interval(Integral, 1, MOST_BINS, closed="both")],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "max_grad_norm": [None, Interval(Real, 0, None, closed="neither")],
    "early_stopping": ["boolean", StrOptions({"auto"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, MOST_COUNT, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "n_restarts": [Interval(Integral, 1, MOST_COUNT, closed="left")],
    "max_restarts": [Interval(Integral, 0, MOST_COUNT, closed="left")],
    "collapse_r2": [Interval(Real, None, 1, closed="neither")],
}


@dataclass(eq=False, repr=False)
class AdamParameters(CommonParameters):
    _: KW_ONLY
    learning_rate_init: float = 0.01
    learning_rate_schedule: Literal["constant", "linear", "cosine"] = "linear"
    max_iter: int | Literal["auto"] = "auto"
    batch_size: int = 32
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7

    def _options(self, n_rows: int) -> engine.Options:
        return engine.Options(
            n_epochs=self._epochs(n_rows),
            batch_size=self.batch_size,
            learning_rate=self.learning_rate_init,
            schedule=self.learning_rate_schedule,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
        )

    def _epochs(self, n_rows: int) -> int:
        if self.max_iter != "auto":
            return int(self.max_iter)
        fewest, most = AUTO_EPOCHS
        return int(np.clip(AUTO_STEPS // -(-n_rows // self.batch_size), fewest, most))


@dataclass(eq=False, repr=False)
class TrainingParameters(AdamParameters):
    _: KW_ONLY
    numeric_encoding: Literal["piecewise_linear", "periodic"] | None = None
    n_bins: int = 16
    alpha: float = 0.0
    max_grad_norm: float | None = None
    early_stopping: bool | Literal["auto"] = "auto"
    validation_fraction: float = 0.1
    n_iter_no_change: int = 20
    tol: float = 1e-4
    n_restarts: int = 1
    max_restarts: int = 5
    collapse_r2: float = 1e-4
    device: engine.Device = "cpu"

    loss = "squared_error"  # a parameter of some estimators, fixed in others

    def _architecture(self, n_inputs: int, n_outputs: int, encoding: Encoding | None = None) -> Architecture:
        heads = 2 * n_outputs if self.loss == "gaussian_nll" else n_outputs
        return Architecture(n_inputs, self._hidden(), n_outputs, heads, encoding)

    def _encoding(self, X: Float32) -> Encoding | None:
        """Learned from these rows. Shape: X ``(n, k)``, standardised."""
        return None if self.numeric_encoding is None else ENCODINGS[self.numeric_encoding](X, self.n_bins)

    def _options(self, n_rows: int) -> engine.Options:
        loss: Loss = "gaussian_nll" if self.loss == "gaussian_nll" else "squared_error"
        return replace(
            super()._options(n_rows),
            loss=loss,
            weight_decay=self.alpha,
            max_grad_norm=self.max_grad_norm or 0.0,
            validation_fraction=self.validation_fraction if self._stops_early() else 0.0,
            patience=self.n_iter_no_change,
            tolerance=self.tol,
            n_starts=self.n_restarts,
            max_restarts=self.max_restarts,
            collapse_r2=self.collapse_r2,
        )

    def _machine(self) -> engine.Machine:
        return {"device": self.device, "n_threads": thread_count(self.n_jobs)}

    def _stops_early(self) -> bool:
        # Likelihood overfits by ever smaller variances.
        return self.loss == "gaussian_nll" if self.early_stopping == "auto" else bool(self.early_stopping)


GAUSSIAN_CONSTRAINTS: dict[str, list[Any]] = {"warm_up": [Interval(Real, 0, 1, closed="left")]}


@dataclass(eq=False, repr=False)
class GaussianParameters(TrainingParameters):
    """Networks with a mean and a variance, trained by likelihood."""

    _: KW_ONLY
    warm_up: float = 0.5

    loss = "gaussian_nll"

    def _options(self, n_rows: int) -> engine.Options:
        options = super()._options(n_rows)
        return replace(options, warm_up_epochs=int(self.warm_up * options.n_epochs))


# -- noise from rows that were held out ----------------------------------------------------------------------------------

HELD_OUT_CONSTRAINTS: dict[str, list[Any]] = {
    "noise": [StrOptions({"cv", "holdout", "train"})],
    "n_folds": [Interval(Integral, 2, 200, closed="both")],
    "holdout_fraction": [Interval(Real, 0, 1, closed="neither")],
}


@dataclass(eq=False, repr=False)
class HeldOutParameters:
    _: KW_ONLY
    noise: str = "cv"
    n_folds: int = 5
    holdout_fraction: float = 0.2


# -- documentation -------------------------------------------------------------------------------------------------------

SHARED_DOCS = {
    "hidden": """
hidden_layer_sizes : tuple of int, default=(50,)
    Units per hidden layer; ``()`` makes linear models.
""",
    "adam": """
learning_rate_init : float, default=0.01
    First step size of Adam.
{schedule}
max_iter : int or "auto", default="auto"
    Epochs. ``"auto"``: 400, fewer when that would pass 20,000 mini-batches, never under 40.
batch_size : int, default=32
beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-7
    Adam's constants.
""",
    "schedule": """
learning_rate_schedule : {"linear", "cosine", "constant"}, default="linear"
    How the step size falls to zero over the whole training.
""",
    "training": """
numeric_encoding : {"piecewise_linear", "periodic"} or None, default=None
    What the networks see of a column with more than two values, besides the column itself. ``"piecewise_linear"``: its
    position, from 0 to 1, within each of ``n_bins`` bins between quantiles of the training rows, so that the first layer can
    bend at every edge; beyond the smallest and the largest training value only the column itself still counts.
    ``"periodic"``: sines and cosines of ``n_bins // 2`` frequencies.
{n_bins}
alpha : float, default=0.0
    Decoupled weight decay.
{starts}
""",
    "n_bins": """
n_bins : int, default=16
    Inputs that ``numeric_encoding`` adds for a column, at most 255. A column with few values has fewer bins, one between
    each two of them.
""",
    "starts": """
max_grad_norm : float or None, default=None
    Largest Euclidean norm of a mini-batch's gradient.
early_stopping : bool or "auto", default="auto"
    Hold out ``validation_fraction`` of each network's rows, stop when the loss on them has not improved by ``tol`` for
    ``n_iter_no_change`` epochs, and restore the best weights. ``"auto"``: for networks that predict a variance, which long
    training makes far too small.
validation_fraction : float in (0, 1), default=0.1
n_iter_no_change : int, default=20
tol : float, default=1e-4
    In units of the loss on standardised targets.
n_restarts : int, default=1
    Starts per network, of which the one with the smallest training loss is kept.
max_restarts : int, default=5
    How many starts of a network may be replaced because their loss overflowed or the network collapsed.
collapse_r2 : float, default=1e-4
    A network counts as collapsed when its training R^2 is below this (its units have died and it predicts a constant).
device : {"cpu", "cuda"}, default="cpu"
    Where networks are trained and predict. ``"cuda"`` needs an NVIDIA GPU and CuPy (``pip install 'extranets[cuda]'``). The
    random numbers are the same, the results agree to rounding. A model file does not depend on it: what was trained on a GPU
    loads on any machine, with ``device="cpu"``.
""",
    "warm_up": """
warm_up : float in [0, 1), default=0.5
    Share of the epochs in which only the mean is trained, with the variance held at one. A variance that is trained from the
    start explains away errors that the mean has not learned yet.
""",
    "held_out": """
noise : {"cv", "holdout", "train"}, default="cv"
    Where the residual variance comes from: out-of-fold predictions (the final networks still see all rows), a held-out
    share of the rows, or training residuals corrected for degrees of freedom.
n_folds : int, default=5
    Folds of ``noise="cv"``. An ensemble gives each fold n_estimators / n_folds networks of its own (at least six, at most
    n_estimators), so with 30 networks or more the folds cost about one more fit.
holdout_fraction : float in (0, 1), default=0.2
    Share of the rows that ``noise="holdout"`` keeps from training.
""",
    "warm_start": """
warm_start : bool, default=False
    Keep the networks of the last fit and train only those that a larger ``n_estimators`` adds (and the folds' networks
    anew). The data and all other parameters must be the same.
""",
    "common": """
n_jobs : int or None, default=None
    Threads. None uses all cores (or ``OMP_NUM_THREADS``). Results do not depend on it.
random_state : int, RandomState or None, default=None
verbose : int, default=0
    1 shows a progress line.
""",
    "fitted": """
restarts_ : array of shape (n_members,)
    Starts of each network that were replaced.
loss_curve_ : array of shape (n_members, max_iter)
    Mean training loss per epoch; NaN after an early stop.
n_iter_ : int
    Epochs of the longest training.
{fit_info}
""",
    "fit_info": """
fit_info_ : dict
    What the fit was: ``n_rows`` (of positive weight), ``n_features``, ``seconds``, and the time it ``finished``, in UTC.
""",
}

T = TypeVar("T")


def documented(cls: type[T]) -> type[T]:
    """Put the shared paragraphs in place of ``{name}`` lines of a class's documentation."""
    if cls.__doc__:
        for name, text in SHARED_DOCS.items():
            indented = text.strip().replace("\n", "\n    ")
            cls.__doc__ = cls.__doc__.replace("{" + name + "}", indented)
    return cls
