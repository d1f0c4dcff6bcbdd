"""A fit in a limited process, and the usual one beside it.

python -m benchmarks.scale.fitting '{"folder": ..., ...}'    is one of them, in this process
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from benchmarks.memory import megabytes
from benchmarks.scale.limits import run_limited
from benchmarks.scale.table import NOISE, simulated
from extranets import ExtraNetsRegressor
from extranets._progress import heard_by
from extranets.blocks import as_bytes
from extranets.tables import TableRegressor

IN_MEMORY = 2_000_000  # rows of the usual fit, with which rows per second are compared
TEST_FILE, N_TEST = 10**6, 100_000  # a file that is in no table


def compare(given: Any) -> dict[str, Any]:
    """Both fits, each in a process of its own."""
    asked = {"folder": str(given.folder), "scratch": str(given.scratch), "limit": given.limit}
    asked |= {"members": given.members, "epochs": given.epochs, "threads": given.threads}
    asked["units"] = given.units
    command = [sys.executable, "-m", "benchmarks.scale.fitting"]
    limited = run_limited([*command, json.dumps(asked)], as_bytes(given.limit)).stdout
    usual = subprocess.run(
        [*command, json.dumps(asked | {"limit": None})], stdout=subprocess.PIPE, text=True, check=True
    )
    found = {"by_blocks": json.loads(limited), "in_memory": json.loads(usual.stdout)}
    shares = {}
    for name in ("row_passes_per_second", "row_passes_per_core_second"):
        shares[f"share_of_{name}"] = found["by_blocks"][name] / found["in_memory"][name]
    return {**found, **shares}


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One fit, with what it took."""
    network = ExtraNetsRegressor(
        asked["members"], tuple(asked["units"]), numeric_encoding=None, max_iter=asked["epochs"], batch_size=256, n_jobs=asked["threads"], random_state=0,
    )  # fmt: skip
    clock, begin = _Clock(), time.perf_counter()
    with heard_by(clock):
        if asked["limit"] is None:
            _fit_in_memory(network, Path(asked["folder"]))
        else:
            model = TableRegressor(network)
            model.fit(asked["folder"], "y", max_memory=asked["limit"], scratch=asked["scratch"])
            network = model.regressor_
    seconds = time.perf_counter() - begin
    n_rows, n_columns = network.fit_info_["n_rows"], network.n_features_in_
    passes = n_rows * clock.n_networks * asked["epochs"]
    X, y = simulated(TEST_FILE, N_TEST, n_columns)
    if hasattr(network, "feature_names_in_"):
        X = pandas.DataFrame(X, columns=network.feature_names_in_)
    lower, upper = network.predict_interval(X, 0.9).T
    rmse = float(np.sqrt(np.mean((network.predict(X) - y) ** 2)))
    return {
        "rows": n_rows,
        "networks": clock.n_networks,
        "seconds": seconds,
        "seconds_of_training": clock.seconds,
        "core_seconds_of_training": clock.core_seconds,
        "row_passes_per_second": passes / clock.seconds,
        "row_passes_per_core_second": passes / clock.core_seconds,
        "peak_megabytes": megabytes("VmHWM"),
        "rmse": rmse,
        "rmse_of_the_truth": NOISE,
        "coverage_of_90": float(np.mean((lower <= y) & (y <= upper))),
    }


def _fit_in_memory(network: ExtraNetsRegressor, folder: Path) -> None:
    frames, count = [], 0
    for path in sorted(folder.glob("*.parquet")):
        frames.append(pandas.read_parquet(path))
        count += len(frames[-1])
        if count >= IN_MEMORY:
            break
    table = pandas.concat(frames)[:IN_MEMORY]
    network.fit(table.drop(columns="y").to_numpy(dtype=np.float64), table["y"].to_numpy())


class _Clock:
    """Hears the progress of a fit, and times the training of its networks."""

    seconds = core_seconds = 0.0
    n_networks = 0

    def __init__(self) -> None:
        self.begin = self.core_begin = 0.0

    def __call__(self, title: str, done: float) -> None:
        words = title.split()
        if words[0] != "Training":  # trials before are another matter
            return
        if done == 0:
            self.begin, self.core_begin, self.n_networks = time.perf_counter(), time.process_time(), int(words[1])
        self.seconds, self.core_seconds = time.perf_counter() - self.begin, time.process_time() - self.core_begin


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
