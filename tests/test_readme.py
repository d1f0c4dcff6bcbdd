"""The README's Python is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_readme_code_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # some of it writes files
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)
    assert "%" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["make demo", "make test"])
def test_readme_shows_the_two_commands(target):
    assert target in README.read_text()[:2500]
