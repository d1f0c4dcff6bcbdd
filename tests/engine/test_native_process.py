"""The engine among signals, callbacks, forks and environment variables."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from extranets.engine import Options, TrainingData, _native, train
from extranets.networks import Architecture, draw_members

MEMBERS = draw_members(Architecture(4, (30,), 1, 1), 0.9, seed=1, ids=np.arange(6))
X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
DATA = TrainingData(X, X[:, 0] * X[:, 1])


def test_progress_rises_to_the_end_and_runs_on_the_calling_thread():
    seen, threads = [], set()

    def note(done):
        seen.append(done)
        threads.add(threading.get_ident())

    train(MEMBERS, DATA, Options(n_epochs=30_000), 1, n_threads=2, progress=note)
    assert threads == {threading.get_ident()}
    assert len(seen) > 3
    assert all(0 <= a <= b <= 1 for a, b in itertools.pairwise(seen))
    assert seen[-1] > 0.3


def test_an_exception_in_the_callback_stops_training():
    def stop(done):
        raise RuntimeError("enough")

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        train(MEMBERS, DATA, Options(n_epochs=1_000_000), 1, n_threads=2, progress=stop)
    assert time.monotonic() - begin < 10  # the whole training would take hours


INTERRUPTED_FIT = """
    import numpy as np, time
    from sklearn.exceptions import NotFittedError
    from extranets import ExtraNetsRegressor
    X = np.random.default_rng(0).normal(size=(5000, 20)); y = X[:, 0] ** 2
    model = ExtraNetsRegressor(max_iter=1_000_000)
    print("started", flush=True)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        print("stopped", time.time(), flush=True)
        try:
            model.predict(X)
        except NotFittedError:
            print("unfitted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_stops_a_fit_within_a_second_and_leaves_it_unfitted():
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED_FIT)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "started\n"
    time.sleep(1.0)
    sent = time.time()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=30)
    word, at = out.splitlines()[0].split()
    assert word == "stopped" and float(at) - sent < 1.0
    assert out.splitlines()[1] == "unfitted"


def _train_in_child(queue):
    queue.put(train(MEMBERS, DATA, Options(n_epochs=3), 1, n_threads=2).ensemble.parameters)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_training_works_after_fork():
    before = train(MEMBERS, DATA, Options(n_epochs=3), 1, n_threads=2).ensemble.parameters
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_train_in_child, args=(queue,))
    child.start()
    after = queue.get(timeout=60)
    child.join(timeout=60)
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("name", _native.usable_variants())
def test_environment_variable_forces_a_variant(name):
    code = "import extranets; print(extranets.build_info()['variant'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "EXTRANETS_VARIANT": name},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == name


def test_unknown_variant_says_what_there_is():
    code = "import extranets"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "EXTRANETS_VARIANT": "sparc"}, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "sparc" in done.stderr and _native.usable_variants()[-1] in done.stderr
