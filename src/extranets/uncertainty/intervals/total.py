"""Without 1/T: sigma_omega^2(x) + sigma_e^2, as if the members' errors were all the same (c = sigma_omega^2)."""

from __future__ import annotations

from extranets._arrays import Array


def variances(spread: Array, noise: Array, n_members: int, factors: Array | None) -> tuple[Array, Array]:
    """Epistemic and aleatoric variance. Shape: spread, noise ``(n, n_outputs)``; ``factors`` is not used."""
    return spread, noise
