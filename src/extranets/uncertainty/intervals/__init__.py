"""One file per construction. Each turns member spread and noise into the two variances of the predictive distribution."""

from collections.abc import Callable
from typing import Any

from extranets.uncertainty.components import Array
from extranets.uncertainty.intervals import calibrated, paper, total

# (spread, noise, n_members, factors) -> (epistemic variance, aleatoric variance)
CONSTRUCTIONS: dict[str, Callable[[Array, Array, int, Any], tuple[Array, Array]]] = {
    "paper": paper.variances,
    "total": total.variances,
    "calibrated": calibrated.variances,
}

__all__ = ["CONSTRUCTIONS", "calibrated", "paper", "total"]
