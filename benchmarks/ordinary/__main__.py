"""Runs the benchmark: see ``command.py``."""

from benchmarks.ordinary.command import main

if __name__ == "__main__":
    main()
