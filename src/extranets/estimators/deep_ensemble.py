"""Deep ensembles: a few mean-variance networks from different starts (Lakshminarayanan et al. 2017)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

from extranets._sklearn import Range
from extranets.estimators.fitted import Fit
from extranets.estimators.parameters import MEMBER_COUNT, TRAINING_CONSTRAINTS, WARM_UP_CONSTRAINTS, documented
from extranets.estimators.settings import resolve
from extranets.estimators.trained import TrainedRegressor
from extranets.held_out import Sample
from extranets.model_file import storable
from extranets.predictor import Predictor, Units
from extranets.predictor.intervals import Total
from extranets.predictor.noise import HeadNoise
from extranets.predictor.part import Noise, Source
from extranets.predictor.sources import TrainedNetworks


@storable("DeepEnsembleRegressor")
@documented
@dataclass(eq=False, repr=False)
class DeepEnsembleRegressor(TrainedRegressor):
    """A mixture of Gaussian networks that differ in their random starts and shuffles.

    The mean of the networks' means predicts. The variance is that of the mixture: the spread of the means plus the mean of
    the variances. Intervals are those of a Normal distribution with these moments, as in the paper that proposed it.

    Parameters
    ----------
    n_estimators : int, default=5
        Number of networks.
    {hidden}
    adversarial_epsilon : float, default=0.0
        Adversarial training: each mini-batch also holds its rows moved by this share of each feature's range in the direction
        that raises the loss most (fast gradient sign). The method's authors use 0.01; 0 is off and twice as fast.
    {warm_up}
    {adam}
    {training}
    {warm_start}
    {bounds}
    {common}

    Attributes
    ----------
    ensemble_ : Ensemble
        The trained networks.
    {fitted}

    References
    ----------
    Lakshminarayanan, B., Pritzel, A. and Blundell, C. (2017). Simple and scalable predictive uncertainty estimation using
    deep ensembles. Advances in Neural Information Processing Systems 30.

    Examples
    --------
    >>> from extranets import DeepEnsembleRegressor
    >>> from extranets.data import linear_process
    >>> X_train, y_train, X_test, y_test = linear_process(500, random_state=0).split(400)
    >>> model = DeepEnsembleRegressor(max_iter=60, random_state=0).fit(X_train, y_train)
    >>> parts = model.predict_components(X_test)
    >>> bool(parts.epistemic.mean() < parts.aleatoric.mean())
    True
    """

    n_estimators: int = 5
    hidden_layer_sizes: tuple[int, ...] | int = (50,)
    _: KW_ONLY
    adversarial_epsilon: float = 0.0
    warm_up: float = 0.5
    warm_start: bool = False

    source_kind: ClassVar[type[Source]] = TrainedNetworks
    noise_kinds: ClassVar[tuple[type[Noise], ...]] = (HeadNoise,)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        **WARM_UP_CONSTRAINTS,
        "n_estimators": [MEMBER_COUNT],
        "adversarial_epsilon": [Range(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
    }

    def _fit(self, sample: Sample, units: Units) -> Fit:
        settings = resolve(self.get_params(deep=False), len(sample.y), loss="gaussian_nll")
        trainer = self._trainer(settings, self._seed())
        networks, _ = trainer.networks(self.n_estimators, sample, None, self._old_networks())
        noise = HeadNoise.of(networks.n_outputs)
        return Fit(Predictor.uncalibrated(units, networks, noise, self.intervals, Total.name))
