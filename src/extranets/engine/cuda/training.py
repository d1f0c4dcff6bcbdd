"""Training of whole ensembles on a GPU: what ``native/member.hpp`` does for one member, here for all of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.engine import reference
from extranets.engine.cuda.gpu import WARP, Gpu
from extranets.engine.cuda.launching import fixed_for, in_shared_memory, n_threads_for, step_rates, steps_at_once
from extranets.engine.cuda.layout import Layout, padded_rows
from extranets.engine.cuda.memory import Memory, Workspaces
from extranets.engine.cuda.rows import OnGpu, Rows, Samples
from extranets.engine.cuda.starts import COLLAPSED, NOT_FINITE, TRAINED, Result, Slots, Starts
from extranets.engine.data import TrainingData
from extranets.engine.options import Options
from extranets.networks import Members

_SHUFFLE, _VALIDATION = 2, 4  # Purpose in kernels/philox.cuh
_EVALUATION_ROWS = 64


class Training:
    """One call's data and members on the GPU."""

    def __init__(self, gpu: Gpu, members: Members, data: TrainingData, options: Options, seed: int) -> None:
        self.gpu, self.members, self.options = gpu, members, options
        self.y, self.weight = data.y, data.weight
        samples = Samples.of(data, len(members))
        self.capacities = np.minimum(options.batch_size, samples.sizes())
        batch_rows = int(self.capacities.max()) * (1 if data.adversarial is None else 2)
        self.layout = Layout(members.architecture, batch_rows, trains=True)
        self.workspaces = Workspaces(gpu, Layout(members.architecture, _EVALUATION_ROWS, trains=False))
        self.n_threads = n_threads_for(self.layout)
        self.in_shared, self.shared_floats = in_shared_memory(self.layout, gpu.shared_bytes)
        self.fixed = (
            ("IN_SHARED", self.in_shared),
            *fixed_for(self.layout, options, data.adversarial is not None),
        )
        self.memory = self._memory(data, seed)
        self.problem, self.parameters = self.memory.problem, self.memory["parameters"]
        self._constants: dict[tuple[int, int], reference.BestConstant] = {}
        self._lists: list[Any] = []  # of slots: kernels of the other stream may still read them
        self.train_rows, self.validation_rows = self._deal(samples)
        self.on_gpu = OnGpu(gpu, self.train_rows)
        self.validation_on_gpu = OnGpu(gpu, self.validation_rows)
        # Members whose epochs have equally many steps are of one kind: they share Adam's rates.
        n_steps = -(-self.train_rows.n // self.capacities)
        self.steps_per_epoch, kinds = np.unique(n_steps, return_inverse=True)
        self.kinds_on_gpu = gpu.array(kinds.astype(np.int32))
        self.capacities_on_gpu = gpu.array(self.capacities.astype(np.int32))
        self.orders = [gpu.xp.empty((len(members), int(self.train_rows.n.max())), dtype=np.uint32) for _ in range(2)]
        self.loss_sums = gpu.xp.zeros((len(members), options.n_epochs))
        self.best_epoch = gpu.xp.empty_like(self.parameters) if options.validation_fraction > 0 else None

    def _memory(self, data: TrainingData, seed: int) -> Memory:
        layout, n = self.layout, len(self.members)
        memory = Memory(self.gpu, layout, replace(self.options, batch_size=int(self.capacities.max())), seed)
        memory.put("X", self.gpu.array(padded_rows(data.X, layout)))
        arrays = {"y": data.y, "weight": data.weight, "adversarial": data.adversarial}
        arrays["ids"] = np.ascontiguousarray(self.members.ids, dtype=np.uint32)
        arrays["widths"] = np.ascontiguousarray(self.members.widths, dtype=np.int32)
        for name, host in arrays.items():
            memory.put(name, None if host is None else self.gpu.array(host))
        for name in ("parameters", "first", "second"):
            memory.zeros(name, n, layout.block_size)
        memory.zeros("gradient", n, layout.block_size if self.options.max_grad_norm > 0 else 0)
        memory.zeros("values", n, layout.values_size)
        memory.zeros("workspace", n, layout.workspace_size if self.in_shared == 0 else 0)
        return memory

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _deal(self, samples: Samples) -> tuple[Rows, Rows]:
        """Each member's rows for training and for validation."""
        fraction, n = self.options.validation_fraction, len(self.members)
        if fraction == 0:
            return samples.whole(), Rows.none(n)
        rows = Rows.of(samples.distinct(), samples.which)
        out = self.gpu.xp.empty((n, int(rows.n.max())), dtype=np.uint32)
        everyone = np.arange(n, dtype=np.int32)
        self._shuffle(self._list(everyone), OnGpu(self.gpu, rows), out, _VALIDATION, 0, 0)
        shuffled = (order[:size] for order, size in zip(self.gpu.host(out), rows.n.tolist(), strict=True))
        return samples.split(shuffled, fraction)

    def _list(self, slots: Slots) -> Any:
        self._lists.append(self.gpu.array(slots))
        return self._lists[-1]

    def _shuffle(
        self, slots: Any, rows: OnGpu, out: Any, purpose: int, attempt: int, part: int, *, ahead: bool = False
    ) -> None:
        arguments = (slots, rows.rows, rows.begin, rows.end, out, np.int64(out.shape[1]))
        scalars = (np.int32(purpose), np.int32(attempt), np.int32(part))
        self.gpu.launch("shuffle_rows", len(slots), (self.problem, *arguments, *scalars), n_threads=WARP, ahead=ahead)

    # -- one attempt ---------------------------------------------------------------------------------------------------

    def attempt(self, slots: Slots, index: int, progress: Callable[[float], object]) -> Starts:
        """Train these members from their start number ``index``."""
        gpu, n_epochs = self.gpu, self.options.n_epochs
        found, waited = Starts.none(len(self.members), n_epochs), np.zeros(len(self.members), dtype=int)
        alive, on_gpu = slots, self._list(slots)
        gpu.launch("initialise", len(slots), (self.problem, on_gpu, np.int32(index)))
        self.loss_sums[:] = 0
        self._shuffle(on_gpu, self.on_gpu, self.orders[0], _SHUFFLE, index, 0)
        marks: list[Any] = []
        for epoch in range(n_epochs):
            gpu.hold(gpu.mark(), ahead=True)  # the next epoch's rows replace the last one's: wait until those were used
            if epoch + 1 < n_epochs:
                self._shuffle(on_gpu, self.on_gpu, self.orders[(epoch + 1) % 2], _SHUFFLE, index, epoch + 1, ahead=True)
            shuffled = gpu.mark(ahead=True)
            for share in self._steps(on_gpu, epoch, index):
                marks.append(gpu.mark())
                if len(marks) > 2:  # never more than a moment ahead of the GPU
                    gpu.wait(marks.pop(0))
                progress((epoch + share) / n_epochs)
            gpu.hold(shuffled)
            found.n_epochs[alive] = epoch + 1
            if self.options.validation_fraction > 0 and epoch >= self.options.warm_up_epochs:
                going_on = self._validate(alive, epoch, found, waited)
                if len(going_on) == 0:
                    break
                if len(going_on) < len(alive):
                    alive, on_gpu = going_on, self._list(going_on)
        self._finish(slots, found)
        progress(1.0)
        return found

    def _steps(self, slots: Any, epoch: int, attempt: int) -> Iterator[float]:
        """Launch an epoch's steps, a bounded number at a time; yields the share that is launched."""
        at_once = steps_at_once(self.layout, len(slots), self.gpu.n_processors)
        order, per_epoch = self.orders[epoch % 2], int(self.steps_per_epoch.max())
        for begin in range(0, per_epoch, at_once):
            end = min(begin + at_once, per_epoch)
            self.gpu.launch(
                "train_steps",
                len(slots),
                (
                    self.problem,
                    slots,
                    order,
                    np.int64(order.shape[1]),
                    self.on_gpu.lengths,
                    self.capacities_on_gpu,
                    np.int32(epoch),
                    np.int32(attempt),
                    np.int32(epoch < self.options.warm_up_epochs),
                    np.int64(begin),
                    np.int64(end),
                    self.gpu.array(self._rates(epoch, begin, end)),
                    self.kinds_on_gpu,
                    self.loss_sums,
                ),
                n_threads=self.n_threads,
                shared_floats=self.shared_floats,
                fixed=self.fixed,
            )
            yield end / per_epoch

    def _rates(self, epoch: int, begin: int, end: int) -> Float32:
        """Shape: ``(n_kinds, end - begin, 3)``."""
        per_kind = [
            step_rates(self.options, epoch * n + np.arange(begin, end), self.options.n_epochs * n)
            for n in self.steps_per_epoch.tolist()
        ]
        return np.stack(per_kind)

    def _validate(self, alive: Slots, epoch: int, found: Starts, waited: npt.NDArray[np.int_]) -> Slots:
        """Keep the best weights; returns the members that go on."""
        finite = np.isfinite(self.gpu.host(self.loss_sums[alive, epoch]))
        alive = alive[finite]
        judged = alive[self.validation_rows.n[alive] > 0]  # a member with one row has none for validation
        loss, best = self.evaluate(judged, self.validation_on_gpu), found.validation_loss[judged]
        waited[judged] = np.where(loss < best - self.options.tolerance, 0, waited[judged] + 1)
        better = judged[loss < best]
        found.validation_loss[better] = loss[loss < best]
        if self.best_epoch is not None:
            self.best_epoch[better] = self.parameters[better]
        return alive[waited[alive] < self.options.patience]

    def _finish(self, slots: Slots, found: Starts) -> None:
        curve = self.gpu.host(self.loss_sums) / self.train_rows.n[:, None]
        run = np.arange(self.options.n_epochs) < found.n_epochs[:, None]
        found.loss_curve[:] = np.where(run, curve, np.nan)
        restored = slots[np.isfinite(found.validation_loss[slots])] if self.best_epoch is not None else slots[:0]
        if len(restored) and self.best_epoch is not None:
            self.parameters[restored] = self.best_epoch[restored]
            self.gpu.launch("refresh", len(restored), (self.problem, self.gpu.array(restored)))
        found.train_loss[slots] = self.evaluate(slots, self.on_gpu)
        # An overflowed second moment freezes its weight for ever without showing in the loss.
        moments = self.gpu.host(self.gpu.xp.isfinite(self.memory["second"]).all(axis=1))
        finite = np.isfinite(np.where(run, curve, 0)).all(axis=1) & moments & np.isfinite(found.train_loss)
        found.train_r2[slots] = [self._r2(slot, found.train_loss[slot]) for slot in slots.tolist()]
        collapsed = found.train_r2 < np.float32(self.options.collapse_r2)
        found.outcome[slots] = np.where(finite, np.where(collapsed, COLLAPSED, TRAINED), NOT_FINITE)[slots]

    def evaluate(self, slots: Slots, rows: OnGpu) -> Array:
        """Mean loss over each member's rows, without dropout."""
        if len(slots) == 0:
            return np.zeros(0)
        per_block = self.workspaces.layout.n_rows
        per_member = int(-(-rows.n[slots].max() // per_block))
        partial = self.gpu.xp.zeros((len(slots), per_member))
        n_blocks = self.workspaces.n_blocks(partial.size)
        own, room = self.workspaces.problem(self.problem, n_blocks)
        sizes = (np.int32(len(slots)), np.int32(per_block), np.int32(per_member), np.int32(self.workspaces.in_shared))
        self.gpu.launch(
            "evaluate",
            n_blocks,
            (own, self.gpu.array(slots), rows.rows, rows.begin, rows.end, *sizes, partial),
            shared_floats=self.workspaces.shared_floats,
        )
        del room  # the pool gives this memory only to what runs after the kernel
        return self.gpu.host(partial).sum(axis=1) / rows.n[slots]

    def _r2(self, slot: int, loss: float) -> float:
        # Members that train on the same rows share the work.
        key = (int(self.train_rows.begin[slot]), int(self.train_rows.end[slot]))
        if key not in self._constants:
            rows = self.train_rows.of_member(slot)
            weight = np.ones(len(rows)) if self.weight is None else self.weight[rows].astype(np.float64)
            self._constants[key] = reference.best_constant(self.y[rows].astype(np.float64), weight)
        return reference.r2_over_constant(self.options.loss, loss, self._constants[key])


def bytes_per_member(members: Members, data: TrainingData, options: Options) -> int:
    """Roughly the GPU memory that training one member takes, besides the data."""
    layout = Layout(members.architecture, 2 * min(options.batch_size, len(data.X)), trains=True)
    n_rows = len(data.X) if data.counts is None else int(data.counts.sum(axis=1).max())
    return 4 * (6 * layout.block_size + layout.values_size + layout.workspace_size + 4 * n_rows) + 8 * options.n_epochs


def train(
    gpu: Gpu, members: Members, data: TrainingData, options: Options, seed: int, progress: Callable[[float], object]
) -> Result:
    """Best of ``n_starts`` by training loss; up to ``max_restarts`` collapsed or overflowing starts are replaced."""
    training = Training(gpu, members, data, options, seed)
    n = len(members)
    best, kept = Starts.none(n, options.n_epochs), gpu.xp.zeros_like(training.parameters)
    good, n_attempts = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    try:
        for index in range(options.n_starts + options.max_restarts):
            slots = np.flatnonzero(good < options.n_starts).astype(np.int32)
            if len(slots) == 0:
                break
            done, share = good.sum() / (n * options.n_starts), len(slots) / (n * options.n_starts)
            found = training.attempt(slots, index, lambda part, d=done, s=share: progress(d + s * part))  # type: ignore[misc]
            n_attempts[slots] += 1
            good[slots] += found.outcome[slots] == TRAINED
            better = best.better(found, slots)
            best.take(found, better)
            kept[better] = training.parameters[better]
    finally:
        gpu.finish()  # no kernel may still use memory that is given back
    return Result(training.layout.unpack(members, gpu.host(kept)), best, n_attempts)
