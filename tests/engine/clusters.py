"""Real clusters on this machine, and calls for their workers, which must be found by name there."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import joblib
import numpy as np
from sklearn.model_selection import GridSearchCV

from extranets import ExtraNetsRegressor
from extranets.engine import native

ROOT = Path(__file__).parents[2]


@contextmanager
def dask_cluster(n_workers, **given):
    """Processes with one thread each; gives the client. Whatever is lost is given up early, and no copy is dropped to save memory."""
    import dask
    from dask.distributed import Client, LocalCluster

    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.comm.timeouts.connect": "3s",
        "distributed.scheduler.active-memory-manager.start": False,
    }

    workers = {"n_workers": n_workers, "threads_per_worker": 1, "processes": True, **given}
    with (
        dask.config.set(settings),
        LocalCluster(**workers, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        client.run(_find_tests, str(ROOT))
        yield client


def _find_tests(root):
    sys.path.insert(0, root)


@contextmanager
def ray_cluster(n_workers):
    import ray
    from ray.util.joblib import register_ray

    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}}
    ray.init(num_cpus=n_workers, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    register_ray()
    try:
        with joblib.parallel_config(backend="ray", n_jobs=n_workers):
            yield
    finally:
        ray.shutdown()


def killed_once(trainings, **how):
    """The first worker that comes here is killed by a signal."""
    flag = Path(os.environ["EXTRANETS_TEST_FLAG"])
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return native.train_all(trainings, **how)
    return os.kill(os.getpid(), signal.SIGKILL)


def killed_always(trainings, **how):
    os.kill(os.getpid(), signal.SIGKILL)


def too_large(trainings, **how):
    """Takes more memory than any worker of the test has, bit by bit."""
    taken = []
    while True:
        taken.append(np.ones(2_000_000))


def refused(trainings, **how):
    raise ValueError("the worker's own error")


def searched(X, y):
    """Two levels: candidates on workers, whose fits ask for workers themselves."""
    model = ExtraNetsRegressor(3, (8,), max_iter=5, numeric_encoding=None, random_state=0)
    found = GridSearchCV(model, {"alpha": [0.0, 0.1]}, cv=2, error_score="raise").fit(X, y)
    return found.cv_results_["mean_test_score"]
