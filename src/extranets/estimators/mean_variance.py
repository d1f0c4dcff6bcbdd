"""Mean-variance estimation: one network with two heads (Nix & Weigend 1994)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from extranets.estimators.fitted import Fit
from extranets.estimators.parameters import TRAINING_CONSTRAINTS, WARM_UP_CONSTRAINTS, documented
from extranets.estimators.settings import resolve
from extranets.estimators.trained import TrainedRegressor
from extranets.held_out import Sample
from extranets.model_file import require, storable
from extranets.predictor import Predictor, Units
from extranets.predictor.intervals import Total
from extranets.predictor.noise import HeadNoise
from extranets.predictor.part import Noise, Source
from extranets.predictor.sources import TrainedNetworks


@storable("MeanVarianceRegressor")
@documented
@dataclass(eq=False, repr=False)
class MeanVarianceRegressor(TrainedRegressor):
    """One network that predicts a mean and a variance, trained by Gaussian likelihood.

    All of its variance is noise: a single network has no opinion on its own error.

    Parameters
    ----------
    {hidden}
    {warm_up}
    {adam}
    {training}
    {bounds}
    {common}

    Attributes
    ----------
    ensemble_ : Ensemble
        The one network.
    {fitted}

    References
    ----------
    Nix, D. A. and Weigend, A. S. (1994). Estimating the mean and variance of the target probability distribution. IEEE
    International Conference on Neural Networks, 55-60.

    Examples
    --------
    >>> import numpy as np
    >>> from extranets import MeanVarianceRegressor
    >>> x = np.linspace(0, 1, 500)
    >>> y = x * np.random.default_rng(0).standard_normal(500)  # the noise grows with x
    >>> model = MeanVarianceRegressor(random_state=0, max_iter=100).fit(x[:, None], y)
    >>> quiet, loud = model.predict_var([[0.1], [0.9]])
    >>> bool(loud > 5 * quiet)
    True
    """

    hidden_layer_sizes: tuple[int, ...] | int = (50,)
    _: KW_ONLY
    warm_up: float = 0.5

    source_kind: ClassVar[type[Source]] = TrainedNetworks
    noise_kinds: ClassVar[tuple[type[Noise], ...]] = (HeadNoise,)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**TRAINING_CONSTRAINTS, **WARM_UP_CONSTRAINTS}

    def _fit(self, sample: Sample, units: Units) -> Fit:
        settings = resolve(self.get_params(deep=False), len(sample.y), loss="gaussian_nll")
        network, _ = self._trainer(settings, self._seed()).networks(1, sample, None)
        noise = HeadNoise.of(network.n_outputs)
        return Fit(Predictor.uncalibrated(units, network, noise, self.intervals, Total.name))

    def check_extras(self, model: Predictor, extras: dict[str, Any], n_rows: int) -> None:
        require(model.source.n_members == 1, "more than one network")
