"""Fits, saves and loads in one process, and its memory."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import extranets
from benchmarks.memory import megabytes
from benchmarks.soak import work


def fits_and_loads(n: int, progress: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """``n`` fits, saves, loads and predictions, one kind after the other. Memory is compared from a tenth on."""
    kinds, process = list(work.KINDS), psutil.Process()
    begin, marks = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xnet"
        for i in range(1, n + 1):
            model = work.fitted(kinds[i % len(kinds)], i)
            model.save(path)
            if work.answer(extranets.load(path)) != work.answer(model):
                raise AssertionError(f"fit {i} ({kinds[i % len(kinds)]}): the loaded model predicts other bits")
            if i % max(1, n // 10) == 0:
                marks.append({
                    "fits": i, "MB": round(megabytes("VmRSS"), 1), "files open": process.num_fds(), "threads": process.num_threads(),
                })  # fmt: skip
                progress(marks[-1])
    later = np.array([mark["MB"] for mark in marks])
    return {
        "minutes": round((time.monotonic() - begin) / 60, 1),
        "marks": marks,
        "MB grown in the last nine tenths": round(float(later[-1] - later[0]), 1),
    }


def many_threads(n_threads: int, seconds: float, patience: float = 300.0) -> dict[str, Any]:
    """Threads that fit, predict, save and load at once, with two engine threads each. A deadlock is a thread that does not end."""
    end, done, errors = time.monotonic() + seconds, [0] * n_threads, []
    kinds = list(work.KINDS)
    expected = {kind: work.answer(work.fitted(kind, 0)) for kind in kinds}

    def body(number: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.xnet"
            while time.monotonic() < end or not done[number]:
                kind = kinds[(number + done[number]) % len(kinds)]
                threads = {"estimator__n_jobs" if kind == "table" else "n_jobs": 2}
                work.fitted(kind, 0, **threads).save(path)
                if work.answer(extranets.load(path)) != expected[kind]:
                    errors.append(f"thread {number}: {kind} predicts other bits")
                done[number] += 1

    threads = [threading.Thread(target=body, args=(number,), daemon=True) for number in range(n_threads)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end + patience - time.monotonic()))
    waiting = sum(thread.is_alive() for thread in threads)
    if waiting or errors or min(done) == 0:
        raise AssertionError(f"{waiting} threads wait for ever; {min(done)} fits of the slowest; {errors[:3]}")
    return {
        "threads": n_threads,
        "fits": sum(done),
        "fewest of a thread": min(done),
        "seconds": round(time.monotonic() - begin, 1),
    }
