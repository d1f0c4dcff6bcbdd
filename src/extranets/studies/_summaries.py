"""Means over independent units, with their standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


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
