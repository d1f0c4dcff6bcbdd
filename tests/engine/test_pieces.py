"""Trainings in pieces, and networks that are kept in a folder: the same bits as in one go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from extranets.engine import Trained, TrainingDiverged, keeping, native, train_all
from extranets.engine.checkpoints import Checkpoint, digests
from extranets.engine.pieces import Place, train_in_pieces
from extranets.engine.shards import Assembly, cut, multiply_adds, whole
from tests.engine.test_train_all import BASE, COUNTS, X, assert_same, bins, mixed, training


@pytest.fixture(scope="module")
def trainings():
    return list(mixed().values())


@pytest.fixture(scope="module")
def in_one_go(trainings):
    return train_all(trainings)


def diverging():
    return training(n_members=3, options=replace(BASE, learning_rate=1e30, max_restarts=0))


def in_pieces(trainings, most):
    """On shards of at most so many multiply-adds, the last first."""
    assembly = Assembly(trainings)
    for shard in reversed(cut(trainings, whole(trainings), most)):
        for piece, found in zip(shard, train_all([piece.of(trainings) for piece in shard]), strict=True):
            assembly.add(piece, found)
    return assembly.results()


@pytest.mark.parametrize("most", [0, 3e5, 1e7, 1e30])
def test_shards_of_any_size_in_any_order_give_the_same_bits(trainings, in_one_go, most):
    for found, expected in zip(in_pieces(trainings, most), in_one_go, strict=True):
        assert_same(found, expected)


def test_shards_hold_every_member_once_and_no_more_work_than_asked_for(trainings):
    work = [multiply_adds(each) for each in trainings]
    most = 2 * max(each.max(initial=0) for each in work)
    shards = cut(trainings, whole(trainings), most)
    members = sorted((piece.training, place) for shard in shards for piece in shard for place in piece.members)
    assert members == [(number, place) for number, each in enumerate(work) for place in range(len(each))]
    amounts = [sum(work[piece.training][piece.members].sum() for piece in shard) for shard in shards]
    assert max(amounts) <= most and amounts == sorted(amounts, reverse=True)


def test_networks_that_diverge_are_named_as_in_one_go():
    (expected,), (found,) = train_all([diverging()]), in_pieces([diverging()], 0)
    assert isinstance(expected, TrainingDiverged) and isinstance(found, TrainingDiverged)
    assert str(found) == str(expected) and found.members == expected.members


# -- a folder ----------------------------------------------------------------------------------------------------------


def kept(folder, trainings, progress=None, here=native.train_all):
    return train_in_pieces(trainings, Place("cpu", 1, here, None, Checkpoint(folder)), progress)


def test_kept_networks_are_not_trained_again_and_are_the_same_bits(trainings, in_one_go, tmp_path):
    with keeping(tmp_path):
        first = train_all(trainings)
    done = []

    def counted(some, **how):
        done.extend(some)
        return native.train_all(some, **how)

    for results in (first, kept(tmp_path, trainings, here=counted)):
        for found, expected in zip(results, in_one_go, strict=True):
            assert_same(found, expected)
    assert [len(each.members) for each in done] == [0]  # only the training that has none


def test_what_was_stopped_goes_on(trainings, in_one_go, tmp_path, monkeypatch):
    """The third shard is stopped; what the first two found is not trained again."""
    monkeypatch.setattr("extranets.engine.pieces.KEPT_EVERY", 3e5)
    calls = []

    def stopped(some, **how):
        calls.append(len(some))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return native.train_all(some, **how)

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path, trainings, here=stopped)
    assert len(list(tmp_path.glob("*.networks"))) == 2
    n_networks = sum(calls[:2])
    trained = []
    found = kept(tmp_path, trainings, here=lambda some, **how: trained.extend(some) or native.train_all(some, **how))
    assert sum(len(each.members) for each in trained) <= sum(len(each.members) for each in trainings) - n_networks
    for one, expected in zip(found, in_one_go, strict=True):
        assert_same(one, expected)


CHANGES = {
    "X": {"table": X + np.float32(1e-6)},
    "weight": {"weight": np.full(60, 2.0)},
    "counts": {"counts": COUNTS, "count_rows": [0, 0]},
    "seed": {"seed": 10},
    "epochs": {"options": replace(BASE, n_epochs=5)},
    "decay": {"options": replace(BASE, weight_decay=1e-9)},
    "units": {"hidden": (8,)},
    "encoding": {"encoding": bins(6)},
    "adversarial": {"adversarial": np.full(3, 0.1)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_a_network_depends_on_changes_its_digest(change):
    assert not set(digests(training(), "cpu")) & set(digests(training(**CHANGES[change]), "cpu"))


def test_digests_depend_on_sample_device_and_bins():
    one, other = (training(counts=COUNTS, count_rows=rows) for rows in ([0, 1], [0, 0]))
    same = [a == b for a, b in zip(digests(one, "cpu"), digests(other, "cpu"), strict=True)]
    assert same == [True, False]
    assert digests(one, "cpu") != digests(one, "cuda")
    assert digests(training(encoding=bins(6)), "cpu") != digests(training(encoding=bins(6, X**3)), "cpu")
    assert len(set(digests(training(n_members=5), "cpu"))) == 5


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b[:200] + b"\xff" + b[201:]])
def test_a_damaged_file_is_told_and_its_networks_are_trained_again(damage, tmp_path):
    trainings = [training()]
    (expected,) = kept(tmp_path, trainings)
    (file,) = tmp_path.glob("*.networks")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(UserWarning, match=r"networks is damaged .*; its networks are trained again"):
        (found,) = kept(tmp_path, trainings)
    assert_same(found, expected)


def test_what_diverged_is_not_kept(tmp_path):
    assert isinstance(kept(tmp_path, [diverging()])[0], TrainingDiverged)
    assert not list(tmp_path.iterdir())


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(NotADirectoryError, match="checkpoint must be a folder"), keeping(path):
        pass


def test_progress_grows_to_one_and_counts_what_was_kept(trainings, tmp_path):
    told = []
    kept(tmp_path, trainings[:3], told.append)
    assert told[0] == 0 and told[-1] == pytest.approx(1) and told == sorted(told)
    again = []
    kept(tmp_path, trainings[:3], again.append)
    assert again == [1.0]


def test_nothing_is_kept_after_the_block(tmp_path):
    with keeping(tmp_path), keeping(None):
        train_all([training()])
    n_files = len(list(tmp_path.iterdir()))
    assert n_files == 1
    assert isinstance(train_all([training(seed=3)])[0], Trained)
    assert len(list(tmp_path.iterdir())) == n_files
