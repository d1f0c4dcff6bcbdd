"""How networks are trained, with nothing left to choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np

from extranets import engine
from extranets._arrays import Float32
from extranets.encodings import Encoding, learn_periodic, learn_piecewise_linear
from extranets.engine.options import Loss, Schedule
from extranets.networks import MOST_LAYERS, Architecture

AUTO_EPOCHS = (40, 400)  # fewest and most epochs of max_iter="auto"
AUTO_STEPS = 20_000  # within those limits, as many epochs as make this many mini-batches

ENCODINGS: dict[str, Callable[[Float32, int], Encoding]] = {
    "piecewise_linear": learn_piecewise_linear,
    "periodic": learn_periodic,
}


@dataclass(frozen=True)
class AdamSettings:
    """Steps of Adam. Names are those of the estimators' parameters, in this class and in `Settings`."""

    hidden_layer_sizes: tuple[int, ...]
    learning_rate_init: float
    learning_rate_schedule: Schedule
    max_iter: int
    batch_size: int
    beta_1: float
    beta_2: float
    epsilon: float

    def options(self) -> engine.Options:
        """What the engine takes."""
        return engine.Options(
            n_epochs=self.max_iter,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate_init,
            schedule=self.learning_rate_schedule,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
        )


@dataclass(frozen=True)
class Settings(AdamSettings):
    """Everything that decides on a network besides its rows and its streams."""

    numeric_encoding: str | None
    n_bins: int
    alpha: float
    max_grad_norm: float | None
    validation_fraction: float  # 0: no early stopping
    n_iter_no_change: int
    tol: float
    n_starts: int
    max_restarts: int
    collapse_r2: float
    loss: Loss = "squared_error"
    warm_up: float = 0.0
    dropout_keep: float = 1.0
    input_keep_prob: float = 1.0
    keep_prob: float = 1.0
    null_members: Literal["redraw", "drop"] = "redraw"
    adversarial_epsilon: float = 0.0
    resamples: bool = False  # every network but the first trains on rows that are drawn with replacement

    def options(self) -> engine.Options:
        return replace(
            super().options(),
            loss=self.loss,
            weight_decay=self.alpha,
            warm_up_epochs=int(self.warm_up * self.max_iter),
            dropout_keep=self.dropout_keep,
            input_keep=self.input_keep_prob,
            max_grad_norm=self.max_grad_norm or 0.0,
            validation_fraction=self.validation_fraction,
            patience=self.n_iter_no_change,
            tolerance=self.tol,
            n_starts=self.n_starts,
            max_restarts=self.max_restarts,
            collapse_r2=self.collapse_r2,
        )

    def architecture(self, X: Float32, n_outputs: int) -> Architecture:
        """The network before thinning; its encoding is learned from these rows. Shape: X ``(n, k)``, standardised."""
        encoding = None if self.numeric_encoding is None else ENCODINGS[self.numeric_encoding](X, self.n_bins)
        heads = 2 * n_outputs if self.loss == "gaussian_nll" else n_outputs
        return Architecture(X.shape[1], self.hidden_layer_sizes, n_outputs, heads, encoding)


def resolve(parameters: Mapping[str, Any], n_rows: int, **found: Any) -> Settings:
    """Settings of an estimator with these parameters, for a table of so many rows; ``found`` replaces parameters."""
    values = {**parameters, **found}
    # Likelihood overfits by ever smaller variances.
    by_loss = values.get("loss") == "gaussian_nll"
    stops = by_loss if values["early_stopping"] == "auto" else bool(values["early_stopping"])
    values["validation_fraction"] = values["validation_fraction"] if stops else 0.0
    return Settings(**_fields(Settings, values, n_rows))


def resolve_adam(parameters: Mapping[str, Any], n_rows: int) -> AdamSettings:
    """The same for estimators that have no other parameters of training."""
    return AdamSettings(**_fields(AdamSettings, parameters, n_rows))


def _fields(kind: type[AdamSettings], values: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Those of the values that a kind of settings has, with nothing left to choose."""
    own = {field.name: values[field.name] for field in fields(kind) if field.name in values}
    if own["max_iter"] == "auto":
        own["max_iter"] = auto_epochs(n_rows, own["batch_size"])
    return own | {"hidden_layer_sizes": hidden_units(own["hidden_layer_sizes"])}


def hidden_units(sizes: Any) -> tuple[int, ...]:
    """Units of each hidden layer: a single number is one layer."""
    hidden = (sizes,) if isinstance(sizes, Integral) else tuple(sizes)
    if any(not isinstance(size, Integral) or size < 1 for size in hidden) or len(hidden) > MOST_LAYERS:
        raise ValueError(
            f"hidden_layer_sizes must hold at most {MOST_LAYERS} whole numbers of at least 1; got {sizes!r}."
        )
    return hidden


def auto_epochs(n_rows: int, batch_size: int) -> int:
    """What ``max_iter="auto"`` stands for, unless an estimator has its own rule."""
    return int(np.clip(AUTO_STEPS // -(-n_rows // batch_size), *AUTO_EPOCHS))
