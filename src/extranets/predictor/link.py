"""From the latent target, on which the networks are trained before it is standardised, to the user's, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from extranets._arrays import Array
from extranets.model_file import storable
from extranets.onnx_graph import Value
from extranets.predictor.limits import Limits


@storable("Link")
@dataclass(frozen=True)
class Link:
    """A map that grows everywhere, and limits that nothing passes. Where there is neither, both targets are the same.

    Shapes: targets ``(..., n_outputs)`` with ``trailing`` further axes, such as levels; of one output, its axis may be missing.
    """

    limits: Limits | None = None

    @property
    def is_plain(self) -> bool:
        return self.limits is None

    def of(self, output: int) -> Link:
        """That of one output."""
        return Link(None if self.limits is None else self.limits.of_output(output))

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
        return latent

    def latent(self, y: Array) -> Array:
        """The inverse of `unlimited`. Shape: ``(..., n_outputs)``."""
        return y

    def scores_of(self, y: Array) -> Array:
        """Latent targets for conformal scores: infinitely far where a target lies outside the limits, which no bound reaches."""
        if self.limits is None:
            return self.latent(y)
        return np.where(self.limits.outside(y), np.where(y < self.limits.low, -np.inf, np.inf), self.latent(y))

    def allowing(self, y: Array) -> Link:
        """Without limits that rows have turned out to pass. Shape: ``(n, n_outputs)``."""
        return self if self.limits is None else replace(self, limits=self.limits.allowing(y))

    def graph(self, latent: Value) -> Value:
        """What `target` computes, as a part of a graph. Shape: ``(..., n_outputs)``."""
        return latent if self.limits is None else self.limits.graph(latent)

    def describe(self) -> str:
        """What to say after the shape of a distribution, for reports."""
        return "" if self.limits is None else f", {self.limits.describe()}"

    def check_fits(self, n_outputs: int) -> None:
        """Refuse, by ``ValueError``, a stored link of another target."""
        if self.limits is not None:
            self.limits.check_fits(n_outputs)


PLAIN = Link()
