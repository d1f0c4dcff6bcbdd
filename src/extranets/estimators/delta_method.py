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
from extranets.estimators._fitted import Fitted
from extranets.estimators._held_out import Moments, Plan, Sample
from extranets.estimators._parameters import (
    HELD_OUT_CONSTRAINTS,
    TRAINING_CONSTRAINTS,
    HeldOutParameters,
    documented,
)
from extranets.estimators._progress import progress_line, thread_count
from extranets.estimators._trained import TrainedRegressor
from extranets.estimators._warnings import warn_user
from extranets.networks import Architecture, Ensemble
from extranets.uncertainty.components import Array
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
    n_threads: int
    n_members: int = 1

    def __call__(self, X: npt.NDArray[np.float32]) -> tuple[Array, Array, None]:
        mean = engine.Moments(self.network, n_threads=self.n_threads)(X)[0]
        leverage = np.empty_like(mean)
        for output, curvature in enumerate(self.curvatures):
            for rows, gradients in gradient_blocks(self.network, output, X, self.n_threads):
                leverage[rows, output] = curvature.leverage(gradients)
        return mean, leverage, None


@documented
@dataclass(eq=False, repr=False)
class DeltaMethodRegressor(HeldOutParameters, TrainedRegressor):
    """One network, with intervals from a linear expansion in its weights.

    The variance at x is noise * (1 + S(x)), S(x) = f'(J'J + damping)^-1 f, where f is the gradient of the prediction with
    respect to the weights and J holds those of the training rows. For a linear network this is the interval of ordinary
    least squares. It rests on a network that is trained to convergence and has far fewer weights than there are rows; with
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
        with progress_line("Curvature", self.verbose):
            curvatures = [self._curvature(fitted.ensemble, output, sample) for output in range(sample.y.shape[1])]
        self._warn_if_singular(curvatures, fitted.recipe.architecture)
        effective = np.array([curvature.n_effective for curvature in curvatures])
        if plan is None:
            noise = self._training_noise(self._moments_of(fitted.ensemble, fitted.recipe), sample, effective)
        else:
            noise = super()._noise_of(fitted, extra, sample, plan)
        return {
            **noise,
            "_curvatures": curvatures,
            "damping_": np.array([curvature.damping for curvature in curvatures]),
            "n_effective_parameters_": effective,
        }

    def _curvature(self, network: Ensemble, output: int, sample: Sample) -> Curvature:
        n = len(network.parameters)
        information = np.zeros((n, n))
        root_weight = np.sqrt(sample.weight)[:, None]
        for rows, gradients in gradient_blocks(network, output, sample.X, thread_count(self.n_jobs)):
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

    def _moments(self) -> Moments:
        return DeltaMoments(self.ensemble_, self._curvatures, thread_count(self.n_jobs))
