"""Trainings on more rows than fit into memory: window after window of blocks of rows, in an order of their own in every epoch.

A window is read, and every network goes on from where it has ended in the one before, with the window's rows in a shuffled order of its
own. So an epoch sees every row once; a mini-batch mixes the rows of one window, which come from all over the table.

A table that fits into one window gives the bits of a training in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from extranets.engine import native
from extranets.engine.data import TrainingData
from extranets.engine.meters import Meter, Report
from extranets.engine.native import COLLAPSED, NOT_FINITE, Results, TrainingDiverged, diverged_members
from extranets.engine.options import Options, Stretch, Trained, Training
from extranets.engine.shards import Assembly, Piece, blocks_of, whole
from extranets.engine.windows import COUNTED_THREADS, Layout, data_of
from extranets.networks import Ensemble


def train_all(
    trainings: Sequence[Training], *, n_threads: int = 1, progress: Report | None = None
) -> list[Trained | TrainingDiverged]:
    """As :func:`extranets.engine.train_all`, for trainings on rows of one source that are read in windows, on this machine's cores.

    A network that collapses, or whose loss is not finite, is trained anew on all windows after the others. Training loss and R^2
    are those of the rows of the last window.
    """
    for training in trainings:
        check_options(training.options)
    assembly, layout = Assembly(trainings), Layout.of(trainings)
    runs = [_Run(piece, trainings, 0, layout) for piece in whole(trainings)]
    while runs:
        _run_through(runs, layout, min(n_threads, COUNTED_THREADS), progress)
        runs = [_Run(piece, trainings, run.attempt + 1, layout) for run in runs for piece in run.settle(assembly)]
    return assembly.results()


def check_options(options: Options) -> None:
    """Refuse what windows cannot do, by a ``ValueError`` that names it."""
    if options.validation_fraction > 0:
        raise ValueError(
            "Networks that train on a table in windows do not stop early: set early_stopping=False, and max_iter."
        )
    if options.n_starts > 1:
        raise ValueError("Networks that train on a table in windows have one start each: set n_starts=1.")


def _run_through(runs: Sequence[_Run], layout: Layout, n_threads: int, progress: Report | None) -> None:
    """All epochs of all runs."""
    meter = Meter(progress, sum(run.window_work * run.n_windows for run in runs))
    tables: dict[int, TrainingData] = {}
    for number in range(max(run.n_windows for run in runs)):
        going = [run for run in runs if number < run.n_windows]
        if layout.n_windows > 1 or number == 0:
            tables.clear()  # before the next window is read: memory holds one
            ranges = layout.ranges(number)
            for run in going:
                if id(run.data) not in tables:
                    tables[id(run.data)] = run.data.window(ranges)
        amount = sum(run.window_work for run in going)
        parts = [run.part(tables[id(run.data)], number) for run in going]
        found = native.run_all(parts, n_threads=n_threads, progress=meter.within(amount))
        meter.add(amount)
        for run, results in zip(going, found, strict=True):
            run.take(results, number)


class _Run:
    """Some members of one training, on their way through the windows."""

    def __init__(self, piece: Piece, trainings: Sequence[Training], attempt: int, layout: Layout) -> None:
        self.piece, self.training, self.attempt = piece, piece.of(trainings), attempt
        self.data, options, n = data_of(self.training), self.training.options, len(piece.members)
        self.per_epoch, self.n_windows = layout.n_windows, options.n_epochs * layout.n_windows
        samples = np.full(n, -1) if self.data.count_rows is None else self.data.count_rows
        self.sizes = layout.sample_sizes(self.data, options.n_epochs)[samples]  # (n, n_windows)
        self.batches = -(-self.sizes // options.batch_size)
        size = self.training.members.n_parameters
        self.parameters, self.first, self.second = (np.empty(size, dtype=np.float32) for _ in range(3))
        self.losses = np.zeros((n, options.n_epochs))
        self.diverged = np.zeros(n, dtype=bool)
        self.last: Results | None = None

    @property
    def window_work(self) -> float:
        """Of one window, roughly."""
        return float(self.training.members.n_parameters)

    def part(self, data: TrainingData, number: int) -> Training:
        """The next window, as the engine takes it."""
        warming_up = number // self.per_epoch < self.training.options.warm_up_epochs
        options = replace(self.training.options, n_epochs=1, warm_up_epochs=int(warming_up), max_restarts=0)
        attempts = np.full(len(self.piece.members), self.attempt)
        done, total = self.batches[:, :number].sum(axis=1), self.batches.sum(axis=1)
        stretch = Stretch(self.parameters, self.first, self.second, number, attempts, done, total)
        return Training(self.training.members, data, options, self.training.seed, stretch)

    def take(self, found: Results, number: int) -> None:
        """What a window has given."""
        self.losses[:, number // self.per_epoch] += found.loss_curve[:, 0] * self.sizes[:, number]
        self.diverged |= found.integers[:, 2] == NOT_FINITE
        self.last = found

    def settle(self, assembly: Assembly) -> list[Piece]:
        """Hand over what is done, and tell which members are to be trained anew."""
        assert self.last is not None
        options, members = self.training.options, self.training.members
        bad = self.diverged | (self.last.integers[:, 2] == COLLAPSED)
        again = bad if self.attempt < options.max_restarts else np.zeros_like(bad)
        lost = np.flatnonzero(self.diverged & ~again)
        if len(lost):
            ids = [int(i) for i in members.ids[lost]]
            assembly.add(Piece(self.piece.training, self.piece.members[lost]), diverged_members(members, ids, options))
        good = np.flatnonzero(~again & ~self.diverged)
        if len(good) or not len(bad):  # a training without members has a result, too
            assembly.add(Piece(self.piece.training, self.piece.members[good]), self._trained(good))
        return [Piece(self.piece.training, self.piece.members[again])] if again.any() else []

    def _trained(self, some: npt.NDArray[np.intp]) -> Trained:
        assert self.last is not None
        n, options = len(some), self.training.options
        rows = self.sizes.reshape(*self.losses.shape, self.per_epoch).sum(axis=2)
        blocks = blocks_of(Ensemble(self.training.members, self.parameters))
        parameters = np.concatenate([np.empty(0, dtype=np.float32), *(blocks[i] for i in some)])
        return Trained(
            Ensemble(self.training.members[some], parameters),
            (self.losses / rows)[some].astype(np.float32),
            train_loss=self.last.scalars[some, 0],
            train_r2=self.last.scalars[some, 1],
            validation_loss=np.full(n, np.inf),
            n_epochs=np.full(n, options.n_epochs, dtype=np.int32),
            n_attempts=np.full(n, self.attempt + 1, dtype=np.int32),
            collapsed=self.last.integers[some, 2] == COLLAPSED,
        )
