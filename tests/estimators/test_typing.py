"""mypy follows ``self``: a misspelt attribute is an error, in every file with a class that derives from scikit-learn's."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import extranets

ROOT = Path(extranets.__file__).parent
BASES = ("BaseEstimator", "NetsRegressor", "AdamRegressor", "TrainedRegressor", "ExtraNetsRegressor")


def estimators_in(source: str) -> list[ast.ClassDef]:
    """Classes that derive from scikit-learn's bases."""
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return [node for node in classes if any(ast.unparse(base) in BASES for base in node.bases)]


def methods_of(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [each for each in node.body if isinstance(each, ast.FunctionDef) and takes_self(each)]


def first_statements(source: str) -> list[ast.stmt]:
    """Of the first method of every estimator."""
    return [methods_of(node)[0].body[0] for node in estimators_in(source) if methods_of(node)]


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
    for path in copy.rglob("*.py"):
        source = path.read_text()
        if first_statements(source):
            expected[str(path.relative_to(tmp_path))] = len(first_statements(source))
            path.write_text(with_mistakes(source))
    own = {f"extranets/estimators/{name}.py" for name in ("base", "extra_nets", "bootstrap_nets", "pbp", "variational")}
    assert own | {"extranets/tables/regressor.py", "extranets/comparison.py"} < expected.keys()
    configuration = ROOT.parent.parent / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", configuration, "--cache-dir", tmp_path / "cache"]
    done = subprocess.run([*command, *expected], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if 'has no attribute "n_estimatorz"' in line]
    found = {name: sum(line.startswith(f"{name}:") for line in lines) for name in expected}
    assert found == expected


def assigned(node: ast.ClassDef) -> set[str]:
    """Attributes that methods set on ``self``."""
    names = (each for method in methods_of(node) for each in ast.walk(method) if isinstance(each, ast.Attribute))
    return {each.attr for each in names if isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == "self"}


def declared(node: ast.ClassDef) -> set[str]:
    return {
        each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def undeclared(sources: list[str]) -> set[str]:
    """Attributes of this package's own estimators that are set and declared nowhere: mypy takes them for new ones."""
    classes = [node for source in sources for node in estimators_in(source)]
    known = set().union(*map(declared, classes)) | {"n_features_in_", "feature_names_in_"}
    return set().union(*map(assigned, classes)) - known


def test_attributes_that_methods_set_are_declared():
    sources = [path.read_text() for path in (ROOT / "estimators").glob("*.py")]
    assert undeclared(sources) == set()
    misspelt = sources[0] + "\nclass A(NetsRegressor):\n    def f(self):\n        self.effortt = 3\n"
    assert undeclared([*sources[1:], misspelt]) == {"effortt"}
