"""What ``"auto"`` stands for in `ExtraNetsRegressor`: settings that follow the number of rows. docs/defaults.md has the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Effort = Literal["low", "medium", "high"]

AUTOMATIC = (
    "hidden_layer_sizes",
    "learning_rate_init",
    "alpha",
    "batch_size",
    "max_iter",
)  # parameters that follow the rows

SMALL_TABLE = 2000  # rows; from there on, networks are wider and epochs fewer
LARGE_TABLE, LARGER_BATCH = 20_000, 2  # rows; from there on, mini-batches are so many times as large
HUGE_TABLE = 50_000  # rows; from there on, epochs do not get fewer any more


@dataclass(frozen=True)
class Setting:
    """How one network is trained."""

    hidden: tuple[int, ...]
    rate: float
    decay: float
    batch: int
    epochs: tuple[int, int]  # fewest and most; in between, what a table's rows ask for


@dataclass(frozen=True)
class Level:
    """How much work goes into one network."""

    small: Setting
    steps: int  # mini-batches for a small table, if that is neither too few epochs nor too many
    other: Setting


LEVELS: dict[str, Level] = {
    "low": Level(
        small=Setting((50,), 0.01, 0.05, 32, epochs=(40, 200)),
        steps=1_500,
        other=Setting((50, 50), 0.005, 0.01, 64, epochs=(15, 30)),
    ),
    "medium": Level(
        small=Setting((50, 50), 0.005, 0.05, 16, epochs=(50, 400)),
        steps=3_000,
        other=Setting((100, 100), 0.002, 0.01, 32, epochs=(40, 60)),
    ),
    "high": Level(
        small=Setting((100, 100), 0.003, 0.1, 32, epochs=(150, 300)),
        steps=8_000,
        other=Setting((150, 150), 0.001, 0.01, 32, epochs=(80, 120)),
    ),
}


def choices(parameters: Mapping[str, Any], n_rows: int, effort: Effort, encoding: str | None) -> dict[str, Any]:
    """Values of those parameters that are ``"auto"``, for a table of so many rows."""
    given = None if isinstance(parameters["batch_size"], str) else parameters["batch_size"]
    found = follow_rows(n_rows, effort, given) | {"numeric_encoding": encoding}
    return {name: value for name, value in found.items() if _is_auto(parameters[name])}


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"  # an array has no truth value


def follow_rows(n_rows: int, effort: Effort, given_batch: int | None = None) -> dict[str, Any]:
    """What ``"auto"`` stands for, by parameter; epochs follow the size of mini-batches, where that is given."""
    level = LEVELS[effort]
    chosen = level.small if n_rows < SMALL_TABLE else level.other
    batch = chosen.batch * (LARGER_BATCH if n_rows >= LARGE_TABLE else 1)
    fewest, most = chosen.epochs
    if n_rows < SMALL_TABLE:
        epochs = np.clip(level.steps // -(-n_rows // (given_batch or batch)), fewest, most)
    else:  # from most to fewest, evenly in the logarithm of the rows
        share = np.log(n_rows / SMALL_TABLE) / np.log(HUGE_TABLE / SMALL_TABLE)
        epochs = round(most * (fewest / most) ** min(share, 1.0))
    return {
        "hidden_layer_sizes": chosen.hidden,
        "learning_rate_init": chosen.rate,
        "alpha": chosen.decay,
        "batch_size": batch,
        "max_iter": int(epochs),
    }
