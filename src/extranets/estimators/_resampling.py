"""Bootstrap samples as counts, and the predictions of rows by the networks that did not draw them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array
from extranets._random import Purpose
from extranets.engine import Machine
from extranets.estimators._held_out import Sample
from extranets.estimators._onnx import plus_bounds
from extranets.estimators._scaling import blocks
from extranets.model_file import require, storable
from extranets.networks import Ensemble
from extranets.onnx_graph import Bounds, Value
from extranets.uncertainty.components import HeldOut
from extranets.uncertainty.conformal import jackknife_after_bootstrap_interval


def bootstrap_counts(seed: int, ids: npt.NDArray[np.uint32], n_rows: int) -> npt.NDArray[np.uint16]:
    """How often each row is drawn when as many rows are drawn as there are, with replacement, from each member's stream.

    Shape: ids ``(m,)`` -> ``(m, n_rows)``.
    """
    counts = np.empty((len(ids), n_rows), dtype=np.uint16)
    for count, member in zip(counts, ids.tolist(), strict=True):
        words = engine.random_words(seed, member, Purpose.RESAMPLE, n_rows)
        rows = words.astype(np.uint64) * np.uint64(n_rows) >> np.uint64(32)
        count[:] = np.bincount(rows.astype(np.intp), minlength=n_rows)
    return counts


def out_of_bag(
    ensemble: Ensemble, in_bag: npt.NDArray[np.bool_], sample: Sample, machine: Machine
) -> tuple[HeldOut, npt.NDArray[np.bool_]]:
    """Errors on every row of the mean of the members that did not draw it, and which rows have such members.

    Shape: in_bag ``(n_members, n)`` -> errors of the rows that have, ``(n,)``.
    """
    n_members = (~in_bag).sum(axis=0)[:, None]
    mean, spread = np.zeros(sample.y.shape), np.zeros(sample.y.shape)
    for rows in blocks(len(mean)):
        heads = engine.forward(ensemble, sample.X[rows], **machine)
        share = (~in_bag[:, rows] / np.maximum(n_members[rows].T, 1))[:, :, None]
        mean[rows] = (share * heads).sum(axis=0)
        spread[rows] = (share * (heads - mean[rows]) ** 2).sum(axis=0)
    usable = n_members[:, 0] > 0
    residual = (mean - sample.y)[usable]
    held = HeldOut(residual, spread[usable], np.ones_like(residual), sample.weight[usable], n_members[usable])
    return held, usable


@storable("JackknifePlus")
@dataclass(frozen=True)
class JackknifePlus:
    """What ``interval="jackknife+"`` keeps. Shapes: in_bag ``(n_members, n)``, residuals ``(n, n_outputs)``, standardised."""

    in_bag: npt.NDArray[np.bool_]
    residuals: Array

    def interval(self, members: Array, unit: Array, levels: Array) -> Array:
        """Shape: members ``(n_members, n_new, n_outputs)``, unit ``(n_outputs,)`` -> ``(n_new, n_outputs, 2, n_levels)``."""
        absolute = np.abs(self.residuals) * unit
        outputs = range(absolute.shape[1])
        bounds = [
            jackknife_after_bootstrap_interval(members[:, :, o], self.in_bag, absolute[:, o], levels) for o in outputs
        ]
        return np.stack(bounds, axis=1)

    def graph_bounds(self, members: Value, unit: Array, levels: Array) -> Bounds:
        """The same as a part of a graph. Shape: members ``(n_members, n_new, n_outputs)``, in the target's units."""
        out = ~self.in_bag
        usable = out.any(axis=0)
        shares = out[:, usable] / out[:, usable].sum(axis=0)
        absolute = np.abs(self.residuals[usable]) * unit
        return plus_bounds(members.transpose(2, 1, 0) @ shares, absolute, levels)

    def _check_stored(self) -> None:
        require(self.residuals.ndim == 2 and self.in_bag.ndim == 2, "residuals or in_bag have no two axes")
        require(self.in_bag.shape[1] == len(self.residuals), "in_bag does not fit the residuals")
        usable = ~self.in_bag.all(axis=0)
        require(usable.any() and np.isfinite(self.residuals[usable]).all(), "residuals out of the bag are not finite")
