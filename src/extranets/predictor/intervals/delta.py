"""The delta method (Section 3.1, equations "deltaUncertainty" and "pred1"): sigma_e^2 (1 + S(x)), S(x) = f'(J'J)^-1 f.

J holds the training rows' gradients of the network's output with respect to its weights, f that of the new row.

References
----------
Ungar, L., De Veaux, R. and Rosengarten, E. (1996). Estimating prediction intervals for artificial neural networks.

De Veaux, R., Schumi, J., Schweinsberg, J. and Ungar, L. (1998). Prediction intervals for neural networks via nonlinear
regression. Technometrics 40, 273-282.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from extranets.model_file import storable
from extranets.predictor.part import Interval, Number


@storable("Delta")
@dataclass(frozen=True)
class Delta(Interval):
    """The leverage S(x) stands in the place of a spread (see sources/linearised.py)."""

    name: ClassVar[str] = "delta"

    def variances(self, spread: Number, noise: Number, n_members: float) -> tuple[Number, Number]:
        return noise * spread, noise
