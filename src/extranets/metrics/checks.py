"""Checks and averages that all scores share. Tables have shape (n, n_outputs)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, refuse_masked

Weights = npt.ArrayLike | None


def target_table(values: npt.ArrayLike, name: str = "y_true") -> Array:
    refuse_masked(values, name)
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (1, 2) or table.size == 0:
        raise ValueError(f"{name} must have shape (n_samples,) or (n_samples, n_outputs), n > 0; got {table.shape}.")
    table = table.reshape(len(table), -1)
    refuse(~np.isfinite(table), table, f"{name} must be finite")
    return table


def table_like(y: Array, name: str, values: npt.ArrayLike, finite: bool = True) -> Array:
    """Shape: y ``(n, n_outputs)``, values ``()``, ``(n,)`` or ``(n, n_outputs)`` -> ``(n, n_outputs)``."""
    refuse_masked(values, name)
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 0:
        table = np.full_like(y, table)
    if table.ndim == 1:
        table = table[:, None]
    if table.shape != y.shape:
        raise ValueError(
            f"{name} has shape {np.shape(values)}, which does not fit y_true with (rows, outputs) = {y.shape}."
        )
    refuse(
        ~np.isfinite(table) if finite else np.isnan(table), table, f"{name} must be {'finite' if finite else 'numbers'}"
    )
    return table


def member_table(y: Array, name: str, values: npt.ArrayLike) -> Array:
    """Shape: y ``(n, n_outputs)``, values ``(T, n[, n_outputs])`` -> ``(T, n, n_outputs)``."""
    refuse_masked(values, name)
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (2, 3) or len(table) == 0:
        raise ValueError(f"{name} must have shape (n_members, n_samples[, n_outputs]); got {table.shape}.")
    return np.stack([table_like(y, f"{name}[{t}]", member) for t, member in enumerate(table)])


def bound_tables(y: Array, lower: npt.ArrayLike, upper: npt.ArrayLike) -> tuple[Array, Array]:
    lower, upper = table_like(y, "lower", lower, finite=False), table_like(y, "upper", upper, finite=False)
    refuse(lower == np.inf, lower, "lower must be less than infinity")
    refuse(upper == -np.inf, upper, "upper must be more than minus infinity")
    refuse(lower > upper, lower, "lower must not exceed upper")
    return lower, upper


def require_positive(name: str, table: Array) -> Array:
    refuse(table <= 0, table, f"{name} must be positive")
    return table


def require_not_negative(name: str, table: Array) -> Array:
    refuse(table < 0, table, f"{name} must be at least 0")
    return table


def dof_table(y: Array, dof: npt.ArrayLike) -> Array:
    """Shape: y ``(n, n_outputs)``, dof ``()``, ``(n,)`` for one output, ``(n_outputs,)`` or a table -> ``(n, n_outputs)``."""
    table = np.asarray(dof, dtype=np.float64)
    if table.ndim == 1 and y.shape[1] == 1:
        table = table[:, None]
    try:
        table = np.broadcast_to(table, y.shape)
    except ValueError as error:
        raise ValueError(
            f"dof has shape {np.shape(dof)}, which does not fit y_true with (rows, outputs) = {y.shape}."
        ) from error
    refuse(~(np.isfinite(table) & (table > 2)), table, "dof must be finite and above 2, for a standard deviation")
    return table


def refuse(bad: npt.NDArray[np.bool_], table: Array, rule: str) -> None:
    if bad.any():
        row, output = np.argwhere(bad)[0]
        where = f"row {row}" + (f", output {output}" if table.shape[1] > 1 else "")
        raise ValueError(f"{rule}; got {table[row, output]} in {where}.")


def check_level(name: str, value: float) -> None:
    if not (np.ndim(value) == 0 and 0 < value < 1):
        raise ValueError(f"{name} must lie strictly between 0 and 1, for example {name}=0.9; got {value!r}.")


def row_weights(sample_weight: Weights, y: Array) -> Array:
    if sample_weight is None:
        return np.ones(len(y))
    refuse_masked(sample_weight, "sample_weight")
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (len(y),):
        raise ValueError(f"sample_weight must have shape ({len(y)},); got {weight.shape}.")
    refuse(~np.isfinite(weight[:, None]) | (weight[:, None] < 0), weight[:, None], "sample_weight must be at least 0")
    if not weight.any():
        raise ValueError("sample_weight must be positive in at least one row.")
    return weight


def row_average(table: Array, weight: Array) -> Array:
    """Over rows; rows of weight zero may hold infinities. Shape: ``(n, n_outputs)``, ``(n,)`` -> ``(n_outputs,)``."""
    used = weight > 0
    return np.average(table[used], axis=0, weights=weight[used])


def mean_score(table: Array, weight: Array) -> float:
    return float(row_average(table, weight).mean())
