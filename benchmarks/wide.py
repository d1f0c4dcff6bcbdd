"""Seconds and memory of fits to very many columns: ``python -m benchmarks.wide [COLUMNS ...]``.

60 rows; ten networks with ten units, ten epochs, no encoding. Seconds are those of the processor, so that other processes count little.
Each size has a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings

import numpy as np

from benchmarks.machine import describe
from benchmarks.memory import megabytes

ROWS = 60
COLUMNS = ("1000", "10000", "100000")


def measure(n_columns: int) -> str:
    """A row of the table."""
    from extranets import ExtraNetsRegressor

    X = np.random.default_rng(0).normal(size=(ROWS, n_columns))
    model = ExtraNetsRegressor(10, (10,), max_iter=10, numeric_encoding=None, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows cause many
        before, begin = megabytes("VmRSS"), time.process_time()
        model.fit(X, X[:, 0])
        fit, begin = time.process_time() - begin, time.process_time()
        model.predict_interval(X)
    predict, peak = time.process_time() - begin, megabytes("VmHWM") - before
    return f"| {n_columns:,} | {fit:.2f} | {predict:.2f} | {peak:,.0f} |"


def main(columns: list[str]) -> None:
    if columns[:1] == ["--one"]:
        print(measure(int(columns[1])))
        return
    print(*(f"{name}: {value}" for name, value in describe().items()), sep="\n")
    print("\n| columns | fit, s | predict, s | memory beside the table, MB |\n|---|---|---|---|", flush=True)
    for n_columns in columns or COLUMNS:
        subprocess.run([sys.executable, "-m", "benchmarks.wide", "--one", n_columns], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
