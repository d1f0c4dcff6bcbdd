"""Variational inference: one network whose weights are Gaussian distributions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal

from sklearn.exceptions import ConvergenceWarning

from extranets import engine
from extranets._arrays import Float32
from extranets._random import draw_seed
from extranets._sklearn import Range, StrOptions
from extranets._warnings import warn_user
from extranets.engine import TrainingData, variational
from extranets.estimators.fitted import Fit
from extranets.estimators.parameters import ADAM_CONSTRAINTS, documented
from extranets.estimators.settings import resolve_adam
from extranets.estimators.trained import AdamRegressor
from extranets.held_out import Sample, training_r2
from extranets.model_file import storable
from extranets.networks import Architecture, Ensemble, draw_members
from extranets.predictor import Predictor, Units
from extranets.predictor.intervals import Total
from extranets.predictor.noise import ConstantNoise
from extranets.predictor.part import Noise, Source
from extranets.predictor.sources import WeightSamples
from extranets.predictor.sources.networks import MOST_PASSES

PRUNED_R2 = 0.1  # of the training rows, below which a network counts as pruned


@storable("VariationalRegressor")
@documented
@dataclass(eq=False, repr=False)
class VariationalRegressor(AdamRegressor):
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
    gradient : {"reparameterised", "graves"}, default="reparameterised"
        How the standard deviations of the weights are learned. ``"reparameterised"``: from the gradient at the drawn weights,
        with a prior of mean zero, and a complexity cost that grows during the first half of the steps. ``"graves"``: as Graves
        (2011) has it, from the squared gradients of single rows, with the prior's mean learned and the full cost from the
        start; it is there for comparison. His optimiser was another one than Adam.
    {adam}
    {bounds}
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

    hidden_layer_sizes: tuple[int, ...] | int = (50,)
    _: KW_ONLY
    n_passes: int = 100
    gradient: Literal["reparameterised", "graves"] = "reparameterised"

    changeable: ClassVar[tuple[str, ...]] = ("n_passes",)
    keeps_networks: ClassVar[bool] = False
    source_kind: ClassVar[type[Source]] = WeightSamples
    noise_kinds: ClassVar[tuple[type[Noise], ...]] = (ConstantNoise,)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ADAM_CONSTRAINTS,
        "n_passes": [Range(Integral, 1, MOST_PASSES, closed="both")],
        "gradient": [StrOptions({"reparameterised", "graves"})],
    }

    @property
    def ensemble_(self) -> Ensemble:
        return weight_samples(self._readable()).ensemble

    @property
    def posterior_(self) -> variational.Posterior:
        return weight_samples(self.model_).posterior

    @property
    def prior_variance_(self) -> float:
        return float(self.posterior_.prior_variance[0])

    @property
    def loss_curve_(self) -> Float32:
        return self.posterior_.loss_curve

    @property
    def n_iter_(self) -> int:
        return self.loss_curve_.shape[1]

    def _fit(self, sample: Sample, units: Units) -> Fit:
        n_rows, n_outputs = sample.y.shape
        seed, machine, settings = (
            draw_seed(self.random_state),
            self._machine(),
            resolve_adam(self.get_params(deep=False), n_rows),
        )
        architecture = Architecture(sample.X.shape[1], settings.hidden_layer_sizes, n_outputs, n_outputs)
        with self._watch("Variational inference") as progress:
            posterior = variational.train(
                draw_members(architecture, 1.0, seed, [0]),
                TrainingData(sample.X, sample.y, sample.weight_or_none),
                settings.options(),
                seed,
                graves=self.gradient == "graves",
                n_threads=machine["n_threads"],
                progress=progress,
            )
        # One network with the weights' means tells as much as the average of many, and costs little.
        middle = engine.moments(Ensemble(posterior.members, posterior.mean), **machine)
        warn_if_pruned(training_r2(middle, sample).tolist())
        source = WeightSamples(posterior, seed, self.n_passes)
        noise = ConstantNoise(posterior.noise_variance[0].astype(float))
        return Fit(Predictor.uncalibrated(units, source, noise, self.intervals, Total.name))


def weight_samples(model: Predictor) -> WeightSamples:
    """What predicts in a model of variational inference."""
    assert isinstance(model.source, WeightSamples)  # which `source_kind` sees to
    return model.source


def warn_if_pruned(r2: list[float]) -> None:
    """Warn where the weights went back to their prior. One R^2 for each output."""
    worst = min(r2)
    if worst < PRUNED_R2:
        where = f" of output {r2.index(worst)}" if len(r2) > 1 else ""
        warn_user(
            f"Predictions{where} hardly vary (training R^2 {worst:.2g}): variational inference has pruned the network, as it "
            "does where rows are few or noisy. If X does explain y, use fewer units, for example "
            "hidden_layer_sizes=(10,), or another method, such as MCDropoutRegressor.",
            ConvergenceWarning,
        )
