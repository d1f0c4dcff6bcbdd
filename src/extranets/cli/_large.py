"""``extranets fit`` of a table that memory cannot hold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from extranets._json import plain
from extranets.cli._arguments import check_input, named_columns
from extranets.cli._printing import figure, percent
from extranets.cli._reading import Reading

if TYPE_CHECKING:
    from rich.table import Table

    from extranets.tables import TableRegressor


@dataclass(frozen=True)
class Large:
    """What ``--max-memory`` and ``--scratch`` say."""

    table: str
    max_memory: str | None
    scratch: Path | None

    @property
    def asked_for(self) -> bool:
        """Whether the table is to be read block by block."""
        return self.max_memory is not None or self.scratch is not None or Path(self.table).is_dir()

    def check(self, **others: Any) -> None:
        """Refuse what needs the table in memory: options by their names, None where they are not given."""
        if not Path(self.table).is_dir():
            check_input(self.table)
        given = [f"--{name}" for name, value in others.items() if value is not None]
        if given:
            raise typer.BadParameter(f"{given[0]} needs the table in memory; leave out {given[0]}, or --max-memory.")
        if self.scratch is not None and not self.scratch.is_dir():
            raise typer.BadParameter(f"--scratch: there is no folder {self.scratch}.")

    def fit(
        self,
        model: TableRegressor,
        target: str,
        features: list[str] | None,
        id: str | None,
        style: str | None,
        reading: Reading,
    ) -> dict[str, Any]:
        """Fit, and return what is noted in the model file about the table."""
        from extranets.tables import LabelledBlocks, fit_labelled_blocks, table_blocks

        how: dict[str, Any] = {
            "delimiter": reading.delimiter,
            "encoding": reading.encoding,
            "na_values": reading.na_values,
        }
        table = table_blocks(self.table, **how)
        left = [name for name in table.columns if name != target]
        chosen = named_columns(features, left, "--features", target) or left
        without = named_columns([id], left, "--id", target) if id else []
        used = [name for name in chosen if name not in without]
        rows = LabelledBlocks(table, target, used, style, reading.na_values, reading.drop_missing)
        with warnings.catch_warnings():
            try:
                fit_labelled_blocks(model, rows, self.max_memory, self.scratch)
            except ValueError as error:
                if str(error).startswith("max_memory"):
                    raise typer.BadParameter(str(error).replace("max_memory", "--max-memory", 1)) from None
                raise
        return {
            "file": table.name,
            "target": target,
            "target_style": rows.style,
            "cross_validation": None,
            "held_out": plain(model.held_out_scores_),
        }


def held_out_table(scores: dict[str, Any]) -> Table:
    """Scores on the rows that networks left out, which stand where other fits show a cross-validation."""
    from rich.table import Table

    table = Table("score", "value", title="On rows that networks left out")
    table.columns[1].justify = "right"
    table.add_row("RMSE", figure(scores["rmse"]))
    table.add_row("coverage at 90 %", percent(scores["coverage"]))
    table.add_row("interval score", figure(scores["interval_score"]))
    return table
