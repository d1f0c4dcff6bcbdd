"""Intervals whose coverage needs no distribution, only exchangeable rows: split conformal, CV+, jackknife+-after-bootstrap.

Split conformal (Lei et al. 2018) takes the quantile of scores on rows that no network trained on. Scores are residuals in
units of the predicted standard deviation, so that widths follow it from row to row. CV+ (Barber et al. 2021) holds out no
rows for good: it combines out-of-fold residuals with the predictions of each fold's ensemble. The jackknife+-after-bootstrap
(Kim et al. 2020) does the same with the networks of a bootstrap: for each row, those that did not draw it.

References
----------
Lei, J., G'Sell, M., Rinaldo, A., Tibshirani, R. J. and Wasserman, L. (2018). Distribution-free predictive inference for
regression. Journal of the American Statistical Association 113, 1094-1111.

Barber, R. F., Candes, E. J., Ramdas, A. and Tibshirani, R. J. (2021). Predictive inference with the jackknife+. Annals of
Statistics 49, 486-507.

Kim, B., Xu, C. and Barber, R. F. (2020). Predictive inference is free with the jackknife+-after-bootstrap. Advances in
Neural Information Processing Systems 33.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array

BLOCK_SIZE = 2**21  # values at once in CV+: 16 MiB
RANK_ROUNDING = 1e-12  # relative: keeps 100 * 0.55 = 55.00000000000001 at rank 55


def conformal_scores(y: npt.ArrayLike, mean: npt.ArrayLike, std: npt.ArrayLike = 1.0) -> Array:
    """Absolute residuals in units of the predicted standard deviation: ``|y - mean| / std``.

    Parameters
    ----------
    y : array of shape (n,) or (n, n_outputs)
        Targets of rows that the networks were not trained on.
    mean : array of the shape of y
        Predictions.
    std : float or array of the shape of y, default=1
        Predicted standard deviations, or any positive scale. With one number for all rows, widths are constant.

    Returns
    -------
    array of the shape of y

    Examples
    --------
    >>> conformal_scores([1.0, 5.0], [2.0, 2.0], [0.5, 3.0])
    array([2., 1.])
    """
    y, mean = np.asarray(y, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    if y.shape != mean.shape:
        raise ValueError(f"y and mean must have the same shape; got {y.shape} and {mean.shape}.")
    with np.errstate(over="ignore"):  # a scale of almost zero makes an infinite score
        return np.abs(y - mean) / _positive("std", std, mean.shape)


def conformal_quantile(scores: npt.ArrayLike, coverage: npt.ArrayLike) -> Array:
    """The score that a new one stays below with probability ``coverage`` or a little more.

    With n scores it is the ceil((n + 1) coverage)-th smallest. If the new score is exchangeable with them and ties have
    probability zero, it lies at or below the quantile with probability exactly ceil((n + 1) coverage) / (n + 1), whatever
    the distribution. With so few scores that this rank exceeds n, no finite bound can promise the coverage, and the
    quantile is infinite: n must be at least coverage / (1 - coverage), for example 9 for 0.9 and 99 for 0.99.

    Parameters
    ----------
    scores : array of shape (n,) or (n, n_outputs)
        From :func:`conformal_scores`.
    coverage : float or array of shape (n_levels,)
        Strictly between 0 and 1.

    Returns
    -------
    array of shape () or (n_outputs,); with several levels (n_levels,) or (n_outputs, n_levels)

    Examples
    --------
    >>> print(conformal_quantile([3.0, 1.0, 4.0, 2.0], [0.5, 0.8, 0.9]))
    [ 3.  4. inf]
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.size == 0 or np.isnan(scores).any():
        raise ValueError("scores are empty or contain NaN; give at least one row, and numbers only.")
    if scores.ndim not in (1, 2):
        raise ValueError(f"scores must have shape (n,) or (n, n_outputs); got {scores.shape}.")
    quantile = _order_statistics(np.moveaxis(scores, 0, -1), conformal_ranks(len(scores), coverage))
    return quantile[..., 0] if np.ndim(coverage) == 0 else quantile


def conformal_interval(mean: npt.ArrayLike, std: npt.ArrayLike, quantile: npt.ArrayLike) -> Array:
    """``mean - quantile * std`` and ``mean + quantile * std``.

    Parameters
    ----------
    mean : array of shape (n,) or (n, n_outputs)
        Predictions at new rows.
    std : float or array of the shape of mean
        The scale that the scores were divided by.
    quantile : array as returned by :func:`conformal_quantile`
        Of shape () or (n_outputs,) for one level, (n_levels,) or (n_outputs, n_levels) for several.

    Returns
    -------
    array of shape (n, 2) or (n, n_outputs, 2); with several levels (n, 2, n_levels) or (n, n_outputs, 2, n_levels)
        Infinite where the quantile is.

    Examples
    --------
    >>> conformal_interval([10.0, 20.0], [1.0, 2.0], 1.5)
    array([[ 8.5, 11.5],
           [17. , 23. ]])
    """
    mean, quantile = np.asarray(mean, dtype=np.float64), np.asarray(quantile, dtype=np.float64)
    several = quantile.ndim == mean.ndim
    if quantile.ndim not in (mean.ndim - 1, mean.ndim) or quantile.shape[: mean.ndim - 1] != mean.shape[1:]:
        raise ValueError(
            f"quantile has shape {quantile.shape} and mean {mean.shape}; use conformal_quantile on scores with the outputs "
            "of mean."
        )
    std = np.broadcast_to(_positive("std", std, mean.shape), mean.shape)
    levels = quantile if several else quantile[..., None]
    half = std[..., None] * levels
    bounds = np.stack([mean[..., None] - half, mean[..., None] + half], axis=-2)
    return bounds if several else bounds[..., 0]


def cv_plus_interval(
    fold_means_at_x: npt.ArrayLike,
    fold_of_row: npt.ArrayLike,
    residuals: npt.ArrayLike,
    coverage: npt.ArrayLike,
    *,
    fold_stds_at_x: npt.ArrayLike | None = None,
) -> Array:
    """CV+ intervals at new rows, from each fold's predictions there and the training rows' out-of-fold residuals.

    Training row i has residual R_i and was left out by the ensemble of fold k(i), which predicts m_k(i)(x) at the new row
    x. With r = ceil((n_train + 1) coverage), the interval runs from the r-th largest of m_k(i)(x) - R_i to the r-th
    smallest of m_k(i)(x) + R_i, and is infinite where r exceeds n_train. Folds that disagree at x make it wider.

    With alpha = 1 - coverage, exchangeable rows and K folds of equal size, a new target is covered with a probability of
    at least 1 - 2 alpha - sqrt(2 / n_train), whatever its distribution, and of at least 1 - 2 alpha with a fold for every
    row (the jackknife+). With stable learners it is near 1 - alpha.

    The interval is for the predictions of the folds, and need not hold or be centred at a mean over all folds.

    Parameters
    ----------
    fold_means_at_x : array of shape (n_folds, n_new)
        Predictions at the new rows by each fold's ensemble: the one that was not trained on that fold.
    fold_of_row : int array of shape (n_train,)
        The fold, 0 to n_folds - 1, that a training row belongs to.
    residuals : array of shape (n_train,)
        Absolute out-of-fold residuals of the training rows; with ``fold_stds_at_x``, in units of the standard deviation
        predicted out of fold (:func:`conformal_scores`).
    coverage : float or array of shape (n_levels,)
        Strictly between 0 and 1.
    fold_stds_at_x : array of shape (n_folds, n_new), optional
        Standard deviations at the new rows by each fold's ensemble, which then multiply the residuals.

    Returns
    -------
    array of shape (n_new, 2), or (n_new, 2, n_levels) with several levels

    Notes
    -----
    New rows are taken in blocks of about ``BLOCK_SIZE / n_train``, so memory does not grow with n_train * n_new.

    References
    ----------
    Barber, R. F., Candes, E. J., Ramdas, A. and Tibshirani, R. J. (2021). Predictive inference with the jackknife+. Annals
    of Statistics 49, 486-507.

    Examples
    --------
    >>> cv_plus_interval([[10.0], [12.0]], [0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0], coverage=0.6)
    array([[ 8., 15.]])
    """
    means = _finite("fold_means_at_x", fold_means_at_x)
    residuals = _finite("residuals", residuals)
    folds = np.asarray(fold_of_row)
    _check_folds(means, folds, residuals)
    stds = (
        np.ones((len(means), 1)) if fold_stds_at_x is None else _positive("fold_stds_at_x", fold_stds_at_x, means.shape)
    )
    stds = np.broadcast_to(stds, means.shape)
    ranks = conformal_ranks(len(residuals), coverage)
    bounds = np.empty((means.shape[1], 2, len(ranks)))
    step = max(1, BLOCK_SIZE // len(residuals))
    for start in range(0, len(bounds), step):
        rows = slice(start, start + step)
        bounds[rows] = _cv_plus_block(means[:, rows].T, stds[:, rows].T, folds, residuals, ranks)
    return bounds[..., 0] if np.ndim(coverage) == 0 else bounds


def _cv_plus_block(means: Array, stds: Array, folds: npt.NDArray, residuals: Array, ranks: list[int]) -> Array:
    """Shape: means, stds ``(n_block, n_folds)`` -> ``(n_block, 2, n_levels)``."""
    return _plus_bounds(np.take(means, folds, axis=1), np.take(stds, folds, axis=1) * residuals, ranks)


def _plus_bounds(centre: Array, reach: Array, ranks: list[int]) -> Array:
    """Shape: centre ``(n_block, n_train)``, reach broadcast to it -> ``(n_block, 2, n_levels)``."""
    upper = _order_statistics(centre + reach, ranks)
    lower = -_order_statistics(reach - centre, ranks)  # the r-th largest is minus the r-th smallest of the negatives
    return np.stack([lower, upper], axis=1)


def jackknife_after_bootstrap_interval(
    members_at_x: npt.ArrayLike, in_bag: npt.ArrayLike, residuals: npt.ArrayLike, coverage: npt.ArrayLike
) -> Array:
    """Jackknife+-after-bootstrap intervals at new rows, from bootstrap members and the rows that each of them drew.

    Training row i has residual R_i under the mean of the members that did not draw it, whose prediction at the new row x is
    m_-i(x). As in :func:`cv_plus_interval` the interval runs from the r-th largest of m_-i(x) - R_i to the r-th smallest of
    m_-i(x) + R_i. Rows that every member drew say nothing and are left out.

    With alpha = 1 - coverage and exchangeable rows a new target is covered with a probability of at least 1 - 2 alpha if
    the number of members is itself drawn from a binomial distribution. With a fixed number, this holds approximately.

    Parameters
    ----------
    members_at_x : array of shape (n_members, n_new)
        Predictions of every member.
    in_bag : bool array of shape (n_members, n_train)
        Whether a member's sample holds a row.
    residuals : array of shape (n_train,)
        Absolute out-of-bag residuals; those of rows that every member drew are not read.
    coverage : float or array of shape (n_levels,)
        Strictly between 0 and 1.

    Returns
    -------
    array of shape (n_new, 2), or (n_new, 2, n_levels) with several levels

    References
    ----------
    Kim, B., Xu, C. and Barber, R. F. (2020). Predictive inference is free with the jackknife+-after-bootstrap. Advances in
    Neural Information Processing Systems 33.

    Examples
    --------
    >>> in_bag = [[True, False, True], [True, True, False], [False, True, True]]
    >>> jackknife_after_bootstrap_interval([[10.0], [11.0], [12.0]], in_bag, [1.0, 2.0, 3.0], coverage=0.5)
    array([[ 8., 13.]])
    """
    members, out = _finite("members_at_x", members_at_x), ~np.asarray(in_bag, dtype=bool)
    residuals = np.asarray(residuals, dtype=np.float64)
    if members.ndim != 2 or out.shape != (len(members), len(residuals)):
        raise ValueError(
            f"members_at_x has shape {members.shape}, in_bag {out.shape} and residuals {residuals.shape}; they must be "
            "(n_members, n_new), (n_members, n_train) and (n_train,)."
        )
    usable = out.any(axis=0)
    residuals = _finite("residuals", residuals[usable])
    shares = out[:, usable] / out[:, usable].sum(axis=0)
    ranks = conformal_ranks(len(residuals), coverage)
    bounds = np.empty((members.shape[1], 2, len(ranks)))
    step = max(1, BLOCK_SIZE // len(residuals))
    for start in range(0, len(bounds), step):
        rows = slice(start, start + step)
        bounds[rows] = _plus_bounds(members[:, rows].T @ shares, residuals, ranks)
    return bounds[..., 0] if np.ndim(coverage) == 0 else bounds


def conformal_ranks(n: int, coverage: npt.ArrayLike) -> list[int]:
    """ceil((n + 1) coverage) for every level, as if the product were exact."""
    levels = np.asarray(coverage, dtype=np.float64)
    if levels.ndim > 1 or levels.size == 0 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(
            f"coverage must lie strictly between 0 and 1 (such as 0.9), or be a list of such levels; got {coverage!r}."
        )
    return [math.ceil((n + 1) * level * (1 - RANK_ROUNDING)) for level in np.atleast_1d(levels)]


def _order_statistics(values: Array, ranks: list[int]) -> Array:
    """The rank-th smallest along the last axis, infinite for ranks beyond it. Shape: ``(..., n)`` -> ``(..., n_ranks)``."""
    n = values.shape[-1]
    within = sorted({rank - 1 for rank in ranks if rank <= n})
    ordered = np.partition(values, within, axis=-1) if within else values
    columns = [ordered[..., rank - 1] if rank <= n else np.full(values.shape[:-1], np.inf) for rank in ranks]
    return np.stack(columns, axis=-1)


def _finite(name: str, values: npt.ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0 or not np.isfinite(array).all():
        what = "is empty" if array.size == 0 else "contains NaN or infinity"
        raise ValueError(f"{name} {what}; give at least one row, with finite numbers only.")
    return array


def _positive(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), shape):
        raise ValueError(f"{name} must be one number or have shape {shape}, like the predictions; got {array.shape}.")
    if not ((array > 0) & np.isfinite(array)).all():
        raise ValueError(f"{name} must be positive and finite; raise values of zero to a small positive number first.")
    return array


def _check_folds(means: Array, folds: npt.NDArray, residuals: Array) -> None:
    if means.ndim != 2:
        raise ValueError(
            f"fold_means_at_x must have shape (n_folds, n_new); got {means.shape}. Take one output at a time."
        )
    if residuals.ndim != 1 or (residuals < 0).any():
        raise ValueError("residuals must have shape (n_train,) and be absolute values; pass abs(y - prediction).")
    if folds.shape != residuals.shape or not np.issubdtype(folds.dtype, np.integer):
        raise ValueError(
            f"fold_of_row must hold one integer for each of the {len(residuals)} residuals; got {folds.shape} {folds.dtype}."
        )
    if folds.min() < 0 or folds.max() >= len(means):
        raise ValueError(
            f"fold_of_row must lie between 0 and {len(means) - 1}, the rows of fold_means_at_x; got {folds.min()} to {folds.max()}."
        )
