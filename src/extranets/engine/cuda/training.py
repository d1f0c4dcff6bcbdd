"""Training of whole ensembles on a GPU: what ``native/member.hpp`` does for one member, here for all of them side by side."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets.engine import reference
from extranets.engine.cuda.gpu import FEW_THREADS, MOST_THREADS, OWN_SHARED_BYTES, WARP, Gpu
from extranets.engine.cuda.layout import Layout, encoding_arrays, padded_rows, problem
from extranets.engine.cuda.rows import OnGpu, Rows, Samples
from extranets.engine.options import LOSSES, Options, Trained
from extranets.networks import Ensemble, Members

Slots = npt.NDArray[np.int32]  # which members, by their place in the call
Floats = npt.NDArray[np.float64]

_SHUFFLE, _VALIDATION = 2, 4  # Purpose in kernels/philox.cuh
_TRAINED, _COLLAPSED, _NOT_FINITE = 0, 1, 2  # Outcome in native/contract.hpp
_LAUNCH_SECONDS = 0.1  # of one launch at most, roughly: Ctrl-C and progress wait for its end
_SLOWEST = 2e10  # flop/s of one block of threads in the worst case
_EVALUATION_ROWS = 64
FEW_TILES = 64  # of gradients


def in_shared_memory(layout: Layout, shared_bytes: int) -> tuple[int, int]:
    """How many of workspace, parameters and moments find room in a block's shared memory, in this order; and their floats."""
    sizes = np.cumsum([0, layout.workspace_size, layout.block_size + layout.values_size, 2 * layout.block_size])
    n = int(np.searchsorted(sizes, max(shared_bytes - OWN_SHARED_BYTES, 0) // 4, side="right")) - 1
    return n, int(sizes[n])


@dataclass
class Starts:
    """How one attempt, or the best of several, went for every member."""

    outcome: npt.NDArray[np.int32]
    train_loss: Floats
    train_r2: Floats
    validation_loss: Floats
    n_epochs: npt.NDArray[np.int32]
    loss_curve: npt.NDArray[np.float32]

    @classmethod
    def none(cls, n_members: int, n_epochs: int) -> Starts:
        return cls(
            outcome=np.full(n_members, _NOT_FINITE, dtype=np.int32),
            train_loss=np.full(n_members, math.inf),
            train_r2=np.full(n_members, math.inf),
            validation_loss=np.full(n_members, math.inf),
            n_epochs=np.zeros(n_members, dtype=np.int32),
            loss_curve=np.full((n_members, n_epochs), np.nan, dtype=np.float32),
        )

    def take(self, other: Starts, members: Slots) -> None:
        for name in self.__dataclass_fields__:
            getattr(self, name)[members] = getattr(other, name)[members]


def n_threads_for(layout: Layout) -> int:
    """Fewer for small networks, whose steps are a sequence of waits.

    From the network without a mask, as is the layout, so that a member's result depends on no other member.
    """
    hidden = layout.architecture.hidden
    tiles = [-(-n_out // 4) * -(-(n_in + 1) // 8) for n_in, n_out in zip(layout.dense_inputs(), hidden, strict=False)]
    return MOST_THREADS if sum(tiles) > FEW_TILES else FEW_THREADS


def fixed_for(layout: Layout, options: Options, adversarial: bool) -> tuple[tuple[str, int], ...]:
    """What kernels are compiled for: see kernels/problem.cuh."""
    a = layout.architecture
    return (
        ("SPEC_LAYERS", layout.n_layers),
        ("SPEC_HEADS", a.n_heads),
        ("SPEC_OUTPUTS", a.n_outputs),
        ("SPEC_LOSS", LOSSES.index(options.loss)),
        ("SPEC_ENCODES", int(a.n_first > a.n_inputs)),
        ("SPEC_BY_EDGES", int(layout.by_edges)),
        ("SPEC_DROPS_INPUTS", int(options.input_keep < 1)),
        ("SPEC_DROPS_UNITS", int(options.dropout_keep < 1)),
        ("SPEC_CLIPS", int(options.max_grad_norm > 0)),
        ("SPEC_ADVERSARIAL", int(adversarial)),
    )


def step_rates(options: Options, steps: npt.NDArray[np.int64], n_steps: int) -> npt.NDArray[np.float32]:
    """What Adam multiplies by in each of these steps: see ``native/adam.hpp``. Shape: ``(n,)`` -> ``(n, 3)``."""
    o = options
    rate = reference.scheduled_rate(o.learning_rate, o.schedule, steps, n_steps)
    first, second = (1 - np.power(float(np.float32(beta)), steps + 1.0) for beta in (o.beta1, o.beta2))
    return np.stack([-rate / first, 1 / np.sqrt(second), 1 - rate * o.weight_decay], axis=1).astype(np.float32)


class Training:
    """One call's data and members on the GPU."""

    def __init__(self, gpu: Gpu, members: Members, arrays: dict[str, Any], options: Options, seed: int) -> None:
        self.gpu, self.members, self.options = gpu, members, options
        self.y, self.weight = arrays["y"], arrays["weight"]
        samples = Samples.of(arrays, len(members))
        self.capacities = np.minimum(options.batch_size, samples.sizes())
        batch_rows = int(self.capacities.max()) * (1 if arrays["adversarial"] is None else 2)
        self.layout = Layout(members.architecture, batch_rows, trains=True)
        self.evaluation = Layout(members.architecture, _EVALUATION_ROWS, trains=False)
        self.n_threads = n_threads_for(self.layout)
        self.in_shared, self.shared_floats = in_shared_memory(self.layout, gpu.shared_bytes)
        self.fixed = (
            ("IN_SHARED", self.in_shared),
            *fixed_for(self.layout, options, arrays["adversarial"] is not None),
        )
        self.kept: dict[str, Any] = {}  # arrays that kernels know by address only
        self._constants: dict[tuple[int, int], reference.BestConstant] = {}
        self.problem = self._problem(arrays, seed)
        self.everyone = gpu.array(np.arange(len(members), dtype=np.int32))
        self.train_rows, self.validation_rows = self._deal(samples)
        self.on_gpu = OnGpu(gpu, self.train_rows)
        self.validation_on_gpu = OnGpu(gpu, self.validation_rows)
        # Members whose epochs have equally many steps are of a kind.
        n_steps = -(-self.train_rows.n // self.capacities)
        self.steps_per_epoch, kinds = np.unique(n_steps, return_inverse=True)
        self.kinds_on_gpu = gpu.array(kinds.astype(np.int32))
        self.capacities_on_gpu = gpu.array(self.capacities.astype(np.int32))
        self.orders = [gpu.xp.empty((len(members), int(self.train_rows.n.max())), dtype=np.uint32) for _ in range(2)]
        self.loss_sums = gpu.xp.zeros((len(members), options.n_epochs))
        self.best_epoch = gpu.xp.empty_like(self.kept["parameters"]) if options.validation_fraction > 0 else None

    def _problem(self, arrays: dict[str, Any], seed: int) -> npt.NDArray[Any]:
        gpu, layout, n = self.gpu, self.layout, len(self.members)
        batch = int(self.capacities.max())
        out = problem(layout, replace(self.options, batch_size=batch), seed)
        data = {
            "X": padded_rows(arrays["X"], layout),
            "y": arrays["y"],
            "weight": arrays["weight"],
            "adversarial": arrays["adversarial"],
            "ids": arrays["members"],
            "widths": arrays["widths"],
        }
        zeros = {
            "parameters": layout.block_size,
            "first": layout.block_size,
            "second": layout.block_size,
            "gradient": layout.block_size if self.options.max_grad_norm > 0 else 0,
            "values": layout.values_size,
            "workspace": layout.workspace_size if self.in_shared == 0 else 0,
        }
        for name, host in data.items():
            if host is not None and host.size:
                self.kept[name] = gpu.array(host)
        for name, size in zeros.items():
            if size:
                self.kept[name] = gpu.xp.zeros((n, size), dtype=np.float32)
        for name, array in self.kept.items():
            out[name] = gpu.address(array)
        for name, host in encoding_arrays(self.members.architecture).items():
            self.kept[f"encoding {name}"] = gpu.array(host)
            out["encoding"][name] = gpu.address(self.kept[f"encoding {name}"])
        return out

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _deal(self, samples: Samples) -> tuple[Rows, Rows]:
        """Each member's rows for training and for validation."""
        fraction, n = self.options.validation_fraction, len(self.members)
        if fraction == 0:
            return samples.whole(), Rows.none(n)
        rows = Rows.of(samples.distinct(), samples.which)
        out = self.gpu.xp.empty((n, int(rows.n.max())), dtype=np.uint32)
        self._shuffle(OnGpu(self.gpu, rows), out, _VALIDATION, 0, 0)
        shuffled = (order[:size] for order, size in zip(self.gpu.host(out), rows.n.tolist(), strict=True))
        return samples.split(shuffled, fraction)

    def _shuffle(self, rows: OnGpu, out: Any, purpose: int, attempt: int, part: int, *, ahead: bool = False) -> None:
        arguments = (rows.rows, rows.begin, rows.end, out, np.int64(out.shape[1]))
        scalars = (np.int32(purpose), np.int32(attempt), np.int32(part))
        self.gpu.launch(
            "shuffle_rows",
            len(self.members),
            (self.problem, self.everyone, *arguments, *scalars),
            n_threads=WARP,
            ahead=ahead,
        )

    # -- one attempt ---------------------------------------------------------------------------------------------------

    def attempt(self, slots: Slots, index: int, progress: Callable[[float], object]) -> Starts:
        """Train these members from their start number ``index``."""
        o, found = self.options, Starts.none(len(self.members), self.options.n_epochs)
        self.gpu.launch("initialise", len(slots), (self.problem, self.gpu.array(slots), np.int32(index)))
        self.loss_sums[:] = 0
        waited = np.zeros(len(self.members), dtype=int)
        alive = slots
        marks: list[Any] = []
        self._shuffle(self.on_gpu, self.orders[0], _SHUFFLE, index, 0)
        shuffled = self.gpu.mark()
        for epoch in range(o.n_epochs):
            self.gpu.hold(shuffled)
            if epoch + 1 < o.n_epochs:  # the next epoch's rows are shuffled meanwhile
                self.gpu.hold(marks[-1] if marks else shuffled, ahead=True)
                self._shuffle(self.on_gpu, self.orders[(epoch + 1) % 2], _SHUFFLE, index, epoch + 1, ahead=True)
                shuffled = self.gpu.mark(ahead=True)
            for _ in self._steps(alive, epoch, index):
                marks.append(self.gpu.mark())
                if len(marks) > 2:  # never more than a moment ahead of the GPU
                    self.gpu.wait(marks.pop(0))
            found.n_epochs[alive] = epoch + 1
            progress((epoch + 1) / o.n_epochs)
            if self.options.validation_fraction > 0 and epoch >= o.warm_up_epochs:
                alive = self._validate(alive, epoch, found, waited)
            if len(alive) == 0:
                break
        self._finish(slots, found)
        return found

    def _steps(self, slots: Slots, epoch: int, attempt: int) -> Iterator[None]:
        """Launch an epoch's steps, a bounded number at a time."""
        seconds = 6.0 * self.layout.block_size * self.layout.n_rows / _SLOWEST * -(-len(slots) // self.gpu.n_processors)
        at_once = max(1, int(_LAUNCH_SECONDS / seconds))
        on_gpu = self.gpu.array(slots)
        order = self.orders[epoch % 2]
        for begin in range(0, int(self.steps_per_epoch.max()), at_once):
            end = min(begin + at_once, int(self.steps_per_epoch.max()))
            self.gpu.launch(
                "train_steps",
                len(slots),
                (
                    self.problem,
                    on_gpu,
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
            yield

    def _rates(self, epoch: int, begin: int, end: int) -> npt.NDArray[np.float32]:
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
        loss = self.evaluate(alive, self.validation_on_gpu)
        best = found.validation_loss[alive]
        waited[alive] = np.where(loss < best - self.options.tolerance, 0, waited[alive] + 1)
        better = alive[loss < best]
        found.validation_loss[better] = loss[loss < best]
        if self.best_epoch is not None:
            self.best_epoch[better] = self.kept["parameters"][better]
        return alive[waited[alive] < self.options.patience]

    def _finish(self, slots: Slots, found: Starts) -> None:
        curve = self.gpu.host(self.loss_sums) / self.train_rows.n[:, None]
        run = np.arange(self.options.n_epochs) < found.n_epochs[:, None]
        found.loss_curve[:] = np.where(run, curve, np.nan)
        restored = slots[np.isfinite(found.validation_loss[slots])] if self.best_epoch is not None else slots[:0]
        if len(restored) and self.best_epoch is not None:
            self.kept["parameters"][restored] = self.best_epoch[restored]
            self.gpu.launch("refresh", len(restored), (self.problem, self.gpu.array(restored)))
        found.train_loss[slots] = self.evaluate(slots, self.on_gpu)
        # An overflowed second moment freezes its weight for ever without showing in the loss.
        moments = self.gpu.host(self.gpu.xp.isfinite(self.kept["second"]).all(axis=1))
        finite = np.isfinite(np.where(run, curve, 0)).all(axis=1) & moments & np.isfinite(found.train_loss)
        found.train_r2[slots] = [self._r2(slot, found.train_loss[slot]) for slot in slots.tolist()]
        collapsed = found.train_r2 < np.float32(self.options.collapse_r2)
        found.outcome[slots] = np.where(finite, np.where(collapsed, _COLLAPSED, _TRAINED), _NOT_FINITE)[slots]

    def evaluate(self, slots: Slots, rows: OnGpu) -> Floats:
        """Mean loss over each member's rows, no dropout."""
        if len(slots) == 0:
            return np.zeros(0)
        fits = self.evaluation.workspace_size * 4 <= self.gpu.shared_bytes - OWN_SHARED_BYTES
        layout = self.evaluation
        blocks = int(-(-rows.n[slots].max() // layout.n_rows))
        partial = self.gpu.xp.zeros((len(slots), blocks))
        own = self.problem.copy()
        for name in ("places", "at", "workspace_size"):
            own[name] = getattr(layout, name)
        room = None if fits else self.gpu.xp.empty((len(slots) * blocks, layout.workspace_size), dtype=np.float32)
        if room is not None:
            own["workspace"] = self.gpu.address(room)
        self.gpu.launch(
            "evaluate",
            len(slots) * blocks,
            (
                own,
                self.gpu.array(slots),
                rows.rows,
                rows.begin,
                rows.end,
                np.int32(layout.n_rows),
                np.int32(blocks),
                np.int32(fits),
                partial,
            ),
            shared_floats=layout.workspace_size if fits else 0,
        )
        return self.gpu.host(partial).sum(axis=1) / rows.n[slots]

    def _r2(self, slot: int, loss: float) -> float:
        # Members that train on the same rows share the work.
        key = (int(self.train_rows.begin[slot]), int(self.train_rows.end[slot]))
        if key not in self._constants:
            rows = self.train_rows.of_member(slot)
            weight = np.ones(len(rows)) if self.weight is None else self.weight[rows].astype(np.float64)
            self._constants[key] = reference.best_constant(self.y[rows].astype(np.float64), weight)
        return reference.r2_over_constant(self.options.loss, loss, self._constants[key])


@dataclass(frozen=True)
class Result:
    """A trained ensemble, how the kept starts went, and how many starts each member had."""

    ensemble: Ensemble
    starts: Starts
    n_attempts: npt.NDArray[np.int32]


def joined(results: list[Result]) -> Trained:
    ensemble = functools.reduce(operator.add, [result.ensemble for result in results])

    def all_of(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(result.starts, name) for result in results])

    names = ("loss_curve", "train_loss", "train_r2", "validation_loss", "n_epochs")
    return Trained(
        ensemble,
        **{name: all_of(name) for name in names},
        n_attempts=np.concatenate([result.n_attempts for result in results]),
        collapsed=all_of("outcome") == _COLLAPSED,
    )


def bytes_per_member(members: Members, arrays: dict[str, Any], options: Options) -> int:
    """What training one member takes of the GPU's memory, besides the data."""
    layout = Layout(members.architecture, 2 * min(options.batch_size, len(arrays["X"])), trains=True)
    n_rows = len(arrays["X"]) if arrays["counts"] is None else int(arrays["counts"].sum(axis=1).max())
    return 4 * (6 * layout.block_size + layout.values_size + layout.workspace_size + 4 * n_rows) + 8 * options.n_epochs


def train(
    gpu: Gpu, members: Members, arrays: dict[str, Any], options: Options, seed: int, progress: Callable[[float], object]
) -> Result:
    """Best of ``n_starts`` by training loss; up to ``max_restarts`` collapsed or overflowing starts are replaced."""
    training = Training(gpu, members, arrays, options, seed)
    n = len(members)
    best, kept = Starts.none(n, options.n_epochs), gpu.xp.zeros_like(training.kept["parameters"])
    good, n_attempts = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    try:
        for index in range(options.n_starts + options.max_restarts):
            slots = np.flatnonzero(good < options.n_starts).astype(np.int32)
            if len(slots) == 0:
                break
            done, share = good.sum() / (n * options.n_starts), len(slots) / (n * options.n_starts)
            found = training.attempt(slots, index, lambda part, d=done, s=share: progress(d + s * part))  # type: ignore[misc]
            n_attempts[slots] += 1
            good[slots] += found.outcome[slots] == _TRAINED
            # Outcomes are ordered from good to bad; a trained network beats a collapsed one whatever its loss.
            better = found.outcome < best.outcome
            better |= (found.outcome == best.outcome) & (found.train_loss < best.train_loss)
            better = slots[(better & (found.outcome != _NOT_FINITE))[slots]]
            best.take(found, better)
            kept[better] = training.kept["parameters"][better]
    finally:
        gpu.finish()  # nothing may be at work on memory that is given back
    return Result(training.layout.unpack(members, gpu.host(kept)), best, n_attempts)
