"""Wall time and memory of the command line on a table of mixed types: `python -m benchmarks.tables`.

Everything is simulated. The stream is generated while it is read; nothing of it is stored.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from extranets.data import simulated_rents

# The process writes down its own peak: what the system counts for a child begins with the memory of its parent.
COMMAND = [
    sys.executable,
    "-c",
    """
import os
from extranets.cli import main
try:
    main()
finally:
    with open("/proc/self/status") as status, open(os.environ["PEAK_FILE"], "w") as file:
        file.write(next(line.split()[1] for line in status if line.startswith("VmHWM")))
""",
]


def run(*arguments: object, feed: Any = None) -> tuple[float, float]:
    """Seconds and the peak of memory, in MB, of one command in a process of its own."""
    with tempfile.NamedTemporaryFile() as peak:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PEAK_FILE": peak.name},
        )
        if feed:
            threading.Thread(target=feed, args=(process.stdin,), daemon=True).start()
        if process.wait() != 0:
            raise RuntimeError(f"extranets {' '.join(map(str, arguments))} failed")
        return time.perf_counter() - begin, float(peak.read()) / 1e3


class Stream:
    """The same rows again and again, until so many bytes have been written."""

    def __init__(self, gigabytes: float) -> None:
        text = io.StringIO()
        simulated_rents(50_000, random_state=2).drop(columns="rent").to_csv(text, index=False)
        header, self.rows = text.getvalue().encode().split(b"\n", 1)
        self.header = header + b"\n"
        self.bytes_wanted = gigabytes * 1e9
        self.n_bytes = self.n_rows = 0

    def __call__(self, pipe: Any) -> None:
        with pipe:
            pipe.write(self.header)
            while self.n_bytes < self.bytes_wanted:
                pipe.write(self.rows)
                self.n_bytes += len(self.rows)
                self.n_rows += 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=int, default=100_000, help="rows of the table that is fitted, and of the one predicted"
    )
    parser.add_argument("--stream", type=float, default=5.0, help="gigabytes of the stream; 0 leaves it out")
    arguments = parser.parse_args()
    table = Table("command", "rows", "seconds", "peak memory", title="A table of 11 mixed columns with missing values")
    for column in table.columns[1:]:
        column.justify = "right"
    with tempfile.TemporaryDirectory() as folder:
        train, test, model = (Path(folder) / name for name in ("train.csv", "test.csv", "model.xnet"))
        simulated_rents(arguments.rows, random_state=0).to_csv(train, index=False)
        simulated_rents(arguments.rows, random_state=1).to_csv(test, index=False)
        commands = {
            "fit": ("fit", train, "--target", "rent", "--id", "flat", "-o", model),
            "predict": ("predict", model, test, "-o", Path(folder) / "out.parquet"),
            "evaluate": ("evaluate", model, test),
            "report": ("report", model, test, "-o", Path(folder) / "report.html"),
            "compare": ("compare", train, "--target", "rent", "--id", "flat"),
        }
        for name, command in commands.items():
            seconds, memory = run(*command)
            table.add_row(name, f"{arguments.rows:,}", f"{seconds:.1f}", f"{memory:.0f} MB")
        if arguments.stream:
            stream = Stream(arguments.stream)
            seconds, memory = run("predict", model, "-", feed=stream)
            name = f"predict, {stream.n_bytes / 1e9:.1f} GB piped in"
            table.add_row(name, f"{stream.n_rows:,}", f"{seconds:.1f}", f"{memory:.0f} MB")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
