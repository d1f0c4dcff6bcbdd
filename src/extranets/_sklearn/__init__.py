"""The one door to scikit-learn's bases and private parts.

scikit-learn has no type hints, so that a class derived from its bases could have any attribute in mypy's eyes, a misspelt one
too. For mypy the bases are therefore what stands here, and no more. Names with an underscore may change between versions of
scikit-learn; nothing else in the package imports one. ``make test-oldest`` runs the tests with the oldest version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval as Range
from sklearn.utils._param_validation import StrOptions, validate_parameter_constraints
from sklearn.utils.validation import _check_feature_names, _check_sample_weight

if TYPE_CHECKING:
    from typing_extensions import Self  # typing has it from Python 3.11 on

    class BaseEstimator:
        n_features_in_: int
        feature_names_in_: npt.NDArray[np.object_]

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class RegressorMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class TransformerMixin:
        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...

    class MetaEstimatorMixin:
        pass
else:
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, TransformerMixin

__all__ = [
    "BaseEstimator",
    "MetaEstimatorMixin",
    "Range",
    "RegressorMixin",
    "StrOptions",
    "TransformerMixin",
    "changed_parameters",
    "check_constraints",
    "check_weight",
    "parameter_names",
    "remember_names",
    "rows_of",
    "satisfies_constraints",
]


def check_constraints(estimator: BaseEstimator, names: Sequence[str] | None = None) -> None:
    """Refuse parameters (all, or some) that the class's ``_parameter_constraints`` do not allow."""
    constraints = estimator._parameter_constraints  # type: ignore[attr-defined]
    given = estimator.get_params(deep=False)
    checked = {name: value for name, value in given.items() if names is None or name in names}
    validate_parameter_constraints(constraints, checked, caller_name=type(estimator).__name__)


def satisfies_constraints(estimator: BaseEstimator, names: Sequence[str]) -> bool:
    """Whether these parameters are allowed. It is quick, and for parameters that are limited by ranges and options only."""
    constraints = estimator._parameter_constraints  # type: ignore[attr-defined]
    return all(any(each.is_satisfied_by(getattr(estimator, name)) for each in constraints[name]) for name in names)


def parameter_names(cls: type[BaseEstimator]) -> list[str]:
    """Names of the constructor's parameters."""
    return cls._get_param_names()  # type: ignore[attr-defined]


def changed_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Parameters that are not at the defaults of the estimator's class.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> changed_parameters(Ridge(alpha=0.5))
    {'alpha': 0.5}
    """
    usual = type(estimator)().get_params(deep=False)
    return {name: value for name, value in estimator.get_params(deep=False).items() if repr(value) != repr(usual[name])}


def check_weight(weight: Any, X: Any) -> npt.NDArray[np.float64]:
    """One weight for each row; ones for None. Negative ones are refused."""
    return _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)


def remember_names(estimator: BaseEstimator, X: Any) -> None:
    """Set ``feature_names_in_``, where the columns have names."""
    _check_feature_names(estimator, X, reset=True)


def rows_of(X: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Some rows of an array, a sparse matrix or a data frame."""
    return _safe_indexing(X, rows)
