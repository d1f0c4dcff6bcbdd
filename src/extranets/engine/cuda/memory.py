"""Arrays in the GPU's memory, and the structure by which kernels find them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from extranets.engine.cuda.gpu import OWN_SHARED_BYTES, Gpu
from extranets.engine.cuda.layout import Layout, encoding_arrays, problem
from extranets.engine.options import Options

_BLOCKS_PER_PROCESSOR = 8  # of passes over rows


class Memory:
    """Holds the arrays that kernels know only by their address, for as long as they may need them."""

    def __init__(self, gpu: Gpu, layout: Layout, options: Options, seed: int) -> None:
        self.gpu, self.problem = gpu, problem(layout, options, seed)
        self.arrays: dict[str, Any] = {}
        for name, host in encoding_arrays(layout.architecture).items():
            self.arrays[f"encoding {name}"] = gpu.array(host)
            self.problem["encoding"][name] = gpu.address(self.arrays[f"encoding {name}"])

    def put(self, name: str, array: Any) -> None:
        """Hand an array to the kernels. None, and an array without entries, has no address."""
        if array is not None and array.size:
            self.arrays[name] = array
            self.problem[name] = self.gpu.address(array)

    def zeros(self, name: str, n: int, size: int) -> None:
        self.put(name, self.gpu.xp.zeros((n, size), dtype=np.float32))

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name]


class Workspaces:
    """Room for passes over blocks of rows: in shared memory, or else an array for each block of threads."""

    def __init__(self, gpu: Gpu, layout: Layout) -> None:
        self.gpu, self.layout = gpu, layout
        self.in_shared = 4 * layout.workspace_size <= gpu.shared_bytes - OWN_SHARED_BYTES
        self.shared_floats = layout.workspace_size if self.in_shared else 0

    def n_blocks(self, n_items: int) -> int:
        """How many blocks of threads work on so many blocks of rows; each takes the next when it is done with one."""
        return min(n_items, _BLOCKS_PER_PROCESSOR * self.gpu.n_processors)

    def problem(self, of: npt.NDArray[Any], n_blocks: int) -> tuple[npt.NDArray[Any], Any]:
        """The problem with this layout of rows; and the room it points to, which must outlive the kernel."""
        own = of.copy()
        for name in ("places", "at", "workspace_size"):
            own[name] = getattr(self.layout, name)
        if self.in_shared:
            return own, None
        room = self.gpu.xp.empty((n_blocks, self.layout.workspace_size), dtype=np.float32)
        own["workspace"] = self.gpu.address(room)
        return own, room
