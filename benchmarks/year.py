"""YearPredictionMSD's whole path on a simulated table of its exact shape: written, read, split, fitted, predicted.

    python -m benchmarks.year --data-dir DIR --write              simulate the file, 515,345 x 90, and go on
    python -m benchmarks.year --data-dir DIR --networks 5 70      fit these ensembles, one growing out of the other
    python -m benchmarks.year --data-dir DIR --device cuda        on an NVIDIA GPU
    python -m benchmarks.year --data-dir DIR --json year.json     also keep the figures

The table could not be had here. The simulated one has its file name, columns, number of rows and split, so that the loader, the
study's settings and the engine do what they would do with the real one; its errors say nothing about the real one. With the real
file in DIR, `extranets study uci --dataset year --data-dir DIR` makes the row of Table 3.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.machine import describe
from extranets.data.uci import DATASETS, DatasetInfo, Table, read
from extranets.metrics import rmse
from extranets.studies.uci import PAPER_COLUMNS, UciStudy, paper_model

T = TypeVar("T")

YEAR = DATASETS["year"]
FIRST, LAST, MIDDLE = 1922, 2011, 1998  # years of the real table
SIGNAL, NOISE = 6.0, 9.0  # standard deviations in years: the real table's errors are about 9
CHUNK = 20_000  # rows that are written at a time


def simulate(info: DatasetInfo, seed: int = 0) -> Table:
    """Inputs of unequal scale, and whole years that depend on a few directions of them.

    Shapes: ``X (rows, features)``, ``y (rows,)``.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(info.rows, info.features))
    directions = rng.normal(size=(info.features, 4)) / np.sqrt(info.features)
    bent = np.tanh(X @ directions)
    signal = bent @ [1.0, -1.0, 0.5, 0.5] + bent[:, 0] * bent[:, 1]
    years = MIDDLE + SIGNAL * signal / signal.std() + NOISE * rng.normal(size=info.rows)
    scales = np.geomspace(5, 2000, info.features)
    return Table(info.name, (X * scales).round(2), np.clip(years.round(), FIRST, LAST))


def write(info: DatasetInfo, data_dir: Path, seed: int = 0) -> Path:
    """Write a simulated table as the real file is: commas, no header, the year first."""
    table = simulate(info, seed)
    folder = data_dir / info.folder / "data"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / info.files[-1]
    with path.open("w") as file:
        for begin in range(0, info.rows, CHUNK):
            rows = slice(begin, begin + CHUNK)
            np.savetxt(
                file,
                np.column_stack([table.y[rows], table.X[rows]]),
                fmt=["%d", *["%.2f"] * info.features],
                delimiter=",",
            )
    return path


def timed(what: str, rows: list[dict[str, Any]], step: Callable[[], T]) -> T:
    """Do one step, note its seconds on the clock and of computing, and print them."""
    begin, computing = time.perf_counter(), time.process_time()
    result = step()
    seconds = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - computing}
    rows.append({"what": what, **seconds})
    print(
        f"{what:60} {seconds['seconds']:9.1f} s on the clock {seconds['cpu_seconds']:9.1f} s of computing", flush=True
    )
    return result


def measure(info: DatasetInfo, data_dir: Path, networks: list[int], epochs: int, device: str) -> list[dict[str, Any]]:
    """Read, split, fit and predict, with the settings of the study."""
    rows: list[dict[str, Any]] = []
    table = timed(f"read {info.rows:,} x {info.features}", rows, lambda: read(info, data_dir))
    train, test = next(iter(info.splits()))
    model = paper_model(UciStudy.rate, epochs, "train", seed=0)
    model.set_params(hidden_layer_sizes=PAPER_COLUMNS["extra-nets T=5"].hidden(info.name), device=device)
    X, y, X_test, y_test = table.X[train], table.y[train], table.X[test], table.y[test]
    for n_networks in sorted(networks):
        model.set_params(n_estimators=n_networks)
        timed(f"fit {len(y):,} rows, T = {n_networks}, {epochs} epochs", rows, lambda: model.fit(X, y))
        predicted = timed(f"predict {len(y_test):,} rows, T = {n_networks}", rows, lambda: model.predict(X_test))
        rows[-1] |= {"rmse": rmse(y_test, predicted), "spread_of_the_target": float(y_test.std())}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True, type=Path, help="folder of the data sets")
    parser.add_argument("--write", action="store_true", help="simulate the file first; refuses to replace one")
    parser.add_argument("--networks", nargs="+", type=int, default=[5], help="sizes of the ensembles, 5 by default")
    parser.add_argument("--epochs", type=int, default=UciStudy.epochs)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if options.write:
        if any((options.data_dir / YEAR.folder / "data" / name).exists() for name in YEAR.files):
            parser.error(f"{options.data_dir} has a table already; delete it, or leave --write out")
        timed("simulate and write", rows, lambda: write(YEAR, options.data_dir))
    rows += measure(YEAR, options.data_dir, options.networks, options.epochs, options.device)
    for row in rows:
        if "rmse" in row:
            print(
                f"{row['what']}: RMSE {row['rmse']:.3f}; the target's standard deviation is {row['spread_of_the_target']:.3f}"
            )
    if options.json:
        about = {"machine": describe(), "device": options.device, "epochs": options.epochs}
        options.json.write_text(json.dumps(about | {"rows": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
