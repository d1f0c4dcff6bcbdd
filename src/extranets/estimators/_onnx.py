"""An estimator as an ONNX file: what all of them share."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from extranets import onnx_graph
from extranets._arrays import Array
from extranets.engine.options import LOG_VARIANCE_LIMIT
from extranets.estimators._conformal import SMALLEST_STD, warn_if_infinite
from extranets.estimators._frames import level_name
from extranets.estimators._scaling import LARGEST_VALUE, Scaling
from extranets.estimators._validation import check_levels
from extranets.networks import Ensemble
from extranets.onnx_graph import Bounds, Graph, Value
from extranets.uncertainty.conformal import conformal_quantile, conformal_ranks
from extranets.uncertainty.predictive import multiples

if TYPE_CHECKING:
    from extranets.estimators._base import NetsRegressor

ROWS = "n"  # name of the free dimension
MOST_RESIDUALS = 10_000  # that every row is compared with: 80 MB for a thousand rows


class OnnxEstimator(ABC):
    """`to_onnx`, and what an estimator of its own kind has to say about it."""

    @property
    @abstractmethod
    def degrees_of_freedom_(self) -> float | Array | None:
        """Of Student's t as predictive distribution; None: it is Normal."""

    def to_onnx(self, path: str | os.PathLike[str], *, coverage: float | Sequence[float] = 0.9) -> None:
        """Write mean, standard deviation and interval as one ONNX graph, for use without this package or Python.

        The graph has the input ``X``, float64 of shape (n_samples, n_features), with any number of rows, and the outputs
        ``mean``, ``sd``, ``lower`` and ``upper``, float64 of the shape of ``predict``. A list of levels makes outputs
        ``lower_80``, ``upper_80``, ``lower_95``, ... instead. They are what ``predict`` and ``predict_interval`` answer now
        (after ``conformalize`` its intervals, and with the ``n_passes`` that is set) up to rounding, about 1e-6 standard
        deviations of the target. Rows that ``predict`` refuses, such as rows with NaN, are NaN in all outputs.

        Needs ``pip install "extranets[onnx]"``. The file is one of opset 18, which onnxruntime reads from version 1.14 on. Its
        metadata hold the names of the features, the levels, the estimator's class and the version of this package. CV+ and
        jackknife+ compare each row with all training rows, of which a graph holds 10,000 at most.

        Parameters
        ----------
        path : str or path
            A file that is there is replaced.
        coverage : float or list of float, default=0.9
            Probability, strictly between 0 and 1, that an interval is meant to hold the target.

        Examples
        --------
        >>> import tempfile, onnxruntime
        >>> from extranets import ExtraNetsRegressor
        >>> from extranets.data import linear_process
        >>> X_train, y_train, X_test, y_test = linear_process(400, random_state=0).split(300)
        >>> model = ExtraNetsRegressor(n_estimators=5, max_iter=40, random_state=0).fit(X_train, y_train)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.to_onnx(f"{folder}/model.onnx", coverage=0.9)
        ...     session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
        >>> mean, sd, lower, upper = session.run(["mean", "sd", "lower", "upper"], {"X": X_test})
        >>> bool(np.allclose(mean, model.predict(X_test), rtol=1e-5, atol=1e-5))
        True
        """
        export(cast("NetsRegressor", self), path, coverage)

    @abstractmethod
    def _graph_moments(self, x: Value) -> tuple[Value, Value, Value | None]:
        """What ``_moments`` computes, as a part of a graph. Shape: x ``(n, k)``, standardised, float32."""

    def _graph_bounds(self, x: Value, mean: Value, std: Value, levels: Array) -> Bounds:
        """The same for ``_bounds``; mean and std are in the target's units. Shape: x as above."""
        tails = (1 - levels) / 2
        below, above = (multiples(at, self.degrees_of_freedom_).reshape(-1, len(levels)).T for at in (tails, 1 - tails))
        return [(mean + std * low, mean + std * high) for low, high in zip(below, above, strict=True)]


def export(model: NetsRegressor, path: str | os.PathLike[str], coverage: float | Sequence[float]) -> None:
    model._check_fitted()
    levels, single = check_levels("coverage", coverage)
    ends = [""] if single else [f"_{level_name(level)}" for level in levels]
    if len(set(ends)) < len(ends):
        raise ValueError(f"coverage holds a level twice; every level makes outputs of its own. Got {coverage!r}.")
    graph = Graph()
    x = graph.input("X", np.float64, (ROWS, model.n_features_in_))
    for name, value in _predictions(model, x, levels, ends).items():
        graph.output(name, value.squeeze(1) if model._y_is_vector else value, _target_shape(model))
    onnx_graph.write(path, graph, _metadata(model, levels), version("extranets"))


def _target_shape(model: NetsRegressor) -> tuple[int | str, ...]:
    return (ROWS,) if model._y_is_vector else (ROWS, len(model._y_scaling.centre))


def _predictions(model: NetsRegressor, x: Value, levels: Array, ends: list[str]) -> dict[str, Value]:
    """Outputs by name. Shape: x ``(n, n_features)`` -> ``(n, n_outputs)`` each."""
    standardised = (x - model._x_scaling.centre) * model._x_scaling.factor
    inputs = standardised.cast(np.float32)
    mean, spread, learned = model._graph_moments(inputs)
    constant = model._constant_noise()[None, :]
    noise: Any = constant if learned is None else learned * constant
    # The constructions are arithmetic, which is the same for arrays and for values of a graph.
    variances: Any = model.constructions[model.interval]
    epistemic, aleatoric = variances(spread, noise, model._moments().n_members, model._factors)
    mean = in_units(mean, model._y_scaling)
    std = (epistemic + aleatoric).apply("Sqrt") * model._y_scaling.scale
    outputs = {"mean": mean, "sd": std}
    for end, (lower, upper) in zip(ends, _bounds(model, inputs, mean, std, levels), strict=True):
        outputs |= {f"lower{end}": lower, f"upper{end}": upper}
    # A graph cannot raise: rows that `predict` refuses become NaN.
    usable = standardised.apply("Abs").compare("LessOrEqual", LARGEST_VALUE)
    refused = onnx_graph.where(usable, 0.0, np.nan).sum(1).unsqueeze(1)
    return {name: value + refused for name, value in outputs.items()}


def _bounds(model: NetsRegressor, inputs: Value, mean: Value, std: Value, levels: Array) -> Bounds:
    if model._conformal is None:
        return model._graph_bounds(inputs, mean, std, levels)
    multiples = model._conformal.multiples(levels, model._construction()).reshape(-1, len(levels))
    positive = std.apply("Max", SMALLEST_STD)
    return [(mean - positive * multiple, mean + positive * multiple) for multiple in multiples.T]


def _metadata(model: NetsRegressor, levels: Array) -> dict[str, str]:
    names = getattr(model, "feature_names_in_", None)
    facts = {
        "estimator": type(model).__name__,
        "extranets_version": version("extranets"),
        "feature_names": None if names is None else list(names),
        "target_shape": list(_target_shape(model)),
        "coverage": levels.tolist(),
        "interval": "conformal" if model._conformal is not None else model.interval,
    }
    return {name: fact if isinstance(fact, str) else json.dumps(fact) for name, fact in facts.items()}


# -- for the estimators' own parts -----------------------------------------------------------------------------------------


def in_units(values: Value, scaling: Scaling) -> Value:
    """In the target's units. Shape: ``(..., n_outputs)``."""
    return values * scaling.scale + scaling.centre


def plus_bounds(centre: Value, residuals: Array, levels: Array) -> Bounds:
    """CV+ and jackknife+. Shape: centre ``(n_outputs, n, n_train)``, residuals ``(n_train, n_outputs)``, in one unit."""
    n = len(residuals)
    if n > MOST_RESIDUALS:
        raise ValueError(
            f"This interval compares every new row with all {n} training rows, and a graph can do so for at most "
            f"{MOST_RESIDUALS}. Set another interval, or call conformalize, before to_onnx."
        )
    warn_if_infinite(conformal_quantile(residuals, levels), levels, n, "Fit to more rows.")
    return onnx_graph.plus_bounds(centre, residuals.T, conformal_ranks(n, levels))


def network_moments(
    x: Value, ensemble: Ensemble, factors: Sequence[npt.NDArray] | None = None
) -> tuple[Value, Value, Value | None]:
    """What `engine.moments` computes. Shape: x ``(n, n_inputs)``, factors as in `onnx_graph.heads`."""
    architecture = ensemble.members.architecture
    return onnx_graph.moments(onnx_graph.heads(x, ensemble, factors), architecture, LOG_VARIANCE_LIMIT)


def network_predictions(x: Value, ensemble: Ensemble) -> Value:
    """Every member's own prediction. Shape: x ``(n, n_inputs)`` -> ``(n_members, n, n_outputs)``."""
    return onnx_graph.predictions(onnx_graph.heads(x, ensemble), ensemble.members.architecture)
