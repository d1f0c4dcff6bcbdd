"""A distribution for each row, of which quantiles are known, as one of scipy. This module is apart because it loads much of scipy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from extranets._arrays import Array
from extranets.predictor.link import Link
from extranets.predictor.part import Distribution
from extranets.predictor.predictive import Predictive
from extranets.predictor.row_shapes import RowShapes
from extranets.uncertainty.predictive import SMALLEST_STD

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen

N_PIECES = 200
LEVELS = np.arange(1, N_PIECES) / N_PIECES  # 0.005 to 0.995: intervals of coverage 0.01, 0.02, ..., 0.99 end at them


def tabulated(bounds: Array, predictive: Predictive) -> rv_continuous_frozen:
    """Linear between the bounds; where they are infinite, and beyond the outermost, it goes on as the predictive distribution does.

    Shape: bounds ``(n[, n_outputs], 199)``, at ``LEVELS``, of the latent target.
    """
    latent, base = predictive.latent, predictive.shape
    multiples = (bounds - latent.mean[..., None]) / np.maximum(latent.std, SMALLEST_STD)[..., None]
    usual = base.multiples(LEVELS)
    if multiples.ndim == 2:
        usual = usual[0]
    finite, place = np.isfinite(multiples), np.arange(len(LEVELS))
    first, last = finite.argmax(axis=-1), len(LEVELS) - 1 - finite[..., ::-1].argmax(axis=-1)
    everywhere = np.broadcast_to(usual, multiples.shape)
    for end, outside in ((first, place < first[..., None]), (last, place > last[..., None])):
        at, usual_there = (np.take_along_axis(each, end[..., None], -1) for each in (multiples, everywhere))
        multiples = np.where(outside, at + usual - usual_there, multiples)
    multiples = np.where(finite.any(axis=-1, keepdims=True), multiples, usual)
    table = np.sort(multiples, axis=-1).reshape(-1, len(LEVELS))  # in the middle, bounds may have changed places
    n_outputs = latent.mean.shape[1] if latent.mean.ndim == 2 else 1
    return Tabulated(base, predictive.link, n_outputs, table=table).frozen_at(predictive)


class Tabulated(RowShapes):
    """Shape: table ``(n * n_outputs, 199)``, quantiles at ``LEVELS`` in standard deviations around the mean."""

    def __init__(self, latent_shape: Distribution, link: Link, n_outputs: int, *, table: Array, **kwargs: Any) -> None:
        super().__init__(latent_shape, link, n_outputs, **{"name": "tabulated", **kwargs})
        self.table = table

    def _updated_ctor_param(self) -> dict[str, Any]:
        """What scipy makes copies with."""
        return {**super()._updated_ctor_param(), "table": self.table}

    def with_rows_of(self, others: list[Any]) -> Tabulated:
        return Tabulated(self.latent_shape, self.link, self.n_outputs, table=np.concatenate([o.table for o in others]))

    def answers(self, method: str, at: Array, row: Any) -> Array:
        """As `RowShapes` says."""
        found: Array = {"ppf": self._quantiles, "cdf": self._shares_below, "pdf": self._densities}[method](at, row)
        return found

    def _quantiles(self, levels: Array, row: Any) -> Array:
        place = np.clip(levels * N_PIECES - 1, 0, len(LEVELS) - 1)
        left = np.minimum(place.astype(np.intp), len(LEVELS) - 2)
        low, high = self.table[row, left], self.table[row, left + 1]
        found: Array = low + (place - left) * (high - low)
        for end, outside in ((0, levels < LEVELS[0]), (-1, levels > LEVELS[-1])):
            moves = self._multiples(levels[outside], row[outside]) - self._multiples_at(end, row[outside])
            found[outside] = self.table[row[outside], end] + moves
        return found

    def _shares_below(self, at: Array, row: Any) -> Array:
        found = np.array([np.interp(x, self.table[r], LEVELS) for x, r in zip(at, row, strict=True)])
        return self._with_tails("cdf", found, at, row)

    def _densities(self, at: Array, row: Any) -> Array:
        piece = np.array([np.searchsorted(self.table[r], x, side="right") for x, r in zip(at, row, strict=True)])
        left = np.clip(piece.astype(np.intp) - 1, 0, len(LEVELS) - 2)
        with np.errstate(divide="ignore"):
            found: Array = 1 / N_PIECES / (self.table[row, left + 1] - self.table[row, left])
        return self._with_tails("pdf", found, at, row)

    def _with_tails(self, method: str, found: Array, at: Array, row: Any) -> Array:
        for end, outside in ((0, at < self.table[row, 0]), (-1, at >= self.table[row, -1])):
            own = row[outside]
            moved = at[outside] - self.table[own, end] + self._multiples_at(end, own)
            found[outside] = self.of_base(method, moved, own)
        return found

    def _multiples(self, levels: Array, row: Any) -> Array:
        return self.of_base("ppf", levels, row)

    def _multiples_at(self, end: int, row: Any) -> Array:
        return self._multiples(np.full(len(row), LEVELS[end]), row)
