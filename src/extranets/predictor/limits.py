"""What a target never passes: bounds that the user gives, or that the training rows suggest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.model_file import require, storable
from extranets.model_file.typed import fits
from extranets.onnx_graph import Value, where

AUTO = "auto"


@storable("Limits")
@dataclass(frozen=True)
class Limits:
    """Everything that is predicted for the target stays between these. Shape: low, high ``(n_outputs,)``, infinite for none."""

    low: Array
    high: Array

    @classmethod
    def of(cls, bounds: Any, y: Array) -> Limits | None:
        """What the parameter ``bounds`` says of training rows; None where there is no limit. Shape: y ``(n, n_outputs)``."""
        if bounds is None:
            return None
        if isinstance(bounds, str):  # "auto"
            found = cls(np.where(y.min(axis=0) >= 0, 0.0, -np.inf), np.full(y.shape[1], np.inf))
        else:
            found = cls(*(np.full(y.shape[1], end) for end in ends_of(bounds)))
            found._refuse(y)
        return found if np.isfinite([found.low, found.high]).any() else None

    def _refuse(self, y: Array) -> None:
        """Refuse targets that are outside, by a ``ValueError`` that names the first."""
        if self.outside(y).any():
            row, column = np.argwhere(self.outside(y))[0]
            where = f"row {row}" + (f", output {column}" if y.shape[1] > 1 else "")
            raise ValueError(
                f"y holds {y[row, column]:g} ({where}), which is not within bounds=({self.low[column]:g}, {self.high[column]:g}). "
                "Correct the value, or give other bounds."
            )

    def of_output(self, output: int) -> Limits:
        return Limits(self.low[[output]], self.high[[output]])

    def outside(self, y: Array) -> npt.NDArray[np.bool_]:
        """Shape: ``(n, n_outputs)``."""
        return (y < self.low) | (y > self.high)

    def allowing(self, y: Array) -> Limits:
        """Without those that rows have turned out to pass. Shape: ``(n, n_outputs)``."""
        return Limits(
            np.where((y < self.low).any(axis=0), -np.inf, self.low),
            np.where((y > self.high).any(axis=0), np.inf, self.high),
        )

    def clip(self, values: Array, trailing: int = 0) -> Array:
        """Infinite bounds stay: they say that nothing can be promised. Shape: ``(..., n_outputs)`` and so many trailing axes."""
        low, high = (along(end, trailing) for end in (self.low, self.high))
        return np.where(np.isinf(values), values, np.clip(values, low, high))

    def graph(self, values: Value, trailing: int = 0) -> Value:
        """The same as a part of a graph."""
        low, high = (along(end, trailing) for end in (self.low, self.high))
        finite = values.apply("Abs").compare("LessOrEqual", np.finfo(np.float64).max)
        return where(finite, values.apply("Max", low).apply("Min", high), values)

    def describe(self) -> str:
        """In words, for reports.

        Examples
        --------
        >>> Limits(np.array([0.0]), np.array([np.inf])).describe()
        'nowhere below 0'
        """
        words = [
            f"nowhere {side} {', '.join(f'{each:g}' for each in ends)}"
            for side, ends in (("below", self.low), ("above", self.high))
            if np.isfinite(ends).any()
        ]
        return " and ".join(words)

    def check_fits(self, n_outputs: int) -> None:
        """Refuse, by ``ValueError``, stored limits of another target."""
        require(self.low.shape == self.high.shape == (n_outputs,), "bounds of the target do not fit the outputs")

    def _check_stored(self) -> None:
        require(self.low.ndim == 1 and self.low.shape == self.high.shape, "bounds of the target have the wrong shape")
        require(bool((self.low < self.high).all()), "bounds of the target are not in order")  # nor NaN
        require(bool((self.low < np.inf).all() and (self.high > -np.inf).all()), "bounds of the target hold nothing")


def along(values: Array, trailing: int) -> Array:
    """For arithmetic with arrays whose outputs are so many axes before the last. Shape: ``(n_outputs,)``."""
    return values.reshape(-1, *[1] * trailing)


def ends_of(bounds: Sequence[float | None]) -> tuple[float, float]:
    """The ends as numbers, of the parameter ``bounds`` as a pair; refuses what is none, by a ``ValueError``.

    Examples
    --------
    >>> ends_of((0, None))
    (0.0, inf)
    """
    pair = list(bounds) if isinstance(bounds, list | tuple) else []
    if len(pair) != 2 or not all(each is None or fits(each, float) for each in pair):
        raise ValueError(
            f'bounds must be "auto", None, or a pair of numbers such as (0, 100), with None for no bound: (0, None); got {bounds!r}.'
        )
    low = -np.inf if pair[0] is None else float(pair[0])
    high = np.inf if pair[1] is None else float(pair[1])
    if not low < high or low == np.inf or high == -np.inf:
        raise ValueError(f"bounds must hold a lower and a larger upper number; got {bounds!r}.")
    return low, high
