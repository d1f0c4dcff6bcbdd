"""What `conformalize` keeps: the held-out rows' errors, from which the bounds of any level can be read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from extranets._arrays import Array
from extranets._warnings import warn_user
from extranets.model_file import require, storable
from extranets.model_file.typed import fits
from extranets.onnx_graph import Bounds, Value
from extranets.predictor.predictive import Predictive
from extranets.predictor.strata import NOTHING, Beside, Strata
from extranets.predictor.units import Units
from extranets.uncertainty.components import Components
from extranets.uncertainty.conformal import conformal_tails
from extranets.uncertainty.plus import as_pairs, both_sides
from extranets.uncertainty.predictive import SMALLEST_STD

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen

FROM_BEFORE = Strata("joint")  # in files of versions that knew no other


@storable("Conformal")
@dataclass(frozen=True)
class Conformal:
    """Scores: errors, target less prediction, in standard deviations of one construction. Shape ``(n,)`` or ``(n, n_outputs)``."""

    construction: dict[str, Any]  # parameters that the standard deviations depend on
    scores: Array
    strata: Strata = FROM_BEFORE

    @classmethod
    def learn(cls, y: Array, parts: Components, construction: dict[str, Any], strata: Strata) -> Conformal:
        """From rows that were not used to fit. Shape: y ``(n,)`` or ``(n, n_outputs)``."""
        with np.errstate(over="ignore"):  # a scale of almost zero makes an infinite score
            return cls(construction, (y - parts.mean) / np.maximum(parts.std, SMALLEST_STD), strata)

    def bounds(self, parts: Components, levels: Array, construction: dict[str, Any], beside: Beside) -> Array:
        """Central intervals. Shape: levels ``(k,)`` -> ``(n[, n_outputs], 2, k)``."""
        found = self._values(parts, both_sides(levels), construction, beside)
        self._warn_if_infinite(found, np.tile(levels, 2), beside)
        return as_pairs(found)

    def quantiles(self, parts: Components, levels: Array, construction: dict[str, Any], beside: Beside) -> Array:
        """Bounds by the level of the tail that they end. Shape: levels ``(k,)`` -> ``(n[, n_outputs], k)``."""
        found = self._values(parts, levels, construction, beside)
        self._warn_if_infinite(found, np.abs(2 * levels - 1), beside)
        return found

    def frozen(self, predictive: Predictive, construction: dict[str, Any], beside: Beside) -> rv_continuous_frozen:
        """As a frozen distribution of scipy. Between the rows' errors its quantiles are linear; beyond the outermost it goes on as the
        predictive distribution does."""
        from extranets.predictor.conformal_shape import ConformalShape  # which loads much of scipy

        self._check(construction, beside)
        return ConformalShape.of(self._by_output, self.strata, predictive, beside).frozen_at(predictive)

    def graph_bounds(self, mean: Value, std: Value, levels: Array, construction: dict[str, Any]) -> Bounds:
        """The same as a part of a graph. Shape: mean, std ``(n, n_outputs)``, in the target's units."""
        if not self.strata.plain:
            what = "groups" if self.strata.names is not None else "weights"
            raise ValueError(
                f"A graph takes features alone, and these intervals need {what} of the new rows. Call conformalize without "
                f"{what} before to_onnx."
            )
        multiples = self._multiples(both_sides(levels), construction, NOTHING)[0]
        self._warn_if_infinite(multiples, np.tile(levels, 2), NOTHING)
        below, above = multiples.reshape(-1, 2, len(levels)).transpose(1, 2, 0)
        positive = std.apply("Max", SMALLEST_STD)
        return [(mean + positive * low, mean + positive * high) for low, high in zip(below, above, strict=True)]

    @cached_property
    def _by_output(self) -> Array:
        """Shape: ``(n, n_outputs)``."""
        return self.scores.reshape(len(self.scores), -1)

    def _values(self, parts: Components, levels: Array, construction: dict[str, Any], beside: Beside) -> Array:
        """Shape: ``(n[, n_outputs], k)``."""
        multiples = self._multiples(levels, construction, beside)
        if parts.mean.ndim == 1:
            multiples = multiples[:, 0]
        return parts.mean[..., None] + np.maximum(parts.std, SMALLEST_STD)[..., None] * multiples

    def _multiples(self, levels: Array, construction: dict[str, Any], beside: Beside) -> Array:
        """Of the standard deviation, above the mean. Shape: ``(n or 1, n_outputs, k)``."""
        self._check(construction, beside)
        if self.strata.plain:
            return conformal_tails(self._by_output, levels, tails=self.strata.as_tails)[None]
        n_new = len(beside.groups if beside.groups is not None else np.asarray(beside.weights))
        found = np.empty((n_new, self._by_output.shape[1], len(levels)))
        for portion in self.strata.portions(beside):
            scores = self._by_output[portion.known]
            if not len(scores):  # an unknown group: nothing can be promised
                found[portion.new] = np.where(levels < 0.5, -np.inf, np.inf)
                continue
            found[portion.new] = conformal_tails(scores, levels, tails=self.strata.as_tails, **portion.weighing)
        return found

    def _check(self, construction: dict[str, Any], beside: Beside) -> None:
        for name, value in construction.items():
            if value != self.construction[name]:
                raise ValueError(
                    f"conformalize was called with {name}={self.construction[name]!r}, and {name} is {value!r} now; call "
                    "conformalize again."
                )
        self.strata.check_new(beside)

    def _warn_if_infinite(self, bounds: Array, coverages: Array, beside: Beside) -> None:
        """Shape: bounds ``(n or 1[, n_outputs], k)``."""
        rows = np.asarray(np.isinf(bounds).reshape(len(bounds), -1).any(axis=1))
        if rows.any():
            way_out = ", or tails='joint', which needs half as many" if self.strata.tails == "separate" else ""
            too_few = self.strata.too_few(rows, beside, len(self.scores))
            warn_if_infinite(bounds, coverages, too_few, f"Pass more rows to conformalize{way_out}.")

    def _check_stored(self) -> None:
        plain = (isinstance(value, str) or (fits(value, int) and value >= 1) for value in self.construction.values())
        require(all(plain), "construction holds more than texts and counts")
        require(self.scores.ndim in (1, 2) and self.scores.size > 0, "scores have the wrong shape")
        # Infinite ones come from a scale of almost zero.
        require(not np.isnan(self.scores).any(), "scores are NaN")
        self.strata.check_stored(len(self.scores))

    def check_fits(self, units: Units, construction: dict[str, Any]) -> None:
        """Refuse, by ``ValueError``, stored scores that do not go with a model."""
        require(self.construction.keys() == construction.keys(), "another construction")
        # Values may differ, where a parameter was changed since; `bounds` tells the user.
        for name, value in construction.items():
            require(isinstance(value, str) == isinstance(self.construction[name], str), f"{name} is of another kind")
        one_row = () if units.y_is_vector else (len(units.y.centre),)
        require(self.scores.shape[1:] == one_row, "conformal scores do not fit the outputs")


def warn_if_infinite(bounds: Array, levels: Array, too_few: str, advice: str) -> None:
    """Shape: bounds ``(..., n_levels)``."""
    infinite = levels[np.isinf(bounds).reshape(-1, len(levels)).any(axis=0)]
    if len(infinite):
        warn_user(f"{too_few} to promise a coverage of {infinite[0]:g}: the intervals are infinite. {advice}")
