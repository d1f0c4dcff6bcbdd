"""Several trainings in one call: each as if it were alone, in one queue of members."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import fields, replace

import numpy as np
import pytest

from extranets.encodings import learn_periodic, learn_piecewise_linear
from extranets.engine import Options, Trained, Training, TrainingData, TrainingDiverged, _native, train, train_all
from extranets.networks import Architecture, draw_members
from tests.engine import native_calls as calls

SEED = 9
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)).astype(np.float32)
Y = np.stack([X[:, 0] * X[:, 1], np.sin(2 * X[:, 2])], axis=1).astype(np.float32)
COUNTS = rng.integers(0, 3, (2, 60)).astype(np.uint16)
BASE = Options(n_epochs=4, batch_size=8)


def training(hidden=(7,), n_members=2, encoding=None, options=BASE, seed=SEED, table=X, **given):
    heads = 4 if options.loss == "gaussian_nll" else 2
    members = draw_members(
        Architecture(table.shape[1], hidden, 2, heads, encoding), 0.8, seed=5, ids=np.arange(n_members)
    )
    return Training(members, TrainingData(table, Y[: len(table)], **given), options, seed)


def bins(n_bins, table=X):
    return learn_piecewise_linear(table, n_bins)


def mixed():
    """Networks of all sizes and kinds, on the same rows and on others, with encodings that are equal, alike or different."""
    validated = replace(BASE, validation_fraction=0.25, patience=1, n_epochs=9, learning_rate=0.05)
    return {
        "small": training((3,), 1),
        "wide and deep": training((40, 30), 3, options=replace(BASE, n_epochs=7, batch_size=16), weight=np.ones(60)),
        "linear": training((), 2),
        "bins": training(encoding=bins(6)),
        "equal bins": training((9,), encoding=bins(6), options=replace(BASE, dropout_keep=0.7, input_keep=0.8)),
        "as many other bins": training(encoding=bins(6, X**3)),
        "more bins": training(encoding=bins(7)),
        "bins of other rows": training(encoding=bins(6), table=X[:40] + 1),
        "bins without a layer": training((), encoding=bins(6)),
        "waves": training(encoding=learn_periodic(X, 4), options=replace(BASE, max_grad_norm=0.3)),
        "Gaussian": training(options=replace(BASE, loss="gaussian_nll", warm_up_epochs=1)),
        "early stopping": training((20,), 4, options=validated, seed=3),
        "samples": training(n_members=3, counts=COUNTS, count_rows=[0, -1, 1]),
        "adversarial": training(adversarial=np.full(3, 0.1)),
        "restarts": training(options=replace(BASE, n_starts=2, collapse_r2=0.2, max_restarts=2)),
        "no members": training(n_members=0),
    }


def assert_same(a, b):
    for field in fields(Trained):
        if field.name != "ensemble":
            np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name), err_msg=field.name)
    np.testing.assert_array_equal(a.ensemble.parameters, b.ensemble.parameters)
    assert a.ensemble.members is b.ensemble.members


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("order", [1, -1])
def test_the_bits_are_those_of_single_calls(n_threads, order):
    trainings = list(mixed().values())[::order]
    for one, found in zip(trainings, train_all(trainings, n_threads=n_threads), strict=True):
        assert_same(found, train(one.members, one.data, one.options, one.seed))


def test_the_same_training_twice_gives_the_same_twice():
    one = training(encoding=bins(6))
    first, second = train_all([one, one], n_threads=2)
    assert_same(first, second)
    assert not np.shares_memory(first.ensemble.parameters, second.ensemble.parameters)


def test_nothing_to_train_is_fine():
    seen = []
    assert train_all([], n_threads=2, progress=seen.append) == []
    assert seen == [1.0]


def test_one_that_diverges_leaves_the_others_alone():
    """Its result is the error that `train` raises; only two of its three members see the row that overflows."""
    y = Y.copy()
    y[5] = 1e30
    counts = np.ones((2, 60), dtype=np.uint16)
    counts[0, 5] = 0
    good = training(n_members=3)
    data = TrainingData(X, y, counts=counts, count_rows=[1, 0, 1])
    bad = Training(good.members, data, replace(BASE, max_restarts=1), SEED)
    before, error, after = train_all([good, bad, good], n_threads=2)
    assert_same(before, after)
    assert_same(before, train(good.members, good.data, good.options, good.seed))
    assert isinstance(error, TrainingDiverged) and error.members == [0, 2]
    assert "2 of 3 networks (member 0, 2)" in str(error) and "2 starts" in str(error)
    with pytest.raises(TrainingDiverged) as raised:
        train(bad.members, bad.data, bad.options, bad.seed)
    assert str(raised.value) == str(error)


def test_members_that_do_not_fit_the_rows_are_refused_when_the_training_is_made():
    members = training().members
    with pytest.raises(ValueError, match="X has the wrong number of columns: the networks have 3, got 2"):
        Training(members, TrainingData(X[:, :2], Y), BASE, SEED)
    with pytest.raises(ValueError, match="count_rows must have one entry for each of 2 members"):
        Training(members, TrainingData(X, Y, count_rows=[-1]), BASE, SEED)


# -- progress ----------------------------------------------------------------------------------------------------------


def assert_rises_to_one(seen):
    assert all(0 <= a <= b for a, b in itertools.pairwise(seen))
    assert seen[-1] == 1


def test_progress_rises_to_one_though_starts_are_replaced_and_members_give_up():
    long = replace(BASE, n_epochs=40_000)
    gives_up = training(options=replace(long, collapse_r2=2.0, max_restarts=2, n_epochs=16_000))
    diverges = training(options=replace(long, learning_rate=1e30))
    seen = []
    train_all([training(options=long), gives_up, diverges], n_threads=2, progress=seen.append)
    assert len(seen) > 3
    assert_rises_to_one(seen)


def test_progress_counts_work_and_not_epochs():
    """The large networks have a tenth of the epochs, and nearly all of the work: thousands of times the parameters."""
    large = training((400, 400), 2, options=replace(BASE, n_epochs=120))
    small = training((7,), 2, options=replace(BASE, n_epochs=1200))
    seen = []
    train_all([small, large], progress=seen.append)
    assert_rises_to_one(seen)
    assert (
        max(np.diff([0, *seen])) < 0.5
    )  # the small ones take no time: of epochs, they would be one step of ten elevenths


def test_the_longest_work_is_done_first():
    """So that no thread is left with it at the end. Seen from the arrays that the extension fills."""
    n_epochs = 50_000
    short, long = (
        calls.training(),
        calls.training(n_epochs=n_epochs) | {"loss_curve": np.empty((2, n_epochs), np.float32)},
    )
    touched = []
    for one in (short, long):
        one["loss_curve"][:] = -1

    def look(done):
        touched.append([bool((one["loss_curve"] != -1).any()) for one in (short, long)])

    calls.call(_native, "train_all", {"trainings": {"a": short, "b": long}, "n_threads": 1, "progress": look})
    assert touched[0] == [False, True] and touched[-1] == [True, True]


INTERRUPTED = """
    import time
    import numpy as np
    from extranets.engine import Options, Training, TrainingData, train_all
    from extranets.networks import Architecture, draw_members
    X = np.random.default_rng(0).normal(size=(300, 4))
    members, data = draw_members(Architecture(4, (30,), 1, 1), 0.9, seed=1, ids=np.arange(3)), TrainingData(X, X[:, 0] ** 2)
    epochs = [1_000_000] + 50 * [100, 100_000]
    print("started", flush=True)
    try:
        train_all([Training(members, data, Options(n_epochs=n), 1) for n in epochs], n_threads=2)
    except KeyboardInterrupt:
        print(time.time(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_stops_all_trainings_within_a_second():
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(INTERRUPTED)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "started\n"
    time.sleep(0.5)
    sent = time.time()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=30)
    assert float(out) - sent < 1.0


def test_an_exception_of_the_callback_comes_back_and_stops_everything():
    def stop(done):
        raise RuntimeError("enough")

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        train_all([training(options=replace(BASE, n_epochs=1_000_000))] * 3, n_threads=2, progress=stop)
    assert time.monotonic() - begin < 10  # the whole would take minutes
