"""Time and memory of one large prediction, in a process of its own: ``python -m benchmarks.memory ROWS MEMBERS``.

Measures what a user calls: ``predict(X, return_std=True)`` of a fitted estimator, on float64 rows.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from benchmarks.machine import THREADS
from benchmarks.predicting import PROCESS_STATUS
from benchmarks.problem import Problem
from extranets import ExtraNetsRegressor


def megabytes(field: str) -> float:
    """``VmRSS`` (now) or ``VmHWM`` (peak) of this process.

    Not ``ru_maxrss``: Linux carries that over from the parent process, which may be much larger.
    """
    line = next(line for line in PROCESS_STATUS.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024 / 1e6


def main(rows: int, members: int) -> None:
    problem = Problem(rows=1000, members=members)
    model = ExtraNetsRegressor.from_preset(
        "paper",
        n_estimators=members,
        hidden_layer_sizes=(problem.units,),
        max_iter=1,
        max_restarts=0,
        n_jobs=THREADS,
        random_state=0,
    )
    model.fit(*problem.data)
    X = np.random.default_rng(0).standard_normal((rows, problem.inputs))
    before, begin = megabytes("VmRSS"), time.perf_counter()
    model.predict(X, return_std=True)
    seconds, peak = time.perf_counter() - begin, megabytes("VmHWM")
    json.dump({"megabytes": peak - before, "seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
