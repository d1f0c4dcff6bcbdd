"""Where a call's numbers lie in the GPU's memory. ``kernels/problem.cuh`` has the same structures."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Float32
from extranets.encodings import PiecewiseLinear
from extranets.engine.options import LOSSES, Options
from extranets.networks import MOST_LAYERS, Architecture, Ensemble, Members

_POINTER = np.uint64

ENCODING = np.dtype(
    [(name, _POINTER) for name in ("columns", "first", "numbers")]
    + [(name, np.int32) for name in ("kind", "n_columns", "n_entries", "by_edges")],
    align=True,
)
PLACE = np.dtype([(name, np.int32) for name in ("stride", "weights", "activation", "activation_stride", "delta")])
WORKSPACE_PARTS = ("next_input", "heads", "delta_heads", "y", "weight", "rows", "edge", "below", "above")
WORKSPACE = np.dtype([(name, np.int32) for name in WORKSPACE_PARTS])
OPTIONS = np.dtype(
    [(name, np.int32) for name in ("loss", "n_epochs", "batch_size")]
    + [
        (name, np.float32)
        for name in (
            "beta1",
            "beta2",
            "epsilon",
            "dropout_keep",
            "input_keep",
            "max_grad_norm",
        )
    ]
)
DATA = ("X", "y", "weight", "adversarial", "ids", "widths")
STATE = ("parameters", "first", "second", "gradient", "values", "workspace")
PROBLEM = np.dtype(
    [(name, _POINTER) for name in (*DATA, *STATE)]
    + [("encoding", ENCODING)]
    + [(name, np.int64) for name in ("block_size", "values_size", "workspace_size")]
    + [("seed", np.uint64), ("options", OPTIONS), ("at", WORKSPACE)]
    + [(name, np.int32) for name in ("n_inputs", "n_outputs_here", "n_heads_here", "n_layers_here", "x_stride")]
    + [("places", PLACE, (MOST_LAYERS + 1,))],
    align=True,
)

_TILE_ROWS = 4  # kTileRows in kernels/products.cuh
_MOST_NUMBERS = 2**31 - 1


def _stride(n: int) -> int:
    """At least ``n``; a multiple of four with an odd quotient: see kernels/products.cuh."""
    return 4 * (-(-n // 4) | 1)


class Layout:
    """Offsets, in floats, of a member's parameters and of what ``n_rows`` rows need on their way through it.

    They are those of the network without a mask, so that they are the same for all members, however many there are.
    """

    def __init__(self, architecture: Architecture, n_rows: int, *, trains: bool) -> None:
        self.architecture = architecture
        self.n_rows = n_rows
        encoding = architecture.encoding
        n_entries = architecture.n_first - architecture.n_inputs
        # Edges pay in a hidden layer only: an output layer has few units.
        self.by_edges = isinstance(encoding, PiecewiseLinear) and n_entries > 0 and len(architecture.hidden) > 0
        self.x_stride = 4 * -(-(architecture.n_inputs + 1) // 4)
        self.places = np.zeros(MOST_LAYERS + 1, dtype=PLACE)
        self._check_sizes(n_entries)
        self.block_size = self._place_parameters(n_entries)
        n_edges = n_entries + len(encoding.columns) if encoding is not None and self.by_edges else 0
        self.values_size = n_edges * int(self.places["stride"][0])
        self.at = np.zeros((), dtype=WORKSPACE)
        self.workspace_size = self._place_rows(trains)

    @property
    def n_layers(self) -> int:
        return len(self.architecture.hidden) + 1

    def _check_sizes(self, n_entries: int) -> None:
        """Kernels count a member's numbers in 32 bits. These bounds are a little above the true sizes."""
        a = self.architecture
        sizes = [a.n_first + 8, *(size + 8 for size in a.hidden), a.n_heads + 8]
        n_parameters = sum(n_in * n_out for n_in, n_out in itertools.pairwise(sizes)) + 2 * n_entries * sizes[1]
        n_numbers = (self.n_rows + 8) * 3 * (sum(sizes) + n_entries)
        if n_parameters >= _MOST_NUMBERS or n_numbers >= _MOST_NUMBERS:
            raise ValueError(
                f"hidden_layer_sizes={a.hidden} with mini-batches of {self.n_rows:,} rows is too much for device='cuda'; use a "
                "smaller batch_size or smaller layers, or device='cpu'."
            )

    def dense_inputs(self) -> list[int]:
        """How many inputs each layer reads from its activation."""
        a = self.architecture
        return [a.n_inputs if self.by_edges else a.n_first, *a.hidden]

    def _place_parameters(self, n_entries: int) -> int:
        at = 0
        for layer, (n_in, n_out) in enumerate(
            zip(self.dense_inputs(), [*self.architecture.hidden, self.architecture.n_heads], strict=True)
        ):
            is_output = layer == self.n_layers - 1
            n_rows = n_out if is_output else n_in + 1 + (n_entries if layer == 0 and self.by_edges else 0)
            stride = _stride(n_in + 1 if is_output else n_out)
            self.places[layer]["stride"], self.places[layer]["weights"] = stride, at
            at += n_rows * stride
        return at

    def _place_rows(self, trains: bool) -> int:
        a, n_rows = self.architecture, _TILE_ROWS * -(-self.n_rows // _TILE_ROWS)
        size = 0

        def take(n: int) -> int:
            nonlocal size
            begin, size = size, size + 4 * -(-n // 4)
            return begin

        for layer, n_in in enumerate(self.dense_inputs()):
            place = self.places[layer]
            place["activation_stride"] = _stride(max(n_in + 1, self.x_stride if layer == 0 else 0))
            place["activation"] = take(
                n_rows * int(place["activation_stride"]) + 4
            )  # tiles of inputs may read beyond the end
            if trains and layer > 0:
                place["delta"] = take(n_rows * int(self.places[layer - 1]["stride"]))
        n_encoded = n_rows * len(a.encoding.columns) if a.encoding is not None and self.by_edges else 0
        sizes = {"heads": n_rows * a.n_heads, "edge": n_encoded, "below": n_encoded, "above": n_encoded}
        if trains:  # the next mini-batch is loaded while this one is in use
            sizes |= {
                "next_input": n_rows * int(self.places["activation_stride"][0]) + 4,
                "delta_heads": n_rows * a.n_heads,
                "y": 2 * n_rows * a.n_outputs,
                "weight": 2 * n_rows,
                "rows": 2 * n_rows,
            }
        for part in WORKSPACE_PARTS:
            self.at[part] = take(sizes[part]) if part in sizes else -1
        return size

    def offsets(self, widths: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
        """Where each of a member's parameters, in their canonical order, lies in its block."""
        dense = [self.dense_inputs()[0], *widths.tolist()]
        found = []
        for layer, (n_in, n_out) in enumerate(self.architecture.layer_sizes(widths)):
            begin, stride = int(self.places["weights"][layer]), int(self.places["stride"][layer])
            i, j, depth = np.arange(n_in)[:, None], np.arange(n_out), dense[layer]
            if layer == self.n_layers - 1:
                found += [begin + j * stride + i, begin + j * stride + depth]
            else:  # the biases lie between the inputs and the entries that are not written out
                found += [begin + (i + (i >= depth)) * stride + j, begin + depth * stride + j]
        return np.concatenate([np.ravel(part) for part in found])

    def pack(self, ensemble: Ensemble) -> Float32:
        """Shape: ``(n_members, block_size)``."""
        blocks = np.zeros((len(ensemble), self.block_size), dtype=np.float32)
        begins = ensemble.members.offsets
        for m, widths in enumerate(ensemble.members.widths):
            blocks[m, self.offsets(widths)] = ensemble.parameters[begins[m] : begins[m + 1]]
        return blocks

    def unpack(self, members: Members, blocks: Float32) -> Ensemble:
        parts = [block[self.offsets(widths)] for block, widths in zip(blocks, members.widths, strict=True)]
        return Ensemble(members, np.concatenate(parts))


def padded_rows(X: Float32, layout: Layout) -> Float32:
    """The columns of the table, then a one, then zeros. Shape: ``(n, x_stride)``."""
    out = np.zeros((len(X), layout.x_stride), dtype=np.float32)
    out[:, : X.shape[1]] = X
    out[:, X.shape[1]] = 1
    return out


def problem(layout: Layout, options: Options, seed: int) -> npt.NDArray[Any]:
    """Everything but the addresses of the arrays, which are filled in later."""
    a = layout.architecture
    out = np.zeros((), dtype=PROBLEM)
    for name in OPTIONS.names or ():
        out["options"][name] = LOSSES.index(options.loss) if name == "loss" else getattr(options, name)
    out["seed"] = seed
    for name in ("block_size", "values_size", "workspace_size", "x_stride", "places", "at"):
        out[name] = getattr(layout, name)
    out["n_inputs"], out["n_layers_here"] = a.n_inputs, layout.n_layers
    out["n_outputs_here"], out["n_heads_here"] = a.n_outputs, a.n_heads
    if a.encoding is not None:
        out["encoding"]["kind"] = 0 if isinstance(a.encoding, PiecewiseLinear) else 1
        out["encoding"]["n_columns"] = len(a.encoding.columns)
        out["encoding"]["n_entries"] = a.n_first - a.n_inputs
        out["encoding"]["by_edges"] = layout.by_edges
    return out


def encoding_arrays(architecture: Architecture) -> dict[str, npt.NDArray[Any]]:
    """The arrays that `ENCODING` points to."""
    encoding = architecture.encoding
    if encoding is None:
        return {}
    return {
        "columns": np.asarray(encoding.columns, dtype=np.int32),
        "first": np.append(0, np.cumsum(encoding.n_entries)).astype(np.int32),
        "numbers": np.asarray(
            encoding.edges if isinstance(encoding, PiecewiseLinear) else encoding.frequencies, dtype=np.float32
        ),
    }
