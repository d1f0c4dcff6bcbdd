"""The paper's construction: sigma_omega^2(x) / T + sigma_e^2 (Algorithm 1; equation "predictionEnsemble1")."""

from __future__ import annotations

from extranets._arrays import Array


def variances(spread: Array, noise: Array, n_members: int, factors: Array | None) -> tuple[Array, Array]:
    """Epistemic and aleatoric variance if the members' errors were independent.

    Shape: spread, noise ``(n, n_outputs)``; ``factors`` is not used.
    """
    return spread / n_members, noise
