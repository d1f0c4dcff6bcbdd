"""Probabilistic back-propagation (Hernandez-Lobato & Adams 2015)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from extranets import engine
from extranets._arrays import Array
from extranets._progress import progress_line, thread_count
from extranets._random import draw_seed
from extranets._warnings import warn_user
from extranets.engine import Moments, pbp
from extranets.estimators._base import NetsRegressor
from extranets.estimators._fitted import check_seed
from extranets.estimators._held_out import Sample, training_r2
from extranets.estimators._parameters import COMMON_CONSTRAINTS, MOST_COUNT, documented
from extranets.estimators._stored import NOISE_TYPES
from extranets.model_file import require, storable
from extranets.onnx_graph import Value, gaussian_moments


@dataclass(frozen=True)
class PosteriorMoments:
    """Mean and variance of the output under the weights' posterior: formulas, no samples."""

    posterior: pbp.Posterior
    n_threads: int
    n_members: int = 1

    def __call__(self, X: npt.NDArray[np.float32]) -> tuple[Array, Array, None]:
        mean, variance = pbp.moments(self.posterior, X, n_threads=self.n_threads)
        return mean.T, variance.T, None


@storable("PBPRegressor")
@documented
@dataclass(eq=False, repr=False)
class PBPRegressor(NetsRegressor):
    """A network with an independent Gaussian for every weight, found by assumed-density filtering.

    Rows are taken one after the other; each updates the means and variances of all weights by moment matching. The precision
    of the noise and that of the weights' prior have gamma distributions that are learned on the way. There is no learning
    rate to set. Several outputs have a network each.

    Parameters
    ----------
    {hidden}
    max_iter : int, default=40
        Passes over the rows.
    n_passes : int, default=100
        Networks that :meth:`predict_members` draws from the posterior. Predictions need none: their moments are formulas.
    {common}

    Attributes
    ----------
    posterior_ : extranets.engine.pbp.Posterior
        Means and variances of the weights, and the gamma distributions, in units of standardised data.
    noise_variance_ : float or array of shape (n_outputs,)
        Expected variance of the noise in squared units of the target.
    {fit_info}

    Notes
    -----
    A row of weight w counts as one with the noise variance divided by w.

    Every pass takes the rows for new ones, as the method's authors do. For a linear network the weights' variance is therefore
    that of exact inference divided by ``max_iter``: epistemic variances say where the network is less certain, not by how much.

    The last rows of the last pass count most: one that lies far from the others may spoil all predictions. ``fit`` warns where
    the training rows are predicted worse than by their mean.

    References
    ----------
    Hernandez-Lobato, J. M. and Adams, R. P. (2015). Probabilistic backpropagation for scalable learning of Bayesian neural
    networks. International Conference on Machine Learning.

    Examples
    --------
    >>> from extranets import PBPRegressor
    >>> from extranets.data import linear_process
    >>> X_train, y_train, X_test, y_test = linear_process(500, random_state=0).split(400)
    >>> model = PBPRegressor(random_state=0).fit(X_train, y_train)
    >>> bool(model.score(X_test, y_test) > 0.9)
    True
    """

    _: KW_ONLY
    max_iter: int = 40
    n_passes: int = 100

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON_CONSTRAINTS,
        "max_iter": [Interval(Integral, 1, MOST_COUNT, closed="left")],
        "n_passes": [Interval(Integral, 1, MOST_COUNT, closed="left")],
    }
    _learned_types: ClassVar[dict[str, Any]] = {**NOISE_TYPES, "posterior_": pbp.Posterior, "_seed": int}

    def _learn(self, sample: Sample) -> dict[str, Any]:
        outputs = np.arange(sample.y.shape[1])
        seed = draw_seed(self.random_state)
        with progress_line("Probabilistic back-propagation", self.verbose) as progress:
            posterior = pbp.train(
                sample.X,
                sample.y,
                self._hidden(),
                ids=outputs,
                targets=outputs,
                n_passes=self.max_iter,
                seed=seed,
                sample_weight=sample.weight_or_none,
                n_threads=thread_count(self.n_jobs),
                progress=progress,
            )
        self._check_fit(posterior, sample)
        return {
            "posterior_": posterior,
            "n_iter_": self.max_iter,
            "_seed": seed,
            "_noise": posterior.noise_variance,
            "_factors": None,
            "_learns_noise": False,
        }

    def _check_fit(self, posterior: pbp.Posterior, sample: Sample) -> None:
        r2 = training_r2(PosteriorMoments(posterior, thread_count(self.n_jobs)), sample)
        if (r2 < 0).any():
            where = f" of output {r2.argmin()}" if len(r2) > 1 else ""
            warn_user(
                f"Predictions of the training rows{where} are worse than their mean (R^2 {r2.min():.2g}). Look for rows far "
                "from the others, which spoil the fit if they are among the last to be learned; or set a larger max_iter or "
                "another random_state.",
                ConvergenceWarning,
            )

    def _check_learned(self) -> None:
        super()._check_learned()
        check_seed(self._seed)
        require(not self._learns_noise, "the networks predict no noise")
        require(self.posterior_.architecture.n_inputs == self.n_features_in_, "the posterior does not fit the features")
        require(len(self.posterior_) == len(self._y_scaling.centre), "the posterior does not fit the outputs")

    def _moments(self) -> Moments:
        return PosteriorMoments(self.posterior_, thread_count(self.n_jobs))

    def _graph_moments(self, x: Value) -> tuple[Value, Value, None]:
        posterior = self.posterior_
        return *gaussian_moments(x, posterior.architecture, posterior.mean, posterior.variance), None

    def _members(self, X: npt.NDArray[np.float32]) -> npt.NDArray[np.floating]:
        self._validate_params()  # n_passes may have changed since fit
        networks = [
            pbp.sample(self.posterior_, output, self.n_passes, self._seed) for output in range(len(self.posterior_))
        ]
        n_threads = thread_count(self.n_jobs)
        return np.concatenate([engine.forward(network, X, n_threads=n_threads) for network in networks], axis=2)
