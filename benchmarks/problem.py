"""The training problems that are timed, and our side of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.machine import THREADS
from extranets._arrays import Float32
from extranets.engine import Device, Options, Trained, TrainingData, train
from extranets.networks import Architecture, Ensemble, Members, draw_members

KEEP_PROB = 0.95
LEARNING_RATE = 1e-3
SEED = 1


@dataclass(frozen=True)
class Problem:
    """An ensemble of networks with one hidden layer, trained with Adam on made-up data."""

    rows: int = 927
    inputs: int = 8
    units: int = 50
    members: int = 70
    epochs: int = 40
    batch: int = 32

    def __str__(self) -> str:
        return (
            f"{self.rows:,} x {self.inputs} rows, {self.units} units, T={self.members}, "
            f"{self.epochs} epochs, batch {self.batch}"
        )

    @cached_property
    def data(self) -> tuple[Float32, Float32]:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.rows, self.inputs), dtype=np.float32)
        noise = 0.1 * rng.standard_normal(self.rows, dtype=np.float32)
        return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + noise

    @cached_property
    def drawn(self) -> Members:
        architecture = Architecture(self.inputs, (self.units,), n_outputs=1, n_heads=1)
        return draw_members(architecture, KEEP_PROB, SEED, np.arange(self.members))

    def train(self, n_threads: int = THREADS, device: Device = "cpu") -> Trained:
        options = Options(n_epochs=self.epochs, batch_size=self.batch, learning_rate=LEARNING_RATE)
        return train(self.drawn, TrainingData(*self.data), options, SEED, n_threads=n_threads, device=device)

    def untrained(self) -> Ensemble:
        """Random parameters: predicting takes as long as with trained ones."""
        parameters = 0.3 * np.random.default_rng(0).standard_normal(self.drawn.offsets[-1], dtype=np.float32)
        return Ensemble(self.drawn, parameters)
