"""The tables that commands read, with what the options say about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from extranets.cli._arguments import check_input, named_columns

if TYPE_CHECKING:
    from extranets.tables import Labelled


@dataclass(frozen=True)
class Reading:
    """How a file is read."""

    delimiter: str | None
    encoding: str | None
    na_values: tuple[str, ...]
    drop_missing: bool


@dataclass(frozen=True)
class Named:
    """Columns with a meaning of their own, by name."""

    id: str | None = None
    group: str | None = None
    time: str | None = None


def read_training(
    table: str,
    target: str,
    features: list[str] | None,
    named: Named,
    kinds: dict[str, str],
    style: str | None,
    reading: Reading,
) -> Labelled:
    """The table's target, and the features that were asked for, without the columns that name rows and groups.

    ``style`` is how the target is written, if the user says so.
    """
    from extranets.tables import read_labelled

    if named.group is not None and named.time is not None:
        raise typer.BadParameter("give --group or --time, not both; for groups in time order, give --time.")
    check_input(table)
    found = read_labelled(table, target, style=style, **vars(reading))
    chosen = named_columns(features, found.columns, "--features", target)
    without = [
        named_columns([name], found.columns, option, target)[0]
        for option, name in (("--id", named.id), ("--group", named.group))
        if name and not (option == "--group" and name in chosen)
    ]
    return order_of(found, named, kinds, reading.na_values).select(chosen, without=without)


def order_of(table: Labelled, named: Named, kinds: Mapping[str, str], na_values: Sequence[str]) -> Labelled:
    """With the groups and times of its rows, if columns are named."""
    for option, name in (("--group", named.group), ("--time", named.time)):
        named_columns([name] if name else [], table.columns, option, table.target)
    return table.with_order(named.group, named.time, kinds=kinds, na_values=na_values)
