"""Long runs that look for what is lost, what grows and what waits for ever: ``python -m benchmarks.soak --help``."""
