"""``extranets evaluate``: scores of a model on a table whose targets are known."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from extranets.cli._model import Loaded, load_model
from extranets.cli._reading import read_labelled
from extranets.cli._shared import (
    COVERAGES,
    Delimiter,
    DropMissing,
    Encoding,
    Json,
    ModelFile,
    TableFile,
    check_coverage,
    count,
    figure,
    percent,
    print_json,
    show,
)

OptionalTarget = Annotated[
    str | None, typer.Option("--target", "-t", help="Column; the one named at fit if not given.")
]

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
    coverage: Annotated[list[float] | None, typer.Option(help="Further coverages for the table; repeatable.")] = None,
    drop_missing_target: DropMissing = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """Score predictions on a table whose targets are known.

    The limits beside an observed coverage hold the true one with 95 % confidence (Clopper and Pearson).

    Example: extranets evaluate model.xnet test.csv
    """
    from extranets.evaluation import coverage_table, scores

    loaded = load_model(model)
    levels = check_coverage([*COVERAGES, loaded.coverage, *(coverage or [])])
    found = judged(
        loaded,
        table,
        target,
        levels=levels,
        drop_missing_target=drop_missing_target,
        delimiter=delimiter,
        encoding=encoding,
    )
    figures, rows = scores(found, loaded.coverage), coverage_table(found)
    if json:
        lines = [{**vars(row), "verdict": row.verdict} for row in rows]
        print_json(
            {"model": model, "file": found.about["table"], "n_rows": len(found), "scores": figures, "coverage": lines}
        )
        return
    show(_score_table(figures, found))
    show(_coverage_table(rows))


def judged(
    loaded: Loaded,
    table: str,
    target: str | None,
    *,
    levels: Any = None,
    members: bool = False,
    most_rows: int | None = None,
    drop_missing_target: bool,
    delimiter: str | None,
    encoding: str | None,
) -> Any:
    """Predictions beside the table's targets."""
    from extranets.evaluation import LEVELS, predict_with_targets, sample_rows

    target = target or loaded.target
    if target is None:
        raise typer.BadParameter("The model does not name its target; give --target COLUMN.")
    levels = sorted({*(LEVELS.tolist() if levels is None else levels), loaded.coverage})
    labelled = read_labelled(
        table,
        target,
        delimiter=delimiter,
        encoding=encoding,
        drop_missing=drop_missing_target,
        na=tuple(loaded.model.na_values),
        style=loaded.target_style if target == loaded.target else None,
        allow_constant=True,
    )
    n_rows = len(labelled.y)
    X, y = sample_rows(labelled.X, labelled.y, most_rows or n_rows, seed=0)
    schema, network = loaded.model.schema_, loaded.model.regressor_
    about = {
        "table": labelled.file,
        "rows": f"{len(y):,} of {n_rows:,}, drawn at random" if len(y) < n_rows else f"{n_rows:,}",
        "method": type(network).__name__,
        "trained": f"{network.fit_info_['finished'][:10]}, on {network.fit_info_['n_rows']:,} rows",
    }
    return predict_with_targets(
        loaded.model,
        X,
        y,
        levels=levels,
        members=members,
        target=target,
        features=schema.read(X),
        about=about,
    )


def _score_table(figures: dict[str, float], found: Any) -> Table:
    table = Table("score", "value", title=f"{found.about['table']}: {count(len(found))}, target {found.target}")
    table.columns[1].justify = "right"
    for name, title in NAMES.items():
        table.add_row(title, percent(figures[name]) if name == "epistemic_share" else figure(figures[name]))
    return table


def _coverage_table(rows: list[Any]) -> Table:
    table = Table("coverage", "observed", "95 % limits", "mean width", "interval score", "intervals are")
    for column in table.columns[:5]:
        column.justify = "right"
    for row in rows:
        limits = f"{percent(row.low)} to {percent(row.high)}"
        table.add_row(
            percent(row.nominal),
            percent(row.observed),
            limits,
            figure(row.mean_width),
            figure(row.interval_score),
            row.verdict,
        )
    return table
