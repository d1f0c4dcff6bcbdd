"""Whether this machine has an NVIDIA GPU that the engine can use."""

from __future__ import annotations

import functools

import pytest

from extranets.engine.cuda.gpu import Gpu, NoGpu, the_gpu


@functools.cache
def gpu_or_none() -> Gpu | None:
    try:
        return the_gpu()
    except NoGpu:
        return None


needs_gpu = pytest.mark.skipif(gpu_or_none() is None, reason="no NVIDIA GPU, or no CuPy, on this machine")
