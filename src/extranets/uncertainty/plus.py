"""CV+ and jackknife+-after-bootstrap: intervals from the training rows' own errors, without rows that are held out for good.

CV+ (Barber et al. 2021) combines out-of-fold errors with the predictions of each fold's ensemble. The
jackknife+-after-bootstrap (Kim et al. 2020) does the same with the networks of a bootstrap: for each row, those that did not draw it.
Both take weights for covariate shift (Prinster, Liu and Saria 2022), and each tail may have a bound of its own.

References
----------
Barber, R. F., Candes, E. J., Ramdas, A. and Tibshirani, R. J. (2021). Predictive inference with the jackknife+. Annals of
Statistics 49, 486-507.

Kim, B., Xu, C. and Barber, R. F. (2020). Predictive inference is free with the jackknife+-after-bootstrap. Advances in
Neural Information Processing Systems 33.

Prinster, D., Liu, A. and Saria, S. (2022). JAWS: Auditing predictive uncertainty under covariate shift. Advances in Neural
Information Processing Systems 35.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.uncertainty.conformal import (
    Tails,
    check_levels,
    check_weights,
    conformal_ranks,
    finite,
    order_statistics,
    positive,
    weighted_places,
)

BLOCK_SIZE = 2**21  # values at once: 16 MiB


def cv_plus_interval(
    fold_means_at_x: npt.ArrayLike,
    fold_of_row: npt.ArrayLike,
    residuals: npt.ArrayLike,
    coverage: npt.ArrayLike,
    *,
    fold_stds_at_x: npt.ArrayLike | None = None,
    tails: Tails = "joint",
    weights: npt.ArrayLike | None = None,
    new_weights: npt.ArrayLike | None = None,
) -> Array:
    """CV+ intervals at new rows, from each fold's predictions there and the training rows' out-of-fold residuals.

    Training row i has residual R_i and was left out by the ensemble of fold k(i), which predicts m_k(i)(x) at the new row
    x. With r = ceil((n_train + 1) coverage), the interval runs from the r-th largest of m_k(i)(x) - R_i to the r-th
    smallest of m_k(i)(x) + R_i, and is infinite where r exceeds n_train. Folds that disagree at x make it wider.

    With alpha = 1 - coverage, exchangeable rows and K folds of equal size, a new target is covered with a probability of
    at least 1 - 2 alpha - sqrt(2 / n_train), whatever its distribution, and of at least 1 - 2 alpha with a fold for every
    row (the jackknife+). With stable learners it is near 1 - alpha.

    With ``tails="separate"``, residuals have signs, and both bounds are quantiles (1 - coverage) / 2 and (1 + coverage) / 2 of
    m_k(i)(x) + R_i, the next one outward. By the same proof, each tail is missed with a probability of at most alpha (and
    the square root), and of near alpha / 2 with stable learners.

    With weights, every row counts by its own, and the new row by its own, too. If they are the ratio of densities under a
    covariate shift, 1 - 2 alpha holds with a fold for every row (Prinster et al. 2022); with fewer folds there is no proof.

    The interval is for the predictions of the folds, and need not hold or be centred at a mean over all folds.

    Parameters
    ----------
    fold_means_at_x : array of shape (n_folds, n_new)
        Predictions at the new rows by each fold's ensemble: the one that was not trained on that fold.
    fold_of_row : int array of shape (n_train,)
        The fold, 0 to n_folds - 1, that a training row belongs to.
    residuals : array of shape (n_train,)
        Absolute out-of-fold residuals of the training rows, or target less prediction for separate tails; with
        ``fold_stds_at_x``, in units of the standard deviation predicted out of fold (:func:`conformal_scores`).
    coverage : float or array of shape (n_levels,)
        Strictly between 0 and 1.
    fold_stds_at_x : array of shape (n_folds, n_new), optional
        Standard deviations at the new rows by each fold's ensemble, which then multiply the residuals.
    tails : {"joint", "separate"}
    weights, new_weights : arrays of shape (n_train,) and (n_new,), optional

    Returns
    -------
    array of shape (n_new, 2), or (n_new, 2, n_levels) with several levels

    Notes
    -----
    New rows are taken in blocks of about ``BLOCK_SIZE / n_train``, so memory does not grow with n_train * n_new.

    Examples
    --------
    >>> cv_plus_interval([[10.0], [12.0]], [0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0], coverage=0.6)
    array([[ 8., 15.]])
    >>> cv_plus_interval([[10.0], [12.0]], [0, 0, 1, 1], [-1.0, 2.0, 3.0, 4.0], coverage=0.6, tails="separate")
    array([[ 9., 16.]])
    """
    bounds = cv_plus_bounds(
        fold_means_at_x,
        fold_of_row,
        residuals,
        both_sides(coverage),
        fold_stds_at_x=fold_stds_at_x,
        tails=tails,
        weights=weights,
        new_weights=new_weights,
    )
    return as_pairs(bounds)[..., 0] if np.ndim(coverage) == 0 else as_pairs(bounds)


def cv_plus_bounds(
    fold_means_at_x: npt.ArrayLike,
    fold_of_row: npt.ArrayLike,
    residuals: npt.ArrayLike,
    levels: npt.ArrayLike,
    *,
    fold_stds_at_x: npt.ArrayLike | None = None,
    tails: Tails = "joint",
    weights: npt.ArrayLike | None = None,
    new_weights: npt.ArrayLike | None = None,
) -> Array:
    """The bounds of :func:`cv_plus_interval` by the level of the tail that they end, as :func:`conformal_tails` has them.

    Parameters
    ----------
    levels : array of shape (n_levels,)
        0.05 and 0.95 are the bounds of a coverage of 0.9. At 0.5 it is the middle of the bounds on both sides.

    Returns
    -------
    array of shape (n_new, n_levels)
    """
    means = finite("fold_means_at_x", fold_means_at_x)
    residuals = finite("residuals", residuals)
    folds = np.asarray(fold_of_row)
    _check_folds(means, folds, residuals, tails)
    stds = (
        np.ones((len(means), 1)) if fold_stds_at_x is None else positive("fold_stds_at_x", fold_stds_at_x, means.shape)
    )
    stds = np.broadcast_to(stds, means.shape)

    def values(rows: slice) -> tuple[Array, Array]:
        return np.take(means[:, rows].T, folds, axis=1), np.take(stds[:, rows].T, folds, axis=1) * residuals

    return _Plus(len(residuals), tails, weights, new_weights).bounds(values, means.shape[1], check_levels(levels))


def jackknife_after_bootstrap_interval(
    members_at_x: npt.ArrayLike,
    in_bag: npt.ArrayLike,
    residuals: npt.ArrayLike,
    coverage: npt.ArrayLike,
    *,
    tails: Tails = "joint",
    weights: npt.ArrayLike | None = None,
    new_weights: npt.ArrayLike | None = None,
) -> Array:
    """Jackknife+-after-bootstrap intervals at new rows, from bootstrap members and the rows that each of them drew.

    Training row i has residual R_i under the mean of the members that did not draw it, whose prediction at the new row x is
    m_-i(x). As in :func:`cv_plus_interval` the interval runs from the r-th largest of m_-i(x) - R_i to the r-th smallest of
    m_-i(x) + R_i. Rows that every member drew say nothing and are left out.

    With alpha = 1 - coverage and exchangeable rows a new target is covered with a probability of at least 1 - 2 alpha if
    the number of members is itself drawn from a binomial distribution. With a fixed number, this holds approximately. What
    :func:`cv_plus_interval` says about separate tails and weights holds here as it does for a fold for every row.

    Parameters
    ----------
    members_at_x : array of shape (n_members, n_new)
        Predictions of every member.
    in_bag : bool array of shape (n_members, n_train)
        Whether a member's sample holds a row.
    residuals : array of shape (n_train,)
        Absolute out-of-bag residuals, or target less prediction for separate tails; those of rows that every member drew are
        not read.
    coverage : float or array of shape (n_levels,)
        Strictly between 0 and 1.
    tails, weights, new_weights
        As for :func:`cv_plus_interval`.

    Returns
    -------
    array of shape (n_new, 2), or (n_new, 2, n_levels) with several levels

    Examples
    --------
    >>> in_bag = [[True, False, True], [True, True, False], [False, True, True]]
    >>> jackknife_after_bootstrap_interval([[10.0], [11.0], [12.0]], in_bag, [1.0, 2.0, 3.0], coverage=0.5)
    array([[ 8., 13.]])
    """
    bounds = jackknife_after_bootstrap_bounds(
        members_at_x, in_bag, residuals, both_sides(coverage), tails=tails, weights=weights, new_weights=new_weights
    )
    return as_pairs(bounds)[..., 0] if np.ndim(coverage) == 0 else as_pairs(bounds)


def jackknife_after_bootstrap_bounds(
    members_at_x: npt.ArrayLike,
    in_bag: npt.ArrayLike,
    residuals: npt.ArrayLike,
    levels: npt.ArrayLike,
    *,
    tails: Tails = "joint",
    weights: npt.ArrayLike | None = None,
    new_weights: npt.ArrayLike | None = None,
) -> Array:
    """The bounds of :func:`jackknife_after_bootstrap_interval` by the level of the tail, as in :func:`cv_plus_bounds`.

    Returns
    -------
    array of shape (n_new, n_levels)
    """
    members = finite("members_at_x", members_at_x)
    out: npt.NDArray[np.bool_] = ~np.asarray(in_bag, dtype=bool)
    residuals = np.asarray(residuals, dtype=np.float64)
    if members.ndim != 2 or out.shape != (len(members), len(residuals)):
        raise ValueError(
            f"members_at_x has shape {members.shape}, in_bag {out.shape} and residuals {residuals.shape}; they must be "
            "(n_members, n_new), (n_members, n_train) and (n_train,)."
        )
    usable = np.asarray(out.any(axis=0))
    residuals = finite("residuals", residuals[usable])
    shares = out[:, usable] / out[:, usable].sum(axis=0)
    if weights is not None:
        weights = check_weights("weights", weights, len(usable))[usable]

    def values(rows: slice) -> tuple[Array, Array]:
        return members[:, rows].T @ shares, residuals

    return _Plus(len(residuals), tails, weights, new_weights).bounds(values, members.shape[1], check_levels(levels))


def both_sides(coverage: npt.ArrayLike) -> Array:
    """The levels of all lower bounds, then those of all upper ones. Shape: -> ``(2 * n_levels,)``."""
    levels = check_levels(coverage)
    return np.concatenate([(1 - levels) / 2, (1 + levels) / 2])


def as_pairs(bounds: Array) -> Array:
    """Intervals of bounds at `both_sides`. Shape: ``(..., 2 * n_levels)`` -> ``(..., 2, n_levels)``."""
    return bounds.reshape(*bounds.shape[:-1], 2, bounds.shape[-1] // 2)


class _Plus:
    """Quantiles of centres and residuals of the training rows, each row with its weight.

    Shapes: weights ``(n_train,)``, new_weights ``(n_new,)``, or None both.
    """

    def __init__(self, n: int, tails: Tails, weights: npt.ArrayLike | None, new_weights: npt.ArrayLike | None) -> None:
        self.n, self.joint = n, tails == "joint"
        self.weights = None if weights is None else check_weights("weights", weights, n)
        self.own = None if weights is None else check_weights("new_weights", new_weights)

    def bounds(self, values: Callable[[slice], tuple[Array, Array]], n_new: int, levels: Array) -> Array:
        """Block by block. ``values`` gives centres ``(n_block, n_train)``, and residuals that fit.

        Shape: levels ``(k,)`` -> ``(n_new, k)``.
        """
        if self.own is not None and len(self.own) != n_new:
            raise ValueError(f"new_weights must have one number for each of the {n_new} new rows; got {len(self.own)}.")
        found = np.empty((n_new, len(levels)))
        step = max(1, BLOCK_SIZE // self.n)
        for start in range(0, n_new, step):
            rows = slice(start, start + step)
            found[rows] = self._block(*values(rows), levels, None if self.own is None else self.own[rows])
        return found

    def _block(self, centre: Array, residual: Array, levels: Array, own: Array | None) -> Array:
        up, down = centre + residual, (residual if self.joint else -residual) - centre
        below, above, middle = levels < 0.5, levels > 0.5, levels == 0.5
        found = np.empty((len(centre), len(levels)))
        if above.any():
            found[:, above] = self._quantiles(up, self._coverage(levels[above]), own)
        if below.any():  # the r-th largest is minus the r-th smallest of the negatives
            found[:, below] = -self._quantiles(down, self._coverage(1 - levels[below]), own)
        if middle.any():
            half = np.full(1, 0.5)
            both = (centre, -centre) if self.joint else (up, down)
            found[:, middle] = (self._quantiles(both[0], half, own) - self._quantiles(both[1], half, own)) / 2
        return found

    def _coverage(self, levels: Array) -> Array:
        """That the score of one side asks for."""
        return 2 * levels - 1 if self.joint else levels

    def _quantiles(self, values: Array, levels: Array, own: Array | None) -> Array:
        """Shape: ``(n_block, n_train)`` -> ``(n_block, k)``."""
        if self.weights is None or own is None:
            return order_statistics(values, conformal_ranks(self.n, levels))
        order = np.argsort(values, axis=1)
        cumulative = np.cumsum(self.weights[order], axis=1)
        needed = weighted_places(cumulative, levels, own)
        place = np.stack([(cumulative < each[:, None]).sum(axis=1) for each in needed.T], axis=1)
        ordered = np.take_along_axis(values, order, axis=1)
        return np.take_along_axis(np.pad(ordered, ((0, 0), (0, 1)), constant_values=np.inf), place, axis=1)


def _check_folds(means: Array, folds: npt.NDArray, residuals: Array, tails: Tails) -> None:
    if means.ndim != 2:
        raise ValueError(
            f"fold_means_at_x must have shape (n_folds, n_new); got {means.shape}. Take one output at a time."
        )
    if residuals.ndim != 1 or (tails == "joint" and (residuals < 0).any()):
        raise ValueError("residuals must have shape (n_train,) and be absolute values; pass abs(y - prediction).")
    if folds.shape != residuals.shape or not np.issubdtype(folds.dtype, np.integer):
        raise ValueError(
            f"fold_of_row must hold one integer for each of the {len(residuals)} residuals; got {folds.shape} {folds.dtype}."
        )
    if folds.min() < 0 or folds.max() >= len(means):
        raise ValueError(
            f"fold_of_row must lie between 0 and {len(means) - 1}, the rows of fold_means_at_x; got {folds.min()} to {folds.max()}."
        )
