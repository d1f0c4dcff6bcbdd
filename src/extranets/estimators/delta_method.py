"""The delta method: one network, and the curvature of its fit (Section 3.1 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions

from extranets import engine
from extranets._arrays import Array
from extranets._progress import progress_line, thread_count
from extranets._warnings import warn_user
from extranets.engine import Machine, Moments
from extranets.estimators._fitted import Fitted
from extranets.estimators._held_out import Plan, Sample
from extranets.estimators._onnx import network_predictions
from extranets.estimators._parameters import (
    HELD_OUT_CONSTRAINTS,
    TRAINING_CONSTRAINTS,
    HeldOutParameters,
    documented,
)
from extranets.estimators._trained import TRAINED_TYPES, TrainedRegressor
from extranets.model_file import require, storable
from extranets.networks import Architecture, Ensemble
from extranets.onnx_graph import Value, leverage
from extranets.uncertainty.components import HeldOut
from extranets.uncertainty.intervals import Construction, delta
from extranets.uncertainty.intervals.delta import Curvature

MOST_PARAMETERS = 10_000  # J'J of so many takes 800 MB
BLOCK_SIZE = 2**22  # gradients at once: 16 MiB


def gradient_blocks(
    network: Ensemble, head: int, X: npt.NDArray[np.float32], n_threads: int
) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
    """Rows and their gradients, ``(n_block, n_parameters)``, so few at a time that memory does not grow with rows."""
    step = max(1, BLOCK_SIZE // len(network.parameters))
    for begin in range(0, len(X), step):
        rows = slice(begin, begin + step)
        yield rows, engine.jacobian(network, 0, X[rows], head=head, n_threads=n_threads)


@dataclass(frozen=True)
class DeltaMoments:
    """The network's prediction, with the leverage S(x) in the place of a spread."""

    network: Ensemble
    curvatures: list[Curvature]  # one for each output
    machine: Machine
    n_members: int = 1

    def __call__(self, X: npt.NDArray[np.float32]) -> tuple[Array, Array, None]:
        mean = engine.moments(self.network, **self.machine)(X)[0]
        leverage = np.empty_like(mean)
        for output, curvature in enumerate(self.curvatures):
            for rows, gradients in gradient_blocks(self.network, output, X, self.machine["n_threads"]):
                leverage[rows, output] = curvature.leverage(gradients)
        return mean, leverage, None


@storable("DeltaMethodRegressor")
@documented
@dataclass(eq=False, repr=False)
class DeltaMethodRegressor(HeldOutParameters, TrainedRegressor):
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
    damping: float | Literal["auto"] = "auto"

    interval = "delta"
    constructions: ClassVar[dict[str, Construction]] = {"delta": delta.variances}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        **HELD_OUT_CONSTRAINTS,
        "damping": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    }
    _learned_types: ClassVar[dict[str, Any]] = {
        **TRAINED_TYPES,
        "_curvatures": list[Curvature],
        "damping_": Array,
        "n_effective_parameters_": Array,
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.numeric_encoding is not None:
            raise ValueError(
                "The delta method needs numeric_encoding=None: a column is a sum of the positions in its bins, so that J'J "
                "would be singular. Another estimator can use an encoding."
            )

    def _learn(self, sample: Sample) -> dict[str, Any]:
        architecture = self._architecture(sample.X.shape[1], sample.y.shape[1])
        n_parameters = architecture.n_parameters(architecture.hidden)
        if n_parameters > MOST_PARAMETERS:
            raise ValueError(
                f"hidden_layer_sizes={self.hidden_layer_sizes} makes {n_parameters} parameters, and the delta method needs a "
                f"square matrix of that size; use smaller layers (at most {MOST_PARAMETERS} parameters)."
            )
        return super()._learn(sample)

    def _noise_of(self, fitted: Fitted, extra: Ensemble, sample: Sample, plan: Plan | None) -> dict[str, Any]:
        unseen = (
            plan.fold_of_row == 0 if plan is not None and plan.keeps_rows_from_final else np.zeros(len(sample.y), bool)
        )
        with progress_line("Curvature", self.verbose):
            final = self._delta_moments(fitted.ensemble, sample, ~unseen)
        self._warn_if_singular(final.curvatures, fitted.recipe.architecture)
        effective = np.array([curvature.n_effective for curvature in final.curvatures])
        if plan is None:
            noise = {"_noise": self._training_noise(final, sample, effective), "_factors": None}
        else:
            held = plan.errors(
                fitted.ensemble, extra, sample, lambda e: final if unseen.any() else self._fold_moments(e, sample, plan)
            )
            noise = self._noise_from(held, 1, False)
        return {
            **noise,
            "_curvatures": final.curvatures,
            "damping_": np.array([curvature.damping for curvature in final.curvatures]),
            "n_effective_parameters_": effective,
        }

    def _noise_from(self, held: HeldOut, n_members: int, learned: bool) -> dict[str, Any]:
        # Squared errors on unseen rows have mean noise * (1 + S(x)).
        squares = held.residual**2 / (1 + held.spread)
        return {"_noise": np.average(squares, axis=0, weights=held.weight), "_factors": None}

    def _fold_moments(self, network: Ensemble, sample: Sample, plan: Plan) -> DeltaMoments:
        fold = plan.fold_of_member(network.members.ids)[0]
        return self._delta_moments(network, sample, plan.fold_of_row != fold)

    def _delta_moments(self, network: Ensemble, sample: Sample, rows: npt.NDArray[np.bool_]) -> DeltaMoments:
        """From the rows that the network was trained on. Shape: rows ``(n,)``."""
        outputs = range(sample.y.shape[1])
        curvatures = [self._curvature(network, output, sample.X[rows], sample.weight[rows]) for output in outputs]
        return DeltaMoments(network, curvatures, self._machine())

    def _curvature(self, network: Ensemble, output: int, X: npt.NDArray[np.float32], weight: Array) -> Curvature:
        n = len(network.parameters)
        information = np.zeros((n, n))
        root_weight = np.sqrt(weight)[:, None]
        for rows, gradients in gradient_blocks(network, output, X, thread_count(self.n_jobs)):
            weighted = gradients * root_weight[rows]
            information += weighted.T @ weighted
        return Curvature.of(information, None if self.damping == "auto" else float(self.damping))

    def _warn_if_singular(self, curvatures: list[Curvature], architecture: Architecture) -> None:
        # Scaling the weights into a ReLU unit up and those out of it down changes nothing: one direction for each unit in
        # which J'J is exactly singular and S(x) exactly zero. So it is for the weights of other outputs. Only what goes
        # beyond that is a problem.
        n_out = architecture.n_outputs
        harmless = sum(architecture.hidden) + (n_out - 1) * (architecture.layer_sizes(architecture.hidden)[-1][0] + 1)
        n_weak = max(curvature.n_weak for curvature in curvatures) - harmless
        if n_weak > 0:
            warn_user(
                f"J'J is near singular: the training rows do not determine {n_weak} of "
                f"{architecture.n_parameters(architecture.hidden)} directions in weight space, so the delta method's "
                f"intervals rest on damping={max(c.damping for c in curvatures):.3g}. Use fewer units or more rows, or "
                "another estimator.",
            )

    def _check_learned(self) -> None:
        super()._check_learned()
        require(not self._learns_noise and len(self.ensemble_) == 1, "not one network")
        require(len(self._curvatures) == len(self._y_scaling.centre), "not one curvature for each output")
        sizes = {len(curvature.root) for curvature in self._curvatures}
        require(sizes == {len(self.ensemble_.parameters)}, "the curvature does not fit the network")

    def _mean_moments(self) -> Moments:
        return engine.moments(self.ensemble_, **self._machine())

    def _moments(self) -> Moments:
        return DeltaMoments(self.ensemble_, self._curvatures, self._machine())

    def _graph_moments(self, x: Value) -> tuple[Value, Value, None]:
        roots = np.stack([curvature.root for curvature in self._curvatures])
        return network_predictions(x, self.ensemble_).mean(0), leverage(x, self.ensemble_, roots), None
