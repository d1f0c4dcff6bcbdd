"""The CUDA engine without a GPU: its kernels, compiled for this machine, behind what `extranets.engine.cuda.gpu.Gpu` offers.

Everything but the GPU itself is the real thing: the kernels' text, the structures they read, the host's part of training.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from extranets.engine.cuda import layout
from extranets.engine.cuda.gpu import WARP, Fixed, kernel_source, module_source

TEAM = Path(__file__).parent / "team.hpp"
FLAGS = ["-std=c++20", "-O2", "-march=native", "-shared", "-fPIC", "-pthread", "-w"]


# What NumPy says of the structures in kernels/problem.cuh, by their names there.
STRUCTURES = {
    "Problem": layout.PROBLEM,
    "Encoding": layout.ENCODING,
    "Options": layout.OPTIONS,
    "Workspace": layout.WORKSPACE,
    "Place": layout.PLACE,
}


def host_source(module: str, fixed: Fixed) -> str:
    kernels = module_source(module, fixed).replace(kernel_source("team"), TEAM.read_text())
    names = re.findall(r"^KERNEL (\w+)\(", kernels, flags=re.MULTILINE)
    return kernels + "".join(f"LAUNCHER({name})\n" for name in names) + _measures()


def _measures() -> str:
    """Functions that tell a structure's size, then where its fields begin."""
    out = ""
    for name, dtype in STRUCTURES.items():
        numbers = [f"sizeof({name})", *(f"offsetof({name}, {field})" for field in dtype.names or ())]
        out += (
            f'extern "C" long measure_{name}(int i) {{ const long of[] = {{{", ".join(numbers)}}}; return of[i]; }}\n'
        )
    return out


def measured(structure: str) -> list[int]:
    """A structure's size, then where its fields begin, as the compiler has them."""
    kernels = library("rows", (), ("-DLANES=1",))
    measure = getattr(kernels, f"measure_{structure}")
    measure.restype = ctypes.c_long
    return [measure(i) for i in range(1 + len(STRUCTURES[structure].names or ()))]


@functools.cache
def library(module: str, fixed: Fixed, flags: tuple[str, ...]) -> ctypes.CDLL:
    source, flags = host_source(module, fixed), (*FLAGS, *flags)
    folder = Path(tempfile.gettempdir()) / "extranets-cuda-on-host"
    folder.mkdir(exist_ok=True)
    built = folder / f"{hashlib.sha256((source + str(flags)).encode()).hexdigest()[:24]}.so"
    if not built.exists():  # written beside it first: tests run in several processes
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            text, product = Path(scratch) / "kernels.cpp", Path(scratch) / "kernels.so"
            text.write_text(source)
            subprocess.run(["c++", *flags, "-o", str(product), str(text)], check=True)
            product.replace(built)
    return ctypes.CDLL(str(built))


class HostGpu:
    """Two threads to a block. ``shared_bytes`` decides what lies in shared memory; ``lanes`` are the threads of a warp."""

    xp = np
    n_processors = 4
    OutOfMemory = MemoryError

    def __init__(
        self, shared_bytes: int = 1 << 30, n_threads: int = 2, *, lanes: int = 1, flags: tuple[str, ...] = ()
    ) -> None:
        assert n_threads % lanes == 0
        self.shared_bytes, self.n_threads, self.lanes = shared_bytes, n_threads, lanes
        self.flags = (*flags, f"-DLANES={lanes}")
        self.launched: list[tuple[str, int]] = []

    def launch(self, name, n_blocks, arguments, *, n_threads=256, shared_floats=0, fixed=(), ahead=False):
        assert 4 * shared_floats <= self.shared_bytes
        self.launched.append((name, fixed))
        kept = [
            np.asarray(a.ctypes.data, dtype=np.uint64) if isinstance(a, np.ndarray) and a.ndim else np.asarray(a)
            for a in arguments
        ]
        addresses = (ctypes.c_void_p * len(kept))(*(a.ctypes.data for a in kept))
        threads = self.lanes if n_threads == WARP else self.n_threads
        kernels = library("training" if name == "train_steps" else "rows", fixed, self.flags)
        getattr(kernels, f"launch_{name}")(n_blocks, threads, ctypes.c_long(4 * shared_floats), addresses)

    def mark(self, *, ahead=False):
        return None

    def hold(self, mark, *, ahead=False):
        pass

    def wait(self, mark):
        pass

    def finish(self):
        pass

    def array(self, host):
        return np.array(host)

    def host(self, array):
        return array.copy()

    def address(self, array):
        return array.ctypes.data

    def release(self):
        pass

    def free_bytes(self):
        return 1 << 30
