"""The host's part of the CUDA engine, over kernels that are compiled for the CPU (and on a GPU, if there is one).

That the kernels follow the reference is tested where the CPU's are: by the fixture `anywhere`.
"""

from __future__ import annotations

import itertools
import sys
import types
import weakref
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extranets._random import Purpose, shuffled
from extranets.encodings import learn_periodic, learn_piecewise_linear
from extranets.engine import (
    DEVICES,
    Options,
    Passes,
    Training,
    TrainingData,
    TrainingDiverged,
    cuda,
    native,
    reference,
    train_all,
)
from extranets.engine import train as engine_train
from extranets.engine.cuda import prediction, training
from extranets.engine.cuda.gpu import FEW_THREADS, MOST_THREADS, OWN_SHARED_BYTES, WARP, Gpu, NoGpu, the_gpu
from extranets.engine.cuda.layout import Layout, padded_rows, problem
from extranets.engine.cuda.rows import Rows, Samples
from extranets.networks import Architecture, Ensemble, draw_members
from tests.engine.conftest import CudaDoors
from tests.engine.cuda_on_host import HostGpu
from tests.engine.same_path import SEED, assert_same_path
from tests.gpu import needs_gpu

ROWS = np.random.default_rng(0).normal(size=(37, 3)).astype(np.float32)
TARGETS = np.random.default_rng(1).normal(size=(37, 2)).astype(np.float32)
WEIGHTS = np.random.default_rng(2).uniform(0.5, 2, 37).astype(np.float32)
COUNTS = np.random.default_rng(3).poisson(1.0, (3, 37)).astype(np.uint16)
BASE = Options(n_epochs=4, batch_size=8)
EARLY = {"validation_fraction": 0.25, "patience": 2, "n_epochs": 10, "learning_rate": 0.05}


def members_of(hidden=(9, 6), *, heads=2, encoding=None, ids=(0, 3, 4, 8, 9)):
    return draw_members(Architecture(3, hidden, 2, heads, encoding), 0.8, seed=5, ids=np.array(ids))


# Every kind of members and options, each once.
KINDS = {
    "plain": (members_of(), BASE, {}),
    "linear": (members_of(()), BASE, {"weight": WEIGHTS}),
    "dropouts": (members_of(), replace(BASE, dropout_keep=0.7, input_keep=0.8, schedule="cosine"), {}),
    "clipping": (members_of(), replace(BASE, max_grad_norm=0.3, weight_decay=0.1), {"weight": WEIGHTS}),
    "adversarial": (members_of(), BASE, {"adversarial": np.array([0.1, 0.02, 0.05])}),
    "bins": (members_of(encoding=learn_piecewise_linear(ROWS, 5)), replace(BASE, input_keep=0.8), {}),
    "waves": (members_of(encoding=learn_periodic(ROWS, 4)), BASE, {"adversarial": np.array([0.1, 0.02, 0.05])}),
    "Gaussian": (members_of(heads=4), replace(BASE, loss="gaussian_nll", warm_up_epochs=2, **EARLY), {}),
    "restarts": (members_of((2, 2)), replace(BASE, n_starts=2, collapse_r2=0.1, max_restarts=2), {}),
    "samples": (members_of(), replace(BASE, **EARLY), {"counts": COUNTS, "count_rows": [2, -1, 0, 0, 1]}),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request):
    return request.param


@pytest.fixture
def use(monkeypatch):
    """use(gpu): what trains and predicts from now on. Kernels are those for all kinds of networks, unless `specialised`."""
    fixed_for = training.fixed_for

    def put(gpu, *, specialised=False):
        monkeypatch.setattr(cuda, "the_gpu", lambda: gpu)
        monkeypatch.setattr(training, "fixed_for", fixed_for if specialised else lambda *_: ())
        return gpu

    return put


def train(kind, **more):
    members, options, given = kind
    return engine_train(members, TrainingData(ROWS, TARGETS, **given), options, SEED, device="cuda", **more)


def assert_same(a, b):
    """The same networks, bit for bit; sums of losses may be added up in another order."""
    assert a.ensemble.parameters.tobytes() == b.ensemble.parameters.tobytes()
    np.testing.assert_allclose(a.loss_curve, b.loss_curve, rtol=1e-6)
    for name in ("train_loss", "train_r2", "validation_loss"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-6)
    for name in ("n_epochs", "n_attempts", "collapsed"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


# -- what does not change the result -------------------------------------------------------------------------------------


def test_the_number_of_threads_does_not_change_a_bit(kind, use):
    use(HostGpu(n_threads=1))
    alone = train(kind)
    for n_threads in (3, 16):
        use(HostGpu(n_threads=n_threads))
        assert_same(train(kind), alone)


def shared_bytes(kind, n_parts):
    """Room for this many of workspace, parameters and moments, and not a byte more."""
    members, options, given = kind
    rows = min(options.batch_size, 37) * (2 if "adversarial" in given else 1)
    layout = Layout(members.architecture, rows, trains=True)
    sizes = [layout.workspace_size, layout.block_size + layout.values_size, 2 * layout.block_size]
    return 4 * sum(sizes[:n_parts]) + OWN_SHARED_BYTES


def test_what_lies_in_shared_memory_does_not_change_a_bit(kind, use):
    use(HostGpu(shared_bytes=0))
    without = train(kind)
    for n_parts in range(4):
        for spare, expected in ((0, n_parts), (-1, max(n_parts - 1, 0))):
            gpu = use(HostGpu(shared_bytes=shared_bytes(kind, n_parts) + spare))
            assert_same(train(kind), without)
            assert {dict(fixed)["IN_SHARED"] for name, fixed in gpu.launched if name == "train_steps"} == {expected}


def test_training_members_in_parts_does_not_change_a_bit(kind, use, monkeypatch):
    gpu = use(HostGpu())
    whole, n_whole = train(kind), sum(name == "initialise" for name, _ in gpu.launched)
    members, options, given = kind
    data = TrainingData(ROWS, TARGETS, **given)
    for at_once, n_parts in ((1, 5), (2, 3), (4, 2)):
        own = training.bytes_per_member(members, data, options)
        free = (at_once + 0.5) * own + data.X.nbytes + data.y.nbytes
        gpu = use(HostGpu())
        gpu.free_bytes = lambda free=free: int(free / cuda._MEMORY_SHARE)
        assert cuda.members_at_once(members, data, options) == at_once
        assert_same(train(kind), whole)
        assert sum(name == "initialise" for name, _ in gpu.launched) >= max(n_parts, n_whole)


def test_the_table_takes_its_share_of_the_memory(use):
    members = draw_members(Architecture(200, (), 1, 1), 1.0, seed=5, ids=np.arange(50))
    data = TrainingData(np.zeros((2000, 200)), np.zeros(2000))
    own = training.bytes_per_member(members, data, BASE)
    assert data.X.nbytes > 5 * own
    use(HostGpu()).free_bytes = lambda: int((data.X.nbytes + data.y.nbytes + 2.5 * own) / cuda._MEMORY_SHARE)
    assert cuda.members_at_once(members, data, BASE) == 2


def test_a_full_gpu_is_still_tried(use):
    use(HostGpu()).free_bytes = lambda: 0
    members, options, _ = KINDS["plain"]
    data = TrainingData(ROWS, TARGETS)
    assert cuda.members_at_once(members, data, options) == 1


def test_members_are_halved_when_memory_ends(use, monkeypatch):
    whole_of, tried = training.train, []

    def with_room_for(most):
        def train_some(gpu, members, *others):
            tried.append(len(members))
            if len(members) > most:
                raise gpu.OutOfMemory
            return whole_of(gpu, members, *others)

        return train_some

    use(HostGpu())
    whole = train(KINDS["plain"])
    monkeypatch.setattr(training, "train", with_room_for(2))
    assert_same(train(KINDS["plain"]), whole)
    assert tried == [5, 3, 2, 2, 1]
    monkeypatch.setattr(training, "train", with_room_for(0))
    with pytest.raises(MemoryError, match="smaller batch_size"):
        train(KINDS["plain"])


def test_the_number_of_steps_in_a_launch_does_not_change_a_bit(kind, use, monkeypatch):
    gpu = use(HostGpu())
    whole, few = train(kind), sum(name == "train_steps" for name, _ in gpu.launched)
    for steps in (1, 2, 3):
        monkeypatch.setattr(training, "steps_at_once", lambda *_, steps=steps: steps)
        gpu = use(HostGpu())
        assert_same(train(kind), whole)
        assert sum(name == "train_steps" for name, _ in gpu.launched) > few


def test_the_other_members_do_not_change_a_bit(kind, use):
    use(HostGpu())
    whole = train(kind)
    members, options, given = kind
    for i in range(5):
        own = {**given, "count_rows": given["count_rows"][i : i + 1]} if "count_rows" in given else given
        one = engine_train(members[i : i + 1], TrainingData(ROWS, TARGETS, **own), options, SEED, device="cuda")
        assert one.ensemble.parameters.tobytes() == whole.ensemble[i : i + 1].parameters.tobytes()


def compare_with_specialised(kind, use):
    use(HostGpu())
    general = train(kind)
    gpu = use(HostGpu(), specialised=True)
    assert_same(train(kind), general)
    assert all(dict(fixed)["SPEC_LAYERS"] > 0 for name, fixed in gpu.launched if name == "train_steps")


@pytest.mark.parametrize("name", ["linear", "Gaussian"])
def test_kernels_made_for_one_kind_of_network(name, use):
    compare_with_specialised(KINDS[name], use)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(KINDS.keys() - {"linear", "Gaussian"}))
def test_kernels_made_for_each_kind_of_network(name, use):
    compare_with_specialised(KINDS[name], use)


def test_warps_of_several_lanes(kind, use):
    """Lanes share the sums over units, so that results differ by rounding only: 1e-7 along some 50 steps of size 1e-2."""
    use(HostGpu())
    one = train(kind)
    for n_threads in (4, 12):
        use(HostGpu(n_threads=n_threads, lanes=4))
        several = train(kind)
        np.testing.assert_allclose(several.ensemble.parameters, one.ensemble.parameters, atol=2e-4)
        np.testing.assert_allclose(several.loss_curve, one.loss_curve, rtol=1e-4)
        np.testing.assert_array_equal(several.n_attempts, one.n_attempts)


def test_number_of_threads_fits_the_network():
    small, large = (
        training.n_threads_for(Layout(Architecture(8, hidden, 1, 1), 32, trains=True)) for hidden in ((10,), (200, 200))
    )
    assert WARP <= small == FEW_THREADS <= large == MOST_THREADS
    assert small % WARP == large % WARP == 0


# -- odd shapes ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def on_kernels(use, monkeypatch):
    """`extranets.engine.train` is the CUDA engine's."""
    monkeypatch.setattr("extranets.engine.doors.native", CudaDoors)
    use(HostGpu())


def odd(n=37, n_inputs=3, hidden=(6,), ids=(0, 3)):
    members = draw_members(Architecture(n_inputs, hidden, 1, 1), 0.9, seed=5, ids=np.array(ids))
    rng = np.random.default_rng(4)
    return members, rng.normal(size=(n, n_inputs)).astype(np.float32), rng.normal(size=n).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "batch_size"),
    [({"n": 5}, 1000), ({"n": 1}, 8), ({"n_inputs": 1}, 8), ({"n": 9}, 8), ({"n": 16}, 8), ({"n": 3}, 1)],
    ids=str,
)
def test_odd_shapes(on_kernels, shape, batch_size):
    assert_same_path(*odd(**shape), Options(n_epochs=3, batch_size=batch_size))


def test_rows_with_weight_zero(on_kernels):
    weight = np.where(np.arange(37) % 3, WEIGHTS, 0).astype(np.float32)
    members, X, y = odd()
    assert_same_path(members, X, y, BASE, weight=weight)
    spoiled = np.where(np.arange(37) % 3, y, 1e6).astype(np.float32)
    a, b = (engine_train(members, TrainingData(X, one, weight), BASE, SEED, device="cuda") for one in (y, spoiled))
    assert a.ensemble.parameters.tobytes() == b.ensemble.parameters.tobytes()


def test_without_weights_every_weight_is_one(on_kernels):
    members, X, y = odd()
    without, ones = (
        engine_train(members, TrainingData(X, y, w), BASE, SEED, device="cuda") for w in (None, np.ones(37))
    )
    assert_same(without, ones)


def test_weights_that_are_all_zero(on_kernels):
    """As on the CPU: nothing is learned, and R^2 is that of a constant target."""
    members, X, y = odd()
    data = TrainingData(X, y, np.zeros(37))
    alone = [Training(members, data, BASE, SEED)]
    [a], [b] = native.train_all(alone), cuda.train_all(alone)
    np.testing.assert_allclose(b.ensemble.parameters, a.ensemble.parameters, atol=1e-6)
    np.testing.assert_array_equal(b.train_r2, a.train_r2)


@pytest.mark.parametrize("counts", [None, np.eye(37, dtype=np.uint16)[[4, 7]] * 3], ids=["alone", "of a sample"])
def test_early_stopping_with_one_row_goes_to_the_end(on_kernels, counts):
    members, X, y = odd(n=37 if counts is not None else 1)
    assert_same_path(
        members, X, y, Options(n_epochs=6, batch_size=8, validation_fraction=0.3, patience=2), counts=counts
    )


def test_variances_at_their_limit(on_kernels):
    """Beyond it a log-variance has no gradient. With these rows, a linear network begins with values from 8 to 20."""
    members = draw_members(Architecture(3, (), 1, 2), 1.0, seed=5, ids=np.array([0]))
    (weights, _), *_ = reference.initial_layers(members.architecture, members.widths[0], SEED, 0)
    direction = weights[:, 1] / (weights[:, 1] ** 2).sum()
    X = np.linspace(8, 20, 37)[:, None] * direction + 0.01 * ROWS
    assert_same_path(members, X, TARGETS[:, :1], Options(loss="gaussian_nll", n_epochs=2, batch_size=8))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 40),
    n_inputs=st.integers(1, 12),
    n_outputs=st.integers(1, 9),
    hidden=st.lists(st.integers(1, 35), max_size=3).map(tuple),
    batch=st.integers(1, 50),
    loss=st.sampled_from(["squared_error", "gaussian_nll"]),
    machine=st.sampled_from([(1, 1, 0), (5, 1, 1 << 30), (64, 1, 1 << 14), (8, 4, 0), (12, 4, 1 << 30)]),
)
def test_any_shape_on_any_machine(n, n_inputs, n_outputs, hidden, batch, loss, machine):
    n_threads, lanes, memory = machine
    rng = np.random.default_rng(0)
    heads = n_outputs * (2 if loss == "gaussian_nll" else 1)
    members = draw_members(Architecture(n_inputs, hidden, n_outputs, heads), 0.9, seed=5, ids=np.array([0, 3]))
    X, y = rng.normal(size=(n, n_inputs)).astype(np.float32), rng.normal(size=(n, n_outputs)).astype(np.float32)
    weight = rng.uniform(0.5, 2, n).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extranets.engine.doors.native", CudaDoors)
        patch.setattr(cuda, "the_gpu", lambda: HostGpu(memory, n_threads, lanes=lanes))
        patch.setattr(training, "fixed_for", lambda *_: ())
        assert_same_path(members, X, y, Options(loss=loss, n_epochs=2, batch_size=batch), weight=weight, atol=1e-3)


# -- trouble -------------------------------------------------------------------------------------------------------------


def test_divergence_names_the_members(use):
    use(HostGpu())
    options = Options(n_epochs=50, learning_rate=1e30, max_restarts=1)
    with pytest.raises(
        TrainingDiverged, match=r"2 of 2 networks \(member 4, 11\).*2 starts.*learning_rate_init"
    ) as error:
        engine_train(members_of(ids=(4, 11)), TrainingData(ROWS, TARGETS), options, SEED, device="cuda")
    assert error.value.members == [4, 11]


def test_nan_passes_through_units(use):
    """If a unit turned NaN into zero, a spoiled network would look like one that has learned little."""
    use(HostGpu())
    X = ROWS.copy()
    data = TrainingData(X, TARGETS)
    data.X[5, 1] = np.nan  # behind the check's back
    with pytest.raises(TrainingDiverged, match="5 of 5 networks"):
        engine_train(members_of(), data, BASE, SEED, device="cuda")
    members = members_of()
    heads = cuda.forward(Ensemble(members, np.ones(members.n_parameters, dtype=np.float32)), X)
    np.testing.assert_array_equal(np.isnan(heads).any(axis=(0, 2)), np.arange(37) == 5)
    assert np.isnan(heads[:, 5]).all()


def test_an_overflowed_moment_is_a_divergence(use):
    """Gradients of 1e21 overflow when squared. In the last step of all, no loss shows it."""
    use(HostGpu())
    members, options = members_of((), ids=(4, 11)), Options(n_epochs=1, batch_size=100)
    for device in DEVICES:
        with pytest.raises(TrainingDiverged, match=r"2 of 2 networks \(member 4, 11\)"):
            engine_train(members, TrainingData(1e5 * ROWS, 1e16 * TARGETS), options, SEED, device=device)


def test_one_that_diverges_among_others(use):
    """Only the second member sees the row that overflows. The error names it, also if members are trained one by one."""
    gpu = use(HostGpu())
    y = TARGETS.copy()
    y[5] = 1e30
    counts = np.ones((2, 37), dtype=np.uint16)
    counts[0, 5] = 0
    data = TrainingData(ROWS, y, counts=counts, count_rows=[0, 1, 0])
    for free in (1 << 30, 0):
        gpu.free_bytes = lambda free=free: free
        with pytest.raises(TrainingDiverged, match=r"1 of 3 networks \(member 7\)"):
            engine_train(members_of(ids=(4, 7, 11)), data, BASE, SEED, device="cuda")


def test_progress_rises_to_one(kind, use):
    """A start that is replaced is no progress."""
    use(HostGpu()).free_bytes = lambda: 0  # members one by one
    seen = []
    train(kind, progress=seen.append)
    assert min(seen) > 0 and seen[-1] == 1
    assert all(a <= b for a, b in itertools.pairwise(seen))
    _, options, _ = kind
    if options.max_restarts == 0 and options.validation_fraction == 0:
        np.testing.assert_allclose(
            sorted(set(np.round(seen, 9))), np.arange(1, 5 * options.n_epochs + 1) / (5 * options.n_epochs)
        )


def test_all_kinds_in_one_call_are_those_of_single_calls(use):
    """Also beside one that diverges; progress goes on from one to the next."""
    use(HostGpu())
    several = [
        Training(members, TrainingData(ROWS, TARGETS, **given), options, SEED)
        for members, options, given in KINDS.values()
    ]
    several.insert(3, Training(members_of(), TrainingData(ROWS, TARGETS), replace(BASE, learning_rate=1e30), SEED))
    seen = []
    found = train_all(several, device="cuda", progress=seen.append)
    assert isinstance(found.pop(3), TrainingDiverged)
    for one, kind in zip(found, KINDS.values(), strict=True):
        assert_same(one, train(kind))
    assert all(a <= b for a, b in itertools.pairwise(seen)) and seen[-1] == 1
    assert len(set(seen)) > len(several)
    assert train_all([], device="cuda") == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_in_the_callback_stops_training_once_the_gpu_is_idle(use, error):
    gpu = use(HostGpu())
    finished = []
    gpu.finish = lambda: finished.append(len(gpu.launched))

    def stop(done):
        raise error("enough")

    with pytest.raises(error, match="enough"):
        train(KINDS["plain"], progress=stop)
    assert finished == [len(gpu.launched)]
    assert sum(name == "train_steps" for name, _ in gpu.launched) == 1  # of four epochs


REFUSED = {
    "a column less": ({"X": ROWS[:, :2]}, {}, "X has the wrong number of columns"),
    "a column more": ({"X": np.hstack([ROWS, ROWS[:, :1]])}, {}, "X has the wrong number of columns"),
    "an output less": ({"y": TARGETS[:, :1]}, {}, "y has the wrong number of columns"),
    "samples for some": ({"counts": COUNTS, "count_rows": [0, 1]}, {}, "one entry for each of 5 members"),
    "batches without rows": ({}, {"options": Options(batch_size=0)}, "must be positive"),
    "no epochs": ({}, {"options": Options(n_epochs=0)}, "must be positive"),
    "no starts": ({}, {"options": Options(n_starts=0)}, "must be positive"),
    "heads of another loss": ({}, {"options": Options(loss="gaussian_nll")}, "do not fit"),
    "too deep": ({}, {"members": draw_members(Architecture(3, (2,) * 64, 2, 2), 1.0, 5, [0])}, "too many hidden"),
}


@pytest.mark.parametrize(("rows", "others", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_would_break_the_engine_is_refused(use, rows, others, message):
    """On both devices; kernels would read beyond their arrays."""
    gpu = use(HostGpu())
    data = TrainingData(**{"X": ROWS, "y": TARGETS, **rows})
    given = {"members": members_of(), "options": BASE, **others}
    for device in DEVICES:
        with pytest.raises(ValueError, match=message):
            engine_train(data=data, seed=SEED, device=device, **given)
    assert not gpu.launched


@pytest.mark.parametrize("X", [ROWS[:, :2], np.hstack([ROWS, ROWS])], ids=["a column less", "columns more"])
def test_rows_of_another_table_are_refused(use, X):
    use(HostGpu())
    members = members_of()
    ensemble = Ensemble(members, np.ones(members.n_parameters, dtype=np.float32))
    for engine in (native, cuda):
        with pytest.raises(ValueError, match="wrong number of columns"):
            engine.forward(ensemble, X)
        with pytest.raises(ValueError, match="wrong number of columns"):
            engine.Moments(ensemble)(X)


# -- Adam's rates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_rates_are_those_of_the_reference(schedule, weight_decay):
    """A weight and a bias, moved by the rates of every step as the kernel does it, against the reference's Adam."""
    options = Options(schedule=schedule, weight_decay=weight_decay, beta1=0.8, beta2=0.99, epsilon=1e-3)
    n_steps, gradients = 50, np.random.default_rng(0).normal(size=(50, 2))
    layers = [(np.array([[0.5]]), np.array([-0.25]))]
    adam = reference.Adam(layers, options)
    moved, m, v = np.array([0.5, -0.25]), np.zeros(2), np.zeros(2)
    rates = training.step_rates(options, np.arange(n_steps), n_steps).astype(float)
    for step, (g, (rate, root_scale, shrink)) in enumerate(zip(gradients, rates, strict=True)):
        adam.step(layers, [(g[:1, None], g[1:])], step, n_steps)
        m += (1 - options.beta1) * (g - m)
        v += (1 - options.beta2) * (g**2 - v)
        moved = moved * [shrink, 1] + rate * m / (np.sqrt(v) * root_scale + options.epsilon)
        # float32 rounds each rate by 6e-8 of itself.
        np.testing.assert_allclose(moved, [layers[0][0].item(), layers[0][1].item()], rtol=2e-6)


def test_rates_of_some_steps_are_a_part_of_all():
    options = Options(schedule="cosine", weight_decay=0.1)
    whole = training.step_rates(options, np.arange(40), 40)
    np.testing.assert_array_equal(training.step_rates(options, np.arange(13, 29), 40), whole[13:29])
    assert whole.dtype == np.float32 and whole.shape == (40, 3)


# -- streams -------------------------------------------------------------------------------------------------------------


def bare_problem(members, **arrays):
    """A problem on its own; the arrays must outlive it."""
    out = problem(Layout(members.architecture, 8, trains=True), Options(), 2**40 + 5)
    for name, array in arrays.items():
        out[name] = array.ctypes.data
    return out


def shuffle(gpu, n_rows, purpose, attempt, part, ids=(0, 7, 2**32 - 1)):
    members = members_of(ids=ids)
    begin = np.array([0, 2, 1], dtype=np.int64)
    end = np.array([n_rows, n_rows, max(n_rows - 1, 1)], dtype=np.int64)
    rows = np.random.default_rng(0).permutation(5 * n_rows).astype(np.uint32)[:n_rows]
    end, begin = np.minimum(end, n_rows), np.minimum(begin, n_rows)
    out = np.full((3, n_rows + 2), 999_999, dtype=np.uint32)
    slots = np.arange(3, dtype=np.int32)
    scalars = (np.int64(n_rows + 2), np.int32(purpose), np.int32(attempt), np.int32(part))
    given = bare_problem(members, ids=members.ids)
    gpu.launch("shuffle_rows", 3, (given, slots, rows, begin, end, out, *scalars), n_threads=WARP)
    return members, rows, begin, end, out


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 30, 1000])
@pytest.mark.parametrize(("purpose", "attempt", "part"), [(Purpose.SHUFFLE, 0, 0), (Purpose.VALIDATION, 3, 11)])
def test_shuffles_are_those_of_the_reference(lanes, n_rows, purpose, attempt, part):
    gpu = HostGpu(n_threads=lanes, lanes=lanes)
    members, rows, begin, end, out = shuffle(gpu, n_rows, purpose, attempt, part)
    for m, member in enumerate(members.ids.tolist()):
        own = rows[begin[m] : end[m]]
        expected = shuffled(own, 2**40 + 5, member, purpose, attempt=attempt, part=part)
        np.testing.assert_array_equal(out[m, : len(own)], expected)
        assert (out[m, len(own) :] == 999_999).all()


@pytest.mark.parametrize("name", ["plain", "linear", "bins", "waves", "Gaussian"])
@pytest.mark.parametrize("attempt", [0, 2])
def test_first_weights_are_those_of_the_reference(name, attempt):
    members, gpu = KINDS[name][0], HostGpu()
    layout = Layout(members.architecture, 8, trains=True)
    state = {n: np.full((5, layout.block_size), np.nan, np.float32) for n in ("parameters", "first", "second")}
    values = np.full((5, max(layout.values_size, 1)), np.nan, np.float32)
    first = encoded_first(members.architecture)
    given = bare_problem(members, ids=members.ids, widths=members.widths, values=values, **state)
    if len(first):
        given["encoding"]["first"] = first.ctypes.data
    some = np.array([0, 4, 1], dtype=np.int32)
    gpu.launch("initialise", 3, (given, some, np.int32(attempt)))
    got = layout.unpack(members, state["parameters"])
    for i in some.tolist():
        widths, member = members.widths[i], int(members.ids[i])
        layers = reference.initial_layers(members.architecture, widths, 2**40 + 5, member, attempt)
        np.testing.assert_allclose(got[i : i + 1].parameters, reference.flatten(layers), rtol=3e-7)
        unused = np.setdiff1d(np.arange(layout.block_size), layout.offsets(widths))
        assert (state["parameters"][i, unused] == 0).all()
        assert (state["first"][i] == 0).all() and (state["second"][i] == 0).all()
    assert np.isnan(state["parameters"][[2, 3]]).all()  # members that were not asked for
    if layout.by_edges:
        check_values(layout, members, reference.initial_layers, values, attempt)


def encoded_first(architecture):
    if architecture.encoding is None:
        return np.zeros(0, dtype=np.int32)
    return np.append(0, np.cumsum(architecture.encoding.n_entries)).astype(np.int32)


def check_values(layout, members, initial_layers, values, attempt):
    """At an edge: the sum of the weights of the column's bins below it."""
    weights = initial_layers(members.architecture, members.widths[0], 2**40 + 5, int(members.ids[0]), attempt)[0][0][3:]
    n_bins = members.architecture.encoding.n_entries
    per_column = np.split(weights, np.cumsum(n_bins)[:-1])
    expected = np.concatenate([np.vstack([np.zeros_like(w[:1]), np.cumsum(w, axis=0)]) for w in per_column])
    got = values[0].reshape(len(expected), -1)[:, : expected.shape[1]]
    np.testing.assert_allclose(got, expected, atol=1e-6)


# -- rows ----------------------------------------------------------------------------------------------------------------


def rows_of(counts, count_rows, fraction, ids):
    data = TrainingData(ROWS, TARGETS, counts=counts, count_rows=count_rows)
    samples = Samples.of(data, len(ids))
    if fraction == 0:
        return samples, samples.whole(), Rows.none(len(ids))
    distinct = Rows.of(samples.distinct(), samples.which)
    orders = [shuffled(distinct.of_member(m), SEED, i, Purpose.VALIDATION) for m, i in enumerate(ids)]
    return samples, *samples.split(orders, fraction)


FOLDS = np.where(np.arange(37) % 3 == np.arange(3)[:, None], 0, 1).astype(np.uint16)


@pytest.mark.parametrize("fraction", [0, 0.1, 0.3, 0.999])
@pytest.mark.parametrize(
    ("counts", "count_rows"),
    [
        (None, None),
        (COUNTS, [0, 1, 2, 0]),
        (FOLDS, [2, -1, 0, -1]),
        (np.eye(3, 37, dtype=np.uint16) * 4, [0, 1, 2, -1]),
    ],
    ids=["all", "bootstrap", "folds", "one distinct row"],
)
def test_rows_are_those_of_the_reference(counts, count_rows, fraction):
    ids = (5, 6, 7, 8)
    samples, train_rows, validation_rows = rows_of(counts, count_rows, fraction, ids)
    for m, member in enumerate(ids):
        sample = -1 if count_rows is None else count_rows[m]
        data = TrainingData(ROWS, TARGETS, counts=counts, count_rows=count_rows)
        expected = reference.make_problem(data, Options(validation_fraction=fraction), SEED, member, sample=sample)
        np.testing.assert_array_equal(train_rows.of_member(m), expected.train_rows)
        np.testing.assert_array_equal(validation_rows.of_member(m), expected.validation_rows)
        assert train_rows.n[m] + validation_rows.n[m] == samples.sizes()[m]
    assert train_rows.rows.dtype == np.uint32


def test_members_of_one_sample_share_its_rows():
    _, train_rows, _ = rows_of(FOLDS, [1, 0, 1, 1], 0, (5, 6, 7, 8))
    assert len(train_rows.rows) == FOLDS[:2].sum()
    assert train_rows.begin[0] == train_rows.begin[2] == train_rows.begin[3] != train_rows.begin[1]


def test_counts_may_be_large():
    """Sums of 16-bit counts do not wrap."""
    counts = np.full((1, 37), 60_000, dtype=np.uint16)
    samples, train_rows, _ = rows_of(counts, [0], 0, (5,))
    assert samples.sizes().tolist() == [37 * 60_000] == train_rows.n.tolist()


# -- predictions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("passes", [None, Passes(7, dropout_keep=0.7, input_keep=0.8, seed=3)], ids=["all", "passes"])
def test_predictions_of_tables_that_do_not_fit_at_once(use, monkeypatch, passes):
    members = KINDS["Gaussian"][0]
    rng = np.random.default_rng(5)
    ensemble = Ensemble(members, rng.normal(size=members.n_parameters, scale=0.4).astype(np.float32))
    X = rng.normal(size=(300, 3)).astype(np.float32)
    expected, expected_moments = native.forward(ensemble, X, passes), native.Moments(ensemble, passes)(X)
    for memory, at_once in ((1 << 30, 1 << 25), (0, 1 << 25), (1 << 30, 1), (0, 2000)):
        gpu = use(HostGpu(memory))
        monkeypatch.setattr(prediction, "_HEADS_AT_ONCE", at_once)
        np.testing.assert_allclose(cuda.forward(ensemble, X, passes), expected, atol=2e-5)
        for got, wanted in zip(cuda.Moments(ensemble, passes)(X), expected_moments, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
        if at_once == 1:  # blocks of 64 rows, twice
            assert sum(name == "forward_rows" for name, _ in gpu.launched) == 2 * 5


def test_no_rows_no_predictions(use):
    use(HostGpu())
    members = members_of()
    ensemble = Ensemble(members, np.ones(members.n_parameters, dtype=np.float32))
    assert cuda.forward(ensemble, ROWS[:0]).shape == (5, 0, 2)
    mean, variance, noise = cuda.Moments(ensemble)(ROWS[:0])
    assert mean.shape == variance.shape == (0, 2) and noise is None


# -- what runs beside what -----------------------------------------------------------------------------------------------


class WatchedGpu(HostGpu):
    """Records what a GPU's two streams may do at the same time, by clocks that marks pass on.

    An array that one stream writes and the other touches must be ordered by a mark. Copies from the host, and memory that is
    given back, are writes by the main stream.
    """

    WRITES: ClassVar = {"shuffle_rows": {5}, "train_steps": {13}, "evaluate": {9}, "forward_rows": {7}}

    def __init__(self):
        super().__init__()
        self.clocks = [[0, 0], [0, 0]]  # what each stream knows of both
        self.touched = {}
        self.unordered = []
        self.most_marks = 0

    def _touch(self, array_id, stream, writes, what):
        for other, time, wrote, before in self.touched.setdefault(array_id, []):
            if other != stream and (writes or wrote) and self.clocks[stream][other] < time:
                self.unordered.append(f"{what} beside {before}")
        self.touched[array_id].append((stream, self.clocks[stream][stream], writes, what))

    def _forget(self, array_id):
        self._touch(array_id, 0, True, "memory given back")
        del self.touched[array_id]

    def _watch(self, array):
        if id(array) not in self.touched:
            self.touched[id(array)] = []
            weakref.finalize(array, self._forget, id(array))

    def launch(self, name, n_blocks, arguments, *, ahead=False, **others):
        self.clocks[ahead][ahead] += 1
        for i, array in enumerate(arguments):
            if isinstance(array, np.ndarray) and array.ndim:
                self._watch(array)
                self._touch(id(array), int(ahead), i in self.WRITES.get(name, ()), name)
        super().launch(name, n_blocks, arguments, ahead=ahead, **others)

    def mark(self, *, ahead=False):
        return list(self.clocks[ahead])

    def hold(self, mark, *, ahead=False):
        self.clocks[ahead] = [max(pair) for pair in zip(self.clocks[ahead], mark, strict=True)]

    def wait(self, mark):  # whatever is launched from now on runs later
        self.hold(mark)
        self.hold(mark, ahead=True)

    def finish(self):
        for clock in (*self.clocks,):
            self.wait(clock)

    def array(self, host):
        out = super().array(host)
        self._watch(out)
        self.clocks[0][0] += 1
        self._touch(id(out), 0, True, "copy from the host")
        return out

    def host(self, array):
        self.wait(self.clocks[0])
        return super().host(array)


@pytest.mark.parametrize("name", ["plain", "Gaussian", "restarts", "samples"])
def test_no_stream_writes_what_the_other_may_be_using(use, name):
    gpu = use(WatchedGpu())
    train(KINDS[name])
    assert gpu.unordered == []
    assert gpu.clocks[1][1] > 0  # something did run ahead


def test_the_host_is_never_far_ahead(use, monkeypatch):
    """Ctrl-C waits for everything that is launched already: at most three launches."""
    waiting, most = [], 0

    class Counting(HostGpu):
        def launch(self, name, *others, **named):
            nonlocal most
            waiting.append(name) if name == "train_steps" else None
            most = max(most, len(waiting))
            super().launch(name, *others, **named)

        def wait(self, mark):
            waiting.pop()

    monkeypatch.setattr(training, "steps_at_once", lambda *_: 1)
    use(Counting())
    train(KINDS["plain"])
    assert most == 3


# -- which machine -------------------------------------------------------------------------------------------------------


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(NoGpu, match="pip install cupy-cuda12x"):
        Gpu()


class _CudaError(RuntimeError):
    pass


def _no_driver():
    raise _CudaError("no driver")


@pytest.mark.parametrize(
    ("count", "message"), [(lambda: 0, "no NVIDIA GPU"), (_no_driver, r"no working NVIDIA driver \(no driver\)")]
)
def test_cupy_without_a_gpu(monkeypatch, count, message):
    runtime = types.SimpleNamespace(getDeviceCount=count, CUDARuntimeError=_CudaError)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime)))
    with pytest.raises(NoGpu, match=message):
        Gpu()


# -- on a GPU ------------------------------------------------------------------------------------------------------------


@needs_gpu
@pytest.mark.parametrize("purpose", [Purpose.SHUFFLE, Purpose.VALIDATION])
@pytest.mark.parametrize("n_rows", [1, 2, 31, 32, 33, 64, 1000, 20_000])
def test_shuffles_on_the_gpu(n_rows, purpose):
    """Whole warps at once, where few steps collide, and lane after lane, where they do."""
    gpu = the_gpu()
    members = members_of(ids=range(20))
    ids, slots = gpu.array(members.ids), gpu.array(np.arange(20, dtype=np.int32))
    rows = np.random.default_rng(0).permutation(n_rows).astype(np.uint32)
    begin, end = np.zeros(20, dtype=np.int64), np.full(20, n_rows, dtype=np.int64)
    given = problem(Layout(members.architecture, 8, trains=True), Options(), SEED)
    given["ids"] = gpu.address(ids)
    out = gpu.xp.empty((20, n_rows), dtype=np.uint32)
    arrays = (gpu.array(rows), gpu.array(begin), gpu.array(end), out)
    scalars = (np.int64(n_rows), np.int32(purpose), np.int32(1), np.int32(6))
    gpu.launch("shuffle_rows", 20, (given, slots, *arrays, *scalars), n_threads=WARP)
    for member, order in zip(members.ids.tolist(), gpu.host(out), strict=True):
        np.testing.assert_array_equal(order, shuffled(rows, SEED, member, purpose, attempt=1, part=6))


@needs_gpu
def test_two_runs_on_the_gpu_give_the_same_bits(kind, monkeypatch):
    """Whatever ran before, and whether members are trained together or one by one."""
    first = train(kind)
    train(KINDS["adversarial"])
    again = train(kind)
    monkeypatch.setattr(the_gpu(), "free_bytes", lambda: 0, raising=False)
    apart = train(kind)
    for other in (again, apart):
        assert other.ensemble.parameters.tobytes() == first.ensemble.parameters.tobytes()
        np.testing.assert_array_equal(other.loss_curve, first.loss_curve)
        np.testing.assert_array_equal(other.train_loss, first.train_loss)


@needs_gpu
def test_early_stopping_of_many_members_on_the_gpu():
    """Members stop in different epochs while the next epoch's rows are shuffled: the same bits as one by one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)).astype(np.float32)
    y = np.stack([X[:, 0] * X[:, 1], np.sin(3 * X[:, 2])], axis=1).astype(np.float32)
    options = Options(n_epochs=60, batch_size=32, validation_fraction=0.2, patience=2)
    members = members_of((30,), ids=range(40))
    data = TrainingData(X, y)
    whole = engine_train(members, data, options, SEED, device="cuda")
    assert len(set(whole.n_epochs.tolist())) > 3
    for i in (0, 13, 39):
        one = engine_train(members[i : i + 1], data, options, SEED, device="cuda")
        assert one.ensemble.parameters.tobytes() == whole.ensemble[i : i + 1].parameters.tobytes()


@needs_gpu
def test_rows_are_padded_on_the_gpu_as_on_the_host():
    gpu = the_gpu()
    layout = Layout(members_of().architecture, 8, trains=True)
    np.testing.assert_array_equal(gpu.host(gpu.array(padded_rows(ROWS, layout))), padded_rows(ROWS, layout))
