"""The engine on an NVIDIA GPU beside two CPU cores, JAX and PyTorch on the same GPU: `python -m benchmarks.gpu`."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.machine import THREADS, describe, limit_cpus
from benchmarks.peers import Prepared, jax_own_shuffles, jax_shared_shuffles, torch_batched
from benchmarks.problem import Problem
from benchmarks.report import NOT_INSTALLED, Row, Section, print_machine, print_section
from benchmarks.timing import Run, seconds
from extranets import ExtraNetsRegressor
from extranets.engine import moments
from extranets.engine.cuda import NoGpu, the_gpu

COLUMNS = {
    "what": ("what", ""),
    "other": ("beside", ""),
    "seconds": ("its s", ".3f"),
    "ours": ("ours on the GPU, s", ".4f"),
    "ratio": ("ratio", ".1f"),
    "note": ("note", ""),
}
LARGE = Problem(rows=463_715, inputs=90, units=100, epochs=2)
PREDICT_ROWS = 1_000_000
DEFAULT = Problem(rows=50_000, inputs=10)


def _shortest(run: Run, repeats: int) -> float:
    run()  # compiles, loads, sets up
    return min(seconds(run) for _ in range(repeats))


def _beside(what: str, ours: float, others: dict[str, tuple[float | str, str]]) -> list[Row]:
    rows: list[Row] = []
    for other, (taken, note) in others.items():
        ratio = None if isinstance(taken, str) else taken / ours
        rows.append({"what": what, "other": other, "seconds": taken, "ours": ours, "ratio": ratio, "note": note})
    return rows


def _peer(module: str, prepare: Callable[[Problem], Prepared], problem: Problem, repeats: int) -> float | str:
    if find_spec(module) is None:
        return NOT_INSTALLED
    return _shortest(prepare(problem).run, repeats)


def training(problem: Problem, repeats: int, torch_epochs: int) -> list[Row]:
    """PyTorch trains ``torch_epochs`` and is scaled to all: it takes minutes."""
    ours = _shortest(partial(problem.train, device="cuda"), repeats)
    few = replace(problem, epochs=torch_epochs)
    batched = _peer("torch", partial(torch_batched, device="cuda"), few, 1)
    scaled = batched if isinstance(batched, str) else batched * problem.epochs / torch_epochs
    others: dict[str, tuple[float | str, str]] = {
        f"ours on {THREADS} CPU cores": (seconds(problem.train), ""),
        "JAX, own shuffles": (_peer("jax", jax_own_shuffles, problem, repeats), "drops the last partial batch"),
        "JAX, shared shuffles": (_peer("jax", jax_shared_shuffles, problem, repeats), "drops the last partial batch"),
        "PyTorch, batched baddbmm": (scaled, f"{torch_epochs} of {problem.epochs} epochs timed"),
    }
    return _beside(f"train {problem}", ours, others)


def predicting(rows: int, repeats: int) -> list[Row]:
    problem = Problem()
    ensemble = problem.untrained()
    X = np.random.default_rng(0).standard_normal((rows, problem.inputs), dtype=np.float32)
    ours = _shortest(partial(moments(ensemble, device="cuda"), X), repeats)
    cpu = _shortest(partial(moments(ensemble, n_threads=THREADS), X), 1)
    what = f"mean and variance of {problem.members} networks, {rows:,} x {problem.inputs} rows"
    return _beside(what, ours, {f"ours on {THREADS} CPU cores": (cpu, "")})


def fitting(problem: Problem, repeats: int) -> list[Row]:
    X, y = problem.data

    def fit(device: str) -> Any:
        return ExtraNetsRegressor(device=device, n_jobs=THREADS, random_state=0).fit(X, y)

    ours = _shortest(partial(fit, "cuda"), repeats)
    cpu = seconds(partial(fit, "cpu"))
    what = f"ExtraNetsRegressor().fit, {problem.rows:,} x {problem.inputs} rows"
    return _beside(what, ours, {f"ours on {THREADS} CPU cores": (cpu, "intervals included")})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures here")
    path = parser.parse_args().json
    try:
        gpu = the_gpu()
    except NoGpu as error:
        parser.exit(1, f"{error}\n")
    os.environ.setdefault("JAX_PLATFORMS", "cuda")  # before JAX is loaded
    limit_cpus()
    console = Console(width=150)
    machine = {"GPU": f"{gpu.name}, {gpu.n_processors} multiprocessors", **describe()}
    print_machine(console, machine)
    rows = training(Problem(), 5, torch_epochs=4)
    rows += training(LARGE, 2, torch_epochs=1)
    rows += predicting(PREDICT_ROWS, 3) + fitting(DEFAULT, 2)
    notes = [
        "Shortest of a few runs after an untimed first one, uploads and downloads included; compilation is not.",
        "Peers multiply matrices in the precision that they take by themselves on a GPU; ours is plain float32.",
    ]
    section = Section("On a GPU", COLUMNS, rows, notes)
    print_section(console, section)
    if path:
        path.write_text(json.dumps({"machine": machine, **section.as_json()}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
