"""Trainings in pieces: on the workers of a cluster, or here with a folder that keeps what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from extranets.engine.checkpoints import Checkpoint
from extranets.engine.meters import Meter, Report
from extranets.engine.native import TrainingDiverged
from extranets.engine.options import Trained, Training
from extranets.engine.shards import Assembly, Piece, Shard, cut, multiply_adds, whole
from extranets.engine.workers import Found, TrainAll, Workers

SHARDS_PER_WORKER = 4  # so that workers idle little at the end, and little is lost with a worker
KEPT_EVERY = 1e11  # multiply-adds of a thread, about five seconds, between two files of a checkpoint


@dataclass(frozen=True)
class Place:
    """Where pieces are trained, and kept. ``here`` is the engine of the device, in this process or on a worker."""

    device: Literal["cpu", "cuda"]
    n_threads: int
    here: TrainAll
    workers: Workers | None
    checkpoint: Checkpoint | None


def train_in_pieces(
    trainings: Sequence[Training], place: Place, progress: Report | None
) -> list[Trained | TrainingDiverged]:
    """As :func:`extranets.engine.train_all`."""
    if place.checkpoint is None:
        assembly, wanted = Assembly(trainings), whole(trainings)
    else:
        assembly, wanted = place.checkpoint.take_known(trainings, place.device)
    work = [multiply_adds(training) for training in trainings]

    def amount(pieces: Iterable[Piece]) -> float:
        return sum(float(work[piece.training][piece.members].sum()) for piece in pieces)

    left, total = amount(wanted), amount(whole(trainings))
    most = (
        place.n_threads * KEPT_EVERY
        if place.workers is None
        else left / (SHARDS_PER_WORKER * place.workers.cluster.n_workers)
    )
    shards = cut(trainings, wanted, most)
    meter = Meter(progress, total, total - left)
    if place.workers is not None:
        results = place.workers.run(trainings, shards, place.here)
    else:
        results = _run_here(trainings, shards, place, lambda shard: meter.within(amount(shard)))
    for shard, found in results:
        for piece, result in zip(shard, found, strict=True):
            assembly.add(piece, result)
        if place.checkpoint is not None:
            place.checkpoint.keep(shard, found)
        meter.add(amount(shard))
    return assembly.results()


def _run_here(
    trainings: Sequence[Training], shards: Sequence[Shard], place: Place, within: Callable[[Shard], Report | None]
) -> Iterator[tuple[Shard, Found]]:
    for shard in shards:
        pieces = [piece.of(trainings) for piece in shard]
        yield shard, place.here(pieces, n_threads=place.n_threads, progress=within(shard))
