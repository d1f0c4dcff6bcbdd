"""The delta method: one network, and the curvature of its fit (Section 3.1 of the paper)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from extranets._arrays import Array
from extranets._sklearn import Range, StrOptions
from extranets._warnings import warn_user
from extranets.engine import Moments
from extranets.estimators.copies import warn_of_copies
from extranets.estimators.fitted import Fit
from extranets.estimators.parameters import HELD_OUT_CONSTRAINTS, TRAINING_CONSTRAINTS, documented
from extranets.estimators.settings import resolve
from extranets.estimators.trained import TrainedRegressor, training_noise
from extranets.held_out import Plan, Sample, plan_rows
from extranets.model_file import storable
from extranets.networks import Architecture, Ensemble
from extranets.predictor import Predictor, Units
from extranets.predictor.intervals import Delta
from extranets.predictor.noise import LeverageNoise
from extranets.predictor.part import Interval, Noise, Source
from extranets.predictor.sources import Linearised
from extranets.predictor.sources.curvature import Curvature
from extranets.predictor.sources.linearised import DeltaMoments, curvature_of

MOST_PARAMETERS = 10_000  # J'J of so many takes 800 MB


@storable("DeltaMethodRegressor")
@documented
@dataclass(eq=False, repr=False)
class DeltaMethodRegressor(TrainedRegressor):
    """One network, with intervals from a linear expansion in its weights.

    The variance at x is noise * (1 + S(x)), S(x) = f'(J'J + damping)^-1 f, where f is the gradient of the prediction with
    respect to the weights and J holds those of the training rows. For a linear network with ``noise="train"`` this is the
    interval of ordinary least squares. It rests on a network that is trained to convergence and has far fewer weights than there are rows; with
    more, J'J is near singular and a warning says so.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(10,)
        Units per hidden layer; ``()`` makes a linear model. At most 10,000 weights.
    {adam}
    {training}
    {held_out}
    damping : float or "auto", default="auto"
        What is added to the diagonal of J'J (of standardised data). ``"auto"``: nothing where J'J is well-conditioned, else
        a millionth of its largest eigenvalue.
    {bounds}
    {common}

    Attributes
    ----------
    ensemble_ : Ensemble
        The one network.
    damping_ : array of shape (n_outputs,)
        The damping that was used.
    n_effective_parameters_ : array of shape (n_outputs,)
        trace(J'J (J'J + damping)^-1): the parameters that the data determine.
    noise_variance_ : float or array of shape (n_outputs,)
        Residual variance in squared units of the target.
    {fitted}

    Examples
    --------
    >>> from extranets import DeltaMethodRegressor
    >>> from extranets.data import linear_process
    >>> X_train, y_train, X_test, y_test = linear_process(500, random_state=0).split(400)
    >>> model = DeltaMethodRegressor(hidden_layer_sizes=(), random_state=0).fit(X_train, y_train)
    >>> round(float(model.n_effective_parameters_[0]), 3)
    6.0
    """

    hidden_layer_sizes: tuple[int, ...] | int = (10,)
    _: KW_ONLY
    noise: Literal["cv", "holdout", "train"] = "cv"
    n_folds: int = 5
    holdout_fraction: float = 0.2
    damping: float | Literal["auto"] = "auto"

    intervals: ClassVar[tuple[type[Interval], ...]] = (Delta,)
    leaves_rows_out: ClassVar[bool] = True
    source_kind: ClassVar[type[Source]] = Linearised
    noise_kinds: ClassVar[tuple[type[Noise], ...]] = (LeverageNoise,)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        **HELD_OUT_CONSTRAINTS,
        "damping": [StrOptions({"auto"}), Range(Real, 0, None, closed="left")],
    }

    @property
    def damping_(self) -> Array:
        return np.array([curvature.damping for curvature in self._curvatures])

    @property
    def n_effective_parameters_(self) -> Array:
        return np.array([curvature.n_effective for curvature in self._curvatures])

    @property
    def _curvatures(self) -> list[Curvature]:
        source = self.model_.source
        assert isinstance(source, Linearised)  # which `source_kind` sees to
        return source.curvatures

    def _check_combinations(self) -> None:
        if self.numeric_encoding is not None:
            raise ValueError(
                "The delta method needs numeric_encoding=None: a column is a sum of the positions in its bins, so that J'J "
                "would be singular. Another estimator can use an encoding."
            )

    def _fit(self, sample: Sample, units: Units) -> Fit:
        seed, n_rows = self._seed(), len(sample.y)
        settings = resolve(self.get_params(deep=False), n_rows)
        check_size(settings.architecture(sample.X, sample.y.shape[1]))
        n_folds, fraction = self.n_folds, self.holdout_fraction
        plan = plan_rows(self.noise, n_rows, 1, seed, n_folds=n_folds, fraction=fraction, parting=sample.parting)
        if plan is not None:
            warn_of_copies(sample)
        network, folds = self._trainer(settings, seed).networks(1, sample, plan)
        seen = sample.part(plan.fold_of_row < 0) if plan is not None and plan.keeps_rows_from_final else sample
        with self._watch("Curvature"):
            source = Linearised(network, self._curvatures_of(network.ensemble, seen))
        warn_if_singular(source)
        if plan is None:
            effective = np.array([curvature.n_effective for curvature in source.curvatures])
            moments = source.moments(self._machine())
            noise = LeverageNoise(training_noise(moments, sample, effective, honest="cv"))
        else:
            moments_of = partial(self._held_out_moments, source, plan, sample)
            noise = LeverageNoise.learn(plan.errors(network.ensemble, folds, sample, moments_of))
        return Fit(Predictor.uncalibrated(units, source, noise, self.intervals, Delta.name))

    def _held_out_moments(self, source: Linearised, plan: Plan, sample: Sample, network: Ensemble) -> Moments:
        """How a network predicts the rows that it left out."""
        if plan.keeps_rows_from_final:
            return source.moments(self._machine())
        (fold,) = plan.fold_of_member(network.members.ids)
        curvatures = self._curvatures_of(network, sample.part(plan.seen(fold)))
        return DeltaMoments(network, curvatures, self._machine())

    def _curvatures_of(self, network: Ensemble, sample: Sample) -> list[Curvature]:
        """One for each output, from the rows that the network was trained on."""
        damping = None if self.damping == "auto" else float(self.damping)
        n_threads = self._machine()["n_threads"]
        outputs = range(sample.y.shape[1])
        return [curvature_of(network, output, sample.X, sample.weight, damping, n_threads) for output in outputs]


def check_size(architecture: Architecture) -> None:
    """Refuse a network whose J'J would not fit into memory."""
    n_parameters = architecture.n_parameters(architecture.hidden)
    if n_parameters > MOST_PARAMETERS:
        raise ValueError(
            f"hidden_layer_sizes={architecture.hidden} makes {n_parameters} parameters, and the delta method needs a "
            f"square matrix of that size; use smaller layers (at most {MOST_PARAMETERS} parameters)."
        )


def warn_if_singular(source: Linearised) -> None:
    """Warn where the training rows leave more directions in weight space open than the network's own symmetries."""
    # Scaling the weights into a ReLU unit up and those out of it down changes nothing: one direction for each unit in
    # which J'J is exactly singular and S(x) exactly zero. So it is for the weights of other outputs. Only what goes
    # beyond that is a problem.
    architecture = source.networks.recipe.architecture
    n_out, hidden = architecture.n_outputs, architecture.hidden
    harmless = sum(hidden) + (n_out - 1) * (architecture.layer_sizes(hidden)[-1][0] + 1)
    n_weak = max(curvature.n_weak for curvature in source.curvatures) - harmless
    if n_weak > 0:
        warn_user(
            f"J'J is near singular: the training rows do not determine {n_weak} of {architecture.n_parameters(hidden)} "
            "directions in weight space, so the delta method's intervals rest on "
            f"damping={max(c.damping for c in source.curvatures):.3g}. Use fewer units or more rows, or another estimator."
        )
