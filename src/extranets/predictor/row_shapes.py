"""Distributions of which each row has a shape of its own, seen through a link. This module is apart because it loads much of scipy."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from extranets._arrays import Array
from extranets.predictor.linked import Linked
from extranets.predictor.points import point_levels
from extranets.predictor.predictive import Predictive
from extranets.uncertainty.predictive import SMALLEST_STD

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen

BLOCK_VALUES = 2**20  # points at a time


class RowShapes(Linked):
    """In the place of the number of the output, scipy's first shape parameter is the number of the row and output."""

    @abstractmethod
    def answers(self, method: str, at: Array, row: Any) -> Array:
        """Of latent errors in standard deviations: "cdf", "pdf" or "ppf". Shape: ``(n,)`` each."""

    @abstractmethod
    def with_rows_of(self, others: list[Any]) -> RowShapes:
        """The rows of all, one after the other."""

    def of_base(self, method: str, at: Array, row: Any) -> Array:
        """What the shape of the fit answers. Shape: ``(n,)`` each."""
        return super()._of_latent(method, at, row % self.n_outputs)

    def frozen_at(self, predictive: Predictive) -> rv_continuous_frozen:
        """With the means and standard deviations of the rows."""
        mean, std = predictive.latent.mean, np.maximum(predictive.latent.std, SMALLEST_STD)
        found: rv_continuous_frozen = self(np.arange(mean.size).reshape(mean.shape), latent_mean=mean, latent_std=std)
        return found

    def joined(self, blocks: list[rv_continuous_frozen]) -> rv_continuous_frozen:
        """One distribution of all rows."""
        named = {name: np.concatenate([block.kwds[name] for block in blocks]) for name in ("latent_mean", "latent_std")}
        shape = named["latent_mean"].shape
        dist = self.with_rows_of([block.dist for block in blocks])
        found: rv_continuous_frozen = dist(np.arange(np.prod(shape)).reshape(shape), **named)
        return found

    def _argcheck(self, output: Any, latent_mean: Any, latent_std: Any) -> Any:
        return (output >= 0) & (latent_std > 0) & np.isfinite(latent_mean)

    def _of_latent(self, method: str, at: Any, output: Any) -> Array:
        at, row = np.broadcast_arrays(np.asarray(at, dtype=np.float64), np.asarray(output, dtype=np.intp))
        flat, rows = at.ravel(), row.ravel()
        if method == "logpdf":
            with np.errstate(divide="ignore"):
                found = np.log(self.answers("pdf", flat, rows))
        elif method in ("sf", "isf"):
            found = 1 - self.answers("cdf", flat, rows) if method == "sf" else self.answers("ppf", 1 - flat, rows)
        else:
            found = self.answers(method, flat, rows)
        return found.reshape(at.shape)

    def _linked(self, method: str, at: Any, output: Any) -> Array:
        return super()._linked(method, at, np.asarray(output, dtype=np.intp) % self.n_outputs)

    def _ends(self, output: Any) -> tuple[Array, Array]:
        return super()._ends(np.asarray(output, dtype=np.intp) % self.n_outputs)

    def _stats(self, output: Any, mean: Any, std: Any) -> tuple[Any, Any, None, None]:
        """By quantiles at levels that are dense in the tails."""
        row, mean, std = np.broadcast_arrays(np.asarray(output, dtype=np.intp), mean, std)
        levels, shares = point_levels()
        moments = np.empty((2, row.size))
        step = max(1, BLOCK_VALUES // len(levels))
        for begin in range(0, row.size, step):
            part = slice(begin, begin + step)
            own = row.ravel()[part, None]
            values = self._ppf(levels, own, mean.ravel()[part, None], std.ravel()[part, None])
            moments[0, part] = values @ shares
            moments[1, part] = (values - moments[0, part, None]) ** 2 @ shares
        return moments[0].reshape(row.shape), moments[1].reshape(row.shape), None, None
