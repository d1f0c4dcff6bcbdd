"""The curvature of one network's fit: J'J, with J the training rows' gradients of its output with respect to its weights.

J'J of a network is all but singular as a rule, so a damping is added to its diagonal; eigenvalues tell how much is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.model_file import require, storable

# Of the largest eigenvalue. Gradients come in single precision, so that eigenvalues below a ten-millionth of the largest are
# rounding errors; ten times as much is safe to divide by.
WEAK = 1e-6


@storable("Curvature")
@dataclass(frozen=True)
class Curvature:
    """What is needed of J'J: a root of its damped inverse, ``root @ root.T``.

    ``n_weak`` counts directions in weight space about which the training rows say almost nothing; ``n_effective`` is the
    number of parameters that they do determine, trace(J'J (J'J + damping)^-1).
    """

    root: Array  # (n_parameters, n_parameters)
    damping: float
    n_weak: int
    n_effective: float

    @classmethod
    def of(cls, information: Array, damping: float | None = None) -> Curvature:
        """From J'J, shape ``(n_parameters, n_parameters)``.

        Without ``damping`` it is zero where J'J is well-conditioned, and otherwise so large that the condition number is at
        most a million.
        """
        values, vectors = np.linalg.eigh(information)
        values = np.maximum(values, 0.0)
        n_weak = int((values < WEAK * values[-1]).sum())
        if damping is None:
            damping = WEAK * float(values[-1]) if n_weak else 0.0
        damped = values + damping
        inverse = np.divide(1.0, damped, out=np.zeros_like(damped), where=damped > 0)
        return cls(vectors * np.sqrt(inverse), damping, n_weak, float((values * inverse).sum()))

    def leverage(self, gradients: npt.NDArray[np.floating]) -> Array:
        """S(x) of rows with these gradients. Shape: ``(n, n_parameters)`` -> ``(n,)``."""
        return np.square(gradients @ self.root).sum(axis=1)

    def _check_stored(self) -> None:
        require(self.root.shape == (len(self.root), len(self.root)), "root is not a square matrix")
        require(np.isfinite(self.root).all(), "root is not finite")
        for name in ("damping", "n_weak", "n_effective"):
            require(0 <= getattr(self, name) < np.inf, f"{name} is negative or not finite")
