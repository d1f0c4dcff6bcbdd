"""``extranets conformalize``: intervals that cover by construction, from a table that was kept from the fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from extranets._json import plain
from extranets.cli._arguments import check_input, check_name, check_output, named_columns
from extranets.cli._options import Delimiter, DropMissing, Encoding, Json, ModelFile, OptionalTarget, TableFile
from extranets.cli._printing import count, percent, print_json, say, show
from extranets.cli.evaluate import read_judged

if TYPE_CHECKING:
    from extranets.tables import ConformalRow

TAILS = ("separate", "joint")

Output = Annotated[
    Path, typer.Option("--output", "-o", help="Model file to write; it may be the one that is read, which is replaced.")
]
Tails = Annotated[
    str,
    typer.Option(
        help="separate: below and above intervals lie as many rows as promised, each by itself. joint: only their sum is promised, "
        "and half as many rows are enough."
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        help="Column that names the group of each row: the promise then holds within every group. New tables need the column."
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        help="Column of weights, where new rows come from other places: how much more often than these, up to a factor. New tables "
        "need the column."
    ),
]


def conformalize(
    model: ModelFile,
    table: TableFile,
    output: Output,
    target: OptionalTarget = None,
    tails: Tails = "separate",
    group: Group = None,
    weight: Weight = None,
    drop_missing_target: DropMissing = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """Make a model's intervals cover by construction, from rows that were kept from its fit.

    Whatever the noise, new rows that are like these are then outside as often as promised, on average. Rows of the fit are
    recognised and refused. Prints how often the intervals missed before, and up to which coverage the rows are enough.

    Examples:

      extranets conformalize model.xnet held_out.csv -o conformal.xnet

      extranets conformalize model.xnet held_out.csv --group district -o conformal.xnet
    """
    from extranets import model_file
    from extranets.tables import conformal_rows, load_table_model

    check_name("--tails", tails, TAILS)
    check_output(output, table)
    check_input(model)
    loaded = load_table_model(model)
    judged = read_judged(loaded, table, target, drop_missing_target, delimiter, encoding)
    for option, name in (("--group", group), ("--weight", weight)):
        named_columns([name] if name else [], judged.columns, option, judged.target)
    rows = conformal_rows(loaded, judged, tails, group)
    kind: Literal["separate", "joint"] = "joint" if tails == "joint" else "separate"
    loaded.model.conformalize(judged.X, judged.y, tails=kind, groups=group, weights=weight)
    done = {"file": judged.file, "n_rows": len(judged), "tails": tails, "group": group, "weight": weight}
    loaded.model.save(output, about=plain({**(model_file.read_info(model)["about"] or {}), "conformal": done}))
    if json:
        print_json({**done, "model": str(output), "groups": [vars(row) for row in rows]})
        return
    show(_table(rows, loaded.coverage, judged.file, len(judged)))
    say(f"Model: {output}")


def _table(rows: list[ConformalRow], coverage: float, file: str, n_rows: int) -> Table:
    title = f"{file}: {count(n_rows)}; {percent(coverage)} intervals before"
    table = Table("rows of", "rows", "were below", "were above", "enough for a coverage of", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        cells: list[Any] = [percent(row.below), percent(row.above), percent(row.most_coverage)]
        table.add_row(row.group or "the table", f"{row.n_rows:,}", *cells)
    return table
