"""The extension under sanitisers: spoiled calls, and calls of several threads at once."""

from __future__ import annotations

import pytest

from tests.engine.sanitisers import run_sanitised, sanitised_extension

pytestmark = pytest.mark.slow

N_CALLS = 20_000


def test_every_spoiled_call_works_or_is_refused():
    program = "import sys; from tests.engine.fuzz_bindings import main; main(sys.argv[1], 0, int(sys.argv[2]))"
    seen = run_sanitised("address", program, str(sanitised_extension("address")), str(N_CALLS)).split("\n")
    print("\n".join(seen))
    for outcome in ("worked", "TypeError", "ValueError"):
        assert sum(int(line.split()[-1]) for line in seen if f" {outcome} " in line) > N_CALLS / 20


THREADS = """
    import sys
    from concurrent.futures import ThreadPoolExecutor
    import numpy as np
    from tests.engine import native_calls as calls
    from tests.engine.fuzz_bindings import load

    native = load(sys.argv[1])
    packed = native.Packed(**calls.packed())
    X = np.tile(calls.forward()["X"], (300, 1))  # so many rows that predictions last until the other thread works
    jobs = [calls.train, lambda: calls.train(None, dropout_keep=0.8, n_starts=2), calls.train_variational, calls.pbp_train]
    names = ["train", "train", "train_variational", "pbp_train"]

    def work(i):
        name, arguments = names[i % 4], jobs[i % 4]()
        native.use_variant(native.usable_variants()[i % 2])
        calls.call(native, name, arguments)
        packed.set_passes([i, i + 1, i + 2], 0.7, 0.8, i)
        packed.moments(X, np.empty((len(X), 2)), np.empty((len(X), 2)), None, 2)
        return arguments

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(work, range(40)))
    for i in range(4):
        alone = work(i)
        for again in done[i::4]:
            for name, a in alone.items():
                if isinstance(a, np.ndarray):
                    np.testing.assert_allclose(again[name], a, rtol=1e-3, atol=1e-4)
    print("all the same")
"""


def test_fits_and_predictions_of_two_threads_do_not_race():
    """Fits agree with those of one thread alone to the rounding of the instruction sets, which the threads change meanwhile."""
    assert run_sanitised("thread", THREADS, str(sanitised_extension("thread"))) == "all the same\n"
