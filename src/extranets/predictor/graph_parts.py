"""Pieces of ONNX graphs that several parts use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from extranets import onnx_graph
from extranets._arrays import Array
from extranets.engine.options import LOG_VARIANCE_LIMIT
from extranets.networks import Ensemble
from extranets.onnx_graph import Bounds, Value
from extranets.predictor.units import Scaling
from extranets.uncertainty.conformal import conformal_ranks

MOST_RESIDUALS = 10_000  # that every row is compared with: 80 MB for a thousand rows


def in_units(values: Value, scaling: Scaling) -> Value:
    """In the target's units. Shape: ``(..., n_outputs)``."""
    return values * scaling.scale + scaling.centre


def plus_bounds(centre: Value, residuals: Array, levels: Array, joint: bool) -> Bounds:
    """CV+ and jackknife+. Shape: centre ``(n_outputs, n, n_train)``, residuals ``(n_train, n_outputs)``, in one unit, target less
    prediction."""
    n = len(residuals)
    if n > MOST_RESIDUALS:
        raise ValueError(
            f"This interval compares every new row with all {n} training rows, and a graph can do so for at most "
            f"{MOST_RESIDUALS}. Set another interval, or call conformalize, before to_onnx."
        )
    if joint:
        return onnx_graph.plus_bounds(centre, np.abs(residuals.T), conformal_ranks(n, levels))
    ranks = conformal_ranks(n, (1 + levels) / 2)
    return onnx_graph.plus_bounds(centre + residuals.T[:, None, :], np.zeros_like(residuals.T), ranks)


def network_moments(
    x: Value, ensemble: Ensemble, factors: Sequence[npt.NDArray] | None = None
) -> tuple[Value, Value, Value | None]:
    """What `engine.moments` computes. Shape: x ``(n, n_inputs)``, factors as in `onnx_graph.heads`."""
    architecture = ensemble.members.architecture
    return onnx_graph.moments(onnx_graph.heads(x, ensemble, factors), architecture, LOG_VARIANCE_LIMIT)


def network_predictions(x: Value, ensemble: Ensemble) -> Value:
    """Every member's own prediction. Shape: x ``(n, n_inputs)`` -> ``(n_members, n, n_outputs)``."""
    return onnx_graph.predictions(onnx_graph.heads(x, ensemble), ensemble.members.architecture)
