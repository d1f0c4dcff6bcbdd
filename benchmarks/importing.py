"""Time that ``import extranets`` adds to a program that uses scikit-learn anyway."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from statistics import median

from benchmarks.report import QUIET_COLUMNS, Section, target
from benchmarks.sizes import Sizes
from benchmarks.timing import Stopwatch

COLUMNS = {
    "what": ("what", ""),
    "seconds": ("seconds", ".3f"),
    "target": ("target below", ".2f"),
    "met": ("met", ""),
    **QUIET_COLUMNS,
}

CODE = """
import json, time
times = [time.perf_counter()]
import sklearn.neural_network
times.append(time.perf_counter())
import extranets
times.append(time.perf_counter())
print(json.dumps(times))
"""


def _times() -> tuple[float, float]:
    """Seconds of a new process for scikit-learn, and for extranets after it."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    begin, middle, end = json.loads(done.stdout)
    return middle - begin, end - middle


def imports(sizes: Sizes, progress: Callable[[str], object]) -> Section:
    progress("Import")
    _times()  # fills the file cache
    watch = Stopwatch(sizes.patience)
    samples = [watch.quietly(_times) for _ in range(sizes.imports)]
    baseline = median(first for first, _ in samples)
    both = median(first + second for first, second in samples)
    extra = median(second for _, second in samples)
    return Section(
        "Import",
        COLUMNS,
        [
            {"what": "sklearn.neural_network", "seconds": baseline},
            {"what": "sklearn.neural_network and extranets", "seconds": both},
            {"what": "extra", "seconds": extra, **target(extra, sizes.target(0.15), watch, at_least=False)},
        ],
        [f"Medians over {sizes.imports} new processes, without the start of the interpreter."],
    )
