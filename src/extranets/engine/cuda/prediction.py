"""Forward passes of a trained ensemble on a GPU, over as many rows at a time as its memory has room for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from extranets._arrays import Float32
from extranets.engine.cuda.gpu import Gpu
from extranets.engine.cuda.layout import Layout, padded_rows
from extranets.engine.cuda.memory import Memory, Workspaces
from extranets.engine.options import Options
from extranets.engine.passes import Passes
from extranets.networks import Ensemble

_ROWS_PER_BLOCK = 64
_HEADS_AT_ONCE = 1 << 25  # most numbers, of all passes together, that are held on the GPU


class EnsembleOnGpu:
    """An ensemble on the GPU; with ``passes`` given, thinned by dropout anew for every pass."""

    def __init__(self, gpu: Gpu, ensemble: Ensemble, passes: Passes | None) -> None:
        if len(ensemble) == 0:
            raise ValueError("an ensemble needs a member")
        passes = passes or Passes(len(ensemble))  # every member once, and nothing is dropped
        self.gpu, self.n_members, self.n_passes = gpu, len(ensemble), passes.n_passes
        self.architecture = ensemble.members.architecture
        self.layout = Layout(self.architecture, _ROWS_PER_BLOCK, trains=False)
        self.workspaces = Workspaces(gpu, self.layout)
        keeps = Options(dropout_keep=passes.dropout_keep, input_keep=passes.input_keep)
        self.memory = Memory(gpu, self.layout, keeps, passes.seed)
        self.memory.put("parameters", gpu.array(self.layout.pack(ensemble)))
        self.memory.put("widths", gpu.array(np.ascontiguousarray(ensemble.members.widths, dtype=np.int32)))
        self.memory.zeros("values", self.n_members, self.layout.values_size)
        slots = gpu.array(np.arange(self.n_members, dtype=np.int32))
        gpu.launch("refresh", self.n_members, (self.memory.problem, slots))
        gpu.finish()  # rows may come from another thread, with another order of kernels

    def blocks(self, X: Float32) -> Iterator[tuple[slice, Any]]:
        """Rows, and their heads on the GPU. Shape: ``(n_passes, n, n_heads)``."""
        if X.ndim != 2 or X.shape[1] != self.architecture.n_inputs:
            raise ValueError("X has the wrong number of columns")
        per_row = self.n_passes * self.architecture.n_heads
        at_once = max(_ROWS_PER_BLOCK, _HEADS_AT_ONCE // per_row)
        for begin in range(0, len(X), at_once):
            rows = slice(begin, min(begin + at_once, len(X)))
            yield rows, self._heads(X[rows])

    def _heads(self, X: Float32) -> Any:
        gpu, per_pass = self.gpu, -(-len(X) // _ROWS_PER_BLOCK)
        n_blocks = self.workspaces.n_blocks(per_pass * self.n_passes)
        own, room = self.workspaces.problem(self.memory.problem, n_blocks)
        table = gpu.array(padded_rows(X, self.layout))
        own["X"] = gpu.address(table)
        out = gpu.xp.empty((self.n_passes, len(X), self.architecture.n_heads), dtype=np.float32)
        sizes = (self.n_passes, self.n_members, _ROWS_PER_BLOCK, per_pass, self.workspaces.in_shared)
        gpu.launch(
            "forward_rows",
            n_blocks,
            (own, np.int64(len(X)), *map(np.int32, sizes), out),
            shared_floats=self.workspaces.shared_floats,
        )
        del room, table  # the pool gives this memory only to what runs after the kernel
        return out

    def moments(self, heads: Any) -> tuple[Any, Any, Any]:
        """Mean, variance and mean predicted variance. Shape: ``(n_passes, n, n_heads)`` -> three times ``(n, n_outputs)``."""
        gpu, a = self.gpu, self.architecture
        out = [gpu.xp.empty((heads.shape[1], a.n_outputs)) for _ in range(3)]
        sizes = (np.int64(heads.shape[1]), np.int32(self.n_passes), np.int32(a.n_outputs), np.int32(a.n_heads))
        gpu.launch("moments", 4 * gpu.n_processors, (heads, *sizes, *out))
        return gpu.host(out[0]), gpu.host(out[1]), gpu.host(out[2])
