"""Speed of the engine beside its peers. Run ``python -m benchmarks`` from the root of the repository."""
