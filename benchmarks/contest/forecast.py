"""What a method says about test rows, and how good that was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from extranets import metrics
from extranets._arrays import Array
from extranets.uncertainty import predictive

LEVELS = (0.9, 0.95)
FIFTHS = 5


@dataclass(frozen=True)
class Forecast:
    """Predictions of n rows; what a method does not predict is left out.

    Shapes: mean, std ``(n,)``; bounds ``(n, 2, n_levels)``, of LEVELS; sample ``(n_draws, n)``, draws or evenly spread quantiles.
    A distribution of its own is scored as it says itself; without, and with std, the distribution around mean is Normal.
    """

    mean: Array
    bounds: Array | None = None
    std: Array | None = None
    sample: Array | None = None
    distribution: Distribution | None = None


class Distribution(Protocol):
    """What scores targets, as `predictive` of our estimators does. Shape: ``(n,)``."""

    def log_likelihood(self, y: Array) -> float: ...

    def crps(self, y: Array) -> float: ...


class Model(Protocol):
    """What every wrapper has."""

    def fit(self, X: Array, y: Array) -> object: ...

    def forecast(self, X: Array) -> Forecast: ...


def normal_forecast(mean: Array, std: Array) -> Forecast:
    """The forecast of a method whose predictions are Normal. Shape: ``(n,)``, ``(n,)``."""
    return Forecast(mean, predictive.interval(mean, std, LEVELS), std)


def percent(level: float) -> str:
    """How a level is written in the names of scores: ``"90"``."""
    return f"{100 * level:.0f}"


def scores(y: Array, forecast: Forecast) -> dict[str, Any]:
    """Every score of one split, by name; None for what the method does not predict."""
    found: dict[str, Any] = {"rmse": metrics.rmse(y, forecast.mean), "log_likelihood": None, "crps": None}
    if forecast.distribution is not None:
        found["log_likelihood"], found["crps"] = forecast.distribution.log_likelihood(y), forecast.distribution.crps(y)
    elif forecast.std is not None:
        found["log_likelihood"] = metrics.gaussian_log_likelihood(y, forecast.mean, forecast.std)
        found["crps"] = metrics.crps_gaussian(y, forecast.mean, forecast.std)
    elif forecast.sample is not None:
        found["crps"] = metrics.crps_ensemble(y, forecast.sample)
    for index, level in enumerate(LEVELS):
        found |= interval_scores(y, None if forecast.bounds is None else forecast.bounds[:, :, index], level)
    return found


def interval_scores(y: Array, bounds: Array | None, level: float) -> dict[str, Any]:
    """Coverage, width and score, and what the fifths of the rows by predicted width hold: rows, covered rows, mean width."""
    names = ("coverage", "width", "interval_score", "fifth_rows", "fifth_covered", "fifth_width")
    keys = [f"{name}_{percent(level)}" for name in names]
    if bounds is None:
        return dict.fromkeys(keys)
    lower, upper = bounds.T
    values = (
        metrics.coverage(y, lower, upper),
        metrics.mean_width(y, lower, upper),
        metrics.interval_score(y, lower, upper, level),
        *by_width(y, lower, upper),
    )
    return dict(zip(keys, values, strict=True))


def by_width(y: Array, lower: Array, upper: Array, n_parts: int = FIFTHS) -> tuple[list[int], list[int], list[float]]:
    """Rows, covered rows and mean width of each fifth of the rows, or other part, from the narrowest intervals to the widest.

    Rows with intervals of equal width are taken in their order.
    """
    covered = (lower <= y) & (y <= upper)
    width = upper - lower
    parts = np.array_split(np.argsort(width, kind="stable"), n_parts)
    return (
        [len(rows) for rows in parts],
        [int(covered[rows].sum()) for rows in parts],
        [float(width[rows].mean()) for rows in parts],
    )
