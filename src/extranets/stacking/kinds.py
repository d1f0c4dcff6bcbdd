"""Kinds of networks that a stack chooses from, from next to linear and short to wide and long.

How long, how wide and in which batches a kind is trained follows the number of rows by powers, without jumps.
docs/defaults.md has the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from extranets import engine
from extranets._arrays import Float32
from extranets.encodings import learn_piecewise_linear
from extranets.networks import Architecture

STEPS, STEPS_POWER = 4000, 0.44  # mini-batches of length 1 at 1,000 rows, and how they grow with the rows
BATCH, BATCH_POWER, BATCHES = 16, 0.4, (16, 256)  # rows of a mini-batch at 1,000 rows; fewest and most
ENCODED_BATCH = 2  # times as many rows where columns are given in bins
UNITS, UNITS_POWER, MOST_UNITS = 50, 0.35, (40, 128)
EPOCHS = (4, 500)  # fewest and most
MOST_ENCODED = 1500  # inputs that bins may add: of wide tables, columns get fewer bins
FEWEST_BINS = 4
# Seconds of one core for one row of a mini-batch, for each dense weight, for each unit of the first layer and encoded column; and
# for each weight that Adam updates. Fitted to 160 trainings on a 3 GHz AMD EPYC; nine tenths of them were within 27 %.
PER_ROW, PER_WEIGHT, PER_ENCODED, PER_UPDATE = 3.2e-8, 2.5e-11, 1.0e-10, 2.7e-10


@dataclass(frozen=True)
class Kind:
    """One kind of network.

    Attributes
    ----------
    n_layers : int
    alpha : float
        Weight decay.
    length : float
        Training steps, in units of those that a table of its size usually deserves.
    n_bins : int
        Of the piecewise-linear encoding of each numeric column; 0 means that columns come as they are.
    width : float
        Units, in units of the usual ones.
    scaled : bool
        Whether columns are scaled by how much they mattered to the quick kinds; see ``relevance.py``.
    """

    n_layers: int
    alpha: float
    length: float
    n_bins: int = 0
    width: float = 1.0
    scaled: bool = False

    def architecture(self, X: Float32, n_outputs: int, n_rows: int, n_numeric: int) -> Architecture:
        """The network before thinning, for training on so many of these rows, of which so many columns can be encoded.

        Shape: X ``(n, k)``, standardised.
        """
        hidden = (self._units(n_rows),) * self.n_layers
        encoding = learn_piecewise_linear(X, self._bins(n_numeric)) if self.n_bins else None
        return Architecture(X.shape[1], hidden, n_outputs, n_outputs, encoding)

    def options(self, n_rows: int) -> engine.Options:
        """How to train it on so many rows."""
        batch = int(np.clip(2 ** round(np.log2(BATCH * _power(n_rows, BATCH_POWER))), *BATCHES))
        steps = self.length * STEPS * _power(n_rows, STEPS_POWER)
        n_epochs = int(np.clip(round(steps * batch / n_rows), *EPOCHS))
        if (
            self.n_bins
        ):  # as many epochs in fewer steps: most of a step's time is the update of the many weights of bins
            batch = min(ENCODED_BATCH * batch, BATCHES[1])
        rate = 0.005 if self.n_layers == 1 else 0.003
        return engine.Options(
            n_epochs=n_epochs,
            batch_size=batch,
            learning_rate=float(rate * np.sqrt(batch / BATCH)),
            schedule="linear",
            beta2=0.99,
            weight_decay=self.alpha,
            max_restarts=1,
        )

    def seconds(self, architecture: Architecture, n_rows: int) -> float:
        """About how long one core takes to train such a network on so many rows."""
        options = self.options(n_rows)
        sizes = architecture.layer_sizes(architecture.hidden)
        n_added = architecture.n_first - architecture.n_inputs
        first = sizes[0][1]
        n_weights = sum(n_in * n_out for n_in, n_out in sizes)
        n_encoded = 0 if architecture.encoding is None else len(architecture.encoding.columns)
        by_row = PER_ROW + PER_WEIGHT * (n_weights - n_added * first) + PER_ENCODED * n_encoded * first
        return options.n_epochs * n_rows * (by_row + PER_UPDATE * n_weights / options.batch_size)

    def settings(self, n_rows: int, n_numeric: int) -> dict[str, Any]:
        """In the words of the estimators' parameters."""
        options = self.options(n_rows)
        return {
            "hidden_layer_sizes": (self._units(n_rows),) * self.n_layers,
            "numeric_encoding": "piecewise_linear" if self.n_bins else None,
            "n_bins": self._bins(n_numeric) if self.n_bins else None,
            "alpha": self.alpha,
            "learning_rate_init": options.learning_rate,
            "batch_size": options.batch_size,
            "max_iter": options.n_epochs,
            "scaled_columns": self.scaled,
        }

    def _units(self, n_rows: int) -> int:
        return round(self.width * float(np.clip(UNITS * _power(n_rows, UNITS_POWER), *MOST_UNITS)))

    def _bins(self, n_numeric: int) -> int:
        return min(self.n_bins, max(FEWEST_BINS, MOST_ENCODED // max(n_numeric, 1)))


def _power(n_rows: int, exponent: float) -> float:
    return float((n_rows / 1000) ** exponent)


# Trained on every table, for a tenth of the time of all kinds.
QUICK = (
    Kind(1, 0.3, 0.25),
    Kind(2, 0.3, 0.25),
    Kind(1, 0.3, 0.25, n_bins=16),
    Kind(2, 1.0, 0.25, n_bins=48),
)
# Trained on every table, too, once the quick kinds have told which columns matter.
SCALED = tuple(replace(kind, scaled=True) for kind in QUICK)


def _ladder(*kinds: Kind) -> tuple[Kind, ...]:
    return tuple(replace(kind, scaled=True) for kind in kinds)


# Ladders of longer trainings with less decay. A rung is tried where the one below it was worth its time.
LADDERS = (
    _ladder(Kind(3, 0.3, 0.5), Kind(2, 0.05, 1.0), Kind(2, 0.02, 3.0, width=1.5), Kind(2, 0.002, 6.0, width=1.5)),
    _ladder(Kind(1, 0.3, 1.0, n_bins=96), Kind(1, 0.05, 2.0, n_bins=200, width=1.5)),
    _ladder(Kind(2, 0.3, 0.5, n_bins=16), Kind(2, 0.05, 1.0, n_bins=16), Kind(2, 0.02, 3.0, n_bins=48, width=1.5)),
)
KINDS = (
    *QUICK,
    *SCALED,
    *(kind for ladder in LADDERS for kind in ladder),
)  # the place of a kind names its random streams
