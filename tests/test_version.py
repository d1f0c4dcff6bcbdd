"""The version stands in pyproject.toml, and everything else reads it there."""

from __future__ import annotations

import re
from pathlib import Path

import extranets

ROOT = Path(__file__).parents[1]


def test_the_version_stands_in_one_place():
    (stated,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE)
    assert extranets.__version__ == stated
    code = [ROOT / "CMakeLists.txt", *(ROOT / "native").iterdir(), *(ROOT / "src").rglob("*.py")]
    assert not [path for path in code if stated in path.read_text()]
