"""What ``predict(X, return_std=True)`` returns."""

from __future__ import annotations

from typing import Any

from extranets._arrays import Array


class MeanAndStd(tuple[Array, Array]):
    """A pair that says what to do where scikit-learn takes it for one array."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"predict(X, return_std=True) gives a pair (mean, std), which has no {name!r}. A transformation of the target, such as "
            "TransformedTargetRegressor's, cannot be undone for a standard deviation, but for the ends of an interval: "
            "docs/scikit_learn.md shows how."
        )
