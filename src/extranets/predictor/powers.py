"""Latent targets that are powers or logarithms of a target that is never negative, within what training has shown.

A power below one, or the logarithm, makes a skewed target more even and noise that grows with the target more constant. What it
stretches comes back squared, or exponentiated, so that a long tail would reach absurd numbers, and a mean might not even be
finite. So the map is the power only from the least to the largest training target; beyond both, it goes on straight, with the slope that it
has there. Then the target's mean and variance are finite whenever those of the latent target are.

The shift keeps the power from stretching the neighbourhood of zero without end: the least target is a sixteenth of the mean, at least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.model_file import require, storable
from extranets.onnx_graph import Value, where
from extranets.predictor.limits import along

NAMES = {"log": 0.0, "sqrt": 0.5}  # of powers
LEAST_SHARE = 1 / 16  # of the mean distance from zero
LARGEST = 1e100  # of targets: their squares must be numbers
IDENTITY = 1.0


@storable("Powers")
@dataclass(frozen=True)
class Powers:
    """Latent target: ``((y + shift)^power - 1) / power``, with the logarithm for power 0, straight below least and above largest. An
    output with power 1 stays as it is.

    Shape: ``(n_outputs,)`` each.
    """

    power: Array
    shift: Array
    least: Array
    largest: Array

    @classmethod
    def of(cls, power: Array, y: Array, weight: Array) -> Powers:
        """Of training rows, which are not negative where the power is below 1. Shape: power ``(n_outputs,)``, y ``(n, n_outputs)``."""
        least, largest = y.min(axis=0), y.max(axis=0)
        mean = np.average(y, axis=0, weights=weight)
        shift = np.where(power < IDENTITY, np.maximum(LEAST_SHARE * mean - least, 0), 0.0)
        return cls(np.asarray(power, dtype=np.float64), shift, least, largest)

    @property
    def curved(self) -> npt.NDArray[np.bool_]:
        """Outputs that do not stay as they are."""
        return self.power < IDENTITY

    def latent(self, y: Array, trailing: int = 0) -> Array:
        """Shape: ``(..., n_outputs)`` and so many trailing axes, which an array for one output may lack."""
        power, shift, least, largest = (along(each, trailing) for each in self._safe)
        curved = self.curved.reshape(-1, *[1] * trailing)
        inside = np.clip(y, least, largest) + shift
        beyond = (y - np.clip(y, least, largest)) * inside ** (power - 1)
        found = np.where(power == 0, np.log(inside), (inside**power - 1) / np.where(power == 0, 1.0, power)) + beyond
        return np.where(curved, found, y)

    def target(self, latent: Array, trailing: int = 0) -> Array:
        """Back."""
        power, shift, _, _ = (along(each, trailing) for each in self._safe)
        low, high = (along(each, trailing) for each in self._ends)
        curved = self.curved.reshape(-1, *[1] * trailing)
        inside = np.clip(latent, low, high)
        root = np.maximum(inside * power + 1, 0.0) ** (1 / np.where(power == 0, 1.0, power))
        raised = np.where(power == 0, np.exp(np.where(power == 0, inside, 0.0)), root)
        found = raised - shift + (latent - inside) * raised ** (1 - power)
        return np.where(curved, found, latent)

    def log_slope(self, y: Array) -> Array:
        """Logarithm of the latent target's slope. Shape: ``(..., n_outputs)``."""
        power, shift, least, largest = self._safe
        found = (power - 1) * np.log(np.clip(y, least, largest) + shift)
        return np.where(self.curved, found, 0.0)

    def graph(self, latent: Value, trailing: int = 0) -> Value:
        """What `target` computes, as a part of a graph."""
        power, shift, _, _ = (along(each, trailing) for each in self._safe)
        low, high = (along(each, trailing) for each in self._ends)
        curved = self.curved.reshape(-1, *[1] * trailing)
        inside = latent.apply("Max", low).apply("Min", high)
        root = (inside * power + 1.0).apply("Max", 0.0).apply("Pow", 1 / np.where(power == 0, 1.0, power))
        raised = choose(power == 0, inside.apply("Exp"), root)
        found = raised - shift + (latent - inside) * raised.apply("Pow", 1 - power)
        return choose(curved, found, latent)

    def of_output(self, output: int) -> Powers:
        return Powers(*(each[[output]] for each in (self.power, self.shift, self.least, self.largest)))

    def names(self) -> str:
        """As the parameter has them, with commas between several outputs.

        Examples
        --------
        >>> Powers(np.array([0.0, 0.3, 1.0]), *np.ones((3, 3))).names()
        'log, 0.3, none'
        """
        known = {power: name for name, power in NAMES.items()} | {IDENTITY: "none"}
        return ", ".join(known.get(each, f"{each:g}") for each in self.power.tolist())

    def describe(self) -> str:
        """In words, for reports: what a distribution is about.

        Examples
        --------
        >>> Powers(np.array([0.0, 0.5]), *np.ones((3, 2))).describe()
        "of the target's logarithm, square root"
        """
        names = {0.0: "logarithm", 0.5: "square root", IDENTITY: "own value"}
        return f"of the target's {', '.join(names.get(each, f'power {each:g}') for each in self.power.tolist())}"

    @property
    def _safe(self) -> tuple[Array, Array, Array, Array]:
        """The fields; of outputs that stay as they are, such that no arithmetic fails."""
        values = zip((self.power, self.shift, self.least, self.largest), (0.5, 0.0, 1.0, 2.0), strict=True)
        power, shift, least, largest = (np.where(self.curved, own, other) for own, other in values)
        return power, shift, least, largest

    @property
    def _ends(self) -> tuple[Array, Array]:
        """Between which latent targets the map is curved."""
        _, _, least, largest = self._safe
        return self.latent(least), self.latent(largest)

    def check_fits(self, n_outputs: int) -> None:
        """Refuse, by ``ValueError``, stored powers of another target."""
        require(self.power.shape == (n_outputs,), "powers of the target do not fit the outputs")

    def _check_stored(self) -> None:
        fields = (self.power, self.shift, self.least, self.largest)
        require(self.power.ndim == 1 and len({each.shape for each in fields}) == 1, "powers have different shapes")
        require(all(np.isfinite(each).all() for each in fields), "powers of the target are not finite")
        require(
            bool(((self.power >= 0) & (self.power <= IDENTITY)).all()), "powers of the target are not between 0 and 1"
        )
        _, shift, least, largest = self._safe
        require(bool(((least >= 0) & (shift >= 0) & (least <= largest)).all()), "powers of targets that cannot be")
        require(
            bool(((least + shift > 0) & (largest + shift < LARGEST)).all()),
            "powers of targets that are too small or large",
        )


def choose(yes: npt.NDArray[np.bool_], one: Value, other: Value) -> Value:
    """Of two values, by output."""
    if yes.all():
        return one
    return where(one.graph.constant(yes, np.bool_), one, other) if yes.any() else other
