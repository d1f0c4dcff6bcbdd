"""Seconds and memory of fits to very many columns: ``python -m benchmarks.wide [COLUMNS ...]``.

60 rows, ten epochs, no encoding: ten networks with ten units, and variational inference with 50 units, whose predictions draw 100
networks. Seconds are those of the processor, so that other processes count little. Each line has a process of its own.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.machine import describe
from benchmarks.memory import megabytes

ROWS = 60
COLUMNS = ("1000", "10000", "100000")
METHODS = ("extra-nets", "variational")


def model_of(method: str) -> Any:
    from extranets import ExtraNetsRegressor, VariationalRegressor

    if method == "variational":
        return VariationalRegressor(max_iter=10, random_state=0, n_jobs=1)
    return ExtraNetsRegressor(10, (10,), max_iter=10, numeric_encoding=None, random_state=0, n_jobs=1)


def measure(method: str, n_columns: int) -> str:
    """A row of the table."""
    X, model = np.random.default_rng(0).normal(size=(ROWS, n_columns)), model_of(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows cause many
        before, begin = megabytes("VmRSS"), time.process_time()
        model.fit(X, X[:, 0])
        fit, begin = time.process_time() - begin, time.process_time()
        model.predict_interval(X)
    predict, peak = time.process_time() - begin, megabytes("VmHWM") - before
    return f"| {method} | {n_columns:,} | {fit:.2f} | {predict:.2f} | {peak:,.0f} |"


def main(columns: list[str]) -> None:
    if columns[:1] == ["--one"]:
        print(measure(columns[1], int(columns[2])))
        return
    print(*(f"{name}: {value}" for name, value in describe().items()), sep="\n")
    print(
        "\n| method | columns | fit, s | predict, s | memory beside the table, MB |\n|---|---|---|---|---|", flush=True
    )
    for method, n_columns in itertools.product(METHODS, columns or COLUMNS):
        subprocess.run([sys.executable, "-m", "benchmarks.wide", "--one", method, n_columns], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
