"""Stretched Student's t as a distribution of scipy. This module is apart because it loads much of scipy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rv_continuous

from extranets._arrays import Array
from extranets.uncertainty.stretched import Stretched


class StretchedStudent(rv_continuous):
    """One shape for each output, at mean 0 and standard deviation 1; scipy's shape parameter is the number of the output.

    Parameters
    ----------
    degrees : array of shape (n_outputs,)
    values : array of shape (n_outputs, 101)
        As `uncertainty.stretched.Stretched` has them.
    """

    def __init__(self, degrees: Array, values: Array, **kwargs: Any) -> None:
        super().__init__(**{"name": "stretched_student", "shapes": "output", **kwargs})
        self.degrees, self.values = degrees, values
        self._shapes = [Stretched(*each) for each in zip(degrees, values, strict=True)]

    def _updated_ctor_param(self) -> dict[str, Any]:
        """What scipy makes copies with."""
        return {**super()._updated_ctor_param(), "degrees": self.degrees, "values": self.values}

    def _argcheck(self, output: Any) -> Any:
        return (output >= 0) & (output < len(self._shapes))

    def _by_output(self, answer: Callable[[Stretched, Array], Array], at: Any, output: Any) -> Array:
        at, output = np.broadcast_arrays(np.asarray(at, dtype=np.float64), output)
        found = np.empty(at.shape)
        for number, shape in enumerate(self._shapes):
            mine = output == number
            found[mine] = answer(shape, at[mine])
        return found

    def _pdf(self, x: Any, output: Any) -> Array:
        return np.exp(self._logpdf(x, output))

    def _logpdf(self, x: Any, output: Any) -> Array:
        return self._by_output(Stretched.log_density, x, output)

    def _cdf(self, x: Any, output: Any) -> Array:
        return self._by_output(Stretched.cdf, x, output)

    def _sf(self, x: Any, output: Any) -> Array:
        return self._by_output(Stretched.sf, x, output)

    def _ppf(self, q: Any, output: Any) -> Array:
        return self._by_output(Stretched.quantiles, q, output)

    def _isf(self, q: Any, output: Any) -> Array:
        return self._by_output(Stretched.upper_quantiles, q, output)

    def _stats(self, output: Any) -> tuple[Any, Any, None, None]:
        return np.zeros(np.shape(output)), np.ones(np.shape(output)), None, None
