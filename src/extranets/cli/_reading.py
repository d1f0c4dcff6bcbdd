"""From a file to features and target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets.cli._shared import check_input, named_columns


@dataclass(frozen=True)
class Labelled:
    """A table with targets. Shapes: X ``(n, k)``, a data frame; y ``(n,)``."""

    file: str
    X: Any
    y: npt.NDArray[np.float64]
    target: str
    style: str | None  # how the target is written, if it is text

    def select(self, features: list[str] | None, id: str | None) -> Labelled:
        """With the features that were asked for, and without the column that names rows."""
        columns = [str(name) for name in self.X.columns]
        chosen = named_columns(features, columns, "--features", self.target) if features else columns
        names_rows = named_columns([id], columns, "--id", self.target) if id else []
        return replace(self, X=self.X[[name for name in chosen if name not in names_rows]])


def read_labelled(
    table: str,
    target: str,
    *,
    delimiter: str | None,
    encoding: str | None,
    drop_missing: bool,
    na: tuple[str, ...] = (),
    style: str | None = None,
    allow_constant: bool = False,
) -> Labelled:
    """``style`` is how the target is written; found out if it is None."""
    from extranets.tables import open_table, take_target, target_style

    check_input(table)
    with open_table(table, delimiter=delimiter, encoding=encoding, na_values=na) as reader:
        frame, file = reader.read(), reader.name
    style = style or target_style(frame, target, na_values=na)
    X, y = take_target(
        frame, target, style=style, na_values=na, drop_missing=drop_missing, allow_constant=allow_constant
    )
    return Labelled(file, X, y, target, style)
