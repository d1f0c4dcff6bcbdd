"""What is fitted: our estimators with and without the distance, and methods that are known for honest uncertainty."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.contest.forecast import Forecast
from benchmarks.contest.methods import Method
from benchmarks.machine import THREADS
from extranets import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    StackedNetsRegressor,
)
from extranets._arrays import Array
from extranets.uncertainty import predictive

LEVEL = 0.9


@dataclass(frozen=True)
class Known(Forecast):
    """Also the density of targets under the prediction, and the epistemic variance where there is one."""

    log_density: Callable[[Array], Array] = np.zeros_like
    epistemic: Array | None = None


class Nets:
    """An estimator of this library."""

    def __init__(self, make: Callable[..., Any], seed: int) -> None:
        self.estimator = make(random_state=seed, n_jobs=THREADS)

    def fit(self, X: Array, y: Array) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that few rows or networks are worth a warning is known
            self.estimator.fit(X, y)

    def forecast(self, X: Array) -> Known:
        parts = self.estimator.predict_components(X)
        bounds = self.estimator.predict_interval(X, [LEVEL])
        return Known(parts.mean, bounds, log_density=self.estimator.predict_dist(X).logpdf, epistemic=parts.epistemic)


class GaussianProcess:
    """A length for each column and noise, by marginal likelihood; columns are standardised."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Array, y: Array) -> None:
        scale = X.std(axis=0)
        self.centre, self.factor = X.mean(axis=0), np.where(scale > 0, 1 / np.where(scale > 0, scale, 1), 0)
        kernel = ConstantKernel() * RBF(np.ones(X.shape[1])) + WhiteKernel()
        self.process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.process.fit((X - self.centre) * self.factor, y)

    def forecast(self, X: Array) -> Known:
        mean, std = self.process.predict((X - self.centre) * self.factor, return_std=True)
        noise = self.process.kernel_.k2.noise_level * self.process._y_train_std**2
        log_density = partial(_normal_log_density, mean=mean, std=std)
        epistemic = np.maximum(std**2 - noise, 0)
        return Known(mean, predictive.interval(mean, std, [LEVEL]), std, log_density=log_density, epistemic=epistemic)


def _normal_log_density(y: Array, mean: Array, std: Array) -> Array:
    return -0.5 * ((y - mean) / std) ** 2 - np.log(std * np.sqrt(2 * np.pi))


def _ours(make: Callable[..., Any], **parameters: Any) -> Method:
    return Method(("extranets",), partial(Nets, partial(make, **parameters)))


METHODS: dict[str, Method] = {
    "stack": _ours(StackedNetsRegressor),
    "stack, no distance": _ours(StackedNetsRegressor, distance_factor=0.0),
    "extra-nets": _ours(ExtraNetsRegressor),
    "extra-nets, no distance": _ours(ExtraNetsRegressor, distance_factor=0.0),
    "Gaussian process": Method(("scikit-learn",), GaussianProcess),
    "deep ensemble": _ours(DeepEnsembleRegressor),
    "MC dropout": _ours(MCDropoutRegressor),
    "bootstrap": _ours(BootstrapNetsRegressor),
}
