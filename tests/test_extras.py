"""What is said where a package is missing that only a part of this one needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import extranets
from extranets._extras import how_to_install, require

WITHOUT = """
import sys
sys.modules[{package!r}] = None  # what Python does for a package that is not there
{statement}
"""


@pytest.mark.parametrize("statement", ["import extranets.tables", "from extranets.tables import TableRegressor"])
@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_tables_say_what_to_install(package, statement):
    code = WITHOUT.format(package=package, statement=statement)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    expected = (
        f'ModuleNotFoundError: extranets.tables needs {package}: pip install ".[tables]" in a checkout of extranets.'
    )
    assert done.stderr.splitlines()[-1] == expected


def test_all_that_is_missing_is_named():
    require("A test", "tables", "numpy")
    with pytest.raises(ModuleNotFoundError, match="A test needs no_such_one and no_such_two: ") as caught:
        require("A test", "tables", "no_such_one", "numpy", "no_such_two")
    assert caught.value.name == "no_such_one" and how_to_install("tables") in str(caught.value)


def test_no_hint_asks_for_a_release():
    """``pip install "extranets[tables]"`` cannot work before there is one."""
    root = Path(extranets.__file__).parent
    assert [path for path in root.rglob("*.py") if "extranets[" in path.read_text()] == []
