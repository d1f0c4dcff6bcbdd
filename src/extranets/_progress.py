"""A progress line on standard error, and the number of threads: what every fit needs from its surroundings."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import joblib

MOST_THREADS = 1 << 30  # the engine counts in 32 bits


def thread_count(n_jobs: int | None) -> int:
    """Threads for ``n_jobs`` as in scikit-learn, except that None means all usable cores, as in HistGradientBoosting.

    ``OMP_NUM_THREADS`` is a limit for None: joblib's workers set it so that nested parallelism does not oversubscribe.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use None or -1 for all cores, or a positive number.")
    if n_jobs is not None and n_jobs > MOST_THREADS:
        raise ValueError(f"n_jobs={n_jobs} is more than {MOST_THREADS:,} threads; use None or -1 for all cores.")
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    cores = int(joblib.cpu_count())
    if n_jobs is not None:
        return max(1, cores + 1 + n_jobs)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


class ProgressLine:
    """``Training 70 networks  [######....]  62 %  0:03 left``, redrawn in place on a terminal."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.begin = time.monotonic()
        self.logged = 0.0

    def __call__(self, done: float) -> None:
        spent = time.monotonic() - self.begin
        if not sys.stderr.isatty():
            self._log(done, spent)
            return
        left = f"{_clock(spent / done * (1 - done))} left" if done > 0.01 else ""
        bar = "#" * round(30 * done)
        print(f"\r{self.title}  [{bar:.<30}] {100 * done:3.0f} %  {left:<12}", end="", file=sys.stderr, flush=True)

    def _log(self, done: float, spent: float) -> None:
        """Where lines cannot be redrawn (a file, a notebook): one every ten seconds."""
        if spent - self.logged >= 10:
            self.logged = spent
            print(f"{self.title}: {100 * done:.0f} % after {_clock(spent)}", file=sys.stderr, flush=True)

    def close(self, finished: bool) -> None:
        spent = _clock(time.monotonic() - self.begin)
        bar, word = ("#" * 30, "100 %") if finished else ("stopped".center(30), "")
        start = "\r" if sys.stderr.isatty() else ""
        print(f"{start}{self.title}  [{bar}] {word}  {spent:<12}", file=sys.stderr, flush=True)


@contextmanager
def progress_line(title: str, verbose: int) -> Iterator[ProgressLine | None]:
    """A progress line while the block runs, or None when it should be silent."""
    if not verbose:
        yield None
        return
    line = ProgressLine(title)
    finished = False
    try:
        yield line
        finished = True
    finally:
        line.close(finished)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
