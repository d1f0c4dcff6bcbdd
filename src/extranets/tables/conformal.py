"""What rows that were kept from a fit say about its intervals, before these are made from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from extranets.parting import group_names
from extranets.tables.labelled import Labelled
from extranets.tables.model_files import TableModel
from extranets.tables.order import column_groups


@dataclass(frozen=True)
class ConformalRow:
    """A group of rows, or all of them: shares below and above the intervals that the model has now, and the largest coverage that so
    many rows can promise with finite bounds."""

    group: str | None
    n_rows: int
    below: float
    above: float
    most_coverage: float


def conformal_rows(loaded: TableModel, table: Labelled, tails: str, group: str | None = None) -> list[ConformalRow]:
    """One for each group of a column, or one for the whole table.

    Parameters
    ----------
    loaded : fitted model
    table : rows that were kept from the fit
    tails : "separate" or "joint"
    group : name of a column
    """
    found = loaded.judge(table, levels=[])
    lower, upper = found.at(loaded.coverage)
    names = np.full(len(table), "", dtype=object)
    if group is not None:
        names = np.array(group_names(column_groups(table.X, group, loaded.model.na_values), len(table)), dtype=object)
    rows = []
    for name in sorted(set(names)):
        own = names == name
        n = int(own.sum())
        most = n / (n + 1) if tails == "joint" else (n - 1) / (n + 1)
        below, above = float(np.mean(found.y[own] < lower[own])), float(np.mean(found.y[own] > upper[own]))
        rows.append(ConformalRow(None if group is None else name, n, below, above, most))
    return rows
