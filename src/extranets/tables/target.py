"""The column to predict: taken out of a table and checked."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np
import pandas
import pyarrow as pa

from extranets._arrays import Array
from extranets.predictor.units import LARGEST_SCALE
from extranets.tables.errors import Source, listed, near, shown
from extranets.tables.numbers import likely_styles, settled, signed_example
from extranets.tables.rows import Rows
from extranets.tables.values import STYLES, TEXT, Mask, is_text, parse_numbers

MOST_ROWS = 5  # that one message names


def take_target(
    frame: pandas.DataFrame,
    target: str,
    *,
    style: str | None = None,
    na_values: Sequence[str] = (),
    drop_missing: bool = False,
    allow_constant: bool = False,
) -> tuple[pandas.DataFrame, Array]:
    """Split a table into features and target.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
    target : name of the column to predict
    style : {"1234", "1234.5", "1234,5", "1,234.5", "1.234,5"}, optional
        How the target is written if it is text; found out from all rows if not given. For rows that a model is judged on,
        give what :func:`target_style` found in the training rows.
    na_values : further texts that stand for missing values
    drop_missing : bool, default=False
        Leave out rows whose target is missing, instead of refusing them.
    allow_constant : bool, default=False
        Take a target that is the same in all rows, and a single row. Nothing can be learned from such a table, but a model
        can be judged on it.

    Returns
    -------
    features : DataFrame of shape (n_used, n_columns - 1)
    y : float64 array of shape (n_used,)

    Raises
    ------
    TableError
        If the column is not there, or holds anything but finite numbers, or the same number in all rows.

    Examples
    --------
    >>> import pandas
    >>> X, y = take_target(pandas.DataFrame({"area": [50, 72], "rent": ["700", "950"]}), "rent")
    >>> X.columns.tolist(), y.tolist()
    (['area'], [700.0, 950.0])
    """
    if style is not None and style not in STYLES:
        raise ValueError(f"style must be one of {listed(STYLES)}; got {style!r}.")
    rows = _rows(frame, target, na_values)
    y = _numbers(rows, target, style)
    features = rows.frame.drop(columns=target)
    missing = np.isnan(y)
    if missing.any():
        if not drop_missing:
            _refuse_missing(rows, target, missing)
        features, y = features[~missing], y[~missing]
    if not allow_constant:
        _refuse_constant(rows.source, target, y)
    return features, y


def target_style(frame: pandas.DataFrame, target: str, *, na_values: Sequence[str] = ()) -> str | None:
    """How the numbers of the target are written, as :func:`take_target` finds it out; None if they are not text.

    Examples
    --------
    >>> import pandas
    >>> target_style(pandas.DataFrame({"area": [50, 72], "rent": ["700", "1.950,50"]}), "rent")
    '1.234,5'
    """
    rows = _rows(frame, target, na_values)
    values = rows.values(target)
    return _style(rows, target, values) if is_text(values.type) else None


def _rows(frame: pandas.DataFrame, target: str, na_values: Sequence[str]) -> Rows:
    rows = Rows(frame, na_values)
    names = list(rows.frame.columns)
    if target not in names:
        raise rows.source.error(
            f"there is no column {target!r} to predict{near(target, names)}. The columns are {listed(names)}."
            + _headless(names)
        )
    return rows


def _numbers(rows: Rows, target: str, style: str | None) -> Array:
    values = rows.values(target)
    y, bad = parse_numbers(values, style or _style(rows, target, values), rows.source.semicolons)
    _refuse_signs(rows, target, values, bad)
    rows.refuse(bad, target, values, f"is not a number like {style}, which is how the target is written; write it so")
    rows.refuse(np.isinf(y), target, values, "is infinite, but the target must be finite")
    rows.refuse(
        np.abs(y) > LARGEST_SCALE,
        target,
        values,
        "is too large: its square is no number; give the target in another unit",
    )
    return y


def _style(rows: Rows, target: str, values: pa.Array) -> str:
    styles = likely_styles(values)
    _, bad = parse_numbers(values, styles[0])
    _refuse_signs(rows, target, values, bad)
    rows.refuse(bad, target, values, "is not a number, but the target must be one; --na makes it a missing value")
    asking = " or ".join(f"style={style!r} (fit --kind {shlex.quote(f'{target}=number:{style}')})" for style in styles)
    return settled(
        rows, target, values, styles, f"Write the target without signs between thousands, or say which: {asking}."
    )


def _refuse_signs(rows: Rows, target: str, values: pa.Array, bad: Mask) -> None:
    example = signed_example(values.filter(pa.array(bad)))
    if example is not None:
        raise rows.source.error(
            f"{shown(example)} has a sign of currency or percent, but the target must be a number. Remove the sign from all "
            "values.",
            column=target,
        )


def _refuse_missing(rows: Rows, target: str, missing: np.ndarray) -> None:
    labels = rows.frame.index[missing]
    first = ", ".join(map(str, labels[:MOST_ROWS])) + (", ..." if len(labels) > MOST_ROWS else "")
    raise rows.source.error(
        f"the target is missing in {len(labels):,} of {len(missing):,} rows (row {first}). Fill it in, or leave such rows out: "
        "drop_missing=True (--drop-missing-target).",
        column=target,
    )


def _refuse_constant(source: Source, target: str, y: Array) -> None:
    if len(y) < 2:
        raise source.error(f"at least two rows with a target are needed; there is {len(y) or 'none'}.", column=target)
    if (y == y[0]).all():
        raise source.error(
            f"the target has only one value, {y[0]:g}, in all {len(y):,} rows; there is nothing to learn.",
            column=target,
        )


def _headless(names: list[str]) -> str:
    """A hint where all names of columns are numbers: the header may be missing."""
    bad = parse_numbers(pa.array(names, TEXT))[1]
    return "" if bad.any() or not names else " If the first line holds no names, add a line that does."
