"""Tables with the column to predict: from a file to features and target."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets._sklearn import rows_of
from extranets.evaluation import NamedValues
from extranets.tables.order import column_groups, column_times
from extranets.tables.reading import open_table
from extranets.tables.target import take_target, target_style


@dataclass(frozen=True)
class Labelled:
    """A table whose targets are known, and perhaps what its rows have in common. Shapes: X ``(n, k)``, a data frame; y ``(n,)``."""

    file: str
    X: Any
    y: Array
    target: str
    style: str | None  # how the target is written, if it is text
    groups: NamedValues | None = None  # what names the group of each row
    time: NamedValues | None = None  # dates or numbers

    def __len__(self) -> int:
        return len(self.y)

    @property
    def columns(self) -> list[str]:
        return [str(name) for name in self.X.columns]

    def select(self, features: Sequence[str] = (), without: Collection[str] = ()) -> Labelled:
        """The same rows with these features, or with all of them if none are named; but never with those of ``without``."""
        return replace(self, X=self.X[[name for name in features or self.columns if name not in without]])

    def with_order(
        self,
        group: str | None,
        time: str | None,
        *,
        kinds: Mapping[str, str] | None = None,
        na_values: Sequence[str] = (),
    ) -> Labelled:
        """The same with groups and times, from the columns of these names."""
        return replace(
            self,
            groups=None if group is None else NamedValues(group, column_groups(self.X, group, na_values)),
            time=None if time is None else NamedValues(time, column_times(self.X, time, kinds, na_values)),
        )

    @property
    def order(self) -> dict[str, Any]:
        """Groups and times as the arguments of a fit."""
        return {
            name: None if column is None else column.values
            for name, column in (("groups", self.groups), ("time", self.time))
        }

    def part(self, rows: npt.NDArray[np.intp]) -> Labelled:
        """Some of the rows."""
        groups, time = (None if column is None else column.part(rows) for column in (self.groups, self.time))
        return replace(self, X=rows_of(self.X, rows), y=self.y[rows], groups=groups, time=time)


def read_labelled(
    path: str | os.PathLike[str],
    target: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    na_values: Sequence[str] = (),
    style: str | None = None,
    drop_missing: bool = False,
    allow_constant: bool = False,
) -> Labelled:
    """Read a file as a whole and split it into features and target.

    Parameters
    ----------
    path, delimiter, encoding
        As for :func:`open_table`.
    target : name of the column to predict
    na_values : further texts that stand for missing values
    style, drop_missing, allow_constant
        As for :func:`take_target`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "flats.csv")
    ...     _ = path.write_text("area;rent\\n50;1.700,50\\n72;1.950\\n")
    ...     flats = read_labelled(path, "rent")
    >>> flats.y.tolist(), flats.style, flats.columns
    ([1700.5, 1950.0], '1.234,5', ['area'])
    """
    with open_table(path, delimiter=delimiter, encoding=encoding, na_values=na_values) as reader:
        frame, file = reader.read(), reader.name
    style = style or target_style(frame, target, na_values=na_values)
    X, y = take_target(
        frame, target, style=style, na_values=na_values, drop_missing=drop_missing, allow_constant=allow_constant
    )
    return Labelled(file, X, y, target, style)
