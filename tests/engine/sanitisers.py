"""Programs under the sanitisers of this machine's compiler, and the extension compiled for them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Literal

import pytest

ROOT = Path(__file__).parents[2]
REPORTS = r"(?:WARNING: ThreadSanitizer|ERROR: AddressSanitizer|\S+: runtime error:).*(?:\n.*){0,8}"

Kind = Literal["address", "thread"]
LIBRARIES: dict[Kind, str] = {"address": "libasan.so", "thread": "libtsan.so"}
FLAGS: dict[Kind, str] = {"address": "address,undefined", "thread": "thread"}


def run_sanitised(kind: Kind, program: str, *arguments: str, timeout: float = 1200) -> str:
    """Runs a Python program, fails with what the sanitiser found, and returns what the program printed."""
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    done = subprocess.run(
        command, env=_environment(kind), cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=timeout
    )
    if "unexpected memory mapping" in done.stderr:
        pytest.skip(f"{LIBRARIES[kind]} cannot run in this machine's address space")
    reports = re.findall(REPORTS, done.stderr)
    assert not reports, "\n".join(reports[:3])
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def sanitised_extension(kind: Kind) -> Path:
    """`_native`, compiled with sanitisers in a build folder of its own: only what has changed is compiled again.

    To be imported by its path: the name `extranets.engine._native` leads to the installed one.
    """
    _library(LIBRARIES[kind])
    folder = ROOT / "build" / "sanitised" / kind
    build = [
        "-Cinstall.strip=false",
        f"-Cbuild-dir={folder / 'cmake'}",
        f"-Ccmake.define.EXTRANETS_SANITIZE={FLAGS[kind]}",
    ]
    target = ["--no-deps", "--upgrade", "--target", str(folder / "site")]
    install = [sys.executable, "-m", "pip", "install", *target, *build, str(ROOT)]
    done = subprocess.run(install, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    (built,) = (folder / "site" / "extranets" / "engine").glob("_native*.so")
    return built


def _environment(kind: Kind) -> dict[str, str]:
    # The C++ library comes first too: the address sanitiser looks for its exceptions when the process starts.
    libraries = [_library(LIBRARIES[kind]), _library("libstdc++.so")]
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(map(str, libraries)),
        "ASAN_OPTIONS": "detect_leaks=0 allocator_may_return_null=1",
        "TSAN_OPTIONS": "halt_on_error=0 report_bugs=1 exitcode=66",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONMALLOC": "malloc",  # so that small arrays are watched too
    }


def _library(name: str) -> Path:
    """As the compiler names it. Skips the test where it has none."""
    try:
        found = subprocess.run(["c++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no compiler")
    path = Path(found.strip())
    if not (path.is_absolute() and path.exists()):
        pytest.skip(f"the compiler has no {name}")
    return path
