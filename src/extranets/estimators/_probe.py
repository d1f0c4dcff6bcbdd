"""Short trials on halves of the rows: which encoding suits a table, and how much its errors fall with more rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets._random import Purpose, generator
from extranets.estimators._automatic import Effort
from extranets.estimators._held_out import Plan, Sample
from extranets.uncertainty.components import HeldOut

FEWEST_ROWS = 40  # of a table that has something to say in halves
MOST_ROWS = 5000
MEMBERS = 4  # networks that leave each half out
# Towards the floor that noise is, errors fall more slowly than between two points before it.
DAMPING = 0.8  # of the exponent
STEEPEST = 3.0  # exponent of the rows that squared errors may fall with; 1 is what independent errors do


@dataclass(frozen=True)
class Probe:
    """What came out. Shape: error ``(n_outputs,)``, the mean squared error of networks that saw ``n_rows`` rows."""

    encoding: str | None
    effort: Effort
    n_rows: int
    error: Array

    def shrinkage(self, error: Array, n_seen: int, n_rows: int) -> Array:
        """Ratio of squared errors between networks that see all ``n_rows`` rows and those that saw ``n_seen`` of them.

        Errors fall as a power of the rows. Its exponent comes from two points, the trials' error and ``error``, that of networks
        that saw ``n_seen`` rows, and is damped; it is never negative.

        Shape: ``(n_outputs,)`` -> ``(n_outputs,)``.
        """
        if n_seen <= self.n_rows:
            return np.ones_like(error)
        known = (error > 0) & (self.error > 0)  # a constant output has no errors
        ratio = np.divide(self.error, error, out=np.ones_like(error), where=known)
        exponent = DAMPING * np.log(ratio) / np.log(n_seen / self.n_rows)
        return (n_seen / n_rows) ** np.clip(exponent, 0.0, STEEPEST)


def halves(sample: Sample, seed: int) -> tuple[Sample, Plan]:
    """Some of the rows, and a plan in which networks leave one half of them out."""
    rows: npt.NDArray[np.intp] = generator(seed, Purpose.ROWS, part=2).permutation(len(sample.y))[:MOST_ROWS]
    return sample.part(rows), Plan(np.arange(len(rows)) % 2, 2, MEMBERS)


def as_if_trained_on_all(held: HeldOut, shrinkage: Array) -> HeldOut:
    """Held-out errors, and the members' spread, as they would be for networks that see all rows."""
    return held._replace(residual=held.residual * np.sqrt(shrinkage), spread=held.spread * shrinkage)
