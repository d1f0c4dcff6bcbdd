"""The parameters that say how networks are trained: what they may be, and what they mean to the engine."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from extranets import engine
from extranets.engine.options import LOSSES, SCHEDULES
from extranets.networks import Architecture

MOST_LAYERS = 63  # what the engine's fixed tables hold
MOST_COUNT = 1 << 30  # the engine counts in 32 bits
AUTO_EPOCHS = (40, 400)  # fewest and most epochs of max_iter="auto"
AUTO_STEPS = 20_000  # ... which stays below this many mini-batches where it can

TRAINING_CONSTRAINTS: dict[str, list[Any]] = {
    "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
    "loss": [StrOptions(set(LOSSES))],
    "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
    "learning_rate_schedule": [StrOptions(set(SCHEDULES))],
    "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, MOST_COUNT, closed="left")],
    "batch_size": [Interval(Integral, 1, MOST_COUNT, closed="left")],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "beta_1": [Interval(Real, 0, 1 - 1e-6, closed="both")],
    "beta_2": [Interval(Real, 0, 1 - 1e-6, closed="both")],
    "epsilon": [Interval(Real, 1e-30, None, closed="left")],
    "max_grad_norm": [None, Interval(Real, 0, None, closed="neither")],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, MOST_COUNT, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "n_restarts": [Interval(Integral, 1, MOST_COUNT, closed="left")],
    "max_restarts": [Interval(Integral, 0, MOST_COUNT, closed="left")],
    "collapse_r2": [Interval(Real, None, 1, closed="neither")],
}


class TrainingParameters:
    """For estimators whose networks are trained with Adam; their constructor stores all that is declared here."""

    hidden_layer_sizes: tuple[int, ...] | int
    loss: Literal["squared_error", "gaussian_nll"]
    learning_rate_init: float
    learning_rate_schedule: Literal["constant", "linear", "cosine"]
    max_iter: int | Literal["auto"]
    batch_size: int
    alpha: float
    beta_1: float
    beta_2: float
    epsilon: float
    max_grad_norm: float | None
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    tol: float
    n_restarts: int
    max_restarts: int
    collapse_r2: float

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

    def _architecture(self, n_inputs: int, n_outputs: int) -> Architecture:
        heads = 2 * n_outputs if self.loss == "gaussian_nll" else n_outputs
        return Architecture(n_inputs, self._hidden(), n_outputs, heads)

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
