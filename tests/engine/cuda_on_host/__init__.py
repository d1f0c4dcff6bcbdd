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

from extranets.engine.cuda.gpu import WARP, Fixed, kernel_source, module_source

TEAM = Path(__file__).parent / "team.hpp"
FLAGS = ["-std=c++20", "-O2", "-march=native", "-shared", "-fPIC", "-pthread", "-Wall", "-Wno-unknown-pragmas"]


def host_source(module: str, fixed: Fixed) -> str:
    kernels = module_source(module, fixed).replace(kernel_source("team"), TEAM.read_text())
    names = re.findall(r"^KERNEL (\w+)\(", kernels, flags=re.MULTILINE)
    return kernels + "".join(f"LAUNCHER({name})\n" for name in names)


@functools.cache
def library(module: str, fixed: Fixed) -> ctypes.CDLL:
    source = host_source(module, fixed)
    folder = Path(tempfile.gettempdir()) / "extranets-cuda-on-host"
    folder.mkdir(exist_ok=True)
    built = folder / f"{hashlib.sha256((source + str(FLAGS)).encode()).hexdigest()[:24]}.so"
    if not built.exists():  # written beside it first: tests run in several processes
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            text, product = Path(scratch) / "kernels.cpp", Path(scratch) / "kernels.so"
            text.write_text(source)
            subprocess.run(["c++", *FLAGS, "-o", str(product), str(text)], check=True)
            product.replace(built)
    return ctypes.CDLL(str(built))


class HostGpu:
    """Two threads to a block. ``shared_bytes`` decides what lies in shared memory."""

    xp = np
    n_processors = 4

    def __init__(self, shared_bytes: int = 1 << 30, n_threads: int = 2) -> None:
        self.shared_bytes, self.n_threads = shared_bytes, n_threads
        self.launched: list[tuple[str, int]] = []

    def launch(self, name, n_blocks, arguments, *, n_threads=256, shared_floats=0, fixed=(), ahead=False):
        assert 4 * shared_floats <= self.shared_bytes
        self.launched.append((name, fixed))
        kept = [
            np.asarray(a.ctypes.data, dtype=np.uint64) if isinstance(a, np.ndarray) and a.ndim else np.asarray(a)
            for a in arguments
        ]
        addresses = (ctypes.c_void_p * len(kept))(*(a.ctypes.data for a in kept))
        threads = 1 if n_threads == WARP else self.n_threads
        kernels = library("training" if name == "train_steps" else "rows", fixed)
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

    def free_bytes(self):
        return 1 << 30
