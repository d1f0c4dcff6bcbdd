"""Ridge regressions, one for every fold, from sums of products of each fold's rows."""

from __future__ import annotations

from contextlib import nullcontext
from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from extranets._arrays import Array, Float32, blocks
from extranets._blas import one_blas_thread
from extranets.held_out import Plan, Sample
from extranets.networks import Architecture, Ensemble, Members

PENALTIES = np.logspace(-5, 1, 9)  # in units of the rows' total weight; columns are standardised
MOST_COLUMNS = 1500  # directions, to be exact: with five folds, more take longer than networks
FEW_COLUMNS = 400  # up to here, threads of the linear algebra only wait for each other


def fit_ridge(sample: Sample, plan: Plan) -> Ensemble | None:
    """A ridge regression for every fold, fitted to the other rows, with the penalty of the smallest out-of-fold error.

    They are networks without hidden layers. None where both rows and columns are too many.
    """
    n, k = sample.X.shape
    if min(n, k) > MOST_COLUMNS * (5 / plan.n_folds) ** (1 / 3):
        return None
    with one_blas_thread() if min(n, k) <= FEW_COLUMNS else nullcontext():
        return _fit(sample, plan)


def _fit(sample: Sample, plan: Plan) -> Ensemble:
    n, k = sample.X.shape
    rotation = None
    Z: npt.NDArray[np.floating] = sample.X
    if k > n:  # all that n rows can tell lies in n directions, and a penalty on squares does not mind a rotation
        rotation = np.linalg.svd(sample.X.astype(np.float64), full_matrices=False)[2].T
        Z = sample.X @ rotation
    # What a fold keeps is added up, not subtracted from all: one heavy row would leave rounding errors alone.
    by_fold = [
        _Sums.of(Z, sample.y, sample.weight, np.flatnonzero(plan.fold_of_row == fold))
        for fold in range(-1, plan.n_folds)
    ]
    found, errors = [], np.zeros(len(PENALTIES))
    for fold in range(plan.n_folds):
        held = np.flatnonzero(plan.fold_of_row == fold)
        earlier = by_fold[:1] if plan.looks_back else by_fold[: fold + 1]
        kept = reduce(add, [*earlier, *by_fold[fold + 2 :]])
        found.append([kept.solve(penalty) for penalty in PENALTIES])
        residuals = [Z[held] @ slope + intercept - sample.y[held] for slope, intercept in found[-1]]
        errors += [sample.weight[held] @ (each**2).sum(axis=1) for each in residuals]
    best = [by_penalty[int(np.argmin(errors))] for by_penalty in found]
    return _as_networks(
        [(slope if rotation is None else rotation @ slope, intercept) for slope, intercept in best], plan
    )


class _Sums:
    """Weighted sums of products of all columns with each other and with the outputs; the last column is a one."""

    def __init__(self, gram: Array, target: Array) -> None:
        self.gram, self.target = gram, target

    @classmethod
    def of(cls, Z: npt.NDArray[np.floating], y: Float32, weight: Array, rows: npt.NDArray[np.intp]) -> _Sums:
        k = Z.shape[1] + 1
        gram, target = np.zeros((k, k)), np.zeros((k, y.shape[1]))
        for block in blocks(len(rows)):
            some = rows[block]
            columns = np.column_stack([Z[some].astype(np.float64), np.ones(len(some))])
            weighted = columns * weight[some, None]
            gram += weighted.T @ columns
            target += weighted.T @ y[some]
        return cls(gram, target)

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(self.gram + other.gram, self.target + other.target)

    def solve(self, penalty: float) -> tuple[Array, Array]:
        """Slopes and intercepts; the intercepts have no penalty. Shapes: ``(k, n_outputs)``, ``(n_outputs,)``."""
        total = self.gram[-1, -1]
        centre, level = self.gram[-1, :-1] / total, self.target[-1] / total
        gram = self.gram[:-1, :-1] - total * np.outer(centre, centre)
        gram[np.diag_indices_from(gram)] += penalty * total
        slope = cho_solve(cho_factor(gram, overwrite_a=True), self.target[:-1] - total * np.outer(centre, level))
        return slope, level - centre @ slope


def _as_networks(models: list[tuple[Array, Array]], plan: Plan) -> Ensemble:
    k, n_outputs = models[0][0].shape
    ids = Plan(plan.fold_of_row, plan.n_folds, 1).extra_ids()
    nothing = np.empty((len(models), 0))
    members = Members(
        Architecture(k, (), n_outputs, n_outputs), ids, nothing.astype(np.int32), nothing.astype(np.bool_)
    )
    parameters = [each for slope, intercept in models for each in (slope.ravel(), intercept)]
    return Ensemble(members, np.concatenate(parameters).astype(np.float32))
