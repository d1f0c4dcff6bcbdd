"""Breaks the package in small ways and counts how many breaks its tests notice: ``python -m benchmarks.mutants --help``.

    python -m benchmarks.mutants uncertainty metrics model_file --sample 60 --out mutants.jsonl

A mutant is one comparison, operator, constant, condition or statement changed. Its tests are those that mirror the package and run
until the first fails, in a process of its own that reads the changed module. With ``--sample``, so many mutants of each package are
drawn by ``--seed``; more of them hold the fewer, and those of a module stay the same while others change. The same command again
goes on where it was stopped; with ``--again``, it tries only the survivors, after tests were added. The table counts all mutants of
today's code that were tried. Survivors are printed with what was changed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import hashlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.util import spec_from_loader
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "extranets"
TESTS = {"uncertainty": ["tests/uncertainty"], "metrics": ["tests/test_metrics.py"], "model_file": ["tests/model_file"]}
PROCESSOR_SECONDS = 60  # the tests of a package take 13 at most; one that never ends is noticed, too
PATIENCE = 1800  # seconds of the clock, for those that wait for ever
MEMORY = 8 * 2**30  # bytes; more is an error

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
             ast.MatMult: ast.Add, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}  # fmt: skip


class Mutant(NamedTuple):
    path: Path
    line: int
    what: str  # was changed
    source: str  # of the module

    @property
    def name(self) -> str:
        """The same as long as the module is."""
        return hashlib.sha256(f"{self.path.relative_to(ROOT)}\n{self.source}".encode()).hexdigest()[:16]

    def change(self) -> list[str]:
        """Lines that went and lines that came."""
        before = ast.unparse(ast.parse(self.path.read_text())).splitlines()
        lines = difflib.unified_diff(before, self.source.splitlines(), n=0, lineterm="")
        return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What a node may become."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        other = copy.copy(node)
        other.ops = [COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        yield "comparison", other
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        other = copy.copy(node)
        other.op = OPERATORS[type(node.op)]()
        yield "operator", other
    elif isinstance(node, ast.BoolOp):
        yield "and or or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "without not or minus", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "constant", ast.Constant(node.value + 1)
    elif isinstance(node, ast.If | ast.IfExp):
        yield "condition", copy_with(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "statement left out", ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None and not is_none(node.value):
        yield "returns None", ast.Return(ast.Constant(None))


def copy_with(node: Any, **fields: Any) -> Any:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every node that runs, as (parent, field, position, node); annotations and what only type checkers read do not."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for position, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and "TYPE_CHECKING" not in ast.dump(child)[:60]:
                yield node, field, position, child
                yield from places(child)


def mutants_of(path: Path) -> Iterator[Mutant]:
    tree = ast.parse(path.read_text())
    for parent, field, position, node in places(tree):
        for what, other in changes(node):
            ast.copy_location(other, node)
            put(parent, field, position, other)
            yield Mutant(path, getattr(node, "lineno", 0), what, ast.unparse(ast.fix_missing_locations(tree)))
            put(parent, field, position, node)


def put(parent: Any, field: str, position: int | None, node: ast.AST) -> None:
    if position is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[position] = node


class Changed(MetaPathFinder, SourceLoader):
    """Imports one module from another source."""

    def __init__(self, path: Path, source: str) -> None:
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        self.is_init = parts[-1] == "__init__"
        self.name, self.path, self.source = ".".join(parts[:-1] if self.is_init else parts), path, source

    def find_spec(self, name: str, *_: Any) -> Any:
        return spec_from_loader(name, self, is_package=self.is_init) if name == self.name else None

    def get_data(self, path: str | bytes) -> bytes:
        return self.source.encode()

    def get_filename(self, name: str) -> str:
        return str(self.path)

    def path_stats(self, path: str) -> Any:
        raise OSError  # so that nothing is cached


def mutants_of_package(package: str) -> dict[str, Mutant]:
    """By name."""
    return {mutant.name: mutant for path in sorted((PACKAGE / package).rglob("*.py")) for mutant in mutants_of(path)}


def notice(path: Path, source: str, tests: list[str]) -> str:
    """Run the tests in a forked process that imports the mutant. "killed", "survived" or "killed by time"."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sys.meta_path.insert(0, Changed(path, source))
        import pytest

        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not browser", *tests])
        os._exit(int(status))
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            by_time = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
            return "survived" if status == 0 else "killed by time" if by_time else "killed"
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "killed by time"


def ordered_tests(package: str, path: Path) -> list[str]:
    """Tests of the package, those that are named after the module first."""
    own = [str(test) for folder in TESTS[package] for test in sorted((ROOT / folder).glob(f"test_{path.stem}*.py"))]
    rest = [str(test) for folder in TESTS[package] for test in sorted((ROOT / folder).glob("test_*.py"))]
    return [*own, *(test for test in rest if test not in own)] or [str(ROOT / folder) for folder in TESTS[package]]


def outcomes(out: Path) -> dict[str, str]:
    """The last outcome of each mutant, by name."""
    lines = out.read_text().splitlines() if out.exists() else []
    return {record["mutant"]: record["outcome"] for record in map(json.loads, lines)}


def run(packages: list[str], sample: int, seed: int, out: Path, again: bool) -> None:
    tried = outcomes(out)
    import hypothesis  # noqa: F401  what takes long to import, before processes are forked
    import pandas  # noqa: F401
    import pytest  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.ensemble  # noqa: F401

    assert "extranets" not in sys.modules
    for package in packages:
        found = mutants_of_package(package)
        unchanged = next(iter(found.values())).path
        if notice(unchanged, unchanged.read_text(), ordered_tests(package, unchanged)) != "survived":
            raise SystemExit(f"The tests of {package} fail without any change.")
        drawn = sorted(found, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())[:sample]
        survived = [name for name in found if tried.get(name) == "survived"]
        chosen = survived if again else [name for name in drawn if name not in tried]
        for number, name in enumerate(chosen, 1):
            mutant = found[name]
            outcome = notice(mutant.path, mutant.source, ordered_tests(package, mutant.path))
            with out.open("a") as file:
                file.write(json.dumps({"mutant": name, "package": package, "outcome": outcome}) + "\n")
            print(f"{package} {number}/{len(chosen)}: {outcome}", file=sys.stderr, flush=True)


def report(packages: list[str], out: Path) -> None:
    tried, survivors = outcomes(out), []
    print("| package | mutants | tried | killed | share |\n|---|---|---|---|---|")
    for package in packages:
        found = mutants_of_package(package)
        own = [name for name in tried if name in found]
        alive = [found[name] for name in own if tried[name] == "survived"]
        killed = len(own) - len(alive)
        print(f"| {package} | {len(found):,} | {len(own)} | {killed} | {100 * killed / max(len(own), 1):.0f} % |")
        survivors += alive
    for mutant in survivors:
        print(f"{mutant.path.relative_to(ROOT)}:{mutant.line}: {mutant.what}", *mutant.change(), sep="\n    ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", choices=list(TESTS))
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--again", action="store_true", help="try the survivors anew, and no others")
    given = parser.parse_args()
    run(given.packages, given.sample, given.seed, given.out, given.again)
    report(given.packages, given.out)


if __name__ == "__main__":
    main()
