"""The two simulated processes of the Monte Carlo study.

Both have five correlated Normal inputs. The inputs are drawn, centred, made exactly uncorrelated within the sample, and
given the wanted correlations, so their sample mean is zero and their sample covariance is the wanted matrix up to
rounding. One target is a small ReLU network of the inputs, the other a linear function with three interactions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.utils import check_random_state

from extranets._arrays import Array

RandomState = int | np.random.RandomState | None

N_INPUTS = 5
# One row more than inputs: with fewer, the sample covariance is singular and cannot be undone.
MIN_SAMPLES = N_INPUTS + 1

NONLINEAR_MEANS = (-4.0, 2.0, 2.0, 2.0, 4.0)
NONLINEAR_NOISE_SD = 0.7
LINEAR_MEANS = (-4.0, 1.0, 1.0, 1.0, 5.0)
LINEAR_NOISE_SD = 1.0

# As printed in the paper. It is not symmetric: entries (1, 5) and (5, 1), and (3, 5) and (5, 3), disagree.
PRINTED_CORRELATION: Array = np.array(
    [
        [1.0, 0.5, 0.6, 0.7, 0.5],
        [0.5, 1.0, 0.7, 0.8, 0.5],
        [0.6, 0.7, 1.0, 0.7, 0.5],
        [0.7, 0.8, 0.7, 1.0, 0.8],
        [0.9, 0.5, 0.6, 0.8, 1.0],
    ]
)
PRINTED_CORRELATION.flags.writeable = False

# One row per hidden unit.
FIRST_LAYER: Array = np.array([[-3.0, -2.0, 1.0, 5.0, -3.0], [4.0, 5.0, 2.0, 2.0, -5.0], [-3.0, -4.0, 2.0, -2.0, 3.0]])
SECOND_LAYER: Array = np.array([[-1.0, 3.0, 5.0], [-2.0, 3.0, 5.0]])
OUTPUT_LAYER: Array = np.array([1.0, 2.0])
LINEAR_WEIGHTS: Array = np.array([-8.0, 2.0, 2.0, 2.0, 7.0])


@dataclass(frozen=True, eq=False)
class Simulated:
    """A simulated table whose true regression function and noise are known.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 5), float64
        Inputs with zero sample mean. They are not scaled further.
    y : ndarray of shape (n_samples,), float64
        Targets: ``signal`` plus Normal noise.
    signal : ndarray of shape (n_samples,), float64
        The regression function at the rows of ``X``, without noise.
    noise_sd : float
        Standard deviation of the noise.
    """

    X: Array
    y: Array
    signal: Array
    noise_sd: float

    def split(self, n_train: int = 1200) -> tuple[Array, Array, Array, Array]:
        """Give the first ``n_train`` rows for training and the rest for testing.

        Parameters
        ----------
        n_train : int, default=1200
            Number of training rows, at least 1 and less than the number of rows.

        Returns
        -------
        X_train, y_train, X_test, y_test : ndarrays
            Shapes ``(n_train, 5)``, ``(n_train,)``, ``(n_samples - n_train, 5)``, ``(n_samples - n_train,)``.

        Examples
        --------
        >>> X_train, y_train, X_test, y_test = linear_process(random_state=0).split()
        >>> X_train.shape, y_train.shape, X_test.shape, y_test.shape
        ((1200, 5), (1200,), (300, 5), (300,))
        """
        n_samples = len(self.y)
        if not isinstance(n_train, Integral) or not 1 <= n_train < n_samples:
            raise ValueError(f"n_train must be an integer from 1 to {n_samples - 1}, got {n_train!r}")
        return self.X[:n_train], self.y[:n_train], self.X[n_train:], self.y[n_train:]


def correlation_matrix(correlation: str = "upper") -> Array:
    """The symmetric correlation matrix of the inputs.

    Parameters
    ----------
    correlation : {"upper", "lower", "mean"}, default="upper"
        Which part of the printed matrix counts. ``"upper"`` mirrors the upper triangle, as R's ``chol`` does and as
        the paper's own moments suggest; ``"lower"`` mirrors the lower one; ``"mean"`` averages the two.

    Returns
    -------
    ndarray of shape (5, 5), float64

    Examples
    --------
    >>> [float(correlation_matrix(side)[0, 4]) for side in ("upper", "lower", "mean")]
    [0.5, 0.9, 0.7]
    """
    printed = PRINTED_CORRELATION
    if correlation == "upper":
        return np.triu(printed) + np.triu(printed, 1).T
    if correlation == "lower":
        return np.tril(printed) + np.tril(printed, -1).T
    if correlation == "mean":
        return (printed + printed.T) / 2
    raise ValueError(f"correlation must be 'upper', 'lower' or 'mean', got {correlation!r}")


def nonlinear_signal(X: Array) -> Array:
    """The nonlinear regression function: a ReLU network with hidden layers of 3 and 2 units and every bias 1.

    Shape: ``(n, 5) -> (n,)``.

    Examples
    --------
    >>> nonlinear_signal(np.zeros((1, 5)))
    array([23.])
    """
    first = np.maximum(0.0, 1.0 + X @ FIRST_LAYER.T)
    second = np.maximum(0.0, 1.0 + first @ SECOND_LAYER.T)
    return np.asarray(1.0 + second @ OUTPUT_LAYER)


def linear_signal(X: Array) -> Array:
    """The linear regression function with its three interactions.

    Shape: ``(n, 5) -> (n,)``.

    Examples
    --------
    >>> linear_signal(np.ones((1, 5)))
    array([9.])
    """
    x1, x2, x3, x4, x5 = X.T
    return np.asarray(X @ LINEAR_WEIGHTS + 3.0 * x1 * x2 - x3 * x5 + 2.0 * x1 * x4)


def nonlinear_process(
    n_samples: int = 1500, *, correlation: str = "upper", random_state: RandomState = None
) -> Simulated:
    """Simulate the nonlinear process: a 3-2 ReLU network plus noise of standard deviation 0.7.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of rows, at least 6.
    correlation : {"upper", "lower", "mean"}, default="upper"
        How to read the printed correlation matrix; see :func:`correlation_matrix`.
    random_state : int, RandomState or None, default=None
        As in scikit-learn. The same integer gives the same rows.

    Returns
    -------
    Simulated
        ``X (n_samples, 5)``, ``y (n_samples,)``, ``signal (n_samples,)`` and ``noise_sd``.

    Examples
    --------
    >>> sample = nonlinear_process(random_state=0)
    >>> sample.X.shape, sample.y.shape, sample.noise_sd
    ((1500, 5), (1500,), 0.7)
    >>> print(np.cov(sample.X.T)[0].round(6))
    [1.  0.5 0.6 0.7 0.5]
    """
    return _simulate(nonlinear_signal, NONLINEAR_MEANS, NONLINEAR_NOISE_SD, n_samples, correlation, random_state)


def linear_process(n_samples: int = 1500, *, correlation: str = "upper", random_state: RandomState = None) -> Simulated:
    """Simulate the linear process with interactions plus noise of standard deviation 1.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of rows, at least 6.
    correlation : {"upper", "lower", "mean"}, default="upper"
        How to read the printed correlation matrix; see :func:`correlation_matrix`.
    random_state : int, RandomState or None, default=None
        As in scikit-learn. The same integer gives the same rows.

    Returns
    -------
    Simulated
        ``X (n_samples, 5)``, ``y (n_samples,)``, ``signal (n_samples,)`` and ``noise_sd``.

    Examples
    --------
    >>> sample = linear_process(1000, random_state=0)
    >>> sample.X.shape, sample.noise_sd
    ((1000, 5), 1.0)
    >>> bool(np.allclose(sample.signal, linear_signal(sample.X)))
    True
    """
    return _simulate(linear_signal, LINEAR_MEANS, LINEAR_NOISE_SD, n_samples, correlation, random_state)


def _simulate(
    signal_of: Callable[[Array], Array],
    means: tuple[float, ...],
    noise_sd: float,
    n_samples: int,
    correlation: str,
    random_state: RandomState,
) -> Simulated:
    if not isinstance(n_samples, Integral) or n_samples < MIN_SAMPLES:
        raise ValueError(f"n_samples must be an integer of at least {MIN_SAMPLES}, got {n_samples!r}")
    wanted = correlation_matrix(correlation)
    # RandomState, not Generator: NumPy keeps its streams the same for ever, so a seed in a study stays valid.
    rng = check_random_state(random_state)
    X = _with_covariance(rng.normal(means, 1.0, size=(n_samples, N_INPUTS)), wanted)
    signal = signal_of(X)
    return Simulated(X=X, y=signal + rng.normal(0.0, noise_sd, size=n_samples), signal=signal, noise_sd=noise_sd)


def _with_covariance(X: Array, wanted: Array) -> Array:
    """Centre ``X`` and map it linearly so that its sample covariance is ``wanted``.

    The means are not put back: with them the targets would have three times the mean that the paper reports.

    Shape: ``(n, d), (d, d) -> (n, d)``.
    """
    centred = X - X.mean(axis=0)
    # Upper factors, as R's chol gives them: A'A = covariance, so rows are multiplied from the right.
    current = cholesky(np.cov(centred, rowvar=False), lower=False)
    uncorrelated = solve_triangular(current, centred.T, trans="T", lower=False).T
    return np.ascontiguousarray(uncorrelated @ cholesky(wanted, lower=False))
