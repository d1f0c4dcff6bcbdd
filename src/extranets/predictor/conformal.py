"""What `conformalize` keeps: the held-out rows' scores, from which any level's multiple can be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from extranets._arrays import Array
from extranets._warnings import warn_user
from extranets.model_file import require, storable
from extranets.model_file.typed import fits
from extranets.onnx_graph import Bounds, Value
from extranets.predictor.units import Units
from extranets.uncertainty.components import Components
from extranets.uncertainty.conformal import conformal_interval, conformal_quantile, conformal_scores
from extranets.uncertainty.predictive import SMALLEST_STD


@storable("Conformal")
@dataclass(frozen=True)
class Conformal:
    """Scores of shape ``(n,)`` or ``(n, n_outputs)``, in units of the standard deviations of one construction."""

    construction: dict[str, Any]  # parameters that the standard deviations depend on
    scores: Array

    @classmethod
    def learn(cls, y: Array, parts: Components, construction: dict[str, Any]) -> Conformal:
        """From rows that were not used to fit. Shape: y ``(n,)`` or ``(n, n_outputs)``."""
        return cls(construction, conformal_scores(y, parts.mean, np.maximum(parts.std, SMALLEST_STD)))

    def bounds(self, parts: Components, levels: Array, construction: dict[str, Any]) -> Array:
        """Shape: ``(n_new[, n_outputs], 2, n_levels)``."""
        quantile = self._multiples(levels, construction)
        return conformal_interval(parts.mean, np.maximum(parts.std, SMALLEST_STD), quantile)

    def graph_bounds(self, mean: Value, std: Value, levels: Array, construction: dict[str, Any]) -> Bounds:
        """The same as a part of a graph. Shape: mean, std ``(n, n_outputs)``, in the target's units."""
        multiples = self._multiples(levels, construction).reshape(-1, len(levels))
        positive = std.apply("Max", SMALLEST_STD)
        return [(mean - positive * multiple, mean + positive * multiple) for multiple in multiples.T]

    def _multiples(self, levels: Array, construction: dict[str, Any]) -> Array:
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
        plain = (isinstance(value, str) or (fits(value, int) and value >= 1) for value in self.construction.values())
        require(all(plain), "construction holds more than texts and counts")
        require(self.scores.ndim in (1, 2) and self.scores.size > 0, "scores have the wrong shape")
        # Infinite ones come from a scale of almost zero.
        require((self.scores >= 0).all(), "scores are negative or NaN")

    def check_fits(self, units: Units, construction: dict[str, Any]) -> None:
        """Refuse, by ``ValueError``, stored scores that do not go with a model."""
        require(self.construction.keys() == construction.keys(), "another construction")
        # Values may differ, where a parameter was changed since; `bounds` tells the user.
        for name, value in construction.items():
            require(isinstance(value, str) == isinstance(self.construction[name], str), f"{name} is of another kind")
        one_row = () if units.y_is_vector else (len(units.y.centre),)
        require(self.scores.shape[1:] == one_row, "conformal scores do not fit the outputs")


def warn_if_infinite(bounds: Array, levels: Array, n_rows: int, advice: str) -> None:
    """Shape: bounds ``(..., n_levels)``."""
    infinite = levels[np.isinf(bounds).reshape(-1, len(levels)).any(axis=0)]
    if len(infinite):
        warn_user(
            f"{n_rows} rows are too few to promise a coverage of {infinite[0]:g}: the intervals are infinite. {advice}"
        )
