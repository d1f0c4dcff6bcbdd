"""Variational inference: one network whose weights are Gaussian distributions (Graves 2011)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from extranets import engine
from extranets._progress import progress_line, thread_count
from extranets._random import draw_seed
from extranets._warnings import warn_user
from extranets.engine import Moments, variational
from extranets.estimators._base import NetsRegressor
from extranets.estimators._fitted import check_seed
from extranets.estimators._held_out import Sample, training_r2
from extranets.estimators._onnx import network_moments
from extranets.estimators._parameters import ADAM_CONSTRAINTS, MOST_COUNT, AdamParameters, documented
from extranets.estimators._stored import NOISE_TYPES
from extranets.model_file import require, storable
from extranets.networks import Architecture, Ensemble, draw_members
from extranets.onnx_graph import Value

PRUNED_R2 = 0.1  # of the training rows, below which a network counts as pruned


@storable("VariationalRegressor")
@documented
@dataclass(eq=False, repr=False)
class VariationalRegressor(AdamParameters, NetsRegressor):
    """A network with an independent Gaussian for every weight, found by variational inference.

    Training minimises the expected squared error in units of the noise plus the complexity cost, the Kullback-Leibler
    divergence of the weights' distribution from a Gaussian prior. The variance of the noise and that of the prior are learned
    too. Predictions average networks whose weights are drawn from the distribution; their spread plus the noise is the
    predictive variance.

    Parameters
    ----------
    {hidden}
    n_passes : int, default=100
        Weight samples of a prediction. May be changed after fit.
    {adam}
    {common}

    Attributes
    ----------
    posterior_ : extranets.engine.variational.Posterior
        Means and standard deviations of the weights, in units of standardised data.
    ensemble_ : Ensemble
        The ``n_passes`` networks that are drawn for predictions.
    noise_variance_ : float or array of shape (n_outputs,)
        Variance of the noise in squared units of the target.
    prior_variance_ : float
        Variance of the weights' prior.
    loss_curve_ : array of shape (1, max_iter)
        Mean training loss per epoch.
    {fit_info}

    Notes
    -----
    With independent weights, units whose use does not pay for their complexity cost are pruned: their weights return to the
    prior. Where rows are few or noisy that may be every unit, and then the prediction is a constant and all else noise: 50
    units need some 400 rows where half of the variance is noise. ``fit`` warns of it; fewer units help.

    References
    ----------
    Graves, A. (2011). Practical variational inference for neural networks. Advances in Neural Information Processing
    Systems 24.

    Examples
    --------
    >>> from extranets import VariationalRegressor
    >>> from extranets.data import linear_process
    >>> X_train, y_train, X_test, y_test = linear_process(500, random_state=0).split(400)
    >>> model = VariationalRegressor(max_iter=100, random_state=0).fit(X_train, y_train)
    >>> bool(model.score(X_test, y_test) > 0.9)
    True
    """

    _: KW_ONLY
    n_passes: int = 100

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ADAM_CONSTRAINTS,
        "n_passes": [Interval(Integral, 1, MOST_COUNT, closed="left")],
    }
    _learned_types: ClassVar[dict[str, Any]] = {
        **NOISE_TYPES,
        "posterior_": variational.Posterior,
        "prior_variance_": float,
        "loss_curve_": npt.NDArray[np.float32],
        "_seed": int,
    }

    @property
    def ensemble_(self) -> Ensemble:
        self._validate_params()  # n_passes may have changed since fit
        return variational.sample(self.posterior_, 0, self.n_passes, self._seed)

    def _learn(self, sample: Sample) -> dict[str, Any]:
        n_outputs = sample.y.shape[1]
        seed = draw_seed(self.random_state)
        network = draw_members(Architecture(sample.X.shape[1], self._hidden(), n_outputs, n_outputs), 1.0, seed, [0])
        with progress_line("Variational inference", self.verbose) as progress:
            posterior = variational.train(
                network,
                sample.X,
                sample.y,
                self._options(len(sample.y)),
                seed,
                sample_weight=sample.weight_or_none,
                n_threads=thread_count(self.n_jobs),
                progress=progress,
            )
        self._check_fit(posterior, sample)
        return {
            "posterior_": posterior,
            "prior_variance_": float(posterior.prior_variance[0]),
            "loss_curve_": posterior.loss_curve,
            "n_iter_": posterior.loss_curve.shape[1],
            "_seed": seed,
            "_noise": posterior.noise_variance[0].astype(float),
            "_factors": None,
            "_learns_noise": False,
        }

    def _check_fit(self, posterior: variational.Posterior, sample: Sample) -> None:
        # One network with the weights' means tells as much as the average of many, and costs little.
        middle = Ensemble(posterior.members, posterior.mean)
        r2 = training_r2(engine.moments(middle, n_threads=thread_count(self.n_jobs)), sample)
        if (r2 < PRUNED_R2).any():
            where = f" of output {r2.argmin()}" if len(r2) > 1 else ""
            warn_user(
                f"Predictions{where} hardly vary (training R^2 {r2.min():.2g}): variational inference has pruned the network, as "
                "it does where rows are few or noisy. If X does explain y, use fewer units, for example "
                "hidden_layer_sizes=(10,), or another method, such as MCDropoutRegressor.",
                ConvergenceWarning,
            )

    def _construction(self) -> dict[str, Any]:
        return {**super()._construction(), "n_passes": self.n_passes}

    def _check_learned(self) -> None:
        super()._check_learned()
        check_seed(self._seed)
        architecture = self.posterior_.members.architecture
        require(not self._learns_noise and len(self.posterior_) == 1, "not one network")
        require(architecture.n_inputs == self.n_features_in_, "the posterior does not fit the features")
        require(architecture.n_outputs == len(self._y_scaling.centre), "the posterior does not fit the outputs")

    def _moments(self) -> Moments:
        return engine.moments(self.ensemble_, n_threads=thread_count(self.n_jobs))

    def _graph_moments(self, x: Value) -> tuple[Value, Value, Value | None]:
        return network_moments(x, self.ensemble_)

    def _members(self, X: npt.NDArray[np.float32]) -> npt.NDArray[np.floating]:
        return engine.forward(self.ensemble_, X, n_threads=thread_count(self.n_jobs))
