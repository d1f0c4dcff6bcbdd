"""Trainings on rows that are read in windows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from extranets.encodings import learn_piecewise_linear
from extranets.engine import Options, Training, TrainingData, TrainingDiverged, WindowedData, forward, train, train_all
from extranets.engine.windows import Layout
from extranets.networks import Architecture, draw_members

rng = np.random.default_rng(0)
N_ROWS = 20_011
X = rng.normal(size=(N_ROWS, 3)).astype(np.float32)
X.sort(axis=0)  # what lies together in the file is alike
Y = (np.sin(2 * X[:, :1]) + X[:, 1:2] * X[:, 2:] + 0.1 * rng.normal(size=(N_ROWS, 1))).astype(np.float32)
KEPT = np.sort(rng.permutation(N_ROWS)[:3000])
FOLDS = (np.arange(3000)[None, :] % 5 != np.arange(2)[:, None]).astype(np.uint16)  # two of five folds are left out
OPTIONS = Options(n_epochs=3, batch_size=32, schedule="linear")
SMALL, LARGE = 740_000, 1 << 30  # bytes; 148 for a row


@dataclass
class Rows:
    """Rows that notes what was read of them."""

    window_bytes: int
    n_rows: int = N_ROWS
    n_columns: int = 3
    n_outputs: int = 1

    def __post_init__(self):
        self.ranges = []

    def read(self, begin, end):
        self.ranges.append((begin, end))
        return X[begin:end], Y[begin:end]


def training(data, options=OPTIONS, encoding=None, seed=9):
    members = draw_members(Architecture(3, (9,), 1, 1, encoding), 0.8, seed=5, ids=np.arange(3))
    return Training(members, data, options, seed)


def windowed(bytes, **given):
    return WindowedData(Rows(bytes), KEPT, FOLDS, np.array([0, 1, -1], np.int32), **given)


def in_memory(inputs=X):
    counts = np.ones((2, N_ROWS), np.uint16)
    counts[:, KEPT] = FOLDS
    return TrainingData(inputs, Y, counts=counts, count_rows=[0, 1, -1])


def test_one_window_gives_the_bits_of_memory():
    encoding = learn_piecewise_linear(X, 7)
    expected = train_all([training(in_memory(), encoding=encoding), training(in_memory(np.tanh(X)))])
    data = windowed(LARGE), windowed(LARGE, inputs=np.tanh)
    found = train_all([training(data[0], encoding=encoding), training(data[1])])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.ensemble.parameters, other.ensemble.parameters)
        np.testing.assert_allclose(one.loss_curve, other.loss_curve, rtol=1e-6)
        np.testing.assert_array_equal(one.train_r2, other.train_r2)
    assert sum(end - begin for begin, end in data[0].source.ranges) == N_ROWS  # read once, not in every epoch


def test_every_epoch_reads_every_row_once_in_an_order_of_its_own():
    data = windowed(SMALL)
    train_all([training(data)])
    layout = Layout.of([training(data)])
    assert layout.n_windows >= 4
    per_epoch = np.array_split(data.source.ranges, OPTIONS.n_epochs)
    for ranges in per_epoch:
        rows = np.concatenate([np.arange(*each) for each in ranges])
        np.testing.assert_array_equal(np.sort(rows), np.arange(N_ROWS))
    assert not np.array_equal(per_epoch[0], per_epoch[1])


def test_windows_know_how_many_rows_each_sample_has():
    data, layout = windowed(SMALL), Layout.of([training(windowed(SMALL))])
    sizes = layout.sample_sizes(data, 2)
    for number in range(2 * layout.n_windows):
        table = data.window(layout.ranges(number))
        np.testing.assert_array_equal(sizes[:, number], [*table.counts.sum(axis=1), len(table.X)])
    assert sizes[:, : layout.n_windows].sum(axis=1).tolist() == [N_ROWS - 600, N_ROWS - 600, N_ROWS]


def test_many_windows_learn_as_much_as_memory_does():
    """On a file that is sorted by all columns. Both explain nearly all that noise, 0.01 of the variance, leaves; other orders of the
    same rows change the share by about 0.01."""
    expected = train_all([training(in_memory())])[0]
    found = train_all([training(windowed(SMALL))])[0]
    assert (expected.train_r2 > 0.9).all()
    errors = [((forward(each.ensemble, X)[:, :, 0] - Y[:, 0]) ** 2).mean(axis=1) for each in (expected, found)]
    np.testing.assert_allclose(errors[0] / Y.var(), errors[1] / Y.var(), atol=0.03)


def test_the_result_depends_neither_on_threads_nor_on_others():
    both = [training(windowed(SMALL)), training(windowed(SMALL, inputs=np.tanh))]
    alone = [train(each.members, each.data, each.options, each.seed, n_threads=2) for each in both]
    for one, other in zip(train_all(both[:1], n_threads=1), alone, strict=False):
        np.testing.assert_array_equal(one.ensemble.parameters, other.ensemble.parameters)


def test_networks_that_diverge_are_trained_anew_and_at_last_reported():
    wild = replace(OPTIONS, learning_rate=1e30, max_restarts=2)
    (found,) = train_all([training(windowed(SMALL), wild)])
    assert isinstance(found, TrainingDiverged) and sorted(found.members) == [0, 1, 2]
    picky = replace(OPTIONS, collapse_r2=0.999, max_restarts=2)
    (found,) = train_all([training(windowed(SMALL), picky)])
    assert found.collapsed.all() and found.n_attempts.tolist() == [3, 3, 3]
    assert found.ensemble.parameters.shape == (found.ensemble.members.n_parameters,)


def test_a_member_alone_is_trained_anew():
    """A limit of R^2 between those of the members: only some collapse, and the others keep their first start."""
    (first,) = train_all([training(windowed(SMALL))])
    limit = float(np.sort(first.train_r2)[:2].mean())
    (found,) = train_all([training(windowed(SMALL), replace(OPTIONS, collapse_r2=limit, max_restarts=1))])
    again = first.train_r2 < limit
    assert found.n_attempts.tolist() == np.where(again, 2, 1).tolist()
    for member in range(3):
        same = np.array_equal(
            found.ensemble[member : member + 1].parameters, first.ensemble[member : member + 1].parameters
        )
        assert same != again[member]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"validation_fraction": 0.1}, "early_stopping=False"), ({"n_starts": 2}, "n_starts=1")],
)
def test_what_windows_cannot_do_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        train_all([training(windowed(SMALL), replace(OPTIONS, **change))])


def test_too_little_memory_and_other_devices_are_refused():
    with pytest.raises(ValueError, match="at least 4,096 are needed"):
        train_all([training(windowed(1000))])
    with pytest.raises(ValueError, match="device='cpu'"):
        train_all([training(windowed(SMALL))], device="cuda")
    members = draw_members(Architecture(4, (9,), 1, 1), 0.8, seed=5, ids=[0])
    with pytest.raises(ValueError, match="other columns"):
        Training(members, windowed(SMALL), OPTIONS, 0)


def test_progress_reaches_one_and_never_falls():
    heard = []
    train_all(
        [training(windowed(SMALL)), training(windowed(SMALL), replace(OPTIONS, n_epochs=1))], progress=heard.append
    )
    assert heard[-1] == pytest.approx(1) and (np.diff(heard) >= 0).all()
