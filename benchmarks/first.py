"""The first fit of a new process, after the imports: what a script that fits one ensemble waits for.

Libraries that compile or load parts of themselves at first use pay for it here. ``python -m benchmarks.first NAME SIZES``
times one of them and prints the seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from statistics import median

from benchmarks.machine import limit_cpus
from benchmarks.peers import PEERS
from benchmarks.problem import Problem
from benchmarks.report import Row, Section
from benchmarks.sizes import Sizes
from benchmarks.timing import Stopwatch

OURS = "ours"
WHOLE = [peer for peer in PEERS if "loop" not in peer.name and peer.module != "sklearn"]  # those that train all at once

COLUMNS = {"what": ("what", ""), "seconds": ("seconds", ".3f"), "ratio": ("ratio", ".1f")}


def _in_new_process(name: str, problem: Problem) -> float:
    command = [sys.executable, "-m", "benchmarks.first", name, json.dumps(asdict(problem))]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def first_fit(sizes: Sizes, progress: Callable[[str], object]) -> Section:
    section = Section(f"First fit of a new process: {sizes.fit}", COLUMNS)
    for name in [OURS, *(peer.name for peer in WHOLE if peer.installed)]:
        progress(f"First fit: {name}")
        watch = Stopwatch(sizes.patience)
        taken = [watch.quietly(lambda name=name: _in_new_process(name, sizes.fit)) for _ in range(sizes.first_fits)]
        row: Row = {"what": name, "seconds": median(taken)}
        if section.rows:
            row["ratio"] = row["seconds"] / section.rows[0]["seconds"]
        section.rows.append(row)
    section.notes = [f"Medians over {sizes.first_fits} new processes, imports not counted, compilation counted."]
    return section


def main(name: str, sizes: str) -> None:
    problem = Problem(**json.loads(sizes))
    problem.data  # noqa: B018 - made before the clock starts
    peers = {peer.name: peer for peer in WHOLE}
    if name in peers:
        import_module(peers[name].module)
    begin = time.perf_counter()
    if name == OURS:
        problem.train()
    else:
        peers[name].prepare(problem).run()
    print(time.perf_counter() - begin)


if __name__ == "__main__":
    limit_cpus()
    main(*sys.argv[1:])
