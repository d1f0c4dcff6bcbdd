"""``extranets compare``: every method on one's own table."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from extranets.cli._reading import read_labelled
from extranets.cli._shared import (
    Delimiter,
    DropMissing,
    Encoding,
    Features,
    Id,
    Jobs,
    Json,
    Kinds,
    Missing,
    Quiet,
    Seed,
    TableFile,
    Target,
    check_coverage,
    check_folds,
    figure,
    hint,
    kinds,
    percent,
    print_json,
    say,
    show,
    take_target_style,
)


def compare(
    table: TableFile,
    target: Target,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Only these methods; repeatable. All networks and two kinds of trees if not given."),
    ] = None,
    coverage: Annotated[float, typer.Option(help="Coverage of the intervals, between 0 and 1.")] = 0.9,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    rows: Annotated[
        int, typer.Option(min=20, help="Compare on so many rows, drawn at random from a larger table.")
    ] = 10_000,
    features: Features = None,
    id: Id = None,
    kind: Kinds = None,
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

    The interval score is the width plus a penalty for misses: smaller is better. The last but one column says how far a
    method is behind the best one, with the standard error of the difference. Trees get CV+ intervals.

    Example: extranets compare train.csv --target price
    """
    from extranets.comparison import NAMES
    from extranets.comparison import compare as ranked

    (level,) = check_coverage([coverage])
    for name in method or []:
        if name not in NAMES:
            raise typer.BadParameter(f"--method: there is no {name}.{hint(name, list(NAMES))}")
    missing = tuple(na or ())
    column_kinds = kinds(kind)
    training = read_labelled(
        table,
        target,
        delimiter=delimiter,
        encoding=encoding,
        drop_missing=drop_missing_target,
        na=missing,
        style=take_target_style(column_kinds, target),
    ).select(features, id)
    check_folds(folds, min(rows, len(training.y)))
    if len(training.y) > rows:
        say(f"Comparing on {rows:,} of {len(training.y):,} rows, drawn at random; --rows takes more.")
    lines, failed = ranked(
        training.X,
        training.y,
        method or NAMES,
        coverage=level,
        n_folds=folds,
        max_rows=rows,
        seed=seed,
        n_jobs=jobs,
        table_settings={"kinds": column_kinds, "na_values": missing},
        begin=None if quiet else lambda name, fold, n: say(f"{name}: fold {fold} of {n}"),
    )
    if json:
        print_json(
            {"file": training.file, "coverage": level, "methods": [x.as_dict() for x in lines], "failed": failed}
        )
    else:
        if lines:
            show(_table(lines, level, training.file))
        for name, reason in failed.items():
            say(f"{name} could not be fitted: {reason}")
    if not lines:
        raise typer.Exit(1)


def _table(lines: list[Any], level: float, file: str) -> Table:
    names = (
        "",
        "method",
        "interval score",
        "behind the best",
        "RMSE",
        f"coverage at {percent(level)}",
        "mean width",
        "fit",
    )
    table = Table(*names, title=file)
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
