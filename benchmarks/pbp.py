"""Probabilistic back-propagation: the engine on one thread beside the NumPy reference."""

from __future__ import annotations

import numpy as np

from benchmarks.problem import SEED, Problem
from benchmarks.report import QUIET_COLUMNS, Section, target
from benchmarks.sizes import Sizes
from benchmarks.timing import Stopwatch
from benchmarks.training import Progress
from extranets.engine import TrainingData, pbp, reference_pbp
from extranets.networks import Architecture

COLUMNS = {
    "what": ("what", ""),
    "seconds": ("NumPy s", ".1f"),
    "ours": ("ours s", ".3f"),
    "per_row": ("ours us per row and pass", ".2f"),
    "ratio": ("ratio", ".1f"),
    "target": ("target", ".0f"),
    "met": ("met", ""),
    **QUIET_COLUMNS,
}


def _train(problem: Problem) -> pbp.Posterior:
    data = TrainingData(*problem.data)
    return pbp.train(data, (problem.units,), ids=[0], targets=[0], n_passes=problem.epochs, seed=SEED)


def _train_reference(problem: Problem) -> None:
    architecture = Architecture(problem.inputs, (problem.units,), 1, 1)
    mean = reference_pbp.first_means(architecture, SEED, 0)
    posterior = reference_pbp.make_posterior(architecture, mean, np.full(len(mean), reference_pbp.first_variance()))
    reference_pbp.train(posterior, TrainingData(*problem.data), problem.epochs, SEED, 0)


def probabilistic(sizes: Sizes, progress: Progress) -> Section:
    full, part = sizes.pbp, sizes.pbp_reference
    scale = full.rows * full.epochs / (part.rows * part.epochs)
    progress("Probabilistic back-propagation")
    watch = Stopwatch(sizes.patience)
    ours, theirs = watch.interleaved(lambda: _train(full), lambda: _train_reference(part), sizes.large_repeats, 1)
    theirs *= scale
    row = {
        "what": f"{full.rows:,} x {full.inputs} rows, {full.units} units, {full.epochs} passes",
        "seconds": theirs,
        "ours": ours,
        "per_row": 1e6 * ours / (full.rows * full.epochs),
        "ratio": theirs / ours,
        **target(theirs / ours, sizes.target(20), watch),
    }
    note = (
        f"One member, one thread. NumPy is timed on {part.rows:,} rows and {part.epochs} pass, "
        f"and its time multiplied by {scale:,.0f}: work grows with rows and passes."
    )
    return Section("Probabilistic back-propagation beside the NumPy reference", COLUMNS, [row], [note])
