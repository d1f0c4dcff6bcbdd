"""docs/reliability.md names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "reliability.md").read_text()
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", DOCUMENT)


def functions_of(path):
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_named_test_exists():
    missing = [
        f"{path}::{name}" for path, name in NAMED if not (ROOT / path).exists() or name not in functions_of(ROOT / path)
    ]
    assert not missing and len(NAMED) > 40


def test_every_fault_has_a_test():
    """Each row of a table with the heading "fault" ends with the name of a test."""
    inside, rows = False, []
    for line in DOCUMENT.splitlines():
        inside = line.startswith("|") and (inside or line.startswith("| fault"))
        if inside and not line.startswith(("| fault", "|---")):
            rows.append(line)
    assert len(rows) > 40
    assert [row for row in rows if not re.search(r"`tests/[\w/]+\.py::\w+` \|$", row)] == []
