"""Means over independent units, with their standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FEWEST = 40  # data sets: with fewer, no number can be among the most extreme 5 %


def standard_error(values: npt.ArrayLike) -> float | None:
    """Standard error of the mean; None where there are too few values."""
    values = np.asarray(values, dtype=np.float64)
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def mean_and_error(name: str, values: list[Any]) -> dict[str, float | None]:
    """``name`` and ``name_se``; None where there are too few values.

    Examples
    --------
    >>> mean_and_error("rmse", [1.0, 3.0])
    {'rmse': 2.0, 'rmse_se': 1.0}
    """
    return {name: float(np.mean(values)) if len(values) else None, f"{name}_se": standard_error(values)}


def share_as_extreme(number: float, rounding: float, values: npt.ArrayLike) -> float | None:
    """How often a draw of one data set is as extreme as a printed number, on both sides together; None with under 40 values.

    The number counts as one of the draws, so the share is never zero, and twice the smaller side, as two-sided tests have it.

    Examples
    --------
    >>> share_as_extreme(50.2, 0.5, np.arange(100.0)), round(share_as_extreme(-7.0, 0.5, np.arange(100.0)), 3)
    (1.0, 0.02)
    """
    found = np.asarray(values, dtype=np.float64)
    if len(found) < FEWEST:
        return None
    below, above = np.sum(found <= number + rounding), np.sum(found >= number - rounding)
    return float(min(1.0, 2 * (min(below, above) + 1) / (len(found) + 1)))
