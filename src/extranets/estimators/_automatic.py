"""What ``"auto"`` stands for in `ExtraNetsRegressor`: settings that follow the number of rows. docs/defaults.md has the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Effort = Literal["low", "medium", "high"]

SMALL_TABLE = 2000  # rows; above, networks are wider
LARGE_TABLE = 20_000  # rows; above, mini-batches are larger
RATES = {50: 0.005, 100: 0.002, 150: 0.001}  # by units


@dataclass(frozen=True)
class _Level:
    """How much work goes into one network."""

    small: tuple[int, ...]  # hidden layers for a small table, and for others
    other: tuple[int, ...]
    steps: int  # mini-batches for a small table, unless that is fewer epochs than the fewest below
    epochs: tuple[int, int]  # for other tables: most, at the border to small ones, and fewest, from 50,000 rows on


LEVELS: dict[str, _Level] = {
    "low": _Level(small=(50,), other=(50, 50), steps=2_000, epochs=(30, 20)),
    "medium": _Level(small=(50, 50), other=(100, 100), steps=3_600, epochs=(60, 40)),
    "high": _Level(small=(100, 100), other=(150, 150), steps=10_000, epochs=(120, 80)),
}


def settings(n_rows: int, effort: Effort) -> dict[str, Any]:
    """Values, by parameter, of all that may be ``"auto"``."""
    level = LEVELS[effort]
    if n_rows < SMALL_TABLE:
        batch = 16
        hidden, epochs = level.small, max(level.steps // -(-n_rows // batch), level.epochs[1])
    else:
        batch = 32 if n_rows < LARGE_TABLE else 64
        # From the most epochs at the border of small tables, evenly in the logarithm of the rows, to the fewest at 50,000.
        most, fewest = level.epochs
        share = np.log(n_rows / SMALL_TABLE) / np.log(50_000 / SMALL_TABLE)
        hidden, epochs = level.other, round(most * (fewest / most) ** min(share, 1.0))
    return {
        "hidden_layer_sizes": hidden,
        "learning_rate_init": RATES[hidden[0]],
        "alpha": 0.05 if n_rows < SMALL_TABLE else 0.01,
        "batch_size": batch,
        "max_iter": int(epochs),
    }
