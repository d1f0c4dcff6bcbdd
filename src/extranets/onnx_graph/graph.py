"""A graph that grows by arithmetic: operators on its values add nodes.

A formula that uses only arithmetic works on arrays and on values, so it is written once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np
import numpy.typing as npt

Operand = Union["Value", npt.ArrayLike]
Declared = tuple[np.dtype, tuple[int | str, ...]]  # type and shape of an input or output; a free dimension has a name


@dataclass(frozen=True)
class Node:
    """One operation, by the names of the tensors that it reads and makes."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


@dataclass
class Graph:
    """Nodes in the order in which they are computed, and constants. Equal ones are kept once."""

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, npt.NDArray] = field(default_factory=dict)
    inputs: dict[str, Declared] = field(default_factory=dict)
    outputs: dict[str, Declared] = field(default_factory=dict)
    _known: dict[Hashable, str] = field(default_factory=dict)

    def input(self, name: str, dtype: npt.DTypeLike, shape: tuple[int | str, ...]) -> Value:
        self.inputs[name] = np.dtype(dtype), shape
        return Value(self, name, np.dtype(dtype))

    def output(self, name: str, value: Value, shape: tuple[int | str, ...]) -> None:
        self.outputs[name] = value.dtype, shape
        self.nodes.append(Node("Identity", (value.name,), (name,), {}))

    def constant(self, values: npt.ArrayLike, dtype: npt.DTypeLike) -> Value:
        array = np.ascontiguousarray(values, dtype=dtype).reshape(np.shape(values))
        key = (array.dtype.str, array.shape, hashlib.blake2b(array.data).digest())
        if key not in self._known:
            self._known[key] = f"constant_{len(self.constants)}"
            self.constants[self._known[key]] = array
        return Value(self, self._known[key], array.dtype)

    def node(
        self, operator: str, *inputs: Value, dtype: npt.DTypeLike, n_outputs: int = 1, attributes: dict[str, Any]
    ) -> Value:
        """The first output of a new node, or of an earlier node that does the same."""
        names = tuple(value.name for value in inputs)
        key = (operator, names, repr(sorted(attributes.items())))
        if key not in self._known:
            first = f"{operator}_{len(self.nodes)}"
            self._known[key] = first
            outputs = (first, *(f"{first}_{k}" for k in range(1, n_outputs)))
            self.nodes.append(Node(operator, names, outputs, attributes))
        return Value(self, self._known[key], np.dtype(dtype))

    def needed(self) -> tuple[list[Node], dict[str, npt.NDArray]]:
        """The nodes and constants that an output depends on."""
        nodes: list[Node] = []
        wanted = set(self.outputs)
        for node in reversed(self.nodes):
            if not wanted.isdisjoint(node.outputs):
                nodes.append(node)
                wanted.update(node.inputs)
        return nodes[::-1], {name: array for name, array in self.constants.items() if name in wanted}


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a graph. In arithmetic, an operand that is not a value becomes a constant of this value's type."""

    graph: Graph
    name: str
    dtype: np.dtype

    __array_ufunc__ = None  # so that NumPy leaves array * value to the value

    def apply(self, operator: str, *others: Operand, **attributes: Any) -> Value:
        """Any of ONNX's operators on values of one type."""
        operands = (self._operand(other) for other in others)
        return self.graph.node(operator, self, *operands, dtype=self.dtype, attributes=attributes)

    def _operand(self, other: Operand) -> Value:
        return other if isinstance(other, Value) else self.graph.constant(other, self.dtype)

    def __add__(self, other: Operand) -> Value:
        return self.apply("Add", other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Value:
        return self.apply("Sub", other)

    def __rsub__(self, other: Operand) -> Value:
        return self._operand(other) - self

    def __mul__(self, other: Operand) -> Value:
        return self.apply("Mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Value:
        return self.apply("Div", other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self._operand(other) / self

    def __matmul__(self, other: Operand) -> Value:
        return self.apply("MatMul", other)

    def __neg__(self) -> Value:
        return self.apply("Neg")

    def compare(self, operator: str, other: Operand) -> Value:
        """``Greater``, ``LessOrEqual`` and the like."""
        return self.graph.node(operator, self, self._operand(other), dtype=np.bool_, attributes={})

    def cast(self, dtype: npt.DTypeLike) -> Value:
        return self.graph.node("Cast", self, dtype=dtype, attributes={"to": np.dtype(dtype)})

    def mean(self, axis: int) -> Value:
        return self._along("ReduceMean", [axis], keepdims=0)

    def sum(self, axis: int) -> Value:
        return self._along("ReduceSum", [axis], keepdims=0)

    def unsqueeze(self, axis: int) -> Value:
        return self._along("Unsqueeze", [axis])

    def squeeze(self, axis: int) -> Value:
        return self._along("Squeeze", [axis])

    def reshape(self, *shape: int) -> Value:
        """A dimension of 0 stays as it is."""
        return self._along("Reshape", shape)

    def take(self, indices: npt.ArrayLike, axis: int) -> Value:
        return self._along("Gather", indices, axis=axis)

    def _along(self, operator: str, where: npt.ArrayLike, **attributes: Any) -> Value:
        """Apply an operator whose second input is a list of positions."""
        places = self.graph.constant(where, np.int64)
        return self.graph.node(operator, self, places, dtype=self.dtype, attributes=attributes)

    def largest(self, count: int, axis: int) -> Value:
        """The largest values along an axis, from the top."""
        number = self.graph.constant([count], np.int64)
        return self.graph.node("TopK", self, number, dtype=self.dtype, n_outputs=2, attributes={"axis": axis})

    def transpose(self, *axes: int) -> Value:
        return self.apply("Transpose", perm=list(axes))


def where(condition: Value, yes: Operand, no: Operand, dtype: npt.DTypeLike = np.float64) -> Value:
    graph = condition.graph
    branches = (branch if isinstance(branch, Value) else graph.constant(branch, dtype) for branch in (yes, no))
    return graph.node("Where", condition, *branches, dtype=dtype, attributes={})


def concatenate(values: Sequence[Value], axis: int) -> Value:
    return values[0].apply("Concat", *values[1:], axis=axis)
