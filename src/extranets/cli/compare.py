"""``extranets compare``: every method on one's own table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from extranets.cli._arguments import check_coverage, check_folds, check_name, kinds
from extranets.cli._options import (
    Coverage,
    Delimiter,
    DropMissing,
    Encoding,
    Features,
    Group,
    Id,
    Jobs,
    Json,
    Kinds,
    MaxCategories,
    Missing,
    Quiet,
    Seed,
    TableFile,
    Target,
    Time,
)
from extranets.cli._printing import figure, percent, print_json, say, show
from extranets.cli._reading import Named, Reading, read_training

if TYPE_CHECKING:
    from extranets.comparison import Comparison

Methods = Annotated[
    list[str] | None,
    typer.Option(help="Compare this method. Repeatable. Default: all networks and two kinds of trees."),
]
Folds = Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")]
Rows = Annotated[int, typer.Option(min=20, help="Compare on so many rows, drawn at random from a larger table.")]


def compare(
    table: TableFile,
    target: Target,
    method: Methods = None,
    coverage: Coverage = 0.9,
    folds: Folds = 5,
    rows: Rows = 10_000,
    features: Features = None,
    id: Id = None,
    group: Group = None,
    time: Time = None,
    kind: Kinds = None,
    max_categories: MaxCategories = 30,
    na: Missing = None,
    drop_missing_target: DropMissing = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Cross-validate every method, and scikit-learn's trees, on a table, and rank them by interval score.

    The interval score is the mean width of the intervals plus a penalty for rows outside: smaller is better. The column "behind
    the best" is the difference from the best method, with its standard error. Trees get CV+ intervals. With --group, folds are whole
    groups; with --time, they are later than the rows of the fit.

    Examples:

      extranets compare train.csv --target price

      extranets compare train.csv -t price --method stack --method "gradient boosting" --rows 50000
    """
    from extranets.comparison import NAMES
    from extranets.comparison import compare as ranked

    (level,) = check_coverage([coverage])
    for name in method or []:
        check_name("--method", name, NAMES)
    column_kinds, style = kinds(kind, target)
    reading = Reading(delimiter, encoding, tuple(na or ()), drop_missing_target)
    training = read_training(table, target, features, Named(id, group, time), column_kinds, style, reading)
    check_folds(folds, min(rows, len(training)))
    if len(training) > rows:
        say(f"Comparing on {rows:,} of {len(training):,} rows, drawn at random; --rows takes more.")
    lines, failed = ranked(
        training.X,
        training.y,
        method or NAMES,
        coverage=level,
        n_folds=folds,
        max_rows=rows,
        seed=seed,
        **training.order,
        n_jobs=jobs,
        table_settings={"kinds": column_kinds, "max_categories": max_categories, "na_values": reading.na_values},
        begin=None if quiet else lambda name, fold, n: say(f"{name}: fold {fold} of {n}"),
    )
    _tell(training.file, level, lines, failed, json)


def _tell(file: str, level: float, lines: list[Comparison], failed: dict[str, str], json: bool) -> None:
    if json:
        methods = [line.as_dict() for line in lines]
        print_json({"file": file, "coverage": level, "methods": methods, "failed": failed})
    else:
        if lines:
            show(_table(lines, level, file))
        for name, reason in failed.items():
            say(f"{name} could not be fitted: {reason}")
    if not lines:
        raise typer.Exit(1)


def _table(lines: list[Comparison], level: float, file: str) -> Table:
    observed = f"coverage at {percent(level)}"
    table = Table("", "method", "interval score", "behind the best", "RMSE", observed, "mean width", "fit", title=file)
    for column in table.columns[2:]:
        column.justify = "right"
    for line in lines:
        behind = f"{figure(line.behind)} ± {figure(line.behind_se)}" if line.rank > 1 else ""
        table.add_row(
            str(line.rank),
            line.method,
            figure(line.interval_score),
            behind,
            figure(line.rmse),
            percent(line.coverage),
            figure(line.mean_width),
            f"{line.seconds:.2f} s",
        )
    return table
