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
    ahead : float, optional
        The most work that may follow, as a multiple of the line's own. With it, the time that a long fit has left is told as
        soon as it can be guessed.
    minor : bool
        Of a step that takes no time in most tables: its line stays only if it took a second.
    """

    def __init__(self, title: str, ahead: float | None = None, minor: bool = False) -> None:
        self.title = title
        self.ahead = ahead
        self.minor = minor
        self.begin = time.monotonic()
        self.logged = 0.0
        if sys.stderr.isatty():
            print(f"\r{title:<78}", end="", file=sys.stderr, flush=True)

    def __call__(self, done: float) -> None:
        spent = time.monotonic() - self.begin
        if self.ahead is not None and spent >= EARLY and done >= LEAST_DONE:
            self._tell_time(spent / done * (1 - done), spent / done * self.ahead)
            self.ahead = None
        left = f"{_clock(spent / done * (1 - done))} left" if done >= LEAST_DONE else ""
        if not sys.stderr.isatty():
            self._log(done, spent, left)
            return
        bar = "#" * round(30 * done)
        print(f"\r{self.title}  [{bar:.<30}] {100 * done:3.0f} %  {left:<12}", end="", file=sys.stderr, flush=True)

    def _tell_time(self, own: float, later: float) -> None:
        """Seconds that are left of the line's own work, and the most that may follow."""
        if own + later >= LONG:
            start = "\r" if sys.stderr.isatty() else ""
            about = "up to" if later > own / 4 else "about"
            print(
                f"{start}{f'Time left for this fit: {about} {in_words(own + later)}.':<78}", file=sys.stderr, flush=True
            )

    def _log(self, done: float, spent: float, left: str) -> None:
        """Where lines cannot be redrawn (a file, a notebook): one every ten seconds."""
        if spent - self.logged >= 10:
            self.logged = spent
            after = f"after {_clock(spent)}" + (f", {left}" if left else "")
            print(f"{self.title}: {100 * done:.0f} % {after}", file=sys.stderr, flush=True)

    def close(self, finished: bool) -> None:
        seconds = time.monotonic() - self.begin
        if self.minor and finished and seconds < 1:
            if sys.stderr.isatty():
                print(f"\r{'':<78}\r", end="", file=sys.stderr, flush=True)
            return
        spent = _clock(seconds)
        bar, word = ("#" * 30, "100 %") if finished else ("stopped".center(30), "")
        start = "\r" if sys.stderr.isatty() else ""
        print(f"{start}{self.title}  [{bar}] {word}  {spent:<12}", file=sys.stderr, flush=True)


@contextmanager
def progress_line(
    title: str, verbose: int, ahead: float | None = None, minor: bool = False
) -> Iterator[Progress | None]:
    """A progress line while the block runs, or None when it should be silent; the rest as in :class:`ProgressLine`."""
    listener = _listener.get()
    if listener is not None:
        listener(title, 0.0)
        yield _Passed(title, listener)
        return
    if not verbose:
        yield None
        return
    line = ProgressLine(title, ahead, minor)
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
