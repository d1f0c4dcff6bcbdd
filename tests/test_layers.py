"""Data flows one way: a module imports only from the layers above it."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

import extranets

ROOT = Path(extranets.__file__).parent

# From the top. A name is a module or a package of src/extranets.
LAYERS = [
    "_interrupt",
    "_sklearn",
    "_arrays",
    "_warnings",
    "_extras",
    "_blas",
    "_progress",
    "_random",
    "_atomic",
    "_json",
    "data",
    "model_file",
    "encodings",
    "networks",
    "engine",
    "blocks",
    "uncertainty",
    "metrics",
    "onnx_graph",
    "parting",
    "held_out",
    "predictor",
    "stacking",
    "estimators",
    "tuning",
    "evaluation",
    "tables",
    "comparison",
    "studies",
    "plots",
    "report",
    "cli",
    "__init__",
]

# Layers that must not know each other although the order would allow it.
STRANGERS = {
    ("engine", "data"),
    ("networks", "data"),
    ("encodings", "data"),
    ("uncertainty", "networks"),
    ("uncertainty", "engine"),
    ("held_out", "data"),
    ("held_out", "metrics"),
    ("held_out", "onnx_graph"),
    ("predictor", "data"),
    ("estimators", "data"),
    ("blocks", "data"),
    ("tuning", "data"),
    ("metrics", "data"),
    ("metrics", "networks"),
    ("metrics", "engine"),
    ("model_file", "data"),
    ("onnx_graph", "data"),
    ("onnx_graph", "engine"),
    ("evaluation", "estimators"),
    ("evaluation", "engine"),
    ("plots", "estimators"),
    ("plots", "engine"),
    ("plots", "tables"),
    ("report", "estimators"),
    ("report", "engine"),
    ("report", "networks"),
    ("report", "tables"),
}


def layer_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imported_layers(source: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("extranets.<relative import>")
    inside = {(name + ".").split(".")[1] for name in names if name.split(".")[0] == "extranets"}
    # A name that is no layer comes from the package itself, which is the last layer.
    return {name if name in LAYERS or name.startswith("<") else "__init__" for name in inside - {""} | _bare(names)}


def _bare(names: set[str]) -> set[str]:
    return {"__init__"} if "extranets" in names and not any(name.startswith("extranets.") for name in names) else set()


def violations(path: Path, source: str) -> list[str]:
    own = layer_of(path)
    return [
        f"{path.name} ({own}) imports {other}"
        for other in sorted(imported_layers(source) - {own})
        if other not in LAYERS or LAYERS.index(other) > LAYERS.index(own) or (own, other) in STRANGERS
    ]


def private_imports(path: Path, source: str) -> list[str]:
    """Imports of modules and names with an underscore from another package; the package's own root is everybody's."""
    own, found = path.relative_to(ROOT).parts[:-1], []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "extranets":
            imported = [(*node.module.split(".")[1:], alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            imported = [tuple(a.name.split(".")[1:]) for a in node.names if a.name.split(".")[0] == "extranets"]
        else:
            continue
        for parts in imported:
            for depth, name in enumerate(parts):
                if depth > 0 and name.startswith("_") and parts[:depth] != own[:depth]:
                    found.append(f"{path.relative_to(ROOT)} imports {'.'.join(parts)}")
    return found


def test_every_module_has_a_layer():
    unknown = {layer_of(path) for path in ROOT.rglob("*.py")} - set(LAYERS)
    assert not unknown, f"add {unknown} to LAYERS"


def test_no_import_goes_up():
    found = [line for path in ROOT.rglob("*.py") for line in violations(path, path.read_text())]
    assert not found


def test_the_check_can_fail():
    upward = "from extranets.estimators import ExtraNetsRegressor"
    assert violations(ROOT / "engine" / "native.py", upward)
    assert violations(ROOT / "uncertainty" / "noise.py", "from extranets import engine")
    assert violations(ROOT / "engine" / "native.py", "from extranets import ExtraNetsRegressor")
    assert violations(ROOT / "engine" / "native.py", "import extranets")
    assert violations(ROOT / "engine" / "native.py", "from . import options")
    assert not violations(ROOT / "estimators" / "extra_nets.py", "from extranets import engine")


def test_no_module_imports_what_is_private_to_another_package():
    found = [line for path in ROOT.rglob("*.py") for line in private_imports(path, path.read_text())]
    assert not found


def test_the_check_of_private_imports_can_fail():
    path = ROOT / "tables" / "regressor.py"
    for source in (
        "from extranets.metrics._checks import check",
        "from extranets.metrics import _checks",
        "import extranets.metrics._checks",
        "from extranets.estimators.base import _secret",
    ):
        assert private_imports(path, source)
    for source in (
        "from extranets._arrays import Array",
        "from extranets.tables._own import name",
        "import numpy._core",
    ):
        assert not private_imports(path, source)


def import_graph() -> dict[str, set[str]]:
    """Every module and the modules of this package that it imports, also inside functions; for type checking alone does not count."""
    paths = {module_name(path): path for path in ROOT.rglob("*.py")}
    graph = {}
    for name, path in paths.items():
        tree = ast.parse(path.read_text())
        typing_only = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            for inner in ast.walk(node)
        }
        imported = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing_only:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    imported.add(whole if whole in paths else node.module)
            elif isinstance(node, ast.Import) and id(node) not in typing_only:
                imported |= {alias.name for alias in node.names}
        graph[name] = imported & paths.keys() - {name}
    return graph


def module_name(path: Path) -> str:
    parts = ("extranets", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_modules_import_each_other_in_a_circle():
    with pytest.raises(graphlib.CycleError, match="extranets"):  # the check can fail
        graphlib.TopologicalSorter({"extranets.a": {"extranets.b"}, "extranets.b": {"extranets.a"}}).prepare()
    graphlib.TopologicalSorter(import_graph()).prepare()


HEAVY = """
import sys
import sklearn.base, sklearn.utils.validation  # scikit-learn itself may load pandas where it is installed
before = set(sys.modules)
import extranets
heavy = {"pandas", "polars", "matplotlib", "rich", "torch", "jax", "scipy.stats"}
print(sorted(heavy & (set(sys.modules) - before)))
"""


def test_import_loads_nothing_heavy():
    """What a user does not use is not imported: a bare import must stay quick."""
    done = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
