"""Randomised prior functions (Osband et al. 2018) around networks of this library: an idea that is measured here, and in no estimator.

Each member is trained on what is left of the target when its own fixed random function is taken away, and this function is added back to
its predictions. The functions are draws of a Gaussian process by random Fourier features (Rahimi and Recht 2007). The factors of spread
and noise, and Student's t, come from folds as those of other ensembles here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.gaps.methods import LEVEL, Known
from benchmarks.machine import THREADS
from extranets import ExtraNetsRegressor
from extranets._arrays import Array
from extranets.predictor.distributions import Student
from extranets.predictor.intervals import Calibrated
from extranets.predictor.part import Evidence
from extranets.uncertainty.components import HeldOut

N_MEMBERS, N_FOLDS, MEMBERS_PER_FOLD, N_FEATURES = 12, 4, 5, 200

Function = Callable[[Array], Array]


@dataclass
class Member:
    """One network and its prior. ``size`` is in standard deviations of the target, ``length`` in those of the columns."""

    prior: Function
    network: ExtraNetsRegressor

    def predict(self, X: Array) -> Array:
        return self.network.predict(X) + self.prior(X)


@dataclass
class RandomisedPriors:
    """``length`` is multiplied by the root of the number of columns."""

    seed: int
    size: float
    length: float

    def fit(self, X: Array, y: Array) -> None:
        self.centre, self.scale = X.mean(axis=0), X.std(axis=0) + 1e-12
        folds = np.random.default_rng(self.seed).permutation(len(y)) % N_FOLDS
        self.members = self._trained(X, y, N_MEMBERS, 0)
        residual, spread = np.empty((2, len(y), 1))
        for fold in range(N_FOLDS):
            out = folds == fold
            own = self._trained(X[~out], y[~out], MEMBERS_PER_FOLD, 1 + fold)
            predictions = np.stack([member.predict(X[out]) for member in own])
            residual[out, 0], spread[out, 0] = predictions.mean(axis=0) - y[out], predictions.var(axis=0)
        self._calibrate(HeldOut(residual, spread, np.ones_like(spread), np.ones(len(y)), MEMBERS_PER_FOLD))

    def _calibrate(self, held: HeldOut) -> None:
        self.noise = np.mean(held.residual**2, axis=0)
        noise = np.broadcast_to(self.noise, held.residual.shape)
        self.interval = Calibrated.learn(Evidence(held, N_MEMBERS), noise)
        std = np.sqrt(sum(self.interval.variances(held.spread, noise, MEMBERS_PER_FOLD)))
        self.shape, self.widening = Student.learn(-held.residual / std, held.weight)

    def _trained(self, X: Array, y: Array, n: int, part: int) -> list[Member]:
        return [self._member(X, y, np.random.default_rng([self.seed, part, number])) for number in range(n)]

    def _member(self, X: Array, y: Array, random: np.random.Generator) -> Member:
        prior = self._prior(X.shape[1], self.size * float(y.std()), random)
        network = ExtraNetsRegressor(
            1,
            noise="train",
            interval="total",
            noise_model="constant",
            distribution="normal",
            numeric_encoding=None,
            distance_factor=0.0,
            random_state=int(random.integers(2**31)),
            n_jobs=THREADS,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that noise of training rows says little is known
            return Member(prior, network.fit(X, y - prior(X)))

    def _prior(self, n_columns: int, size: float, random: np.random.Generator) -> Function:
        directions = random.normal(size=(n_columns, N_FEATURES)) / (self.length * np.sqrt(n_columns))
        phases, weights = random.uniform(0, 2 * np.pi, N_FEATURES), random.normal(size=N_FEATURES)
        factor = size * np.sqrt(2 / N_FEATURES)
        return lambda X: np.cos((X - self.centre) / self.scale @ directions + phases) @ weights * factor

    def forecast(self, X: Array) -> Known:
        predictions = np.stack([member.predict(X) for member in self.members])
        spread, noise = predictions.var(axis=0)[:, None], self.noise
        epistemic, aleatoric = self.interval.variances(spread, noise, N_MEMBERS)
        std = np.sqrt((epistemic + aleatoric) * self.widening)[:, 0]
        mean = predictions.mean(axis=0)
        shape = self.shape.frozen(mean, std)
        bounds = np.column_stack(shape.interval(LEVEL))[:, :, None]
        return Known(mean, bounds, std, log_density=shape.logpdf, epistemic=epistemic[:, 0])
