"""Progress on standard error, how long a fit will take, and the number of threads: what every fit needs from its surroundings."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

import joblib

MOST_THREADS = 1 << 30  # the engine counts in 32 bits
LONG = 10.0  # seconds of a fit that deserve an estimate
EARLY = 1.0  # seconds after which one is made
LEAST_DONE = 0.02  # share of the work that says how long the rest will take
ALIKE = 1.3  # a range of times is told if its ends differ by so much

Listener = Callable[[str, float], object]  # gets a title, and the share of its work that is done

_listener: ContextVar[Listener | None] = ContextVar("extranets_progress", default=None)


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


class Progress(Protocol):
    """Gets the share of the work that is done. The title may change on the way."""

    title: str

    def __call__(self, done: float) -> object: ...


@dataclass
class _Passed:
    """To a listener."""

    title: str
    listener: Listener

    def __call__(self, done: float) -> object:
        return self.listener(self.title, done)


class ProgressLine:
    """``Training 70 networks  [######....]  62 %  0:03 left``, redrawn in place on a terminal.

    Parameters
    ----------
    ahead : (float, float)
        Least and most work that follows, as multiples of the line's own. With it, the time of a long fit is told once.
    """

    def __init__(self, title: str, ahead: tuple[float, float] | None = None) -> None:
        self.title = title
        self.ahead = ahead
        self.begin = time.monotonic()
        self.logged = 0.0

    def __call__(self, done: float) -> None:
        spent = time.monotonic() - self.begin
        if self.ahead is not None and spent >= EARLY and done >= LEAST_DONE:
            self._tell_time(spent / done, *self.ahead)
            self.ahead = None
        left = f"{_clock(spent / done * (1 - done))} left" if done >= LEAST_DONE else ""
        if not sys.stderr.isatty():
            self._log(done, spent, left)
            return
        bar = "#" * round(30 * done)
        print(f"\r{self.title}  [{bar:.<30}] {100 * done:3.0f} %  {left:<12}", end="", file=sys.stderr, flush=True)

    def _tell_time(self, own: float, least: float, most: float) -> None:
        """``own`` : seconds of the line's own work."""
        shortest, longest = own * (1 + least), own * (1 + most)
        if longest < LONG:
            return
        known = longest <= ALIKE * shortest
        times = f"about {in_words(longest)}" if known else f"{in_words(shortest)} to {in_words(longest)}"
        start = "\r" if sys.stderr.isatty() else ""
        print(f"{start}{f'This fit takes {times}.':<78}", file=sys.stderr, flush=True)

    def _log(self, done: float, spent: float, left: str) -> None:
        """Where lines cannot be redrawn (a file, a notebook): one every ten seconds."""
        if spent - self.logged >= 10:
            self.logged = spent
            after = f"after {_clock(spent)}" + (f", {left}" if left else "")
            print(f"{self.title}: {100 * done:.0f} % {after}", file=sys.stderr, flush=True)

    def close(self, finished: bool) -> None:
        spent = _clock(time.monotonic() - self.begin)
        bar, word = ("#" * 30, "100 %") if finished else ("stopped".center(30), "")
        start = "\r" if sys.stderr.isatty() else ""
        print(f"{start}{self.title}  [{bar}] {word}  {spent:<12}", file=sys.stderr, flush=True)


@contextmanager
def progress_line(title: str, verbose: int, ahead: tuple[float, float] | None = None) -> Iterator[Progress | None]:
    """A progress line while the block runs, or None when it should be silent; ``ahead`` as in :class:`ProgressLine`."""
    listener = _listener.get()
    if listener is not None:
        listener(title, 0.0)
        yield _Passed(title, listener)
        return
    if not verbose:
        yield None
        return
    line = ProgressLine(title, ahead)
    finished = False
    try:
        yield line
        finished = True
    finally:
        line.close(finished)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Progress goes to a listener instead of the screen while the block runs. What it raises ends the work."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def in_words(seconds: float) -> str:
    """Roughly.

    Examples
    --------
    >>> in_words(0.3), in_words(44), in_words(100), in_words(5000)
    ('1 s', '45 s', '2 min', '1.4 h')
    """
    if seconds < 55:
        step = 1 if seconds < 10 else 5
        return f"{max(1, step * round(seconds / step))} s"
    return f"{max(1, round(seconds / 60))} min" if seconds < 3300 else f"{seconds / 3600:.1f} h"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
