"""Mean and variance over the members for many rows: time beside PyTorch, and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import THREADS
from benchmarks.problem import Problem
from benchmarks.report import NOT_INSTALLED, QUIET_COLUMNS, Row, Section, target
from benchmarks.sizes import Sizes
from benchmarks.timing import Stopwatch
from extranets._arrays import Float32
from extranets.engine import Moments, moments
from extranets.networks import Ensemble

CHUNK = 65_536
TORCH_CHUNKS = (256, 512, 1024, 2048, 4096, 16_384)
TRIAL_ROWS = 65_536
ROOT = Path(__file__).parents[1]
PROCESS_STATUS = Path("/proc/self/status")

COLUMNS = {
    "what": ("what", ""),
    "value": ("value", ".3f"),
    "unit": ("unit", ""),
    "target": ("target", ".0f"),
    "met": ("met", ""),
    **QUIET_COLUMNS,
    "note": ("note", ""),
}


def moments_in_chunks(moments: Moments, X: Float32) -> tuple[np.ndarray, np.ndarray]:
    mean, variance = np.empty(len(X)), np.empty(len(X))
    for begin in range(0, len(X), CHUNK):
        block = slice(begin, begin + CHUNK)
        block_mean, block_variance, _ = moments(X[block])
        mean[block], variance[block] = block_mean[:, 0], block_variance[:, 0]
    return mean, variance


def _padded(ensemble: Ensemble) -> tuple[Float32, Float32, Float32, Float32]:
    """The members as networks of equal width; masked units have weights of zero."""
    members = ensemble.members
    T, d, Z = len(members), members.architecture.n_inputs, members.architecture.hidden[0]
    W1, b1 = np.zeros((T, d, Z), np.float32), np.zeros((T, 1, Z), np.float32)
    W2, b2 = np.zeros((T, Z, 1), np.float32), np.zeros((T, 1, 1), np.float32)
    for t, begin in enumerate(members.offsets[:-1]):
        kept = members.widths[t, 0]
        ends = begin + np.cumsum([d * kept, kept, kept])
        first, W2[t, :kept, 0] = ensemble.parameters[begin : ends[0]], ensemble.parameters[ends[1] : ends[2]]
        W1[t, :, :kept] = first.reshape(d, kept)
        b1[t, 0, :kept] = ensemble.parameters[ends[0] : ends[1]]
        b2[t] = ensemble.parameters[ends[2]]
    return W1, b1, W2, b2


def _torch_moments(ensemble: Ensemble) -> Callable[[Any, int], tuple[Any, Any]]:
    import torch

    torch.set_num_threads(THREADS)
    W1, b1, W2, b2 = map(torch.from_numpy, _padded(ensemble))

    @torch.inference_mode()
    def moments(X: Any, chunk: int) -> tuple[Any, Any]:
        mean, variance = torch.empty(len(X)), torch.empty(len(X))
        for begin in range(0, len(X), chunk):
            block = slice(begin, begin + chunk)
            hidden = torch.baddbmm(b1, X[block].expand(len(W1), -1, -1), W1).relu_()
            output = torch.baddbmm(b2, hidden, W2)[:, :, 0]
            variance[block], mean[block] = torch.var_mean(output, 0, correction=0)
        return mean, variance

    return moments


def _beside_torch(section: Section, sizes: Sizes, ensemble: Ensemble, X: Float32) -> None:
    import torch

    theirs, rows = _torch_moments(ensemble), torch.from_numpy(X)
    trial = rows[:TRIAL_ROWS]
    watch = Stopwatch(sizes.patience)
    theirs(trial, TORCH_CHUNKS[0])
    trials = watch.best({chunk: partial(theirs, trial, chunk) for chunk in TORCH_CHUNKS}, 3)
    chunk = min(trials, key=trials.__getitem__)
    ours = moments(ensemble, n_threads=THREADS)
    runs = partial(moments_in_chunks, ours, X), partial(theirs, rows, chunk)
    our_time, their_time = watch.interleaved(*runs, sizes.predict_repeats, 1)
    ratio = their_time / our_time
    difference = float(np.abs(moments_in_chunks(ours, X)[0] - theirs(rows, chunk)[0].numpy()).max())
    section.rows += [
        {"what": "ours", "value": our_time, "unit": "s", "note": f"chunks of {CHUNK:,} rows"},
        {"what": "PyTorch, batched baddbmm", "value": their_time, "unit": "s", "note": f"chunks of {chunk:,} rows"},
        {"what": "ratio", "value": ratio, "unit": "", **target(ratio, sizes.target(3), watch)},
    ]
    section.notes += [
        "PyTorch's chunk is the fastest of " + ", ".join(f"{c:,}" for c in TORCH_CHUNKS) + f" on {len(trial):,} rows.",
        f"Both predict with the same networks; their means differ by {difference:.1e} at most.",
    ]


def _only_ours(section: Section, sizes: Sizes, ensemble: Ensemble, X: Float32) -> None:
    ours = moments(ensemble, n_threads=THREADS)
    taken = Stopwatch(sizes.patience).best({"ours": lambda: moments_in_chunks(ours, X)}, sizes.predict_repeats)["ours"]
    section.rows += [
        {"what": "ours", "value": taken, "unit": "s", "note": f"chunks of {CHUNK:,} rows"},
        {"what": "PyTorch, batched baddbmm", "value": NOT_INSTALLED},
    ]


def predict(sizes: Sizes, progress: Callable[[str], object]) -> Section:
    problem = replace(sizes.fit, rows=sizes.predict_rows)
    section = Section(f"Predict: {problem.rows:,} x {problem.inputs} rows, T={problem.members}", COLUMNS)
    progress("Predict: time")
    measure = _beside_torch if find_spec("torch") else _only_ours
    measure(section, sizes, problem.untrained(), problem.data[0])
    progress("Predict: memory")
    section.rows += _estimator_rows(problem, sizes)
    section.notes.append(
        "The estimator's figures are of one call in a new process: checks, scaling and both variances included; memory from "
        "before the call to its peak, results included."
    )
    return section


def _estimator_rows(problem: Problem, sizes: Sizes) -> list[Row]:
    call = "ExtraNetsRegressor.predict(X, return_std=True)"
    if not PROCESS_STATUS.exists():
        return [{"what": call, "value": "needs Linux"}]
    command = [sys.executable, "-m", "benchmarks.memory", str(problem.rows), str(problem.members)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    used = json.loads(done.stdout)
    limit = target(used["megabytes"], sizes.target(200), at_least=False)
    return [
        {"what": call, "value": used["seconds"], "unit": "s", "note": "float64 rows"},
        {"what": "its peak memory above the input", "value": used["megabytes"], "unit": "MB", **limit},
    ]
