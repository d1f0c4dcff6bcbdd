"""Long runs that look for what is lost, what grows and what waits for ever.

    python -m benchmarks.soak operations --minutes 120 --seed 0    random operations, a third of them killed; nothing may be lost
    python -m benchmarks.soak growth --fits 10000                  fits, saves and loads in one process, and its memory
    python -m benchmarks.soak threads --threads 64 --seconds 60    threads that fit, save and load at once, on two CPUs

Each prints progress on standard error and its figures as JSON, and ends with status 1 and the reason if something is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import limit_cpus


def tell(figures: dict[str, object]) -> None:
    print(json.dumps(figures), file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["operations", "growth", "threads"])
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fits", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    limit_cpus()
    from benchmarks.soak import growth
    from benchmarks.soak.operations import Soak

    if given.what == "growth":
        figures = growth.fits_and_loads(given.fits, tell)
    elif given.what == "threads":
        figures = growth.many_threads(given.threads, given.seconds)
    else:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            figures = Soak(Path(folder) / "soak", given.seed).go_on(given.minutes, tell)
    print(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
