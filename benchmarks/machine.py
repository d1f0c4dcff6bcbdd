"""What the figures were measured on. Only the standard library is loaded before ``describe`` is called."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

THREADS = 2
PACKAGES = ("extranets", "numpy", "scikit-learn", "torch", "jax")


def _core(cpu: int) -> str:
    """A name that CPUs of one physical core share; the CPU's own number where the system does not tell."""
    topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
    try:
        return (topology / "physical_package_id").read_text() + (topology / "core_id").read_text()
    except OSError:
        return str(cpu)


def limit_cpus(n: int = THREADS) -> None:
    """Keep this process and its children on ``n`` CPUs of different cores, so that every library has the same ones."""
    if not hasattr(os, "sched_setaffinity"):
        return
    by_core = {_core(cpu): cpu for cpu in sorted(os.sched_getaffinity(0), reverse=True)}
    chosen = sorted(by_core.values())[:n]
    if len(chosen) == n:
        os.sched_setaffinity(0, chosen)


def usable_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def describe() -> dict[str, str]:
    from extranets import build_info

    build = build_info()
    load = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "machine": f"{_cpu_name()}, {platform.system()} {platform.release()}",
        "CPUs": f"{os.cpu_count()} in the machine, {usable_cpus()} used",
        "load at the start": load,
        "compiler": build["compiler"],
        "variant": build["variant"],
        "Python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
    }
