"""Other processes that train: those of this machine by joblib, a Dask cluster, Ray.

Each gives large arrays to a worker once, however many shards need them.
"""

from __future__ import annotations

import sys
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import joblib
import numpy.typing as npt
from joblib.parallel import get_active_backend

WORTH_KEEPING = 100_000  # bytes of an array that is sent by itself

Task = tuple[Any, ...]  # the arguments of a call on a worker, the arrays among them as `load` gave them
Call = Callable[..., Any]


class Cluster(ABC):
    """Where calls can be sent to."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def load(self, array: npt.NDArray) -> Any:
        """What to pass to a call in the place of an array. joblib's processes map large arrays into their memory."""
        return array

    def forget(self) -> None:  # noqa: B027
        """Workers were lost, and what they held may be lost, too."""

    @abstractmethod
    def results(self, call: Call, tasks: Sequence[Task]) -> Iterator[Any]:
        """What the calls return, in any order. Raises whatever the cluster says when workers are lost."""


class Processes(Cluster):
    """Any backend of joblib."""

    def __init__(self, backend: Any) -> None:
        super().__init__(joblib.effective_n_jobs())
        self._as_done = backend.supports_return_generator

    def results(self, call: Call, tasks: Sequence[Task]) -> Iterator[Any]:
        how = "generator_unordered" if self._as_done else "list"
        yield from joblib.Parallel(batch_size=1, pre_dispatch="all", return_as=how)(
            joblib.delayed(call)(*task) for task in tasks
        )


class Sent:
    """References to arrays that a cluster holds, each kept for as long as the array lives."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[npt.NDArray], Any]] = {}

    def get(self, array: npt.NDArray, send: Callable[[npt.NDArray], Any]) -> Any:
        if array.nbytes < WORTH_KEEPING:
            return array
        key = id(array)
        if key not in self._known:
            self._known[key] = (weakref.ref(array, lambda _: self._known.pop(key, None)), send(array))
        return self._known[key][1]

    def clear(self) -> None:
        self._known.clear()


class Dask(Cluster):
    """The cluster of a client of ``dask.distributed``."""

    _sent: ClassVar[weakref.WeakKeyDictionary[Any, Sent]] = weakref.WeakKeyDictionary()  # by client

    def __init__(self, backend: Any) -> None:
        super().__init__(backend.effective_n_jobs(-1))  # which waits for the first worker
        self.backend, self.client = backend, backend.client

    def load(self, array: npt.NDArray) -> Any:
        return self._sent.setdefault(self.client, Sent()).get(array, self._scatter)

    def _scatter(self, array: npt.NDArray) -> Any:
        return self.client.scatter(array, hash=False)  # workers give it to each other

    def forget(self) -> None:
        self._sent.pop(self.client, None)

    def results(self, call: Call, tasks: Sequence[Task]) -> Iterator[Any]:
        from distributed import as_completed

        futures = [self.client.submit(call, *task, pure=False) for task in tasks]
        try:
            with self.backend.retrieval_context():  # a worker that waits gives its place to others
                for future in as_completed(futures):
                    yield future.result()
        finally:
            self.client.cancel(futures)


class Ray(Cluster):
    """The cluster that ``ray.init`` has connected to."""

    _sent: ClassVar[Sent] = Sent()

    def __init__(self, n_workers: int, ray: Any) -> None:
        super().__init__(n_workers)
        self.ray = ray

    def load(self, array: npt.NDArray) -> Any:
        return self._sent.get(array, self.ray.put)

    def forget(self) -> None:
        self._sent.clear()

    def results(self, call: Call, tasks: Sequence[Task]) -> Iterator[Any]:
        remote = self.ray.remote(call)
        waiting = [remote.remote(*task) for task in tasks]
        try:
            while waiting:
                done, waiting = self.ray.wait(waiting)
                yield from self.ray.get(done)
        finally:
            for task in waiting:
                self.ray.cancel(task, force=True)


def named_cluster() -> Cluster | None:
    """That of the backend that the user has named; None where there is none, or one that uses threads or a single process."""
    backend, n_jobs = get_active_backend(prefer="threads")  # a backend that was named overrules what is preferred
    if getattr(backend, "uses_threads", False) or n_jobs == 1:
        return None
    return cluster_of(backend)


def cluster_of(backend: Any) -> Cluster:
    """That of a backend of joblib."""
    if getattr(backend, "client", None) is not None:
        return Dask(backend)
    ray = sys.modules.get("ray")
    if ray is not None and type(backend).__module__.startswith("ray."):
        return Ray(joblib.effective_n_jobs(), ray)
    return Processes(backend)
