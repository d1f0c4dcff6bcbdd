"""What one record says about the rows that were left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contest.forecast import Forecast
from benchmarks.gaps.methods import LEVEL, Known
from extranets import metrics
from extranets._arrays import Array


def scores(y: Array, forecast: Forecast) -> dict[str, Any]:
    """Shape: y ``(n,)``, or ``(n, 2)`` with the means that are known of simulated rows."""
    assert isinstance(forecast, Known) and forecast.bounds is not None
    observed = y if y.ndim == 1 else y[:, 0]
    lower, upper = forecast.bounds[:, :, 0].T
    found: dict[str, Any] = {
        "rmse": metrics.rmse(observed, forecast.mean),
        "log_likelihood": float(np.mean(forecast.log_density(observed))),
        "coverage": metrics.coverage(observed, lower, upper),
        "interval_score": metrics.interval_score(observed, lower, upper, LEVEL),
    }
    if y.ndim == 2 and forecast.epistemic is not None:
        found["squared_error"] = float(np.mean((forecast.mean - y[:, 1]) ** 2))
        found["epistemic"] = float(np.mean(forecast.epistemic))
    return found
