"""One NVIDIA GPU, through CuPy: memory, kernels, and the order in which they run."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

MOST_THREADS = 512  # kThreads in kernels/team.cuh
FEW_THREADS = 320
N_THREADS = 256
WARP = 32
OWN_SHARED_BYTES = 2048  # kept free for the kernels' own variables

# In the order in which they build on each other; NVRTC gets them as one text.
_COMMON = ("team", "philox", "sums", "problem", "products", "encoding", "loss", "network")
SOURCES = {"rows": (*_COMMON, "rows"), "training": (*_COMMON, "adam", "adversarial", "training")}
# Square roots and divisions to the last bit would cost a tenth of a training. Denormal numbers are flushed as on the CPU.
COMPILER_OPTIONS = ("-std=c++17", "--prec-sqrt=false", "--prec-div=false", "--ftz=true")

OLDEST = 70  # compute capability that the kernels need


class NoGpu(RuntimeError):
    """``device="cuda"`` where there is no GPU to use; the message says what is missing."""


def kernel_source(name: str) -> str:
    return (files(__package__) / "kernels" / f"{name}.cuh").read_text(encoding="utf-8")


Fixed = tuple[tuple[str, int], ...]


def module_source(name: str, fixed: Fixed) -> str:
    defined = "".join(f"#define {constant} {value}\n" for constant, value in fixed)
    return defined + "\n".join(kernel_source(part) for part in SOURCES[name])


class Gpu:
    """The current CUDA device. Arrays are CuPy's; kernels run one after the other, but for those launched ``ahead``."""

    def __init__(self) -> None:
        cupy = _cupy()
        try:
            n_devices = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise NoGpu(f"device='cuda' found no working NVIDIA driver ({error}); use device='cpu'.") from None
        if n_devices == 0:
            raise NoGpu("device='cuda' found no NVIDIA GPU on this machine; use device='cpu'.")
        device = cupy.cuda.Device()
        if int(device.compute_capability) < OLDEST:
            raise NoGpu(
                f"device='cuda' needs compute capability 7.0; this GPU has {device.compute_capability}. Use 'cpu'."
            )
        self.xp = cupy
        self.OutOfMemory = cupy.cuda.memory.OutOfMemoryError
        self.name = cupy.cuda.runtime.getDeviceProperties(device.id)["name"].decode()
        self.n_processors = int(device.attributes["MultiProcessorCount"])
        self.shared_bytes = int(device.attributes["MaxSharedMemoryPerBlockOptin"])
        self._side = cupy.cuda.Stream(non_blocking=True)

    @functools.cache  # noqa: B019 - one Gpu for each process
    def _kernel(self, name: str, fixed: Fixed) -> Any:
        kernel = self._module("training" if name == "train_steps" else "rows", fixed).get_function(name)
        if name in ("train_steps", "evaluate", "forward_rows"):
            kernel.max_dynamic_shared_size_bytes = self.shared_bytes - kernel.shared_size_bytes
        return kernel

    @functools.cache  # noqa: B019
    def _module(self, name: str, fixed: Fixed) -> Any:
        return self.xp.RawModule(code=module_source(name, fixed), options=COMPILER_OPTIONS, backend="nvrtc")

    def launch(
        self,
        name: str,
        n_blocks: int,
        arguments: Sequence[Any],
        *,
        n_threads: int = N_THREADS,
        shared_floats: int = 0,
        fixed: Fixed = (),
        ahead: bool = False,
    ) -> None:
        """Structures and NumPy scalars go by value, arrays by address.

        ``fixed`` holds names and values that the kernel is compiled for; ``ahead``: beside the other kernels.
        """
        kernel = self._kernel(name, fixed)
        stream = self._side if ahead else self.xp.cuda.get_current_stream()
        with stream:
            kernel((n_blocks,), (n_threads,), tuple(arguments), shared_mem=4 * shared_floats)

    def mark(self, *, ahead: bool = False) -> Any:
        """A point in the order of kernels that one can wait for."""
        return (self._side if ahead else self.xp.cuda.get_current_stream()).record()

    def hold(self, mark: Any, *, ahead: bool = False) -> None:
        """Kernels launched from now on begin after ``mark``."""
        (self._side if ahead else self.xp.cuda.get_current_stream()).wait_event(mark)

    def wait(self, mark: Any) -> None:
        mark.synchronize()

    def finish(self) -> None:
        self.xp.cuda.get_current_stream().synchronize()
        self._side.synchronize()

    def array(self, host: Any) -> Any:
        return self.xp.asarray(host)

    def host(self, array: Any) -> Any:
        return self.xp.asnumpy(array)

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def free_bytes(self) -> int:
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())

    def release(self) -> None:
        """Give memory that is not in use back to the system."""
        self.xp.get_default_memory_pool().free_all_blocks()


def _cupy() -> Any:
    try:
        import cupy
    except ModuleNotFoundError:
        raise NoGpu("device='cuda' needs CuPy: pip install cupy-cuda12x, or cupy-cuda13x for CUDA 13.") from None
    except ImportError as error:
        raise NoGpu(f"device='cuda' needs CuPy, which is installed but does not load: {error}") from error
    return cupy


def the_gpu() -> Gpu:
    """The GPU that is CuPy's current device. A forked process has to make its own object."""
    runtime = _cupy().cuda.runtime
    try:
        device = runtime.getDevice()
    except runtime.CUDARuntimeError:  # no driver or no GPU: Gpu() raises the error that says which
        device = 0
    return _gpu_of(device, os.getpid())


@functools.cache
def _gpu_of(device: int, process: int) -> Gpu:
    return Gpu()
