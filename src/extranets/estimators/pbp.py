"""Probabilistic back-propagation (Hernandez-Lobato & Adams 2015)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from extranets._random import draw_seed
from extranets._sklearn import Range
from extranets._warnings import warn_user
from extranets.engine import TrainingData, pbp
from extranets.engine.options import MOST_COUNT
from extranets.estimators.base import NetsRegressor
from extranets.estimators.fitted import Fit
from extranets.estimators.parameters import COMMON_CONSTRAINTS, documented
from extranets.estimators.settings import hidden_units
from extranets.held_out import Sample, training_r2
from extranets.model_file import storable
from extranets.predictor import Predictor, Units
from extranets.predictor.intervals import Total
from extranets.predictor.noise import ConstantNoise
from extranets.predictor.part import Noise, Source
from extranets.predictor.sources import GaussianWeights
from extranets.predictor.sources.networks import MOST_PASSES


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
    {bounds}
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

    hidden_layer_sizes: tuple[int, ...] | int = (50,)
    _: KW_ONLY
    max_iter: int = 40
    n_passes: int = 100

    changeable: ClassVar[tuple[str, ...]] = ("n_passes",)
    keeps_networks: ClassVar[bool] = False
    source_kind: ClassVar[type[Source]] = GaussianWeights
    noise_kinds: ClassVar[tuple[type[Noise], ...]] = (ConstantNoise,)
    extra_types: ClassVar[dict[str, Any]] = {"n_iter_": int}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON_CONSTRAINTS,
        "max_iter": [Range(Integral, 1, MOST_COUNT, closed="left")],
        "n_passes": [Range(Integral, 1, MOST_PASSES, closed="both")],
    }

    n_iter_: int = field(init=False)

    @property
    def posterior_(self) -> pbp.Posterior:
        source = self.model_.source
        assert isinstance(source, GaussianWeights)  # which `source_kind` sees to
        return source.posterior

    def _fit(self, sample: Sample, units: Units) -> Fit:
        outputs = np.arange(sample.y.shape[1])
        seed, machine = draw_seed(self.random_state), self._machine()
        with self._watch("Probabilistic back-propagation") as progress:
            posterior = pbp.train(
                TrainingData(sample.X, sample.y, sample.weight_or_none),
                hidden_units(self.hidden_layer_sizes),
                ids=outputs,
                targets=outputs,
                n_passes=self.max_iter,
                seed=seed,
                n_threads=machine["n_threads"],
                progress=progress,
            )
        source = GaussianWeights(posterior, seed, self.n_passes)
        warn_of_bad_fit(training_r2(source.moments(machine), sample).tolist())
        noise = ConstantNoise(posterior.noise_variance)
        model = Predictor.uncalibrated(units, source, noise, self.intervals, Total.name)
        return Fit(model, {"n_iter_": self.max_iter})


def warn_of_bad_fit(r2: list[float]) -> None:
    """Warn where the training rows are predicted worse than by their mean. One R^2 for each output."""
    worst = min(r2)
    if worst < 0:
        where = f" of output {r2.index(worst)}" if len(r2) > 1 else ""
        warn_user(
            f"Predictions of the training rows{where} are worse than their mean (R^2 {worst:.2g}). Look for rows far from "
            "the others, which spoil the fit if they are among the last to be learned; or set a larger max_iter or "
            "another random_state.",
            ConvergenceWarning,
        )
