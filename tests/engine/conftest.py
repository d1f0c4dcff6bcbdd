"""Every place where the engine can do its arithmetic, so that one test covers them all."""

from __future__ import annotations

import pytest

from extranets.engine import _native, cuda, doors
from extranets.engine.cuda import training
from tests.engine.cuda_on_host import HostGpu
from tests.gpu import gpu_or_none

CPU = _native.usable_variants()
IN_SHARED = (0, 3)  # nothing, everything; test_cuda.py tests what lies between
KERNELS = [f"CUDA kernels on the CPU, {n} in shared memory" for n in IN_SHARED]
GPU = [f"GPU, {n} in shared memory" for n in IN_SHARED] if gpu_or_none() else []


class CudaDoors:
    """Stands in for `extranets.engine.native` in tests that name no device."""

    @staticmethod
    def train_all(*arguments, n_threads=1, **others):
        return cuda.train_all(*arguments, **others)

    @staticmethod
    def forward(*arguments, n_threads=1, **others):
        return cuda.forward(*arguments, **others)

    @staticmethod
    def Moments(*arguments, n_threads=1, **others):
        return cuda.Moments(*arguments, **others)


def at_most_in_shared(most):
    def capped(layout, shared_bytes):
        sizes = [0, layout.workspace_size, layout.block_size + layout.values_size, 2 * layout.block_size]
        return most, sum(sizes[: most + 1])

    return capped


@pytest.fixture(params=[*CPU, *KERNELS, *GPU])
def anywhere(request, monkeypatch):
    """Runs a test on every instruction set of this machine, with the CUDA kernels compiled for it, and on a GPU if there is one."""
    if request.param in CPU:
        before = _native.active_variant()
        _native.use_variant(request.param)
        yield
        _native.use_variant(before)
        return
    monkeypatch.setattr(doors, "native", CudaDoors)
    most = IN_SHARED[(KERNELS + GPU).index(request.param) % 2]
    monkeypatch.setattr(training, "in_shared_memory", at_most_in_shared(most))
    monkeypatch.setattr(training, "fixed_for", lambda *_: ())  # one compilation for all tests
    if request.param in KERNELS:
        n_threads = 5 if most else 2  # tiles are smaller where threads are many
        gpu = HostGpu(shared_bytes=1 << 30 if most else 0, n_threads=n_threads)
        monkeypatch.setattr(cuda, "the_gpu", lambda: gpu)
    yield
