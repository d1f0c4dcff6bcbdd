"""The distribution that conformal bounds belong to, as one of scipy. This module is apart because it loads much of scipy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from extranets._arrays import Array
from extranets.predictor.link import Link
from extranets.predictor.part import Distribution
from extranets.predictor.predictive import Predictive
from extranets.predictor.row_shapes import RowShapes
from extranets.predictor.strata import Beside, Integers, Strata

FARTHEST = 1e300  # errors in standard deviations, so that differences between them are finite


@dataclass(frozen=True)
class Steps:
    """One group and output: errors, ascending, and the weight below each of them, half of its own included.

    With W the sum of all weights and w that of a new row, the distribution function at knot j is (mass[j] + w / 2) / (W + w). Between
    knots it is linear. Beyond them it goes on as the base distribution does, moved so that it begins at the outermost knot.

    Shapes: knots, mass ``(m,)``.
    """

    knots: Array
    mass: Array
    total: float
    base: Callable[[str, Array], Array]

    @classmethod
    def of(cls, errors: Array, weights: Array, joint: bool, base: Callable[[str, Array], Array]) -> Steps:
        """Shape: ``(n,)`` each."""
        kept = weights > 0
        values, weights = np.clip(errors[kept], -FARTHEST, FARTHEST), weights[kept]
        values = np.abs(values) if joint else values
        order = np.argsort(values, kind="stable")
        values, cumulative = values[order], np.cumsum(weights[order])
        total = float(weights.sum())
        if joint:  # either sign is as likely
            mass = np.concatenate([(total - cumulative)[::-1], total + cumulative]) / 2
            return cls(np.concatenate([-values[::-1], values]), mass, total, base)
        return cls(values, cumulative - weights[order] / 2, total, base)

    def cdf(self, at: Array, own: Array) -> Array:
        """Shape: ``(n,)`` each, as in all methods."""
        return self._by_piece(at, own, self._level, partial(self.base, "cdf"))

    def pdf(self, at: Array, own: Array) -> Array:
        def inside(at: Array, own: Array) -> Array:
            j = np.searchsorted(self.knots, at, side="right") - 1
            found: Array = np.diff(self.mass)[j] / np.diff(self.knots)[j] / (self.total + own)
            return found

        return self._by_piece(at, own, inside, partial(self.base, "pdf"))

    def ppf(self, levels: Array, own: Array) -> Array:
        found = self._multiples(levels)
        if len(self.knots):
            mass = levels * (self.total + own) - own / 2
            inner = np.interp(mass, self.mass, self.knots)
            for end, outside in ((0, mass < self.mass[0]), (-1, mass > self.mass[-1])):
                found[outside] += self._move(end, own[outside])
            inside = (mass >= self.mass[0]) & (mass <= self.mass[-1])
            found[inside] = inner[inside]
        return found

    def _by_piece(
        self, at: Array, own: Array, inside: Callable[[Array, Array], Array], outside: Callable[[Array], Array]
    ) -> Array:
        if not len(self.knots):
            return outside(at)
        found = np.empty(at.shape)
        low, high = at < self.knots[0], at >= self.knots[-1]
        for end, beyond in ((0, low), (-1, high)):
            found[beyond] = outside(at[beyond] - self._move(end, own[beyond]))
        between = ~(low | high)
        found[between] = inside(at[between], own[between])
        return found

    def _level(self, at: Array, own: Array) -> Array:
        found: Array = (np.interp(at, self.knots, self.mass) + own / 2) / (self.total + own)
        return found

    def _move(self, end: int, own: Array) -> Array:
        """From the base distribution's tail to the one that begins at the outermost knot."""
        return self.knots[end] - self._multiples((self.mass[end] + own / 2) / (self.total + own))

    def _multiples(self, levels: Array) -> Array:
        return np.array(self.base("ppf", levels))


class ConformalShape(RowShapes):
    """Errors in predicted standard deviations.

    Shapes: scores ``(n_known, n_outputs)``; part ``(n * n_outputs,)``, the group and output of a row as one number; own ``(n * n_outputs,)``, its weight.
    """

    def __init__(
        self,
        latent_shape: Distribution,
        link: Link,
        n_outputs: int,
        *,
        scores: Array,
        strata: Strata,
        part: Integers,
        own: Array,
        **kwargs: Any,
    ) -> None:
        super().__init__(latent_shape, link, n_outputs, **{"name": "conformal", **kwargs})
        self.scores, self.strata, self.part, self.own = scores, strata, part, own
        self._parts: dict[int, Steps] = {}

    def _updated_ctor_param(self) -> dict[str, Any]:
        """What scipy makes copies with."""
        own = {"scores": self.scores, "strata": self.strata, "part": self.part, "own": self.own}
        return {**super()._updated_ctor_param(), **own}

    @classmethod
    def of(cls, scores: Array, strata: Strata, predictive: Predictive, beside: Beside) -> ConformalShape:
        """For rows of which this is known. Shape: scores ``(n_known, n_outputs)``."""
        n_new, n_outputs = len(predictive.latent.mean), scores.shape[1]
        group = np.zeros(n_new, dtype=np.intp)
        if beside.groups is not None and strata.names is not None:
            group = strata.numbers(beside.groups) % (len(strata.names) + 1)  # unknown ones are the last
        own = np.ones(n_new) if beside.weights is None else beside.weights
        part = (group[:, None] * n_outputs + np.arange(n_outputs)).ravel()
        named = {"scores": scores, "strata": strata, "part": part, "own": np.repeat(own, n_outputs)}
        return cls(predictive.shape, predictive.link, n_outputs, **named)

    def with_rows_of(self, others: list[Any]) -> ConformalShape:
        rows = {name: np.concatenate([getattr(each, name) for each in others]) for name in ("part", "own")}
        named: dict[str, Any] = {"scores": self.scores, "strata": self.strata, **rows}
        return ConformalShape(self.latent_shape, self.link, self.n_outputs, **named)

    def answers(self, method: str, at: Array, row: Any) -> Array:
        """As `RowShapes` says."""
        found, parts, own = np.empty(len(at)), self.part[row], self.own[row]
        for part in np.unique(parts).tolist():
            mine = parts == part
            found[mine] = getattr(self._steps(int(part)), method)(at[mine], own[mine])
        return found

    def _steps(self, part: int) -> Steps:
        if part not in self._parts:
            group, output = divmod(part, self.n_outputs)
            known: Any = slice(None) if self.strata.names is None else self.strata.rows_of(group)
            weights = np.ones(len(self.scores)) if self.strata.weights is None else self.strata.weights
            joint, base = self.strata.tails == "joint", partial(self._of_output, output)
            self._parts[part] = Steps.of(self.scores[known, output], weights[known], joint, base)
        return self._parts[part]

    def _of_output(self, output: int, method: str, at: Array) -> Array:
        return self.of_base(method, at, np.full(len(at), output))
