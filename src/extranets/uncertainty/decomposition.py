"""Where an ensemble's error comes from: bias, variance and covariance of its members, and how much they disagree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array


class AmbiguityIdentity(NamedTuple):
    """The terms of ``ensemble_error = mean_member_error - ambiguity``, each of the shape of the targets."""

    ensemble_error: Array
    mean_member_error: Array
    ambiguity: Array


class MspeDecomposition(NamedTuple):
    """Bias, variance and covariance of ensemble members over training sets, each of shape ``(n_rows,)`` or ``(n_rows, n_outputs)``.

    ``bias2`` is the squared bias, ``variance`` the variance of one member (sigma_omega^2), ``covariance`` that between
    two different members (c).
    """

    bias2: Array
    variance: Array
    covariance: Array

    def mspe(self, n_members: int) -> Array:
        """Mean squared prediction error of an ensemble of T = ``n_members``: bias^2 + sigma_omega^2 / T + (T - 1) / T c.

        ``n_members`` need not be the number from which the parts were estimated.

        Shape: -> that of the parts.
        """
        if n_members < 1:
            raise ValueError(f"n_members must be at least 1; got {n_members!r}.")
        return self.bias2 + self.variance / n_members + (n_members - 1) / n_members * self.covariance

    @property
    def true_correlation(self) -> float:
        """Correlation of two members over training sets: the rows' mean covariance over their mean variance.

        Both are averaged before they are divided, so that rows with hardly any variance do not dominate. It is NaN if the
        members do not vary at all.
        """
        variance = float(np.mean(self.variance))
        return float(np.mean(self.covariance)) / variance if variance > 0 else float("nan")


def ambiguity(members: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Array:
    """How much the members disagree on each row: their mean squared deviation from the ensemble's mean.

    Parameters
    ----------
    members : array of shape (n_members, n_rows) or (n_members, n_rows, n_outputs)
        Predictions.
    weights : array of shape (n_members,), optional
        Weights of the members in the ensemble's mean; scaled to sum to one. Equal by default.

    Returns
    -------
    array of shape (n_rows,) or (n_rows, n_outputs)

    References
    ----------
    Krogh, A. and Vedelsby, J. (1995). Neural network ensembles, cross validation, and active learning. Advances in Neural
    Information Processing Systems 7, 231-238.

    Examples
    --------
    >>> ambiguity([[1.0, 5.0], [3.0, 5.0]])
    array([1., 0.])
    """
    members = np.asarray(members, dtype=np.float64)
    weights = _member_weights(weights, members)
    return _mean(np.square(members - _mean(members, weights)), weights)


def ambiguity_identity(
    y: npt.ArrayLike, members: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> AmbiguityIdentity:
    """Squared error of the ensemble as the mean squared error of its members minus their ambiguity.

    The identity holds on every row, whatever the members and the targets: averaging gains most where members disagree.

    Parameters
    ----------
    y : array of shape (n_rows,) or (n_rows, n_outputs)
        Targets.
    members : array of shape (n_members, n_rows) or (n_members, n_rows, n_outputs)
        Predictions.
    weights : array of shape (n_members,), optional
        Weights of the members in every mean; scaled to sum to one. Equal by default.

    Returns
    -------
    AmbiguityIdentity
        Each term is computed from its own definition, and the identity holds up to rounding.

    References
    ----------
    Krogh, A. and Vedelsby, J. (1995). Neural network ensembles, cross validation, and active learning. Advances in Neural
    Information Processing Systems 7, 231-238.

    Examples
    --------
    >>> error, member_error, disagreement = ambiguity_identity([0.0], [[1.0], [3.0]])
    >>> print(error, member_error, disagreement)
    [4.] [5.] [1.]
    """
    y, members = np.asarray(y, dtype=np.float64), np.asarray(members, dtype=np.float64)
    weights = _member_weights(weights, members)
    _check_rows("y", y, members.shape[1:])
    return AmbiguityIdentity(
        ensemble_error=np.square(_mean(members, weights) - y),
        mean_member_error=_mean(np.square(members - y), weights),
        ambiguity=ambiguity(members, weights),
    )


def mspe_decomposition(members: npt.ArrayLike, truth: npt.ArrayLike, *, ddof: int = 1) -> MspeDecomposition:
    """Squared bias, member variance and member covariance over fresh training sets.

    The members of one repetition are trained on the same fresh training set, those of another on another. All members
    are taken to have the same first two moments; if they differ, the variance and the covariance are averages over members
    and over pairs. Averaged over repetitions, the squared error of the ensemble's mean equals ``mspe(n_members)`` up to
    rounding, with either ``ddof``.

    Parameters
    ----------
    members : array of shape (n_repetitions, n_members, n_rows) or (n_repetitions, n_members, n_rows, n_outputs)
        Predictions at the same rows in every repetition. At least two repetitions and two members are needed.
    truth : array of shape (n_rows,) or (n_rows, n_outputs)
        The regression function at these rows. With observed targets instead, their noise would count as bias.
    ddof : {0, 1}, default=1
        1: unbiased estimates. The variances of finitely many repetitions have divisor ``n_repetitions - 1``, and what
        sampling error adds to the squared bias is taken out; this can leave ``bias2`` slightly negative on rows where the
        bias is small, so average it over rows. 0: plain moments with divisor ``n_repetitions``, and ``bias2 >= 0``.

    Returns
    -------
    MspeDecomposition

    References
    ----------
    Ueda, N. and Nakano, R. (1996). Generalization error of ensemble estimators. Proceedings of the International
    Conference on Neural Networks, 90-95.

    Examples
    --------
    Members that share half of their variance, with a bias of 2:

    >>> rng = np.random.default_rng(0)
    >>> shared, own = rng.normal(size=(20_000, 1, 1)), rng.normal(size=(20_000, 5, 1))
    >>> parts = mspe_decomposition(2 + shared + own, np.zeros(1))
    >>> print(np.round(parts.bias2, 1), np.round(parts.variance, 1), np.round(parts.covariance, 1))
    [4.] [2.] [1.]
    >>> print(np.round(parts.mspe(100), 1), round(parts.true_correlation, 1))
    [5.] 0.5
    """
    members, truth = np.asarray(members, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    _check_repetitions(members, ddof)
    _check_rows("truth", truth, members.shape[2:])
    n_repetitions, n_members = members.shape[:2]
    ensemble = members.mean(axis=1)
    ensemble_variance = ensemble.var(axis=0, ddof=ddof)
    variance = members.var(axis=0, ddof=ddof).mean(axis=0)
    bias2 = np.square(ensemble.mean(axis=0) - truth) - ddof * ensemble_variance / n_repetitions
    # The variance of the mean is the mean of all T^2 entries of the covariance matrix; T of them are variances.
    covariance = (n_members * ensemble_variance - variance) / (n_members - 1)
    return MspeDecomposition(bias2, variance, covariance)


def member_correlation(members: npt.ArrayLike) -> Array:
    """Correlations over rows between the predictions of one ensemble's members.

    .. warning::
       This measures how alike the predictions are, not how correlated the errors are. Members that fit well all follow the
       same target and have correlations near one even if their errors are independent. What ensembling can gain depends
       on the covariance over training sets: see :func:`mspe_decomposition` and its ``true_correlation``.

    Parameters
    ----------
    members : array of shape (n_members, n_rows)
        Predictions.

    Returns
    -------
    array of shape (n_members, n_members)
        Symmetric. The row and column of a member that predicts a constant are NaN: its correlations are not defined.

    Examples
    --------
    >>> member_correlation([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 2.0, 1.0]])
    array([[ 1.,  1., -1.],
           [ 1.,  1., -1.],
           [-1., -1.,  1.]])
    """
    members = np.asarray(members, dtype=np.float64)
    if members.ndim != 2 or members.shape[1] < 2:
        raise ValueError(
            f"members must have shape (n_members, n_rows) with at least two rows; got {members.shape}. "
            "Take one output at a time."
        )
    varies = np.ptp(members, axis=1) > 0
    centred = members[varies] - members[varies].mean(axis=1, keepdims=True)
    centred /= np.abs(centred).max(axis=1, keepdims=True)  # so that no square under- or overflows
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    correlation = np.full((len(members), len(members)), np.nan)
    correlation[np.ix_(varies, varies)] = np.clip(unit @ unit.T, -1, 1)
    correlation[varies, varies] = 1.0
    return correlation


def bernoulli_variance(p: npt.ArrayLike) -> Array:
    """Variance p (1 - p) of a mask's entries when units are kept with probability ``p``: largest at one half.

    Shape: p ``(...)`` -> ``(...)``.

    Examples
    --------
    >>> bernoulli_variance([0.0, 0.5, 0.75, 1.0])
    array([0.    , 0.25  , 0.1875, 0.    ])
    """
    p = np.asarray(p, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p must be a probability, or probabilities, between 0 and 1; got {p}.")
    return p * (1 - p)


def _mean(values: Array, weights: Array) -> Array:
    """Shape: values ``(n_members, ...)``, weights ``(n_members,)`` -> ``(...)``."""
    return np.average(values, axis=0, weights=weights)


def _member_weights(weights: npt.ArrayLike | None, members: Array) -> Array:
    """Checked weights, ones by default."""
    if members.ndim < 2 or len(members) == 0:
        raise ValueError(
            f"members must have shape (n_members, n_rows) or (n_members, n_rows, n_outputs); got {members.shape}. "
            "For a single member, add an axis in front."
        )
    if weights is None:
        return np.ones(len(members))
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(members),) or not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"weights must hold one non-negative number for each of the {len(members)} members, not all zero; got {weights}."
        )
    return weights


def _check_rows(name: str, values: Array, shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, as one member's predictions have; got {values.shape}.")


def _check_repetitions(members: Array, ddof: int) -> None:
    if members.ndim not in (3, 4) or members.shape[0] < 2 or members.shape[1] < 2:
        raise ValueError(
            "members must have shape (n_repetitions, n_members, n_rows) or (n_repetitions, n_members, n_rows, n_outputs) "
            f"with at least two repetitions, for a variance, and two members, for a covariance; got {members.shape}."
        )
    if ddof not in (0, 1):
        raise ValueError(f"ddof must be 0 (plain moments) or 1 (unbiased estimates); got {ddof!r}.")
