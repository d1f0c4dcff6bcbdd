"""A graph as a file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from extranets import _atomic
from extranets._extras import how_to_install
from extranets.onnx_graph.graph import Declared, Graph, Node

OPSET = 18  # of ONNX's default operators; onnxruntime reads it from 1.14 on
IR_VERSION = 8  # of the file's format, the one that came with this opset
MOST_BYTES = 2**31 - 2**20  # a protobuf message ends at 2 GiB; some room for everything but constants


def write(path: str | os.PathLike[str], graph: Graph, metadata: dict[str, str], version: str) -> None:
    """Write the whole graph, or leave the old file as it was.

    Parameters
    ----------
    metadata : dict of str to str
        Kept in the file beside the graph.
    version : str
        Version of the program that made the graph.
    """
    _atomic.write(path, [as_model(graph, metadata, version).SerializeToString()])


def as_model(graph: Graph, metadata: dict[str, str], version: str) -> Any:
    """An ``onnx.ModelProto``."""
    helper = _onnx().helper
    nodes, constants = graph.needed()
    n_bytes = sum(array.nbytes for array in constants.values())
    if n_bytes > MOST_BYTES:
        raise ValueError(
            f"The graph's constants take {n_bytes / 2**30:.1f} GiB and an ONNX file holds 2; use fewer or smaller networks."
        )
    content = helper.make_graph(
        [_node_proto(node) for node in nodes],
        "extranets",
        _declared(graph.inputs),
        _declared(graph.outputs),
        [_onnx().numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(
        content,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="extranets",
        producer_version=version,
    )
    helper.set_model_props(model, metadata)
    return model


def _declared(tensors: dict[str, Declared]) -> list[Any]:
    helper = _onnx().helper
    return [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)
        for name, (dtype, shape) in tensors.items()
    ]


def _node_proto(node: Node) -> Any:
    helper = _onnx().helper
    attributes = {
        name: helper.np_dtype_to_tensor_dtype(value) if isinstance(value, np.dtype) else value
        for name, value in node.attributes.items()
    }
    return helper.make_node(node.operator, node.inputs, node.outputs, name=node.outputs[0], **attributes)


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError(f"ONNX files need the package onnx: {how_to_install('onnx')}.") from error
    return onnx
