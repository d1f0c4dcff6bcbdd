"""A small study for the tests of runs, which is also a script: ``python toy_study.py FOLDER JOBS``."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import threadpoolctl

from extranets.studies import runs
from extranets.studies.runs import UnitResult


@dataclass(frozen=True)
class Toy:
    """Norms of random matrices. The file ``trap`` causes failures, ``log`` notes calls; neither changes records."""

    name: ClassVar[str] = "toy"

    n_units: int = 30
    seconds: float = 0.02
    scales: tuple[float, ...] = (1.0, 0.1)
    trap: str = ""
    log: str = ""

    def units(self) -> list[str]:
        return [f"toy-{number:03d}" for number in range(self.n_units)]

    def run(self, unit: str) -> UnitResult:
        if self.log:
            with open(self.log, "a") as log:
                log.write(unit + "\n")
        self._spring_trap(unit)
        begin = time.perf_counter()
        matrix = np.random.default_rng(int(unit[4:])).normal(size=(30, 30))
        threads = max(library["num_threads"] for library in threadpoolctl.threadpool_info())
        records = [{"unit": unit, "scale": s, "norm": float(np.linalg.norm(s * matrix, 2))} for s in self.scales]
        time.sleep(self.seconds)
        return UnitResult(
            [*records, {"unit": unit, "threads": threads, "gap": None}], {"total": time.perf_counter() - begin}
        )

    def _spring_trap(self, unit: str) -> None:
        trap = Path(self.trap)
        if self.trap and trap.exists() and unit == "toy-001":
            time.sleep(0.2)  # so that the other worker finishes something
            if trap.read_text() == "die":
                os._exit(7)
            raise ArithmeticError("caught in the trap")


def work(toy: Toy, folder: str, deadly: str = "", calls: int = 0) -> None:
    """Run the study, but kill this process with SIGKILL at the given call of the function ``deadly`` of ``os``."""
    if deadly:
        make_deadly(deadly, calls)
    runs.run(toy, folder, jobs=1, progress=False)


def make_deadly(name: str, calls: int) -> None:
    original, left = getattr(os, name), calls

    def counted(*args: object) -> object:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*args)

    setattr(os, name, counted)


if __name__ == "__main__":
    try:
        runs.run(Toy(), sys.argv[1], jobs=int(sys.argv[2]))
    except runs.RunInterrupted as stop:
        print(stop)
        sys.exit(3)
