"""Intervals as data frames."""

from __future__ import annotations

from typing import Any

from extranets._arrays import Array


def level_name(coverage: float) -> str:
    """``0.9`` -> ``90``, ``0.975`` -> ``97.5``."""
    return f"{100 * coverage:.6g}"


def interval_columns(mean: Array, bounds: Array, levels: Array) -> dict[str, Array]:
    """Shape: mean ``(n[, o])``, bounds ``(n[, o], 2, k)``, levels ``(k,)``."""
    if mean.ndim == 2:
        columns: dict[str, Array] = {}
        for output in range(mean.shape[1]):
            one = interval_columns(mean[:, output], bounds[:, output], levels)
            columns.update({f"{name}_{output}": values for name, values in one.items()})
        return columns
    names = [level_name(level) for level in levels]
    if len(set(names)) < len(names):
        raise ValueError(f"coverage holds a level twice; every level has columns of its own. Got {levels.tolist()}.")
    columns = {"prediction": mean}
    for k, name in enumerate(names):
        columns[f"lower_{name}"] = bounds[:, 0, k]
        columns[f"upper_{name}"] = bounds[:, 1, k]
    return columns


def interval_frame(X: Any, mean: Array, bounds: Array, levels: Array, further: dict[str, Array]) -> Any:
    """A polars frame for polars input, else a pandas frame with the index of ``X``; ``further`` columns stand last."""
    columns = {**interval_columns(mean, bounds, levels), **further}
    if type(X).__module__.startswith("polars"):
        import polars

        return polars.DataFrame(columns)
    try:
        import pandas
    except ImportError as error:
        raise ImportError("as_frame=True needs pandas: pip install pandas") from error
    return pandas.DataFrame(columns, index=X.index if isinstance(X, pandas.DataFrame) else None)
