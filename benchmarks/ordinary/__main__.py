"""Settles how OpenMP's threads wait before any numerical library is loaded, then runs the benchmark."""

import os

if __name__ == "__main__":
    # Where other programs share the cores, threads that wait actively make LightGBM and HistGradientBoosting 40 times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from benchmarks.ordinary.command import main

    main()
