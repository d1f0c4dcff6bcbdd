"""Stopwatches for machines that are not quiet."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from statistics import median
from typing import TypeVar

PAUSE = 0.1  # seconds after which idle worker threads of the previous library have stopped spinning

Key = TypeVar("Key", bound=Hashable)
Run = Callable[[], object]


def seconds(run: Run) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def median_seconds(run: Run, repeats: int) -> float:
    time.sleep(PAUSE)
    return median(seconds(run) for _ in range(repeats))


def interleaved(ours: Run, peer: Run, repeats: int, ours_repeats: int) -> tuple[float, float]:
    """Median seconds of ours and of the peer; ours is timed before and after every run of the peer.

    Both run once untimed, because first runs load and set up more than they compute.
    """
    ours()
    peer()
    our_times = [median_seconds(ours, ours_repeats)]
    peer_times = []
    for _ in range(repeats):
        peer_times.append(median_seconds(peer, 1))
        our_times.append(median_seconds(ours, ours_repeats))
    return median(our_times), median(peer_times)


def best_seconds(runs: dict[Key, Run], repeats: int) -> dict[Key, float]:
    """Shortest of ``repeats`` times of each run. The runs take turns, so that a slow spell meets all of them."""
    best = {key: float("inf") for key in runs}
    for _ in range(repeats):
        for key, run in runs.items():
            best[key] = min(best[key], seconds(run))
    return best
