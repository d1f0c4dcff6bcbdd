"""What one record says of the test rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contest.forecast import Forecast
from benchmarks.gaps.methods import Known
from extranets import metrics
from extranets._arrays import Array

N_PARTS = 3  # of the rows by width


def scores(known: Array, forecast: Forecast) -> dict[str, Any]:
    """Shape: known ``(n, 3)``: targets, their means, and groups that are counted from 0."""
    assert isinstance(forecast, Known) and forecast.bounds is not None and forecast.epistemic is not None
    y, mean, group = known.T
    lower, upper = forecast.bounds[:, :, 0].T
    covered = (lower <= y) & (y <= upper)
    thirds = np.array_split(np.argsort(upper - lower, kind="stable"), N_PARTS)
    squares = (forecast.mean - mean) ** 2
    return {
        "rmse": metrics.rmse(y, forecast.mean),
        "coverage": float(covered.mean()),
        "below": float((y < lower).mean()),
        "above": float((y > upper).mean()),
        "thirds": [float(covered[rows].mean()) for rows in thirds],
        "groups": [float(covered[group == each].mean()) for each in np.unique(group)],
        "variance": float(np.var(y)),
        "squared_error": [float(squares[rows].mean()) for rows in thirds],
        "epistemic": [float(forecast.epistemic[rows].mean()) for rows in thirds],
    }
