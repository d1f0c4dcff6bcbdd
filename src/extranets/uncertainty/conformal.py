"""Split conformal intervals: coverage needs no distribution, only exchangeable rows.

Split conformal prediction (Lei et al. 2018) takes quantiles of scores on rows that no network trained on. Scores are errors in
units of the predicted standard deviation, so that widths follow it from row to row. Absolute errors give one bound for both
sides; errors with their sign give each tail a bound, and a guarantee, of its own. Where new rows are drawn from other places
than the rows of the scores, each row counts with its weight: the ratio of both densities there (Tibshirani et al. 2019). Within
groups, the rows of a group are all that is compared (Vovk et al. 2003, who call it Mondrian).

References
----------
Lei, J., G'Sell, M., Rinaldo, A., Tibshirani, R. J. and Wasserman, L. (2018). Distribution-free predictive inference for
regression. Journal of the American Statistical Association 113, 1094-1111.

Tibshirani, R. J., Barber, R. F., Candes, E. J. and Ramdas, A. (2019). Conformal prediction under covariate shift. Advances in
Neural Information Processing Systems 32.

Vovk, V., Lindsay, D., Nouretdinov, I. and Gammerman, A. (2003). Mondrian confidence machine. Technical report, Royal Holloway,
University of London.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array

Tails = Literal["joint", "separate"]

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
        return np.abs(y - mean) / positive("std", std, mean.shape)


def conformal_quantile(
    scores: npt.ArrayLike,
    coverage: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    new_weights: npt.ArrayLike | None = None,
) -> Array:
    """The score that a new one stays below with probability ``coverage`` or a little more.

    With n scores it is the ceil((n + 1) coverage)-th smallest. If the new score is exchangeable with them and ties have
    probability zero, it lies at or below the quantile with probability exactly ceil((n + 1) coverage) / (n + 1), whatever
    the distribution. With so few scores that this rank exceeds n, no finite bound can promise the coverage, and the
    quantile is infinite: n must be at least coverage / (1 - coverage), for example 9 for 0.9 and 99 for 0.99.

    With weights it is the smallest score such that the scores up to it have ``coverage`` of all weight, that of the new row
    included (Tibshirani et al. 2019). If weights are, up to a factor, the ratio of the density of new rows to that of the scores'
    rows, and both are drawn from the same distribution of y given x, a new score lies at or below it with probability
    ``coverage`` or more, averaged over both.

    Parameters
    ----------
    scores : array of shape (n,) or (n, n_outputs)
        From :func:`conformal_scores`.
    coverage : float or array of shape (n_levels,)
        Strictly between 0 and 1.
    weights : array of shape (n,), optional
        Of the scores' rows. Not negative, not all zero.
    new_weights : array of shape (n_new,)
        Of new rows, with ``weights`` only.

    Returns
    -------
    array of shape () or (n_outputs,); with several levels (n_levels,) or (n_outputs, n_levels)
        With weights, one for each new row: (n_new, ...).

    Examples
    --------
    >>> print(conformal_quantile([3.0, 1.0, 4.0, 2.0], [0.5, 0.8, 0.9]))
    [ 3.  4. inf]
    >>> print(conformal_quantile([3.0, 1.0, 4.0, 2.0], 0.5, weights=[1, 5, 1, 1], new_weights=[1, 5]))
    [1. 3.]
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.size == 0 or np.isnan(scores).any():
        raise ValueError("scores are empty or contain NaN; give at least one row, and numbers only.")
    if scores.ndim not in (1, 2):
        raise ValueError(f"scores must have shape (n,) or (n, n_outputs); got {scores.shape}.")
    by_output = np.moveaxis(scores, 0, -1)
    if weights is None:
        quantile = order_statistics(by_output, conformal_ranks(len(scores), coverage))
    else:
        own = check_weights("new_weights", new_weights)
        quantile = _weighted(by_output, check_levels(coverage), check_weights("weights", weights, len(scores)), own)
    return quantile[..., 0] if np.ndim(coverage) == 0 else quantile


def conformal_tails(
    errors: npt.ArrayLike,
    levels: npt.ArrayLike,
    *,
    tails: Tails = "separate",
    weights: npt.ArrayLike | None = None,
    new_weights: npt.ArrayLike | None = None,
) -> Array:
    """Bounds of errors: a new one lies below with a probability of ``levels`` or less in the lower half, or more in the upper.

    Each bound is an order statistic of the errors, the next one outward from the level. With tails that are ``"joint"``, both bounds
    of a central interval are equally far from zero, and the probability is promised for the interval as a whole: the score
    is the absolute error.

    Parameters
    ----------
    errors : array of shape (n,) or (n, n_outputs)
        With their signs, target less prediction.
    levels : array of shape (n_levels,)
        Strictly between 0 and 1. At 0.5 it is zero, or the middle of the bounds on both sides.
    tails : {"separate", "joint"}
    weights, new_weights
        As for :func:`conformal_quantile`.

    Returns
    -------
    array of shape ([n_outputs, ]n_levels); with weights ``(n_new, [n_outputs, ]n_levels)``

    Examples
    --------
    >>> errors = [-4.0, -1.0, 0.5, 2.0, 8.0]
    >>> print(conformal_tails(errors, [0.05, 0.2, 0.5, 0.8]))
    [-inf -4.   0.5  8. ]
    >>> print(conformal_tails(errors, [0.2, 0.5, 0.8], tails="joint"))
    [-4.  0.  4.]
    """
    errors, levels = np.asarray(errors, dtype=np.float64), check_levels(levels)
    weighing = {"weights": weights, "new_weights": new_weights}
    joint = tails == "joint"
    scores, outward = (np.abs(errors), np.abs(2 * levels - 1)) if joint else (errors, np.maximum(levels, 1 - levels))
    side = np.sign(levels - 0.5)
    outward = np.where(side == 0, 0.5, outward)  # whatever: it is set below
    above = conformal_quantile(scores, outward, **weighing)
    below = above if joint else conformal_quantile(-scores, outward, **weighing)
    with np.errstate(invalid="ignore"):
        middle = np.zeros_like(above) if joint else (above - below) / 2
    return np.where(side > 0, above, np.where(side < 0, -below, np.where(np.isnan(middle), 0.0, middle)))


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
    std = np.broadcast_to(positive("std", std, mean.shape), mean.shape)
    levels = quantile if several else quantile[..., None]
    half = std[..., None] * levels
    bounds = np.stack([mean[..., None] - half, mean[..., None] + half], axis=-2)
    return bounds if several else bounds[..., 0]


def conformal_ranks(n: int, coverage: npt.ArrayLike) -> list[int]:
    """ceil((n + 1) coverage) for every level, as if the product were exact."""
    return [math.ceil((n + 1) * level * (1 - RANK_ROUNDING)) for level in check_levels(coverage)]


def check_levels(coverage: npt.ArrayLike) -> Array:
    """Shape: -> ``(n_levels,)``."""
    levels = np.asarray(coverage, dtype=np.float64)
    if levels.ndim > 1 or levels.size == 0 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(
            f"coverage must lie strictly between 0 and 1 (such as 0.9), or be a list of such levels; got {coverage!r}."
        )
    return np.atleast_1d(levels)


def check_weights(name: str, values: npt.ArrayLike | None, n: int | None = None) -> Array:
    """Shape: -> ``(n,)``."""
    weights = np.asarray(values, dtype=np.float64)
    if weights.ndim != 1 or (n is not None and len(weights) != n):
        asked = "" if n is None else f", one for each of the {n} rows"
        raise ValueError(f"{name} must be one column of numbers{asked}; got shape {weights.shape}.")
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{name} must be finite and not negative; got {weights[row]} in row {row}.")
    if n is not None and not weights.any():
        raise ValueError(f"{name} are all zero: no row says anything about new rows.")
    return weights


def weighted_places(cumulative: Array, levels: Array, own: Array) -> Array:
    """The weight that scores up to the quantile must have. Shape: cumulative ``(..., n)``, own ``(...)`` -> ``(..., n_levels)``."""
    total = cumulative[..., -1] + own
    needed: Array = np.multiply.outer(total, levels * (1 - RANK_ROUNDING))
    return needed


def _weighted(scores: Array, levels: Array, weights: Array, own: Array) -> Array:
    """Shape: scores ``([o, ]n)``, weights ``(n,)``, own ``(n_new,)`` -> ``(n_new[, o], n_levels)``."""
    order = np.argsort(scores, axis=-1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=-1).reshape(-1, scores.shape[-1])
    cumulative = np.cumsum(weights[order], axis=-1).reshape(ordered.shape)
    found = [
        np.append(values, np.inf)[np.searchsorted(each, weighted_places(each, levels, own))]
        for values, each in zip(ordered, cumulative, strict=True)
    ]
    return np.stack(found, axis=1).reshape(len(own), *scores.shape[:-1], len(levels))


def order_statistics(values: Array, ranks: list[int]) -> Array:
    """The rank-th smallest along the last axis, infinite for ranks beyond it. Shape: ``(..., n)`` -> ``(..., n_ranks)``."""
    n = values.shape[-1]
    within = sorted({rank - 1 for rank in ranks if rank <= n})
    ordered = np.partition(values, within, axis=-1) if within else values
    columns = [ordered[..., rank - 1] if rank <= n else np.full(values.shape[:-1], np.inf) for rank in ranks]
    return np.stack(columns, axis=-1)


def finite(name: str, values: npt.ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0 or not np.isfinite(array).all():
        what = "is empty" if array.size == 0 else "contains NaN or infinity"
        raise ValueError(f"{name} {what}; give at least one row, with finite numbers only.")
    return array


def positive(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), shape):
        raise ValueError(f"{name} must be one number or have shape {shape}, like the predictions; got {array.shape}.")
    if not ((array > 0) & np.isfinite(array)).all():
        raise ValueError(f"{name} must be positive and finite; raise values of zero to a small positive number first.")
    return array
