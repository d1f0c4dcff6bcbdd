"""Fits and predictions in other threads and processes, whatever they were started by and in, have the same bits."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import numpy as np
import pytest

import extranets
from extranets.data import linear_process

TABLE = linear_process(300, random_state=1).split(200)
PATIENCE = 120  # seconds


def fit_and_predict(seed, n_jobs=2):
    model = extranets.ExtraNetsRegressor(4, max_iter=10, random_state=seed, n_jobs=n_jobs)
    return model.fit(*TABLE[:2]).predict_interval(TABLE[2])


def fit_in_threads(seed, n_threads=2):
    """A pool within a pool."""
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(fit_and_predict, [seed] * n_threads))


@pytest.fixture(scope="module")
def expected():
    return [fit_and_predict(seed, n_jobs=1) for seed in range(4)]


def test_threads(expected):
    with ThreadPoolExecutor(8) as pool:
        for found, wanted in zip(pool.map(fit_and_predict, [0, 1, 2, 3] * 4), expected * 4, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("way", ["fork", "spawn", pytest.param("forkserver", marks=pytest.mark.slow)])
def test_processes(expected, way):
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {way} on this system")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(way)) as pool:
        for found, wanted in zip(pool.map(fit_and_predict, range(4), timeout=PATIENCE), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_pools_within_pools(expected, backend):
    """Threads of the engine in threads of a pool in workers of another."""
    work = (joblib.delayed(fit_in_threads)(seed) for seed in range(2))
    for found, wanted in zip(joblib.Parallel(2, backend=backend, timeout=PATIENCE)(work), expected, strict=False):
        for one in found:
            np.testing.assert_array_equal(one, wanted)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_fork_while_another_thread_fits(expected):
    """The child has a copy of the parent's memory, but not its other threads."""
    stop = threading.Event()

    def go_on():
        while not stop.is_set():
            fit_and_predict(0)

    busy = threading.Thread(target=go_on)
    busy.start()
    try:
        context = multiprocessing.get_context("fork")
        for seed in range(4):
            ours, theirs = context.Pipe(duplex=False)
            child = context.Process(target=lambda pipe, seed: pipe.send(fit_and_predict(seed)), args=(theirs, seed))
            child.start()
            assert ours.poll(PATIENCE), "the child waits for ever"
            np.testing.assert_array_equal(ours.recv(), expected[seed])
            child.join(PATIENCE)
    finally:
        stop.set()
        busy.join()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_thread_or_file_stays_behind_after_fits(tmp_path):
    """In a process of its own: here other tests have threads that come and go."""
    found = subprocess.run(
        [sys.executable, "-c", STAYS, tmp_path / "m.xnet"], capture_output=True, text=True, check=True
    )
    before, after = found.stdout.splitlines()
    assert before == after


STAYS = """
import os, sys
import extranets
from extranets.data import linear_process

X, y, new, _ = linear_process(300, random_state=1).split(200)

def fit(seed):
    extranets.ExtraNetsRegressor(4, max_iter=10, random_state=seed, n_jobs=4).fit(X, y).save(sys.argv[1])
    extranets.load(sys.argv[1]).predict_interval(new)

def tell():
    print(*(len(os.listdir(f"/proc/self/{each}")) for each in ("task", "fd")))

fit(0)
tell()
for seed in range(4):
    fit(seed)
tell()
"""
