"""What one record says about a forecast of test rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from benchmarks.contest.forecast import LEVELS, Forecast, by_width
from extranets import metrics
from extranets._arrays import Array

LEVEL = LEVELS[0]
QUANTILES = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)  # middles of ten equal parts
WIDTHS = ("narrow", "middle", "wide")  # thirds of the rows by predicted width


def scores(y: Array, forecast: Forecast) -> dict[str, Any]:
    """By name; None for what the method does not predict."""
    found = {"rmse": metrics.rmse(y, forecast.mean), "target_std": float(np.std(y)), "crps": None}
    sample = forecast.sample
    if sample is None and forecast.std is not None:  # a Normal distribution
        sample = forecast.mean + np.multiply.outer(ndtri(QUANTILES), forecast.std)
    if sample is not None:
        found["crps"] = metrics.crps_ensemble(y, sample)
    return {**found, **interval_scores(y, forecast.bounds)}


def interval_scores(y: Array, bounds: Array | None) -> dict[str, Any]:
    """Of the interval with coverage ``LEVEL``, the first of ``bounds``. The thirds' counts can be summed over splits."""
    names = ("interval_score", "coverage", "below", "above", "width_rows", "width_covered", "width_mean")
    if bounds is None:
        return dict.fromkeys(names)
    lower, upper = bounds[:, :, 0].T
    values = (
        metrics.interval_score(y, lower, upper, LEVEL),
        metrics.coverage(y, lower, upper),
        float(np.mean(y < lower)),
        float(np.mean(y > upper)),
        *by_width(y, lower, upper, len(WIDTHS)),
    )
    return dict(zip(names, values, strict=True))
