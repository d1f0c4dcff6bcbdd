"""Whatever holds a table, as a pandas data frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pyarrow as pa
from scipy import sparse

from extranets.estimators.validation import refuse_lazy


def as_frame(X: Any, names: list[str] | None = None) -> pandas.DataFrame:
    """A pandas or polars data frame, an Arrow table or an array, as a pandas data frame whose columns are named by texts.

    ``names`` are for a table that names no columns, as an array; without them they are ``x0``, ``x1``, ...
    """
    refuse_lazy(X, "X")
    if isinstance(X, pa.Table | pa.RecordBatch):
        return X.to_pandas(date_as_object=False)
    if type(X).__module__.startswith("polars"):
        return X.to_arrow().to_pandas(date_as_object=False)
    if has_names(X):
        return X
    frame = X if isinstance(X, pandas.DataFrame) else pandas.DataFrame(_checked_array(X))
    names = array_names(frame.shape[1]) if names is None else names
    if len(names) != frame.shape[1]:
        raise ValueError(
            f"X has {frame.shape[1]} features, but TableRegressor is expecting {len(names)} features as input."
        )
    return frame.set_axis(names, axis=1)


def has_names(X: Any) -> bool:
    """Whether it names its columns by texts. Arrays do not, and data frames may number theirs."""
    if isinstance(X, pandas.DataFrame):
        return all(isinstance(name, str) for name in X.columns)
    return isinstance(X, pa.Table | pa.RecordBatch) or type(X).__module__.startswith("polars")


def array_names(n_columns: int) -> list[str]:
    return [f"x{i}" for i in range(n_columns)]


def _checked_array(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data is not supported here: a table's columns are dense. Use X.toarray(), or the regressor itself."
        )
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: X.reshape(-1, 1) if it is one column, "
            "X.reshape(1, -1) if it is one row."
        )
    if array.dtype.kind == "c":
        raise ValueError(
            "Complex data not supported: the columns of a table are numbers, truth values, dates or texts."
        )
    if array.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    return array
