"""mypy follows ``self``: a misspelt attribute is an error, in every file with a class that derives from scikit-learn's."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import extranets

ROOT = Path(extranets.__file__).parent
FILES = ["estimators/*.py", "tables/regressor.py", "tuning/trials.py"]


def first_statements(source: str) -> list[ast.stmt]:
    """Of the first method of every class."""
    found = []
    for node in ast.parse(source).body:
        methods = [each for each in getattr(node, "body", []) if isinstance(each, ast.FunctionDef) and takes_self(each)]
        if isinstance(node, ast.ClassDef) and methods:
            found.append(methods[0].body[0])
    return found


def takes_self(method: ast.FunctionDef) -> bool:
    return bool(method.args.args) and method.args.args[0].arg == "self"


def with_mistakes(source: str) -> str:
    lines = source.splitlines()
    for statement in reversed(first_statements(source)):
        lines.insert(statement.lineno - 1, " " * statement.col_offset + "self.n_estimatorz")
    return "\n".join(lines) + "\n"


def test_a_misspelt_attribute_is_an_error_in_every_estimator(tmp_path):
    copy = tmp_path / "extranets"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    expected = {}
    for path in (path for pattern in FILES for path in copy.glob(pattern)):
        source = path.read_text()
        if first_statements(source):
            expected[str(path.relative_to(tmp_path))] = len(first_statements(source))
            path.write_text(with_mistakes(source))
    assert {f"extranets/estimators/{name}.py" for name in ("base", "trained", "extra_nets", "pbp")} < expected.keys()
    configuration = ROOT.parent.parent / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", configuration, "--cache-dir", tmp_path / "cache"]
    done = subprocess.run([*command, *expected], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if 'has no attribute "n_estimatorz"' in line]
    found = {name: sum(line.startswith(f"{name}:") for line in lines) for name in expected}
    assert found == expected
