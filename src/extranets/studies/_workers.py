"""Many independent tasks in worker processes, with a progress bar."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from joblib.externals.loky import FIRST_COMPLETED, BrokenProcessPool, ProcessPoolExecutor, wait

from extranets.engine.clusters import Cluster

Progress = Callable[[int, int], object]
Task = Callable[[str], object]

# For libraries that a worker loads later: threadpoolctl can limit only those that are loaded already.
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")}
IDLE = 300.0  # seconds after which a worker without work ends by itself


class UnitFailed(RuntimeError):
    """A unit raised an exception, or its process died. Finished units are kept."""


def finished(do: Task, names: Sequence[str], jobs: int) -> Generator[str, None, None]:
    """Call ``do`` with every name and yield the names as they are done; the first failure stops all.

    With one job this happens in the calling process. Otherwise ``do`` must be picklable; workers are new processes, not forks,
    so that no thread or lock of this process can be copied in a bad moment.
    """
    return _here(do, names) if jobs == 1 else _in_workers(do, names, jobs)


def _here(do: Task, names: Sequence[str]) -> Generator[str, None, None]:
    for name in names:
        try:
            do(name)
        except Exception as error:
            raise UnitFailed(f"Unit {name!r} failed: {type(error).__name__}: {error}") from error
        yield name


def _in_workers(do: Task, names: Sequence[str], jobs: int) -> Generator[str, None, None]:
    """Hand out only as many tasks at a time as there are workers: after a failure, few are in flight, all known."""
    pool = ProcessPoolExecutor(jobs, timeout=IDLE, initializer=_prepare, initargs=(os.getpid(),), env=ONE_THREAD)
    waiting = iter(names)
    try:
        with _deaf_children():
            flying = {pool.submit(_attempt, do, name): name for name in islice(waiting, jobs)}
        while flying:
            ready, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in ready:
                _raise_if_failed(future, flying)
                done = flying.pop(future)
                flying.update({pool.submit(_attempt, do, name): name for name in islice(waiting, 1)})
                yield done
    finally:
        pool.shutdown(kill_workers=True)


def sent(do: Task, names: Sequence[str], cluster: Cluster) -> Generator[tuple[str, Any], None, None]:
    """What ``do`` returns for every name, from the workers of a cluster, as it is done; the first failure stops all."""
    try:
        for name, result, failure in cluster.results(_told, [(do, name) for name in names]):
            if failure:
                raise UnitFailed(f"Unit {name!r} failed: {failure.splitlines()[-1]}\n\nOn the worker:\n{failure}")
            yield name, result
    except UnitFailed:
        raise
    except Exception as error:  # whatever a cluster says when workers end
        raise UnitFailed(
            f"Workers were lost ({type(error).__name__}: {error}). Finished units are kept; run the same again to go on."
        ) from error


def _told(do: Task, name: str) -> tuple[str, Any, str | None]:
    """On a worker: the name, and the result or the traceback of a failure."""
    try:
        return name, do(name), None
    except Exception:
        return name, None, traceback.format_exc()


def _attempt(do: Task, name: str) -> str | None:
    """The traceback of a failure, as text: not every exception can be sent between processes."""
    try:
        do(name)
    except Exception:
        return traceback.format_exc()
    return None


def _raise_if_failed(future: object, flying: dict[object, str]) -> None:
    try:
        failure = future.result()  # type: ignore[attr-defined]
    except BrokenProcessPool as error:
        names = ", ".join(sorted(flying.values()))
        raise UnitFailed(
            f"A worker process died (out of memory, or killed?) in one of these units: {names}."
        ) from error
    if failure:
        raise UnitFailed(f"Unit {flying[future]!r} failed: {failure.splitlines()[-1]}\n\nIn the worker:\n{failure}")


def _prepare(parent: int) -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when its parent was killed: then it gets another one. (Not on Windows; there IDLE ends it.)"""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started here ignore Ctrl-C from the start: an ignored signal is inherited, a handler is not."""
    if threading.current_thread() is not threading.main_thread():  # only there can handlers be set
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


# -- progress ----------------------------------------------------------------------------------------------------------


@contextmanager
def reporter(progress: bool | Progress, title: str, done: int, total: int) -> Iterator[Progress]:
    """A function of the numbers of units done and of all: a bar on standard error, the user's own, or an empty one."""
    if callable(progress):
        yield progress
    elif progress:
        with _bar(title, done, total) as report:
            yield report
    else:
        yield lambda done, total: None


@contextmanager
def _bar(title: str, done: int, total: int) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    begin = time.monotonic()
    columns = (TextColumn(title, markup=False), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, completed=done, pace="")

        def report(now: int, of: int) -> None:
            bar.update(task, completed=now, pace=pace(now - done, of - now, time.monotonic() - begin))

        yield report


def pace(finished: int, left: int, seconds: float) -> str:
    """Rate and time left, judged by all units of this session, because the last few seconds may have finished none.

    Examples
    --------
    >>> pace(finished=30, left=90, seconds=60.0)
    '30.0/min, 0:03:00 left'
    >>> pace(finished=30, left=0, seconds=10.0)
    '3.0/s, 0:00:10 in all'
    """
    rate = finished / max(seconds, 1e-9)
    speed = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min" if 60 * rate >= 1 else f"{3600 * rate:.1f}/h"
    return f"{speed}, {_clock(left / rate)} left" if left else f"{speed}, {_clock(seconds)} in all"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
