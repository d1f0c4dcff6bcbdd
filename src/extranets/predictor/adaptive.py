"""What `update` keeps: bounds of intervals that follow the errors of rows in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from extranets._arrays import Array
from extranets.model_file import require, storable
from extranets.model_file.typed import fits
from extranets.onnx_graph import Bounds, Value
from extranets.predictor.part import Distribution
from extranets.uncertainty.components import Components
from extranets.uncertainty.online import COVERAGES, TAILS, between, follow
from extranets.uncertainty.predictive import SMALLEST_STD


@storable("Adaptive")
@dataclass(frozen=True)
class Adaptive:
    """Thresholds of shape ``(2, n_outputs, n_coverages)``: arcsinh of how far bounds are below and above the mean, in standard
    deviations of one construction.

    Beyond the outermost of them, bounds go on as those of the distribution do.
    """

    construction: dict[str, Any]  # parameters that the standard deviations depend on
    thresholds: Array
    n_rows: int = 0  # that they have followed

    @classmethod
    def start(cls, distribution: Distribution, n_outputs: int, construction: dict[str, Any]) -> Adaptive:
        """Where intervals are those of the distribution."""
        first = np.arcsinh(outward_multiples(distribution, TAILS))
        return cls(construction, np.ascontiguousarray(np.broadcast_to(first, (2, n_outputs, len(TAILS)))))

    def updated(self, y: Array, mean: Array, std: Array, construction: dict[str, Any]) -> Adaptive:
        """After rows with known targets, in their order. Shape: ``(n, n_outputs)`` each."""
        self._check_construction(construction)
        errors = (y - mean) / np.maximum(std, SMALLEST_STD)
        return replace(self, thresholds=follow(self.thresholds, errors), n_rows=self.n_rows + len(y))

    def bounds(
        self, parts: Components, levels: Array, distribution: Distribution, construction: dict[str, Any]
    ) -> Array:
        """Shape: levels ``(k,)`` -> ``(n[, n_outputs], 2, k)``."""
        below, above = self._multiples(levels, distribution, construction)
        if parts.mean.ndim == 1:
            below, above = below[0], above[0]
        mean, std = parts.mean[..., None], np.maximum(parts.std, SMALLEST_STD)[..., None]
        return np.stack([mean - std * below, mean + std * above], axis=-2)

    def graph_bounds(
        self, mean: Value, std: Value, levels: Array, distribution: Distribution, construction: dict[str, Any]
    ) -> Bounds:
        """The same as a part of a graph. Shape: mean, std ``(n, n_outputs)``, in the target's units."""
        below, above = self._multiples(levels, distribution, construction)
        positive = std.apply("Max", SMALLEST_STD)
        return [(mean - positive * low, mean + positive * high) for low, high in zip(below.T, above.T, strict=True)]

    def _multiples(self, levels: Array, distribution: Distribution, construction: dict[str, Any]) -> Array:
        """How many standard deviations bounds are below and above the mean. Shape: ``(2, n_outputs, k)``."""
        self._check_construction(construction)
        tails = (1 - levels) / 2
        nearest = np.clip(tails, TAILS[-1], TAILS[0])
        beyond = outward_multiples(distribution, tails) - outward_multiples(distribution, nearest)
        below, above = between(self.thresholds, nearest) + beyond
        # Where both tails are on the same side, an interval may be turned around; it then holds both its bounds.
        return np.stack([np.maximum(below, -above), np.maximum(above, -below)])

    def _check_construction(self, construction: dict[str, Any]) -> None:
        for name, value in construction.items():
            if value != self.construction[name]:
                raise ValueError(
                    f"update was called with {name}={self.construction[name]!r}, and {name} is {value!r} now; set it back, or "
                    "call fit again."
                )

    def _check_stored(self) -> None:
        plain = (isinstance(value, str) or (fits(value, int) and value >= 1) for value in self.construction.values())
        require(all(plain), "construction holds more than texts and counts")
        shape = self.thresholds.shape
        require(len(shape) == 3 and shape[0] == 2 and shape[2] == len(COVERAGES), "thresholds have the wrong shape")
        require(bool(np.isfinite(self.thresholds).all()), "thresholds are not finite")
        require(self.n_rows >= 0, "a negative number of rows")

    def check_fits(self, n_outputs: int, construction: dict[str, Any]) -> None:
        """Refuse, by ``ValueError``, stored thresholds that do not go with a model."""
        require(self.thresholds.shape[1] == n_outputs, "thresholds do not fit the outputs")
        require(self.construction.keys() == construction.keys(), "another construction")
        for name, value in construction.items():
            require(type(self.construction[name]) is type(value), f"{name} is of another kind")


def outward_multiples(distribution: Distribution, tails: Array) -> Array:
    """How many standard deviations a distribution's quantiles are below and above the mean. Shape: ``(2, n_outputs or 1, k)``."""
    return np.stack([-distribution.multiples(tails), distribution.multiples(1 - tails)])
