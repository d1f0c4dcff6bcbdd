"""The tables that commands read, with what the options say about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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


def read_training(
    table: str, target: str, features: list[str] | None, id: str | None, style: str | None, reading: Reading
) -> Labelled:
    """The table's target, and the features that were asked for, without the column that names rows.

    ``style`` is how the target is written, if the user says so.
    """
    from extranets.tables import read_labelled

    check_input(table)
    found = read_labelled(table, target, style=style, **vars(reading))
    chosen = named_columns(features, found.columns, "--features", target)
    return found.select(chosen, without=named_columns([id] if id else [], found.columns, "--id", target))
