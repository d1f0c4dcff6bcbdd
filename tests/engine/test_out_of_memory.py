"""Threads of the engine without memory: a smaller pool or MemoryError, never the end of the process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits the process's address space")

# One process imports everything; for each limit it forks a child that trains. In KiB beyond what the process has: a thread's
# stack and its share of the heap decide where it gets tight, so the steps are fine around two stacks of 8 MiB and coarse elsewhere.
LIMITED = """
    import os, resource, sys
    import numpy as np
    from extranets.engine import Options, TrainingData, forward, train
    from extranets.networks import Architecture, draw_members

    members = draw_members(Architecture(20, (50,), 1, 1), 0.9, seed=1, ids=np.arange(70))
    X = np.random.default_rng(0).normal(size=(500, 20)).astype(np.float32)
    data = TrainingData(X, X[:, 0] * X[:, 1])

    def work(extra, n_threads):
        now = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (now + extra * 1024,) * 2)
        try:
            np.empty((extra + 65536) * 1024, dtype=np.uint8)
            return 3  # the limit is none
        except MemoryError:
            pass
        try:
            found = train(members, data, Options(n_epochs=1), 1, n_threads=n_threads).ensemble
            forward(found, X, n_threads=n_threads)
        except MemoryError:
            return 1
        return 0

    for n_threads in 2, 64:
        for extra in [*range(0, 400, 80), *range(8192, 8600, 80), *range(16384, 16700, 40), *range(17_000, 200_000, 9_000)]:
            pid = os.fork()
            if pid == 0:
                os._exit(work(extra, n_threads))
            print(n_threads, extra, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_without_memory_for_threads_training_works_or_raises_memory_error():
    """Of glibc's `cannot allocate memory for thread-local data: ABORT`, which ends the process with 127."""
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LIMITED)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=True,
    )
    runs = [tuple(map(int, line.split())) for line in child.stdout.splitlines()]
    assert len(runs) > 70
    assert [run for run in runs if run[2] not in (0, 1)] == [], child.stderr[-500:]


NO_THREADS = """
    import os, resource
    import numpy as np
    from extranets.engine import Options, TrainingData, train
    from extranets.networks import Architecture, draw_members

    members = draw_members(Architecture(4, (30,), 1, 1), 0.9, seed=1, ids=np.arange(6))
    X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    data = TrainingData(X, X[:, 0])
    with_threads = train(members, data, Options(n_epochs=3), 1, n_threads=4).ensemble.parameters
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    if os.geteuid() == 0:
        os.setuid(65534)  # root may start threads beyond the limit
    shares = []
    alone = train(members, data, Options(n_epochs=3), 1, n_threads=4, progress=shares.append).ensemble.parameters
    assert (alone == with_threads).all()
    print(len(shares))
"""


def test_threads_that_cannot_start_are_a_smaller_pool():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(NO_THREADS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 6  # the calling thread reports between two members
