"""Data flows one way: a module imports only from the layers above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import extranets

ROOT = Path(extranets.__file__).parent

# From the top. A name is a module or a package of src/extranets.
LAYERS = [
    "_interrupt",
    "_sklearn",
    "_arrays",
    "_warnings",
    "_progress",
    "_random",
    "_atomic",
    "_json",
    "data",
    "model_file",
    "encodings",
    "networks",
    "engine",
    "build",
    "uncertainty",
    "metrics",
    "onnx_graph",
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
    ("estimators", "data"),
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
