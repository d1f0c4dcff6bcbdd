"""What `conformalize` keeps: the held-out rows' scores, from which any level's multiple can be read."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from extranets._arrays import Array
from extranets._warnings import warn_user
from extranets.model_file import require, storable
from extranets.uncertainty.components import Components
from extranets.uncertainty.conformal import conformal_interval, conformal_quantile

SMALLEST_STD = float(np.finfo(np.float64).tiny)  # in place of zero, where one divides by it


@storable("Conformal")
@dataclass(frozen=True)
class Conformal:
    """Scores of shape ``(n,)`` or ``(n, n_outputs)``, and the construction whose standard deviations they are in units of."""

    construction: dict[str, Any]  # parameters that the standard deviations depend on
    scores: Array

    def interval(self, parts: Components, levels: Array, construction: dict[str, Any]) -> Array:
        """Shape: ``(n_new[, n_outputs], 2, n_levels)``."""
        quantile = self.multiples(levels, construction)
        return conformal_interval(parts.mean, np.maximum(parts.std, SMALLEST_STD), quantile)

    def multiples(self, levels: Array, construction: dict[str, Any]) -> Array:
        """Of the standard deviation, on each side of the mean. Shape: ``([n_outputs, ]n_levels)``."""
        for name, value in construction.items():
            if value != self.construction[name]:
                raise ValueError(
                    f"conformalize was called with {name}={self.construction[name]!r}, and {name} is {value!r} now; call "
                    "conformalize again."
                )
        quantile = conformal_quantile(self.scores, levels)
        warn_if_infinite(quantile, levels, len(self.scores), "Pass more rows to conformalize.")
        return quantile

    def _check_stored(self) -> None:
        plain = (isinstance(value, str | Number) for value in self.construction.values())
        require(all(plain), "construction holds more than texts and numbers")
        require(self.scores.ndim in (1, 2) and self.scores.size > 0, "scores have the wrong shape")
        # Infinite ones come from a scale of almost zero.
        require((self.scores >= 0).all(), "scores are negative or NaN")


def warn_if_infinite(bounds: Array, levels: Array, n_rows: int, advice: str) -> None:
    """Shape: bounds ``(..., n_levels)``."""
    infinite = levels[np.isinf(bounds).reshape(-1, len(levels)).any(axis=0)]
    if len(infinite):
        warn_user(
            f"{n_rows} rows are too few to promise a coverage of {infinite[0]:g}: the intervals are infinite. {advice}"
        )
