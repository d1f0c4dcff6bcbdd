"""The worked example of CONTRIBUTING.md, followed to the letter: one new file, one changed line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import extranets
from extranets.engine import _native

ROOT = Path(__file__).parent.parent
TESTS = "tests/predictor/distributions/test_every_distribution.py"

# The installed package is found by an import hook; the copy must come before it.
RUN = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__ + type(finder).__name__.lower()]
sys.path[:0] = [{copy!r}, {root!r}]
import extranets, pytest
from extranets.predictor.distributions import KINDS
assert extranets.__file__.startswith({copy!r}), extranets.__file__
assert [kind.name for kind in KINDS] == ["student", "normal", "empirical", "laplace"]
assert '"laplace"' in extranets.ExtraNetsRegressor.__doc__
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "laplace", {tests!r}]))
"""


def test_a_new_distribution_is_one_file_and_one_line(tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text[text.index("### A new predictive distribution") :]
    file, line = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[:2]
    assert len([each for each in line.splitlines() if each]) == 2  # with the import
    copy = tmp_path / "extranets"
    shutil.copytree(Path(extranets.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(_native.__file__, copy / "engine")
    folder = copy / "predictor" / "distributions"
    (folder / "laplace.py").write_text(file)
    names = (folder / "__init__.py").read_text()
    known = "KINDS: tuple[type[Distribution], ...] = (Student, Normal, Empirical)\n"
    assert known in names
    (folder / "__init__.py").write_text(names.replace(known, line))
    program = RUN.format(copy=str(tmp_path), root=str(ROOT), tests=TESTS)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 10
