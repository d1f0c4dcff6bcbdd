"""A fitted model as an ONNX file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from extranets import onnx_graph
from extranets._arrays import Array
from extranets.onnx_graph import Bounds, Graph, Value
from extranets.predictor.frames import level_name
from extranets.predictor.graph_parts import in_units
from extranets.predictor.points import standard_points
from extranets.predictor.powers import choose
from extranets.predictor.predictor import Predictor
from extranets.predictor.units import LARGEST_VALUE

ROWS = "n"  # name of the free dimension


def export(
    model: Predictor, path: str | os.PathLike[str], levels: Array, *, single: bool, about: dict[str, Any]
) -> None:
    """Write mean, standard deviation and intervals as one graph; a ``single`` level has outputs without a number."""
    ends = [""] if single else [f"_{level_name(level)}" for level in levels]
    if len(set(ends)) < len(ends):
        raise ValueError(f"coverage holds a level twice; every level makes outputs of its own. Got {levels.tolist()}.")
    shape = (ROWS,) if model.units.y_is_vector else (ROWS, model.n_outputs)
    graph = Graph()
    x = graph.input("X", np.float64, (ROWS, len(model.units.x.centre)))
    for name, value in _predictions(model, x, levels, ends).items():
        graph.output(name, value.squeeze(1) if model.units.y_is_vector else value, shape)
    onnx_graph.write(path, graph, _metadata(model, levels, shape, about), version("extranets"))


def _predictions(model: Predictor, x: Value, levels: Array, ends: list[str]) -> dict[str, Value]:
    """Outputs by name. Shape: x ``(n, n_features)`` -> ``(n, n_outputs)`` each."""
    units, interval = model.units, model.interval_in_use
    standardised = (x - units.x.centre) * units.x.factor
    inputs = standardised.cast(np.float32)
    mean, spread, predicted = model.source.graph(inputs)
    noise: Any = model.noise.graph(inputs, predicted)
    epistemic, aleatoric = interval.variances(spread, noise, model.source.n_members)
    if model.distance is not None:
        epistemic = epistemic + model.distance.graph(inputs)
    mean = in_units(mean, units.y)
    std = (epistemic + aleatoric).apply("Sqrt") * units.y.scale
    outputs = _moments(model, mean, std)
    for end, (lower, upper) in zip(ends, _latent_bounds(model, inputs, mean, std, levels), strict=True):
        outputs |= {f"lower{end}": units.link.graph(lower), f"upper{end}": units.link.graph(upper)}
    # A graph cannot raise: rows that `predict` refuses become NaN.
    usable = standardised.apply("Abs").compare("LessOrEqual", LARGEST_VALUE)
    refused = onnx_graph.where(usable, 0.0, np.nan).sum(1).unsqueeze(1)
    return {name: value + refused for name, value in outputs.items()}


def _moments(model: Predictor, mean: Value, std: Value) -> dict[str, Value]:
    """Mean and standard deviation of the target, from those of the latent one. Shape: ``(n, n_outputs)`` each."""
    link = model.units.link
    if link.powers is None:
        return {"mean": link.graph(mean), "sd": std}
    points, shares = standard_points(model.distribution)
    values = link.graph(mean.unsqueeze(2) + std.unsqueeze(2) * points, trailing=1)
    found = values @ shares[:, None]
    deviation = values - found
    own = {"mean": found.squeeze(2), "sd": ((deviation * deviation) @ shares[:, None]).squeeze(2).apply("Sqrt")}
    plain = {"mean": link.graph(mean), "sd": std}
    return {name: choose(link.powers.curved, own[name], plain[name]) for name in own}


def _latent_bounds(model: Predictor, inputs: Value, mean: Value, std: Value, levels: Array) -> Bounds:
    """Shape: inputs ``(n, k)``, standardised; mean, std ``(n, n_outputs)``, of the latent target."""
    interval = model.interval_in_use
    if model.adaptive is not None:
        return model.adaptive.graph_bounds(mean, std, levels, model.distribution, model.construction())
    if model.conformal is not None:
        return model.conformal.graph_bounds(mean, std, levels, model.construction())
    if interval.own_bounds:
        return interval.graph_bounds(inputs, model.source, model.units, levels)
    tails = (1 - levels) / 2
    below, above = (model.distribution.multiples(at).T for at in (tails, 1 - tails))
    return [(mean + std * low, mean + std * high) for low, high in zip(below, above, strict=True)]


def _interval_name(model: Predictor) -> str:
    if model.adaptive is not None:
        return "adaptive"
    return "conformal" if model.conformal is not None else model.interval


def _metadata(model: Predictor, levels: Array, shape: Sequence[int | str], about: dict[str, Any]) -> dict[str, str]:
    facts = {
        **about,
        "extranets_version": version("extranets"),
        "target_shape": list(shape),
        "coverage": levels.tolist(),
        "interval": _interval_name(model),
    }
    return {name: fact if isinstance(fact, str) else json.dumps(fact) for name, fact in facts.items()}
