"""Stopwatch for machines that are not quiet.

Another process on the same CPUs slows libraries down unequally: two threads that wait for each other by spinning lose
far more than two that do not. Taking turns does not correct that, so a measurement during which other processes were
busy is repeated, be it ours or a peer's.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks.machine import usable_cpus

QUIET = 0.05  # largest share of the CPUs that other processes may take
PAUSE = 0.1  # seconds after which idle worker threads of the previous library have stopped spinning
STAT = Path("/proc/stat")
TICK = 0.01  # seconds, the resolution of that file

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Run = Callable[[], object]


def _busy_seconds() -> float:
    """CPU time that all processes have taken so far on the CPUs of this one, time taken by a hypervisor included."""
    cpus = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
    counts = [line.split() for line in STAT.read_text().splitlines()]
    ticks = [list(map(int, row[1:9])) for row in counts if row[0] in cpus]
    idle_and_waiting = slice(3, 5)
    return sum(sum(row) - sum(row[idle_and_waiting]) for row in ticks) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _with_others(measure: Callable[[], Value]) -> tuple[float, Value]:
    """The share of the CPUs that other processes took meanwhile, and the measured value."""
    if not STAT.exists():
        return 0.0, measure()
    begin, others = time.perf_counter(), _own_seconds() - _busy_seconds()
    value = measure()
    others += _busy_seconds() - _own_seconds()
    capacity = usable_cpus() * (time.perf_counter() - begin)
    return max(0.0, others - usable_cpus() * TICK) / capacity, value


def seconds(run: Run) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _best_of_two(run: Run) -> float:
    return min(seconds(run), seconds(run))


@dataclass
class Stopwatch:
    """Measures one figure, and knows how disturbed the kept measurements were."""

    patience: float  # seconds to spend on waiting and on measurements that are repeated, for all of the figure
    others: float = 0.0
    discarded: int = 0

    @property
    def disturbed(self) -> bool:
        return self.others > QUIET

    def quietly(self, measure: Callable[[], Value]) -> Value:
        """The value of the first quiet measurement; of the least disturbed one if patience ends before."""
        attempts: list[tuple[float, Value]] = []
        while not attempts or (attempts[-1][0] > QUIET and self.patience > 0):
            self._wait()
            begin = time.perf_counter()
            attempts.append(_with_others(measure))
            if attempts[-1][0] > QUIET:
                self.patience -= time.perf_counter() - begin
        others, value = min(attempts, key=lambda attempt: attempt[0])
        self.others = max(self.others, others)
        self.discarded += len(attempts) - 1
        return value

    def _wait(self) -> None:
        while _with_others(lambda: time.sleep(PAUSE))[0] > QUIET and self.patience > 0:
            self.patience -= PAUSE

    def median(self, run: Run, repeats: int = 1) -> float:
        return self.quietly(lambda: median(seconds(run) for _ in range(repeats)))

    def interleaved(self, ours: Run, peer: Run, repeats: int, ours_repeats: int) -> tuple[float, float]:
        """Median seconds of ours and of the peer; ours is timed before and after every run of the peer.

        Both run once untimed, because first runs load and set up more than they compute.
        """
        ours()
        peer()
        our_times = [self.median(ours, ours_repeats)]
        peer_times = []
        for _ in range(repeats):
            peer_times.append(self.median(peer))
            our_times.append(self.median(ours, ours_repeats))
        return median(our_times), median(peer_times)

    def best(self, runs: dict[Key, Run], repeats: int) -> dict[Key, float]:
        """Shortest of ``2 * repeats`` times of each run. The runs take turns, so that a slow spell affects all."""
        shortest = {key: float("inf") for key in runs}
        for _ in range(repeats):
            for key, run in runs.items():
                shortest[key] = min(shortest[key], self.quietly(partial(_best_of_two, run)))
        return shortest

    def verdict(self, met: bool) -> bool | str:
        """Whether a target is met; "disturbed" if that cannot be judged."""
        return "disturbed" if self.disturbed else met
