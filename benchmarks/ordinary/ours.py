"""``TableRegressor`` as a method."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pandas

from benchmarks.contest.forecast import LEVELS, Forecast
from benchmarks.machine import THREADS
from benchmarks.ordinary.scores import QUANTILES
from extranets._arrays import Array
from extranets.tables import TableRegressor


class Ours:
    """``TableRegressor`` around an estimator of this library."""

    def __init__(self, estimator: Any, **settings: Any) -> None:
        self.model = TableRegressor(estimator, **settings)

    def fit(self, X: pandas.DataFrame, y: Array) -> Ours:
        with quietly():
            self.model.fit(X, y)
        return self

    def forecast(self, X: pandas.DataFrame) -> Forecast:
        with quietly():
            bounds, quantiles = self.model.predict_interval(X, LEVELS), self.model.predict_quantiles(X, QUANTILES)
            return Forecast(self.model.predict(X), bounds, sample=quantiles.T)


def ours(make: Callable[[], Any], seed: int) -> Ours:
    return Ours(make().set_params(random_state=seed, n_jobs=THREADS))


@contextmanager
def quietly() -> Iterator[None]:
    """What is said about columns and settings is for people."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
