"""scikit-learn's base of scorers. Apart from the rest, because it loads much of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    class BaseScorer:
        _score_func: Callable[..., float]
        _sign: int
        _kwargs: dict[str, Any]

        def __init__(
            self, score_func: Callable[..., float], sign: int, kwargs: dict[str, Any], response_method: str = "predict"
        ) -> None: ...
        def __call__(self, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None, **kwargs: Any) -> float: ...
else:
    from sklearn.metrics._scorer import _BaseScorer as BaseScorer  # weights, metadata routing and what searches ask for

__all__ = ["BaseScorer"]
