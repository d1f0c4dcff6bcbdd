"""What `conformalize` keeps: the held-out rows' scores, from which any level's multiple can be read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from extranets.estimators._warnings import warn_user
from extranets.uncertainty.components import Array, Components
from extranets.uncertainty.conformal import conformal_interval, conformal_quantile


@dataclass(frozen=True)
class Conformal:
    """Scores of shape ``(n,)`` or ``(n, n_outputs)``, and the construction whose standard deviations they are in units of."""

    construction: str
    scores: Array

    def interval(self, parts: Components, levels: Array, construction: str) -> Array:
        """Shape: ``(n_new[, n_outputs], 2, n_levels)``."""
        if construction != self.construction:
            raise ValueError(
                f"conformalize was called with interval={self.construction!r}, and interval is {construction!r} now; "
                "call conformalize again."
            )
        quantile = conformal_quantile(self.scores, levels)
        infinite = levels[np.isinf(quantile).reshape(-1, len(levels)).any(axis=0)]
        if len(infinite):
            warn_user(
                f"{len(self.scores)} rows are too few to promise a coverage of {infinite[0]:g}: the intervals are infinite. "
                "Pass more rows to conformalize.",
            )
        return conformal_interval(parts.mean, parts.std, quantile)
