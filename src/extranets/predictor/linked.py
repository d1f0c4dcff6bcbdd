"""A shape that is seen through a link, as a distribution of scipy. This module is apart because it loads much of scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rv_continuous

from extranets._arrays import Array
from extranets.predictor.link import Link
from extranets.predictor.part import Distribution
from extranets.predictor.points import N_POINTS, standard_points


class Linked(rv_continuous):
    """Distributions of targets whose latent values have one shape. scipy's shape parameters are the number of the output, and mean
    and standard deviation of the latent value.

    What would lie beyond a limit lies at it: the distribution function has a step there. The density is that between the limits
    alone, and adds up to less than one where there are such steps.
    """

    def __init__(self, latent_shape: Distribution, link: Link, n_outputs: int, **kwargs: Any) -> None:
        super().__init__(**{"name": "linked", "shapes": "output, latent_mean, latent_std", **kwargs})
        self.latent_shape, self.link, self.n_outputs = latent_shape, link, n_outputs
        self._links = [link.of(output) for output in range(n_outputs)]
        self._low, self._high = link.ends(n_outputs)
        self._points, self._shares = standard_points(latent_shape)
        self._standard = latent_shape.frozen(np.zeros((1, n_outputs)), np.ones((1, n_outputs)))

    def _updated_ctor_param(self) -> dict[str, Any]:
        """What scipy makes copies with."""
        own = {"latent_shape": self.latent_shape, "link": self.link, "n_outputs": self.n_outputs}
        return {**super()._updated_ctor_param(), **own}

    def _argcheck(self, output: Any, latent_mean: Any, latent_std: Any) -> Any:
        return (output >= 0) & (output < self.n_outputs) & (latent_std > 0) & np.isfinite(latent_mean)

    def _of_latent(self, method: str, at: Any, output: Any) -> Array:
        """What the shape answers at mean 0 and standard deviation 1, of each value's own output."""
        at, output = np.broadcast_arrays(np.asarray(at, dtype=np.float64), output)
        table = np.repeat(at.reshape(-1, 1), self.n_outputs, axis=1)
        answers = getattr(self._standard, method)(table)
        own: Array = np.take_along_axis(answers, output.reshape(-1, 1).astype(np.intp), axis=1)
        return own.reshape(at.shape)

    def _linked(self, method: str, at: Any, output: Any) -> Array:
        """What the link of each value's own output answers."""
        at, output = np.broadcast_arrays(np.asarray(at, dtype=np.float64), output)
        found = np.empty(at.shape)
        for number, link in enumerate(self._links):
            mine = output == number
            found[mine] = getattr(link, method)(at[mine])
        return found

    def _ends(self, output: Any) -> tuple[Array, Array]:
        return self._low[np.asarray(output, dtype=np.intp)], self._high[np.asarray(output, dtype=np.intp)]

    def _errors(self, x: Any, output: Any, mean: Any, std: Any) -> Array:
        """Latent errors in standard deviations."""
        return (self._linked("latent", x, output) - mean) / std

    def _pdf(self, x: Any, output: Any, mean: Any, std: Any) -> Array:
        return np.exp(self._logpdf(x, output, mean, std))

    def _logpdf(self, x: Any, output: Any, mean: Any, std: Any) -> Array:
        low, high = self._ends(output)
        density = self._of_latent("logpdf", self._errors(x, output, mean, std), output) - np.log(std)
        density = density + self._linked("log_slope", x, output)
        return np.where((low <= x) & (x <= high), density, -np.inf)

    def _cdf(self, x: Any, output: Any, mean: Any, std: Any) -> Array:
        low, high = self._ends(output)
        below = self._of_latent("cdf", self._errors(x, output, mean, std), output)
        return np.where(x < low, 0.0, np.where(x >= high, 1.0, below))

    def _sf(self, x: Any, output: Any, mean: Any, std: Any) -> Array:
        low, high = self._ends(output)
        above = self._of_latent("sf", self._errors(x, output, mean, std), output)
        return np.where(x < low, 1.0, np.where(x >= high, 0.0, above))

    def _ppf(self, q: Any, output: Any, mean: Any, std: Any) -> Array:
        return self._linked("target", mean + std * self._of_latent("ppf", q, output), output)

    def _isf(self, q: Any, output: Any, mean: Any, std: Any) -> Array:
        return self._linked("target", mean + std * self._of_latent("isf", q, output), output)

    def _stats(self, output: Any, mean: Any, std: Any) -> tuple[Any, Any, None, None]:
        output, mean, std = np.broadcast_arrays(np.asarray(output, dtype=np.intp), mean, std)
        points = mean[..., None] + std[..., None] * np.broadcast_to(self._points, (self.n_outputs, N_POINTS))[output]
        values = self._linked("target", points, output[..., None])
        centre = values @ self._shares
        return centre, (values - centre[..., None]) ** 2 @ self._shares, None, None
