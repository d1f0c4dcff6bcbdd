"""``extranets evaluate``: scores of a model on a table whose targets are known."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from extranets.cli._arguments import check_coverage, check_input
from extranets.cli._options import (
    Delimiter,
    DropMissing,
    Encoding,
    Json,
    JudgedGroup,
    JudgedTime,
    ModelFile,
    OptionalTarget,
    TableFile,
)
from extranets.cli._printing import count, figure, percent, print_json, show
from extranets.cli._reading import Named, order_of

if TYPE_CHECKING:
    from extranets.evaluation import CoverageRow, Predictions
    from extranets.plots import PartsDisplay
    from extranets.tables import Labelled, TableModel

COVERAGES = (0.5, 0.8, 0.9, 0.95, 0.99)  # of the table that is printed, besides the model's own

NAMES = {
    "rmse": "RMSE",
    "mae": "mean absolute error",
    "r2": "R²",
    "log_likelihood": "log-likelihood",
    "crps": "CRPS",
    "calibration_error": "calibration error",
    "sharpness": "sharpness (root mean variance)",
    "epistemic_share": "epistemic share of variance",
}


def evaluate(
    model: ModelFile,
    table: TableFile,
    target: OptionalTarget = None,
    coverage: Annotated[
        list[float] | None, typer.Option(help="A further coverage for the table of coverages. Repeatable.")
    ] = None,
    group: JudgedGroup = None,
    time: JudgedTime = None,
    drop_missing_target: DropMissing = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """Score a model's predictions on a table whose targets are known.

    Beside every observed coverage stand limits that hold the true one with 95 % confidence (Clopper and Pearson). With --time and
    --group, or the columns that the fit was told, coverage over time and by group follows; those limits hold for all lines of a table at
    once. The last table says how coverage depends on how far rows are from those of training.

    Examples:

      extranets evaluate model.xnet test.csv

      extranets evaluate model.xnet test.csv --coverage 0.7 --json

      extranets evaluate model.xnet test.csv --time day --group shop
    """
    from extranets.evaluation import coverage_table, scores
    from extranets.tables import load_table_model

    check_input(model)
    loaded = load_table_model(model)
    levels = check_coverage([*COVERAGES, *(coverage or [])])
    judged = read_judged(loaded, table, target, drop_missing_target, delimiter, encoding, Named(group=group, time=time))
    found = loaded.judge(judged, levels=levels)
    figures, rows, parts = scores(found, loaded.coverage), coverage_table(found), _parts(found, loaded.coverage)
    if json:
        lines = [{**vars(row), "verdict": row.verdict} for row in rows]
        told = {"model": model, "file": judged.file, "n_rows": len(found), "scores": figures, "coverage": lines}
        print_json({**told, **{name: display.as_dict() for name, display in parts.items()}})
        return
    show(_score_table(figures, found))
    show(_coverage_table(rows))
    for display in parts.values():
        show(_parts_table(display))


def read_judged(
    loaded: TableModel,
    table: str,
    target: str | None,
    drop_missing: bool,
    delimiter: str | None,
    encoding: str | None,
    named: Named | None = None,
) -> Labelled:
    """A table whose targets are known, read as the training table was. With ``named``, it has groups and times: those of the columns that
    are named, or else of those that the fit was told.
    """
    from extranets.tables import read_labelled

    target = target or loaded.target
    if target is None:
        raise typer.BadParameter("The model does not name its target; give --target COLUMN.")
    check_input(table)
    na_values = tuple(loaded.model.na_values)
    found = read_labelled(
        table,
        target,
        delimiter=delimiter,
        encoding=encoding,
        na_values=na_values,
        style=loaded.style_of(target),
        drop_missing=drop_missing,
        allow_constant=True,
    )
    if named is None:
        return found
    known = {name: getattr(loaded, name) for name in ("group", "time") if getattr(loaded, name) in found.columns}
    asked = {name: value for name, value in vars(named).items() if value is not None}
    return order_of(found, Named(**{**known, **asked}), loaded.model.schema_.kinds(), na_values)


def _parts(found: Predictions, coverage: float) -> dict[str, PartsDisplay]:
    """By the names that JSON has for them."""
    from extranets import plots

    kinds: dict[str, type[PartsDisplay]] = {
        "over_time": plots.CoverageOverTimeDisplay,
        "by_group": plots.CoverageByGroupDisplay,
        "by_novelty": plots.NoveltyDisplay,
    }
    parts = {}
    for name, display in kinds.items():
        with suppress(plots.NothingToShow):
            parts[name] = display.of(found, coverage)
    return parts


def _parts_table(display: PartsDisplay) -> Table:
    table = Table(
        display.name,
        "rows",
        "coverage",
        "limits",
        "mean width",
        "interval score",
        "coverage is",
        title=display.title(),
    )
    for column in table.columns[1:6]:
        column.justify = "right"
    for part in display.parts:
        limits = f"{percent(part.low)} to {percent(part.high)}"
        figures = figure(part.mean_width), figure(part.interval_score)
        table.add_row(part.label, f"{part.n:,}", percent(part.coverage), limits, *figures, part.verdict)
    return table


def _score_table(figures: dict[str, float], found: Predictions) -> Table:
    table = Table("score", "value", title=f"{found.about['table']}: {count(len(found))}, target {found.target}")
    table.columns[1].justify = "right"
    for name, title in NAMES.items():
        table.add_row(title, percent(figures[name]) if name == "epistemic_share" else figure(figures[name]))
    return table


def _coverage_table(rows: list[CoverageRow]) -> Table:
    table = Table("coverage", "observed", "95 % limits", "mean width", "interval score", "intervals are")
    for column in table.columns[:5]:
        column.justify = "right"
    for row in rows:
        limits = f"{percent(row.low)} to {percent(row.high)}"
        figures = figure(row.mean_width), figure(row.interval_score)
        table.add_row(percent(row.nominal), percent(row.observed), limits, *figures, row.verdict)
    return table
