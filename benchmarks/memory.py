"""Memory of one large prediction, measured in a process of its own: ``python -m benchmarks.memory ROWS MEMBERS``."""

from __future__ import annotations

import json
import sys

import numpy as np

from benchmarks.machine import THREADS
from benchmarks.predicting import PROCESS_STATUS, moments_in_chunks
from benchmarks.problem import Problem
from extranets.engine import Moments


def _megabytes(field: str) -> float:
    """``VmRSS`` (now) or ``VmHWM`` (peak) of this process.

    Not ``ru_maxrss``: Linux carries that over from the parent process, which may be much larger.
    """
    line = next(line for line in PROCESS_STATUS.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024 / 1e6


def main(rows: int, members: int) -> None:
    problem = Problem(rows=rows, members=members)
    X = np.random.default_rng(0).standard_normal((rows, problem.inputs), dtype=np.float32)
    ensemble = problem.untrained()
    before = _megabytes("VmRSS")
    results = moments_in_chunks(Moments(ensemble, n_threads=THREADS), X)
    peak = _megabytes("VmHWM")
    json.dump({"megabytes": peak - before, "results": len(results)}, sys.stdout)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
