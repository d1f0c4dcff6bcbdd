"""Numeric encodings inside the engine, beside the same networks on the wide table: time and memory of training.

``python -m benchmarks.encoded ROWS INPUTS BINS`` measures the memory of one training, in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from benchmarks.machine import THREADS
from benchmarks.memory import megabytes
from benchmarks.predicting import PROCESS_STATUS, ROOT
from benchmarks.problem import KEEP_PROB, SEED, Problem
from benchmarks.report import QUIET_COLUMNS, Row, Section, target
from benchmarks.sizes import Sizes
from benchmarks.timing import Stopwatch
from extranets._arrays import Float32
from extranets.encodings import PiecewiseLinear, learn_piecewise_linear
from extranets.engine.reference_encoding import encoded
from extranets.networks import Architecture, Members, draw_members

BINS = (16, 64)
BATCHES = (32, 256)

COLUMNS = {
    "what": ("what", ""),
    "seconds": ("seconds", ".4f"),
    "growth": ("of un-encoded", ".1f"),
    "wide_seconds": ("wide table s", ".4f"),
    "ratio": ("ratio", ".2f"),
    "megabytes": ("peak MB", ".0f"),
    "wide_megabytes": ("wide table MB", ".0f"),
    "target": ("target", ".1f"),
    "met": ("met", ""),
    **QUIET_COLUMNS,
}


@dataclass(frozen=True)
class Encoded(Problem):
    """Every column encoded in ``bins`` bins."""

    bins: int = 16

    @cached_property
    def encoding(self) -> PiecewiseLinear:
        return learn_piecewise_linear(self.data[0], self.bins)

    @cached_property
    def drawn(self) -> Members:
        architecture = Architecture(self.inputs, (self.units,), n_outputs=1, n_heads=1, encoding=self.encoding)
        return draw_members(architecture, KEEP_PROB, SEED, np.arange(self.members))


@dataclass(frozen=True)
class Wide(Problem):
    """The same networks, with the encoded columns written out as a table."""

    bins: int = 16

    @cached_property
    def data(self) -> tuple[Float32, Float32]:
        X, y = super().data
        return encoded(learn_piecewise_linear(X, self.bins), X.astype(np.float64)).astype(np.float32), y

    @cached_property
    def drawn(self) -> Members:
        architecture = Architecture(self.data[0].shape[1], (self.units,), n_outputs=1, n_heads=1)
        return draw_members(architecture, KEEP_PROB, SEED, np.arange(self.members))


def encoding(sizes: Sizes, progress: Callable[[str], object]) -> Section:
    section = Section(f"Piecewise-linear encoding: {sizes.fit}, {THREADS} threads", COLUMNS)
    for batch in BATCHES:
        progress(f"Encoding: batches of {batch}")
        section.rows += _fits(sizes, batch)
    progress("Encoding: memory")
    section.rows += [_memory(sizes, bins) for bins in (0, *BINS)]
    section.notes = [
        f"Best of {2 * sizes.repeats}, all in turns. ratio: the same networks on the wide table, over ours.",
        "Adam still moves every weight of the first layer in every step, so that time grows with bins, less so in large batches.",
        f"Memory: one epoch of two networks on {sizes.encoded}; from before the training to its peak, the table itself excluded.",
    ]
    return section


def _fits(sizes: Sizes, batch: int) -> list[Row]:
    shape = {field.name: getattr(sizes.fit, field.name) for field in fields(sizes.fit)} | {"batch": batch}
    problems: dict[str, Problem] = {"none": Problem(**shape)}
    for bins in BINS:
        problems |= {f"ours {bins}": Encoded(**shape, bins=bins), f"wide {bins}": Wide(**shape, bins=bins)}
    for problem in problems.values():
        problem.train()
    watch = Stopwatch(sizes.patience)
    best = watch.best({name: problem.train for name, problem in problems.items()}, sizes.repeats)
    rows: list[Row] = [{"what": f"fit, no encoding, batch {batch}", "seconds": best["none"], "growth": 1.0}]
    for bins in BINS:
        ours, wide = best[f"ours {bins}"], best[f"wide {bins}"]
        rows.append(
            {
                "what": f"fit, {bins} bins, batch {batch}",
                "seconds": ours,
                "growth": ours / best["none"],
                "wide_seconds": wide,
                "ratio": wide / ours,
                **target(wide / ours, sizes.target(1.5), watch),
            }
        )
    return rows


def _memory(sizes: Sizes, bins: int) -> Row:
    problem = sizes.encoded
    row: Row = {"what": f"memory, {bins} bins" if bins else "memory, no encoding"}
    if not PROCESS_STATUS.exists():
        return row
    command = [sys.executable, "-m", "benchmarks.encoded", str(problem.rows), str(problem.inputs), str(bins)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    row["megabytes"] = json.loads(done.stdout)
    if bins:
        row["wide_megabytes"] = problem.rows * problem.inputs * (1 + bins) * 4 / 1e6
    return row


def main(rows: int, inputs: int, bins: int) -> None:
    shape = {"rows": rows, "inputs": inputs, "members": 2, "epochs": 1}
    problem = Encoded(**shape, bins=bins) if bins else Problem(**shape)
    assert len(problem.data[0]) == rows and len(problem.drawn) == 2  # made before the measurement
    before = megabytes("VmRSS")
    problem.train()
    json.dump(megabytes("VmHWM") - before, sys.stdout)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
