"""Forward passes of a trained ensemble on a GPU, over as many rows at a time as its memory has room for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets.engine.cuda.gpu import OWN_SHARED_BYTES, Gpu
from extranets.engine.cuda.layout import Layout, encoding_arrays, padded_rows, problem
from extranets.engine.options import Options
from extranets.networks import Ensemble

_ROWS_PER_BLOCK = 64
_HEADS_AT_ONCE = 1 << 25  # numbers of all passes that are held on the GPU


class Passes:
    """An ensemble on the GPU; with ``n_passes`` given, thinned by dropout anew for every pass."""

    def __init__(
        self, gpu: Gpu, ensemble: Ensemble, n_passes: int | None, dropout_keep: float, input_keep: float, seed: int
    ) -> None:
        self.gpu, self.n_members = gpu, len(ensemble)
        self.n_passes = self.n_members if n_passes is None else n_passes
        self.architecture = ensemble.members.architecture
        self.layout = Layout(self.architecture, _ROWS_PER_BLOCK, trains=False)
        self.fits = self.layout.workspace_size * 4 <= gpu.shared_bytes - OWN_SHARED_BYTES
        options = Options() if n_passes is None else Options(dropout_keep=dropout_keep, input_keep=input_keep)
        self.problem = problem(self.layout, options, seed)
        self.kept = {
            "parameters": gpu.array(self.layout.pack(ensemble)),
            "widths": gpu.array(np.ascontiguousarray(ensemble.members.widths, dtype=np.int32)),
            "values": gpu.xp.zeros((self.n_members, max(self.layout.values_size, 1)), dtype=np.float32),
        }
        for name, array in self.kept.items():
            self.problem[name] = gpu.address(array)
        for name, host in encoding_arrays(self.architecture).items():
            self.kept[f"encoding {name}"] = gpu.array(host)
            self.problem["encoding"][name] = gpu.address(self.kept[f"encoding {name}"])
        slots = gpu.array(np.arange(self.n_members, dtype=np.int32))
        gpu.launch("refresh", self.n_members, (self.problem, slots))

    def blocks(self, X: npt.NDArray[np.float32]) -> Iterator[tuple[slice, Any]]:
        """Rows, and their heads on the GPU. Shape: ``(n_passes, n, n_heads)``."""
        per_row = self.n_passes * self.architecture.n_heads
        at_once = max(_ROWS_PER_BLOCK, _HEADS_AT_ONCE // per_row)
        for begin in range(0, len(X), at_once):
            rows = slice(begin, min(begin + at_once, len(X)))
            yield rows, self._heads(X[rows])

    def _heads(self, X: npt.NDArray[np.float32]) -> Any:
        gpu, layout = self.gpu, self.layout
        own = self.problem.copy()
        table = gpu.array(padded_rows(X, layout))
        own["X"] = gpu.address(table)
        per_pass = -(-len(X) // _ROWS_PER_BLOCK)
        n_blocks = per_pass * self.n_passes
        room = None if self.fits else gpu.xp.empty((n_blocks, layout.workspace_size), dtype=np.float32)
        if room is not None:
            own["workspace"] = gpu.address(room)
        out = gpu.xp.empty((self.n_passes, len(X), self.architecture.n_heads), dtype=np.float32)
        scalars = (np.int32(self.n_members), np.int32(_ROWS_PER_BLOCK), np.int32(per_pass), np.int32(self.fits))
        gpu.launch(
            "forward_rows",
            n_blocks,
            (own, np.int64(len(X)), *scalars, out),
            shared_floats=layout.workspace_size if self.fits else 0,
        )
        return out

    def moments(self, heads: Any) -> tuple[Any, Any, Any]:
        """Mean, variance and mean predicted variance. Shape: ``(n_passes, n, n_heads)`` -> three times ``(n, n_outputs)``."""
        gpu, a = self.gpu, self.architecture
        out = [gpu.xp.empty((heads.shape[1], a.n_outputs)) for _ in range(3)]
        sizes = (np.int64(heads.shape[1]), np.int32(self.n_passes), np.int32(a.n_outputs), np.int32(a.n_heads))
        gpu.launch("moments", 4 * gpu.n_processors, (heads, *sizes, *out))
        return gpu.host(out[0]), gpu.host(out[1]), gpu.host(out[2])
