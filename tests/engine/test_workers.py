"""Trainings on workers of real clusters: processes of joblib, Dask, Ray. The same bits, whoever trains, and whoever is lost."""

from __future__ import annotations

import time

import joblib
import numpy as np
import pytest

from extranets.data import nonlinear_process
from extranets.engine import Training, TrainingData, TrainingDiverged, WorkersLost, train_all
from extranets.engine.shards import cut, whole
from extranets.engine.workers import Workers
from extranets.networks import Architecture, draw_members
from tests.engine import clusters
from tests.engine.test_pieces import diverging
from tests.engine.test_train_all import BASE, assert_same, mixed


@pytest.fixture(scope="module")
def trainings():
    return list(mixed().values())


@pytest.fixture(scope="module")
def in_one_go(trainings):
    return train_all(trainings)


@pytest.fixture(autouse=True)
def everything_is_worth_sending(monkeypatch):
    monkeypatch.setattr("extranets.engine.workers.WORTH_SENDING", 0.0)


@pytest.fixture(scope="module")
def client():
    pytest.importorskip("distributed")
    with clusters.dask_cluster(2) as client:
        yield client


def shards_of(trainings, most=3e5):
    return cut(trainings, whole(trainings), most)


def assert_all_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)


def results(trainings, train):
    """By a function of the tests in the place of the engine, in the order of the shards."""
    workers = Workers.worth_asking(trainings)
    return list(workers.run(trainings, shards_of(trainings), train))


# -- who is asked --------------------------------------------------------------------------------------------------------


def test_without_a_named_backend_nothing_is_sent(trainings):
    assert Workers.worth_asking(trainings) is None
    for config in ({"n_jobs": 2}, {"backend": "threading", "n_jobs": 2}, {"backend": "loky", "n_jobs": 1}):
        with joblib.parallel_config(**config):
            assert Workers.worth_asking(trainings) is None


def test_little_work_stays_here(trainings, monkeypatch):
    monkeypatch.setattr("extranets.engine.workers.WORTH_SENDING", 1e12)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert Workers.worth_asking(trainings) is None


# -- processes of joblib -------------------------------------------------------------------------------------------------


def test_joblibs_processes_give_the_same_bits_also_after_one_is_killed(trainings, in_one_go, tmp_path, monkeypatch):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert_all_same(train_all(trainings), in_one_go)
        monkeypatch.setenv("EXTRANETS_TEST_FLAG", str(tmp_path / "killed"))
        monkeypatch.setattr("extranets.engine.native.train_all", clusters.killed_once)
        joblib.externals.loky.get_reusable_executor().shutdown()  # workers read the environment when they start
        told = []
        assert_all_same(train_all(trainings, progress=told.append), in_one_go)
    assert (tmp_path / "killed").exists()
    assert told[-1] == pytest.approx(1) and told == sorted(told)


# -- Dask ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_dasks_workers_give_the_same_bits(client, trainings, in_one_go, n_workers):
    scale(client, n_workers)
    with joblib.parallel_config(backend="dask"):
        assert Workers.worth_asking(trainings).cluster.n_workers == n_workers
        assert_all_same(train_all(trainings), in_one_go)
        found = train_all([*trainings[:2], diverging()])
    assert_all_same(found[:2], in_one_go[:2])
    assert isinstance(found[2], TrainingDiverged) and str(found[2]) == str(train_all([diverging()])[0])
    scale(client, 2)


def scale(client, n_workers):
    client.cluster.scale(n_workers)
    until = time.monotonic() + 60
    while len(client.ncores()) != n_workers and time.monotonic() < until:
        time.sleep(0.05)


def test_a_killed_workers_shard_is_done_by_another(client, trainings, in_one_go, tmp_path, monkeypatch):
    flag = tmp_path / "killed"
    client.run(_set_flag, str(flag))
    monkeypatch.setattr("extranets.engine.native.train_all", clusters.killed_once)
    with joblib.parallel_config(backend="dask"):
        assert_all_same(train_all(trainings), in_one_go)
    assert flag.exists()


def _set_flag(flag):
    import os

    os.environ["EXTRANETS_TEST_FLAG"] = flag


def test_a_table_goes_to_each_worker_once(client):
    """Over two calls with many shards each: the client gives a table to one worker, and the other gets it from there."""
    X = np.random.default_rng(0).normal(size=(100_000, 20)).astype(np.float32)
    members = draw_members(Architecture(20, (4,), 1, 1), 1.0, seed=0, ids=np.arange(16))
    data = TrainingData(X, X[:, 0])
    size = X.nbytes + data.y.nbytes
    scale(client, 2)
    before = _passed_on(client)
    with joblib.parallel_config(backend="dask"):
        for seed in (0, 1):
            train_all([Training(members, data, BASE, seed)])
    assert sorted(_large_on_workers(client)) == sorted([X.nbytes, data.y.nbytes])
    assert _passed_on(client) - before <= size + 10_000


def _large_on_workers(client):
    """Bytes of what workers hold, each thing once, however many hold it."""
    found = client.run(
        lambda dask_worker: {
            key: value.nbytes
            for key, value in dask_worker.data.items()
            if getattr(value, "nbytes", 0) > 100_000 and value.shape[0] == 100_000
        }
    )
    return {key: size for held in found.values() for key, size in held.items()}.values()


def _passed_on(client):
    """Bytes that workers had from each other."""
    return sum(
        client.run(lambda dask_worker: sum(each["total"] for each in dask_worker.transfer_incoming_log)).values()
    )


def test_workers_that_always_die_are_an_error_that_says_what_to_look_for(client, trainings):
    with (
        joblib.parallel_config(backend="dask"),
        pytest.raises(WorkersLost, match=r"KilledWorker.*memory was too small.*"),
    ):
        results(trainings[:1], clusters.killed_always)


def test_a_workers_own_error_is_raised_here(client, trainings):
    with joblib.parallel_config(backend="dask"), pytest.raises(ValueError, match="the worker's own error"):
        results(trainings, clusters.refused)


def test_a_search_on_workers_whose_fits_ask_for_workers(client):
    X, y, *_ = nonlinear_process(120, random_state=0).split(100)
    expected = clusters.searched(X, y)
    client.run(_everything_is_worth_sending)
    with joblib.parallel_config(backend="dask"):
        found = clusters.searched(X, y)
    np.testing.assert_array_equal(found, expected)


def _everything_is_worth_sending():
    import extranets.engine.workers

    extranets.engine.workers.WORTH_SENDING = 0.0


def test_too_little_memory_is_an_error_that_says_so(trainings):
    pytest.importorskip("distributed")
    with clusters.dask_cluster(1, memory_limit="600MB") as client:
        assert client.ncores()
        with joblib.parallel_config(backend="dask"), pytest.raises(WorkersLost, match="memory was too small"):
            results(trainings[:1], clusters.too_large)


def test_a_scheduler_that_is_lost_is_an_error(trainings):
    pytest.importorskip("distributed")
    with clusters.dask_cluster(1) as client, joblib.parallel_config(backend="dask"):
        client.cluster.sync(client.cluster.scheduler.close)
        with pytest.raises((WorkersLost, OSError, TimeoutError)):
            train_all(trainings)


# -- Ray -----------------------------------------------------------------------------------------------------------------


def test_rays_workers_give_the_same_bits_also_after_one_is_killed(trainings, in_one_go, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("EXTRANETS_TEST_FLAG", str(tmp_path / "killed"))
    with clusters.ray_cluster(2):
        assert_all_same(train_all(trainings), in_one_go)
        monkeypatch.setattr("extranets.engine.native.train_all", clusters.killed_once)
        assert_all_same(train_all(trainings), in_one_go)
        with pytest.raises(ValueError, match="the worker's own error"):
            results(trainings, clusters.refused)
    assert (tmp_path / "killed").exists()
