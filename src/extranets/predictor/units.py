"""The user's units and the networks': standardisation by training rows, and the way back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from extranets._arrays import Array, Float32, blocks
from extranets._warnings import warn_user
from extranets.model_file import require, storable
from extranets.predictor.link import PLAIN, Link

LARGEST_SCALE = 1e140  # variances are squares, and must fit into float64
LARGEST_VALUE = 1e30  # in standard deviations: activations must fit into float32


class ScaleError(ValueError):
    """A column whose numbers leave no room for arithmetic."""

    exit_code = 3  # the command line ends with it: the table cannot be used


class TooFarError(ScaleError):
    """A value at which activations would overflow. ``column`` is its position, ``what`` the message without the place."""

    def __init__(self, row: int, column: int, value: float, deviations: float) -> None:
        self.row, self.column, self.value, self.deviations = int(row), int(column), float(value), float(deviations)
        self.what = (
            f"lies {deviations:.3g} standard deviations from the training mean, too far for any prediction. Check the value "
            "and its unit."
        )
        super().__init__(f"Row {row}, column {column} {self.what}")

    def __reduce__(self) -> tuple[type[TooFarError], tuple[int, int, float, float]]:
        return type(self), (self.row, self.column, self.value, self.deviations)  # back from other processes


@storable("Scaling")
@dataclass(frozen=True)
class Scaling:
    """Centre and scale of every column.

    A column that is constant in training has scale 0: as a feature it is always zero, whatever it holds later (no network
    has learned what to make of it), and as a target it is predicted without error.
    """

    centre: Array
    scale: Array

    @classmethod
    def of(cls, values: Any, weight: Array, name: str, columns: Sequence[str] | None = None) -> Scaling:
        """Weighted mean and standard deviation. Shape: values ``(n, k)``, weight ``(n,)``.

        ``name`` and the names of the columns are for messages.
        """
        values = dense(values)
        differs = np.any([(values[rows] != values[0]).any(axis=0) for rows in blocks(len(values))], axis=0)
        centre = np.where(
            differs, np.average(values, axis=0, weights=weight), values[0]
        )  # sums of equal numbers are rounded
        largest = np.max([np.abs(values[rows] - centre).max(axis=0) for rows in blocks(len(values))], axis=0)
        # In units of the largest deviation, so that no square overflows or vanishes.
        unit = np.where(largest > 0, largest, 1.0)
        squares = sum(weight[rows] @ ((values[rows] - centre) / unit) ** 2 for rows in blocks(len(values)))
        scale = largest * np.sqrt(squares / weight.sum())
        return cls._settled(centre, scale, differs, largest, name, columns)

    @classmethod
    def of_moments(
        cls, mean: Array, variance: Array, low: Array, high: Array, name: str, columns: Sequence[str] | None = None
    ) -> Scaling:
        """The same, from what is known of all values. Shape: ``(k,)`` each."""
        differs = low < high
        centre = np.where(differs, mean, low)
        largest = np.maximum(high - centre, centre - low)
        return cls._settled(centre, np.where(differs, np.sqrt(variance), 0.0), differs, largest, name, columns)

    @classmethod
    def _settled(
        cls,
        centre: Array,
        scale: Array,
        differs: npt.NDArray[np.bool_],
        largest: Array,
        name: str,
        columns: Sequence[str] | None,
    ) -> Scaling:
        """With scales that are nothing but rounding set to 0, and others refused that leave no room for arithmetic."""
        # A column of nearly equal large numbers has a tiny deviation from rounding alone.
        scale[scale <= 10 * np.finfo(np.float64).eps * np.abs(centre)] = 0.0
        places: Sequence[str | int] = range(len(scale)) if columns is None else columns
        no_scale = np.flatnonzero((scale == 0) & (largest > 0)).tolist()
        _warn_of_lost([column for column in no_scale if differs[column]], centre, places, name)
        if _extreme(scale).any():
            column = int(np.argmax(_extreme(scale)))
            raise ScaleError(
                f"Column {places[column]!r} of {name} has a standard deviation of {scale[column]:.3g}, which leaves no room "
                "for squares; rescale it."
            )
        return cls(centre, scale)

    @property
    def factor(self) -> Array:
        """What deviations from the centre are multiplied by. Shape: ``(k,)``."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    def apply(self, values: Any) -> Float32:
        """Shape: values ``(n, k)``, dense or sparse -> ``(n, k)`` float32."""
        out = np.empty(values.shape, dtype=np.float32)
        factor = self.factor
        for rows in blocks(len(out)):
            scaled = (dense(values[rows]) - self.centre) * factor
            if np.abs(scaled).max(initial=0.0) > LARGEST_VALUE:
                row, column = np.argwhere(np.abs(scaled) > LARGEST_VALUE)[0]
                value = dense(values[rows])[row, column]
                raise TooFarError(rows.start + row, column, value, abs(scaled[row, column]))
            out[rows] = scaled
        return out

    def undo(self, values: npt.NDArray[np.floating]) -> Array:
        """Back to the user's units. Shape: ``(..., k)``."""
        return values * self.scale + self.centre

    def _check_stored(self) -> None:
        n = len(self.centre)
        require(n >= 1 and self.centre.shape == self.scale.shape == (n,), "centre and scale have different shapes")
        require(np.isfinite(self.centre).all() and not _extreme(self.scale).any(), "centre or scale are not usable")


def _warn_of_lost(lost: list[int], centre: Array, places: Sequence[str | int], name: str) -> None:
    """Of columns that rounding has made constant."""
    if lost:
        others = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        warn_user(
            f"Column {places[lost[0]]!r} of {name}{others} has a standard deviation within rounding of its mean, "
            f"{centre[lost[0]]:.3g}, and is taken for constant. If its differences matter, subtract a constant first."
        )


def _extreme(scale: Array) -> npt.NDArray[np.bool_]:
    """Scales whose squares would overflow or vanish, and negative ones. Zero is allowed."""
    return (scale != 0) & ~((scale >= 1 / LARGEST_SCALE) & (scale <= LARGEST_SCALE))


@storable("Units")
@dataclass(frozen=True)
class Units:
    """Scalings of features and latent targets, whether the target was a vector, and what leads from latent targets to it."""

    x: Scaling
    y: Scaling
    y_is_vector: bool
    link: Link = PLAIN

    @property
    def n_outputs(self) -> int:
        return len(self.y.centre)

    def standardised(self, y: Array) -> Float32:
        """Targets as the networks are trained on them. Shape: ``(n, n_outputs)``."""
        return self.y.apply(self.link.latent(y))

    def allowing(self, y: Array) -> Units:
        """Without limits that rows have turned out to pass. Shape: ``(n, n_outputs)``."""
        return replace(self, link=self.link.allowing(y))

    def as_target(self, values: Array) -> Array:
        """One output as a vector, if the target was one. Shape: ``(n, n_outputs, ...)``."""
        return values[:, 0] if self.y_is_vector else values

    def _check_stored(self) -> None:
        self.link.check_fits(len(self.y.centre))
        require(not self.y_is_vector or len(self.y.centre) == 1, "the target is a vector but has several outputs")


def fingerprint(*tables: Any) -> bytes:
    """A digest of the values, however they are stored."""
    digest = hashlib.blake2b(digest_size=16)
    for table in tables:
        for rows in blocks(table.shape[0]):
            digest.update(np.ascontiguousarray(dense(table[rows])).data)
    return digest.digest()


def dense(values: Any) -> Array:
    return values.toarray() if sparse.issparse(values) else values
