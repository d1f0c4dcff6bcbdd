"""Floating-point operations of training, and the most that this machine can do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from benchmarks.machine import THREADS
from benchmarks.problem import Problem
from extranets.engine import _native


def training_flops(problem: Problem) -> float:
    """Operations of forward pass, weight gradients and Adam, from the units that the masks kept.

    The evaluation of each member after its training is not counted.
    """
    kept = problem.drawn.widths[:, 0].astype(float)
    steps = -(-problem.rows // problem.batch)
    weights = problem.inputs * kept
    per_row = 4 * (weights + kept) + 6 * kept
    per_step = 12 * (weights + 2 * kept)
    return float((problem.epochs * (problem.rows * per_row + steps * per_step)).sum())


def peak_alone(seconds: float) -> float:
    """Multiply-add peak (flop/s) of one thread while the others are idle."""
    return float(_native.fma_peak(seconds))


def peak_per_core(seconds: float) -> float:
    """Mean multiply-add peak (flop/s) of one thread while all threads compute."""
    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(_native.fma_peak, [seconds] * THREADS)) / THREADS
