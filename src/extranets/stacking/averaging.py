"""Errors of a stack on new rows, from those on rows that were left out.

A row that was left out is predicted by the networks of its own fold, a new row by those of all folds, whose mean varies less. What
averaging takes away of the squared error is, of each kind, the variance between networks that have not seen a row, less that of their
mean. Only one fold's networks have not seen it. The others agree more: a network that draws its prediction of a row by some share
towards the row's target has errors on it, and differences from other networks, that are smaller by this share. So the variance between
networks that have not seen a row is that between networks that have, times the ratio of the squared errors of both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from extranets._arrays import Array
from extranets.engine import Machine
from extranets.held_out import Plan, Sample
from extranets.stacking.growing import Part
from extranets.uncertainty.components import HeldOut

DAMPING = (
    0.8  # exponent of the ratio: shares differ between rows, and the largest errors are not where networks differ most
)
MOST_ROWS = 2000  # a number for each kind needs no more
LEAST_SHARE = 0.25  # of the squared error, that is left


def as_if_averaged(
    held: HeldOut, parts: Sequence[Part], weights: Array, sample: Sample, plan: Plan, machine: Machine
) -> HeldOut:
    """The errors as they would be of the mean over all folds' networks.

    ``held`` goes on naming the members that predicted them, by which intervals lower the factor of the spread between kinds.
    """
    squares = np.average(held.residual**2, axis=0, weights=held.weight)
    if plan.looks_back or not (squares > 0).all():  # other networks will predict; constant outputs
        return held
    away = [averaged_away(part, sample, plan, machine) for part in parts]
    taken = np.sum([w**2 * each for w, each in zip(weights, away, strict=True)], axis=0)
    return held._replace(residual=held.residual * np.sqrt(np.maximum(1 - taken / squares, LEAST_SHARE)))


def averaged_away(part: Part, sample: Sample, plan: Plan, machine: Machine) -> Array:
    """By how much the mean of a kind's networks of all folds varies less than that of one fold's. Shape: ``(n_outputs,)``."""
    rows = plan.held_rows()
    rows = rows[:: -(-len(rows) // MOST_ROWS)]
    ensemble, weight = part.networks.ensemble, sample.weight[rows]
    errors = part.networks.members(sample.X[rows], machine).astype(np.float64) - sample.y[rows]
    seen = (plan.fold_of_member(ensemble.members.ids)[:, None] != plan.fold_of_row[rows])[:, :, None]
    n_seen = seen.sum(axis=0)
    centre = (seen * errors).sum(axis=0) / n_seen
    variance = (seen * (errors - centre) ** 2).sum(axis=0) / np.maximum(n_seen - 1, 1)
    of_seen = np.average((seen * errors**2).sum(axis=0) / n_seen, axis=0, weights=weight)
    of_unseen = np.average((~seen * errors**2).sum(axis=0) / (len(ensemble) - n_seen), axis=0, weights=weight)
    ratio = np.maximum(np.divide(of_unseen, of_seen, out=np.ones_like(of_seen), where=of_seen > 0), 1)
    fewer = 1 / plan.members_per_fold - 1 / len(ensemble)
    return np.asarray(np.average(variance, axis=0, weights=weight) * ratio**DAMPING * fewer)
