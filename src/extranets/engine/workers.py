"""Trainings on the workers of a joblib backend that the user has named: processes of this machine, a Dask cluster, Ray.

``with joblib.parallel_config(backend="dask"):`` around a fit is all that it takes. Without a named backend, and with one that
uses threads, everything stays in this process. Each worker trains its shards with the compiled engine, on as many threads as
``OMP_NUM_THREADS`` allows there: joblib, Dask and Ray set it to the worker's share of the cores.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets.engine.clusters import Cluster, named_cluster
from extranets.engine.data import TrainingData
from extranets.engine.native import TrainingDiverged
from extranets.engine.options import Options, Trained, Training
from extranets.engine.shards import Shard, multiply_adds
from extranets.networks import Members

WORTH_SENDING = 1e10  # multiply-adds, about half a second of a core: less is done in this process
TRIES = 3  # how often shards are sent whose workers are lost

Found = list[Trained | TrainingDiverged]
TrainAll = Callable[..., Found]  # `train_all` of an engine


class WorkersLost(RuntimeError):
    """Workers of a cluster ended again and again while they trained."""


class _Raised(Exception):
    """What a shard raised by itself: sending it again would not help."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass(frozen=True)
class Packed:
    """A training without its large arrays. ``arrays`` says by which of the arrays beside it each of them is meant."""

    members: Members
    options: Options
    seed: int
    count_rows: npt.NDArray[np.int32] | None
    arrays: dict[str, int]

    def training(self, sent: Sequence[npt.NDArray]) -> Training:
        given = {name: sent[place] for name, place in self.arrays.items()}
        return Training(self.members, TrainingData(count_rows=self.count_rows, **given), self.options, self.seed)


@dataclass(frozen=True)
class Workers:
    """The workers of the backend that is active."""

    cluster: Cluster

    @classmethod
    def worth_asking(cls, trainings: Sequence[Training]) -> Workers | None:
        """Those of the backend that the user has named; None where there are none, or little is to be done."""
        if sum(float(multiply_adds(training).sum()) for training in trainings) < WORTH_SENDING:
            return None
        cluster = named_cluster()
        return None if cluster is None else cls(cluster)

    def run(
        self, trainings: Sequence[Training], shards: Sequence[Shard], train_all: TrainAll
    ) -> Iterator[tuple[Shard, Found]]:
        """Each shard with what it has found, as it is done. Shards whose workers are lost are sent again."""
        waiting = dict(enumerate(shards))
        for tries_left in reversed(range(TRIES)):
            try:
                tasks = [
                    (number, train_all, *_packed(trainings, shard, self.cluster)) for number, shard in waiting.items()
                ]
                for number, found in self.cluster.results(train_shard, tasks):
                    if isinstance(found, Exception):
                        raise _Raised(found)
                    yield waiting.pop(number), found
                return
            except _Raised as error:
                raise error.cause from None
            except Exception as error:  # whatever a cluster says when workers end
                if not tries_left or type(error).__name__ == "KilledWorker":
                    raise _lost(trainings, error) from error
                self.cluster.forget()


def train_shard(number: int, train_all: TrainAll, packed: bytes, *arrays: npt.NDArray) -> tuple[int, Found | Exception]:
    """On a worker: the shard's number, and its results or what went wrong."""
    try:
        # Arrays from the network may begin at any address, and the engine wants numbers at multiples of their size.
        aligned = [np.require(array, requirements=["C", "A"]) for array in arrays]
        trainings = [piece.training(aligned) for piece in pickle.loads(packed)]
        return number, train_all(trainings, n_threads=_threads_here())
    except Exception as error:
        return number, error


def _threads_here() -> int:
    share = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, int(share)) if share.isdigit() else 1


def _packed(trainings: Sequence[Training], shard: Shard, cluster: Cluster) -> list[Any]:
    """The pieces of a shard in bytes, and after them the arrays that they need, each of them once."""
    places: dict[int, int] = {}
    sent: list[Any] = []

    def place(array: npt.NDArray) -> int:
        if id(array) not in places:
            places[id(array)] = len(sent)
            sent.append(cluster.load(array))
        return places[id(array)]

    pieces = []
    for piece in shard:
        part = piece.of(trainings)
        arrays = {
            each.name: place(array)
            for each in fields(TrainingData)
            if each.name != "count_rows" and (array := getattr(part.data, each.name)) is not None
        }
        pieces.append(Packed(part.members, part.options, part.seed, part.data.count_rows, arrays))
    return [pickle.dumps(pieces), *sent]


def _lost(trainings: Sequence[Training], error: Exception) -> WorkersLost:
    size = sum(array.nbytes for array in {id(t.data.X): t.data.X for t in trainings}.values())
    return WorkersLost(
        f"Workers ended while they trained networks, and again when the work was sent to others "
        f"({type(error).__name__}: {error}). The tables alone take {size / 2**20:,.0f} MiB of each worker; look into the "
        "workers' logs whether their memory was too small. Nothing was fitted."
    )
