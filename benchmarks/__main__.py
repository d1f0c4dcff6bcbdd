"""Limits the process to two CPUs before any numerical library counts them, then runs the benchmarks."""

import sys

from benchmarks.machine import limit_cpus

if __name__ == "__main__":
    limit_cpus()
    from benchmarks.speed import main

    sys.exit(main())
