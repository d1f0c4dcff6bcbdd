"""A simulated table of any size."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

FILE_ROWS = 1_000_000
NOISE = 0.5


def simulated(number: int, n_rows: int, n_columns: int) -> tuple[Any, Any]:
    """Rows of file ``number``. Shape: -> ``(n_rows, n_columns)``, ``(n_rows,)``."""
    rng = np.random.default_rng([0, number])
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    return X, (y + NOISE * rng.standard_normal(n_rows, dtype=np.float32)).astype(np.float32)


def make(folder: Path, n_rows: int, n_columns: int) -> dict[str, Any]:
    """Writes the files that are not there yet."""
    import pyarrow as pa
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    for number in range(-(-n_rows // FILE_ROWS)):
        path = folder / f"{number:05d}.parquet"
        if path.exists():
            continue
        X, y = simulated(number, min(FILE_ROWS, n_rows - number * FILE_ROWS), n_columns)
        columns = {f"x{i}": X[:, i] for i in range(n_columns)} | {"y": y}
        half = path.with_suffix(".half")
        pyarrow.parquet.write_table(
            pa.table(columns), half, row_group_size=100_000, use_dictionary=False, compression="none"
        )
        half.rename(path)
        print(f"{path.name}: {(number + 1) * FILE_ROWS:,} rows", file=sys.stderr, flush=True)
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    return {
        "rows": n_rows,
        "columns": n_columns,
        "gigabytes": round(size / 1e9, 2),
        "seconds": time.perf_counter() - begin,
    }
