"""Graphs, run by onnxruntime."""

from __future__ import annotations

import onnxruntime

from extranets.onnx_graph import Graph, file


def run(make, x):
    """What onnxruntime makes of ``make(x)``, one value or several."""
    graph = Graph()
    made = make(graph.input("x", x.dtype, ("n", *x.shape[1:])))
    several = isinstance(made, tuple | list)
    for k, value in enumerate(made if several else [made]):
        graph.output(f"out_{k}", value, None)  # any shape
    session = onnxruntime.InferenceSession(file.as_model(graph, {}, "0").SerializeToString())
    out = session.run(None, {"x": x})
    return out if several else out[0]
