"""Training: beside the peers, as a share of what the machine can do, and how time grows with the size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import median

from benchmarks.flops import peak_alone, peak_per_core, training_flops
from benchmarks.machine import THREADS
from benchmarks.peers import PEERS, Peer
from benchmarks.problem import Problem
from benchmarks.report import NOT_INSTALLED, QUIET_COLUMNS, Row, Section, target
from benchmarks.sizes import Sizes
from benchmarks.timing import Stopwatch

Progress = Callable[[str], object]
SHORT_RUNS = 5  # of a short training in one measurement

FIT_COLUMNS = {
    "peer": ("peer", ""),
    "seconds": ("peer s", ".3f"),
    "ours": ("ours s", ".4f"),
    "ratio": ("ratio", ".1f"),
    "target": ("target", ".0f"),
    "met": ("met", ""),
    **QUIET_COLUMNS,
    "compile_seconds": ("compile s", ".2f"),
    "note": ("note", ""),
}
PEAK_COLUMNS = {
    "problem": ("problem", ""),
    "seconds": ("seconds", ".3f"),
    "gflops": ("GFLOP/s per core", ".1f"),
    "peak": ("peak per core", ".1f"),
    "share": ("share", ".1%"),
    "target": ("target", ".0%"),
    "met": ("met", ""),
    **QUIET_COLUMNS,
}
SCALING_COLUMNS = {
    "what": ("what", ""),
    "size": ("size", ",d"),
    "seconds": ("seconds", ".4f"),
    "value": ("value", ".3f"),
    "target": ("target", ".2f"),
    "met": ("met", ""),
    **QUIET_COLUMNS,
}


def fit(sizes: Sizes, progress: Progress) -> Section:
    section = Section(f"Fit: {sizes.fit}, {THREADS} threads", FIT_COLUMNS)
    for peer in PEERS:
        progress(f"Fit: {peer.name}")
        section.rows.append(_beside(peer, sizes))
    _keep_target_of_best_jax(section.rows)
    kept = float(sizes.fit.drawn.widths.mean())
    section.notes = [
        "Medians after an untimed first run; ours is timed before and after each run of a peer; ratios use those runs.",
        f"Ours trains only the kept units ({kept:.1f} of {sizes.fit.units} on average) and shuffles for every member.",
        "Peers with masks compute all units. The target of JAX is for the faster variant, without its compilation.",
    ]
    return section


def _beside(peer: Peer, sizes: Sizes) -> Row:
    if not peer.installed:
        return {"peer": peer.name, "seconds": NOT_INSTALLED}
    prepared = peer.prepare(sizes.fit)
    repeats = sizes.peer_repeats or peer.repeats
    watch = Stopwatch(sizes.patience)
    ours, theirs = watch.interleaved(sizes.fit.train, prepared.run, repeats, sizes.repeats)
    theirs *= prepared.scale
    limit = None if peer.target is None else sizes.target(peer.target)
    return {
        "peer": peer.name,
        "seconds": theirs,
        "ours": ours,
        "ratio": theirs / ours,
        **target(theirs / ours, limit, watch),
        "compile_seconds": prepared.compile_seconds,
        "note": peer.note.format(repeats=repeats),
    }


def _keep_target_of_best_jax(rows: list[Row]) -> None:
    timed = [row for row in rows if row["peer"].startswith("JAX") and "ratio" in row]
    for slower in sorted(timed, key=lambda row: row["ratio"])[1:]:
        slower.update(target=None, met=None)


def peak(sizes: Sizes, progress: Progress) -> Section:
    section = Section("Share of the measured FMA peak", PEAK_COLUMNS)
    progress("Peak: one thread alone")
    alone = peak_alone(sizes.peak_seconds) / 1e9
    for problem, rounds, runs, limit in (
        (sizes.fit, sizes.repeats, SHORT_RUNS, 0.45),
        (sizes.large, sizes.large_repeats, 1, 0.60),
    ):
        progress(f"Peak: {problem}")
        section.rows.append(_share_of_peak(problem, rounds, runs, sizes, limit))
    section.notes = [
        f"The peak is that of one thread while {THREADS} compute, measured in turns with the training.",
        f"One thread alone: {alone:.1f} GFLOP/s. Peaks are those of the best block of well below a millisecond.",
        "Operations are counted from the units that the masks kept, as forward pass, weight gradients and Adam.",
        "The evaluation pass over the training rows after the last epoch takes time but is not counted.",
    ]
    return section


def _share_of_peak(problem: Problem, rounds: int, runs: int, sizes: Sizes, limit: float) -> Row:
    problem.train()
    watch = Stopwatch(sizes.patience)
    peaks, times = [], []
    for _ in range(rounds):
        peaks.append(watch.quietly(lambda: peak_per_core(sizes.peak_seconds)))
        times.append(watch.median(problem.train, runs))
    rate = training_flops(problem) / median(times) / THREADS
    share = rate / median(peaks)
    return {
        "problem": str(problem),
        "seconds": median(times),
        "all_seconds": times,
        "gflops": rate / 1e9,
        "peak": median(peaks) / 1e9,
        "share": share,
        **target(share, sizes.target(limit), watch),
    }


def scaling(sizes: Sizes, progress: Progress) -> Section:
    section = Section(f"Scaling of training from {sizes.fit}", SCALING_COLUMNS)
    progress("Scaling: threads")
    section.rows += _threads(sizes)
    for attribute in ("members", "rows", "epochs"):
        progress(f"Scaling: {attribute}")
        section.rows += _growth(sizes, attribute)
    section.notes = [
        f"Best of {2 * sizes.repeats}, sizes in turns. Threads: value is the speed-up over one thread.",
        f"Otherwise: seconds per unit relative to the smallest size, {THREADS} threads; target: within 10 % of 1.",
    ]
    return section


def _threads(sizes: Sizes) -> list[Row]:
    counts = (1, THREADS)
    watch = Stopwatch(sizes.patience)
    best = watch.best({n: partial(sizes.fit.train, n) for n in counts}, sizes.repeats)
    rows: list[Row] = [{"what": "threads", "size": n, "seconds": best[n], "value": best[1] / best[n]} for n in counts]
    rows[-1].update(target(rows[-1]["value"], sizes.target(1.85), watch))
    return rows


def _growth(sizes: Sizes, attribute: str) -> list[Row]:
    smallest = getattr(sizes.fit, attribute)
    problems = {smallest * k: replace(sizes.fit, **{attribute: smallest * k}) for k in (1, 2, 4)}
    for problem in problems.values():
        problem.train()
    watch = Stopwatch(sizes.patience)
    best = watch.best({size: problem.train for size, problem in problems.items()}, sizes.repeats)
    rows: list[Row] = []
    for size, taken in best.items():
        value = (taken / size) / (best[smallest] / smallest)
        rows.append({"what": attribute, "size": size, "seconds": taken, "value": value})
        if size > smallest:
            within = -abs(value - 1)
            rows[-1].update(target(within, sizes.target(-0.1), watch), target=sizes.target(1.0))
    return rows
