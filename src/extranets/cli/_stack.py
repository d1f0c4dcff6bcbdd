"""What a stack chose, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from extranets.cli._printing import percent

if TYPE_CHECKING:
    from collections.abc import Mapping


def models_table(settings: Mapping[str, Any] | None) -> Table | None:
    """The models of a stack: those with the largest weights first. None for settings of another method."""
    if not settings or "models" not in settings:
        return None
    from extranets.stacking import in_words, ranked

    table = Table("model", "weight", "R² held out", title=f"What was tried, on {settings['n_folds']} folds of the rows")
    for column in table.columns[1:]:
        column.justify = "right"
    for model in ranked(settings["models"]):
        weight = percent(model["weight"]) if model["weight"] > 0 else "not used"
        table.add_row(in_words(model), weight, f"{model['r2']:.4f}")
    return table
