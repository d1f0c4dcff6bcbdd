"""From the latent target, on which the networks are trained before it is standardised, to the user's, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from extranets._arrays import Array
from extranets.model_file import storable
from extranets.onnx_graph import Value
from extranets.predictor.limits import Limits
from extranets.predictor.powers import Powers


@storable("Link")
@dataclass(frozen=True)
class Link:
    """Powers, a map that grows everywhere, and limits that nothing passes. Where there is neither, both targets are the same.

    Shapes: targets ``(..., n_outputs)`` with ``trailing`` further axes, such as levels; of one output, its axis may be missing.
    """

    limits: Limits | None = None
    powers: Powers | None = None

    @property
    def is_plain(self) -> bool:
        return self.limits is None and self.powers is None

    def of(self, output: int) -> Link:
        """That of one output."""
        limits = None if self.limits is None else self.limits.of_output(output)
        return Link(limits, None if self.powers is None else self.powers.of_output(output))

    def ends(self, n_outputs: int) -> tuple[Array, Array]:
        """The limits, infinite where there is none. Shape: ``(n_outputs,)`` each."""
        if self.limits is None:
            return np.full(n_outputs, -np.inf), np.full(n_outputs, np.inf)
        return self.limits.low, self.limits.high

    def target(self, latent: Array, trailing: int = 0) -> Array:
        """In the user's units and within the limits."""
        y = self.unlimited(latent, trailing)
        return y if self.limits is None else self.limits.clip(y, trailing)

    def unlimited(self, latent: Array, trailing: int = 0) -> Array:
        """In the user's units; limits do not matter."""
        return latent if self.powers is None else self.powers.target(latent, trailing)

    def latent(self, y: Array, trailing: int = 0) -> Array:
        """The inverse of `unlimited`."""
        return y if self.powers is None else self.powers.latent(y, trailing)

    def log_slope(self, y: Array) -> Array:
        """Logarithm of how much the latent target grows with the user's. Shape: ``(..., n_outputs)``."""
        return np.zeros_like(y) if self.powers is None else self.powers.log_slope(y)

    def scores_of(self, y: Array) -> Array:
        """Latent targets for conformal scores: infinitely far where a target lies outside the limits, which no bound reaches."""
        if self.limits is None:
            return self.latent(y)
        return np.where(self.limits.outside(y), np.where(y < self.limits.low, -np.inf, np.inf), self.latent(y))

    def allowing(self, y: Array) -> Link:
        """Without limits that rows have turned out to pass. Shape: ``(n, n_outputs)``."""
        return self if self.limits is None else replace(self, limits=self.limits.allowing(y))

    def graph(self, latent: Value, trailing: int = 0) -> Value:
        """What `target` computes, as a part of a graph."""
        y = latent if self.powers is None else self.powers.graph(latent, trailing)
        return y if self.limits is None else self.limits.graph(y, trailing)

    def describe(self) -> str:
        """What to say after the shape of a distribution, for reports."""
        powers = "" if self.powers is None else f", {self.powers.describe()}"
        return powers + ("" if self.limits is None else f", {self.limits.describe()}")

    def check_fits(self, n_outputs: int) -> None:
        """Refuse, by ``ValueError``, a stored link of another target."""
        for part in (self.limits, self.powers):
            if part is not None:
                part.check_fits(n_outputs)


PLAIN = Link()
