"""Which rows a fit has seen: a number for each, by which they are known again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

from extranets._arrays import Array, blocks
from extranets.model_file import require, storable
from extranets.predictor.units import dense

CHANCE = 1e-4  # so unlikely, rows that are equal are not so by chance
NAMED_ROWS = 5
MULTIPLIER, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)

Numbers = npt.NDArray[np.uint64]


@storable("SeenRows")
@dataclass(frozen=True)
class SeenRows:
    """The rows of a fit, X and y together. Shape: numbers ``(n,)``, ascending."""

    numbers: Numbers

    @classmethod
    def of(cls, X: Any, y: Array) -> SeenRows:
        """Shape: X ``(n, k)``, dense or CSR, y ``(n, n_outputs)``."""
        return cls(np.sort(row_numbers(X, y)))

    def refuse(self, X: Any, y: Array) -> None:
        """Refuse rows of the fit, by a ``ValueError`` that names some. Shape: as in `of`.

        Independent rows may be equal, too, where columns have few values. How often that happens, the fit's own rows tell: as
        many of them as have a twin among the others are to be expected. More than chance explains are refused.
        """
        known = np.flatnonzero(np.isin(row_numbers(X, y), self.numbers))
        if len(known) and bdtrc(len(known) - 1, len(y), self.twins) < CHANCE:
            named = ", ".join(map(str, known[:NAMED_ROWS])) + (", ..." if len(known) > NAMED_ROWS else "")
            chance = f" (by chance, about {len(y) * self.twins:.0f} would be equal to one)" if self.twins else ""
            raise ValueError(
                f"{len(known)} of {len(y)} rows were in the fit{chance}: rows {named}, counted from 0. Networks are less wrong on "
                "rows that they have seen, so intervals would cover less than they promise. Set rows aside before fit, for "
                "example with sklearn.model_selection.train_test_split."
            )

    @property
    def twins(self) -> float:
        """Share of the rows to which another one is equal."""
        same = self.numbers[1:] == self.numbers[:-1]
        either = np.concatenate([[False], same]) | np.concatenate([same, [False]])
        return float(either.mean())

    def _check_stored(self) -> None:
        require(self.numbers.ndim == 1 and len(self.numbers) >= 1, "numbers of rows have the wrong shape")
        require(bool((self.numbers[1:] >= self.numbers[:-1]).all()), "numbers of rows do not ascend")


def row_numbers(X: Any, y: Array) -> Numbers:
    """A number for each row that depends on all its values, in single precision: files and frames round beyond it.

    Shape: X ``(n, k)``, dense or CSR, y ``(n, n_outputs)`` -> ``(n,)``.
    """
    found = np.zeros(len(y), dtype=np.uint64)
    for rows in blocks(len(y)):
        with np.errstate(over="ignore"):
            values = np.hstack([dense(X[rows]), y[rows]]).astype(np.float32) + np.float32(0)  # -0 becomes 0
        bits = values.view(np.uint32)
        for column in range(bits.shape[1]):
            mixed = (found[rows] ^ bits[:, column]) * MULTIPLIER
            found[rows] = mixed ^ (mixed >> SHIFT)
    return found
