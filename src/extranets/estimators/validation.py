"""Checks of user input: scikit-learn's own, with messages that name the column and the row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import validate_data

from extranets._arrays import refuse_masked
from extranets._sklearn import BaseEstimator, check_weight
from extranets.uncertainty.predictive import check_tails


def check_training_table(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any, *, reset: bool = True, fewest: int = 2
) -> tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """X as float64 (dense or CSR), y as given (1-D or 2-D), weights as float64; rows of weight zero are left out.

    The last array tells which rows are used.
    """
    refuse_lazy(X, "X")
    refuse_lazy(y, "y")
    for values, name in ((X, "X"), (y, "y"), (sample_weight, "sample_weight")):
        refuse_masked(values, name)
    _refuse_non_numeric(X)
    _refuse_target(y)
    X, y = validate_data(
        estimator, X, y, reset=reset, accept_sparse="csr", multi_output=True, y_numeric=True, dtype=np.float64,
        order="C", ensure_all_finite=False, ensure_min_samples=fewest,
    )  # fmt: skip
    _refuse_non_finite(X, "X", getattr(estimator, "feature_names_in_", None))
    y = np.asarray(y, dtype=np.float64)
    weight = check_weight(sample_weight, X)
    used = weight > 0
    if not used.all():
        X, y, weight = X[used], y[used], weight[used]
    if len(y) < fewest:
        raise ValueError(f"At least two rows need a positive sample_weight; got {len(y)} (n_samples={len(y)}).")
    weight = weight / weight.max()  # so that no sum overflows
    return X, y, weight / weight.mean(), used


def check_table(estimator: BaseEstimator, X: Any) -> Any:
    """X as float64 or float32 (dense or CSR) with the columns that the estimator was fitted on."""
    refuse_lazy(X, "X")
    refuse_masked(X, "X")
    _refuse_non_numeric(X)
    X = validate_data(
        estimator, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
    )
    _refuse_non_finite(X, "X", getattr(estimator, "feature_names_in_", None))
    return X


def check_levels(name: str, levels: float | Sequence[float]) -> tuple[npt.NDArray[np.float64], bool]:
    """Numbers strictly between 0 and 1; tells whether a single one was given."""
    given = np.asarray(levels, dtype=object)  # as they are: NumPy would take the text "0.9" for a number
    valid = [isinstance(level, float | np.floating) and 0 < level < 1 for level in given.flat]
    if given.ndim > 1 or not valid or not all(valid):
        raise ValueError(
            f"{name} must lie strictly between 0 and 1, for example {name}=0.9, or be a list of such; got {levels!r}."
        )
    check_tails(name, given)
    return np.atleast_1d(given.astype(np.float64)), given.ndim == 0


def refuse_lazy(values: Any, name: str) -> None:
    """Refuse polars' LazyFrame: a plan for a table, which holds no rows yet."""
    if type(values).__module__.startswith("polars") and hasattr(values, "collect"):
        raise TypeError(f"{name} is a polars LazyFrame, which holds no rows yet; pass {name}.collect().")


def _refuse_non_numeric(X: Any) -> None:
    """Name the columns of a data frame that are not numeric (scikit-learn would show one of their values instead)."""
    dtypes = getattr(X, "dtypes", None)
    columns = getattr(X, "columns", None)
    if dtypes is None or columns is None:
        return
    bad = [str(name) for name, dtype in zip(columns, dtypes, strict=True) if not _is_numeric(X, name, dtype)]
    if bad:
        raise ValueError(
            f"Columns {', '.join(map(repr, bad))} of X are not numeric. Encode them as numbers first, for example "
            "with sklearn.preprocessing.OneHotEncoder in a ColumnTransformer."
        )


def _is_numeric(X: Any, name: Any, dtype: Any) -> bool:
    kind = getattr(dtype, "kind", None)  # pandas
    if kind is not None:
        return kind in "biuf" or (kind == "O" and _holds_numbers(X[name]))
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return True


def _holds_numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _refuse_target(y: Any) -> None:
    """Name the row of a bad target, which scikit-learn's own check does not. Other faults are left to that check."""
    if sparse.issparse(y):
        raise TypeError("y is sparse; targets must be a dense array: pass y.toarray().")
    values = np.asarray(y)
    if values.dtype.kind == "O" and _holds_numbers(values):
        values = values.astype(np.float64)
    if values.dtype.kind == "f" and values.ndim in (1, 2):
        _refuse_non_finite(values, "y", None)


def _refuse_non_finite(values: Any, name: str, columns: npt.NDArray[np.object_] | None) -> None:
    stored = values.data if sparse.issparse(values) else values
    if np.isfinite(np.sum(stored, dtype=np.float64)) or np.isfinite(stored).all():  # the sum needs no temporary
        return
    dense = values.toarray() if sparse.issparse(values) else values
    place = np.argwhere(~np.isfinite(dense))[0]
    what = "NaN" if np.isnan(dense[tuple(place)]) else "infinity"
    where = f"row {place[0]}"
    if len(place) > 1:
        where += f", column {columns[place[1]]!r}" if columns is not None else f", column {place[1]}"
    raise ValueError(f"Input {name} contains {what} ({where}). Fill or drop such rows first, e.g. with SimpleImputer.")
