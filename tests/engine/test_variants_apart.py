"""Code compiled for one instruction set must not be linked into another."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OBJECTS = sorted(ROOT.glob("build/*/CMakeFiles/*.dir/native/variant.cpp.o"))

# Weak data, the same for all variants.
HARMLESS = ("DW.ref.__gxx_personality_v0",)


@pytest.mark.skipif(not OBJECTS or not shutil.which("nm"), reason="needs the object files of a build and nm")
@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.parent.parent.name)
def test_weak_symbols_stay_in_their_namespace(path):
    """The linker keeps one copy of a weak function for all variants: perhaps one with instructions that a machine lacks."""
    namespace = path.parent.parent.name.removesuffix(".dir")
    listing = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
    weak = [line[19:] for line in listing.splitlines() if line[17:18] in "WVu"]
    shared = [name for name in weak if f"{namespace}::" not in name and name not in HARMLESS]
    assert not shared
    assert f"{namespace}::kernels" in listing
