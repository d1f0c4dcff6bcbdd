"""Networks and intervals as ONNX graphs.

``graph`` is where tensors are added and multiplied, ``networks``, ``delta`` and ``gaussian`` predict, ``intervals`` makes the
bounds that are order statistics, ``file`` writes. The package ``onnx`` is imported only to write.
"""

from extranets.onnx_graph.delta import leverage
from extranets.onnx_graph.file import write
from extranets.onnx_graph.gaussian import gaussian_moments
from extranets.onnx_graph.graph import Graph, Value, concatenate, where
from extranets.onnx_graph.intervals import Bounds, percentile_bounds, plus_bounds
from extranets.onnx_graph.networks import heads, moments, predictions

__all__ = [
    "Bounds",
    "Graph",
    "Value",
    "concatenate",
    "gaussian_moments",
    "heads",
    "leverage",
    "moments",
    "percentile_bounds",
    "plus_bounds",
    "predictions",
    "where",
    "write",
]
