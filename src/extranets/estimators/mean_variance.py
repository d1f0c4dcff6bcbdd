"""Mean-variance estimation: one network with two heads (Nix & Weigend 1994)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from extranets.estimators._parameters import (
    GAUSSIAN_CONSTRAINTS,
    TRAINING_CONSTRAINTS,
    GaussianParameters,
    documented,
)
from extranets.estimators._trained import TrainedRegressor
from extranets.model_file import storable


@storable("MeanVarianceRegressor")
@documented
@dataclass(eq=False, repr=False)
class MeanVarianceRegressor(GaussianParameters, TrainedRegressor):
    """One network that predicts a mean and a variance, trained by Gaussian likelihood.

    All of its variance is noise: a single network has no opinion on its own error.

    Parameters
    ----------
    {hidden}
    {warm_up}
    {adam}
    {training}
    {common}

    Attributes
    ----------
    ensemble_ : Ensemble
        The one network.
    {fitted}

    References
    ----------
    Nix, D. A. and Weigend, A. S. (1994). Estimating the mean and variance of the target probability distribution. IEEE
    International Conference on Neural Networks, 55-60.

    Examples
    --------
    >>> import numpy as np
    >>> from extranets import MeanVarianceRegressor
    >>> x = np.linspace(0, 1, 500)
    >>> y = x * np.random.default_rng(0).standard_normal(500)  # the noise grows with x
    >>> model = MeanVarianceRegressor(random_state=0, max_iter=100).fit(x[:, None], y)
    >>> quiet, loud = model.predict_var([[0.1], [0.9]])
    >>> bool(loud > 5 * quiet)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**TRAINING_CONSTRAINTS, **GAUSSIAN_CONSTRAINTS}
