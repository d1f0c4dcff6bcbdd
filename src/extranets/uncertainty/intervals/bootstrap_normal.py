"""Normal interval around the full-sample network (equation "pred2b" of Section 3.2): f(x) with sigma*_omega^2(x) + sigma_e^2."""

from __future__ import annotations

from extranets._arrays import Array


def centre(full: Array, mean: Array) -> Array:
    """Shape: full-sample network and mean of the resampled ones ``(n, n_outputs)``."""
    return full


def variances(spread: Array, noise: Array, n_members: int, factors: Array | None) -> tuple[Array, Array]:
    """Epistemic and aleatoric variance: the spread of the resampled networks stands for that of the one network."""
    return spread, noise
