"""How long ExtraNetsRegressor takes as it comes, and with its presets."""

from __future__ import annotations

from functools import partial

from benchmarks.machine import THREADS
from benchmarks.problem import Problem
from benchmarks.report import QUIET_COLUMNS, Row, Section, target
from benchmarks.sizes import Sizes
from benchmarks.timing import Stopwatch
from benchmarks.training import Progress
from extranets import ExtraNetsRegressor

SLOWEST = {1_000: 1.0, 50_000: 60.0}  # seconds that the default may take, by rows
PRESETS = {1_000: ("default", "fast", "accurate", "paper"), 50_000: ("default", "fast")}

COLUMNS = {
    "what": ("what", ""),
    "seconds": ("seconds", ".2f"),
    "target": ("at most", ".0f"),
    "met": ("met", ""),
    **QUIET_COLUMNS,
}


def preset_fits(sizes: Sizes, progress: Progress) -> Section:
    rows = [
        _row(sizes, progress, problem, preset, encoding)
        for problem in sizes.presets
        for preset in PRESETS.get(problem.rows, ("default",))
        for encoding in (("auto", "piecewise_linear") if preset == "default" else ("auto",))
    ]
    note = "The encoding that auto takes depends on the table; piecewise linear is the slower one."
    return Section("ExtraNetsRegressor().fit and presets, intervals included", COLUMNS, rows, [note])


def _row(sizes: Sizes, progress: Progress, problem: Problem, preset: str, encoding: str) -> Row:
    progress(f"Fitting {problem.rows:,} rows, {preset}")
    changes = {"numeric_encoding": encoding} if encoding != "auto" else {}
    model = ExtraNetsRegressor.from_preset(preset, n_jobs=THREADS, random_state=0, **changes)
    watch = Stopwatch(sizes.patience)
    seconds = watch.median(partial(model.fit, *problem.data), sizes.large_repeats if problem.rows < 10_000 else 1)
    limit = sizes.target(SLOWEST[problem.rows]) if preset == "default" and sizes.targets else None
    what = f"{problem.rows:,} x {problem.inputs}, {preset}" + (f", {encoding}" if changes else "")
    return {"what": what, "seconds": seconds, **target(seconds, limit, watch, at_least=False)}
