"""``extranets update``: a model's intervals catch up with rows whose targets have become known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from extranets._json import plain
from extranets.cli._arguments import check_input, check_output
from extranets.cli._options import Delimiter, DropMissing, Encoding, Json, ModelFile, OptionalTarget, TableFile
from extranets.cli._printing import count, percent, print_json, say
from extranets.cli._reading import Named
from extranets.cli.evaluate import read_judged

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Model file to write. Default: MODEL itself is replaced.")
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        help="Column of dates or numbers that rows are in the order of. Default: that of the fit, or else their order.",
    ),
]
Block = Annotated[
    int,
    typer.Option(
        min=1, help="Rows of a block, about as many as are predicted at a time; rows of one time stay together."
    ),
]


def update(
    model: ModelFile,
    table: TableFile,
    output: Output = None,
    target: OptionalTarget = None,
    time: Time = None,
    block: Block = 20,
    drop_missing_target: DropMissing = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """Let a model's intervals follow the errors of new rows, in their order.

    For data that change: predict some rows, wait for their targets, update the model with these rows, predict the next. The more rows
    are outside an interval, the wider it becomes, each bound on its own; in the long run, the share outside is what it promises,
    whatever the data. Nothing is trained, and predictions stay as they are. Each row counts once: give no row twice, and none of
    the fit.

    Examples:

      extranets update model.xnet may.csv

      extranets update model.xnet may.csv --time day --block 50 -o model-june.xnet
    """
    from extranets import model_file
    from extranets.tables import load_table_model, update_in_order

    check_input(model)
    written = Path(model) if output is None else output
    if output is not None:
        check_output(output, table)
    loaded = load_table_model(model)
    rows = read_judged(loaded, table, target, drop_missing_target, delimiter, encoding, Named(time=time))
    followed = update_in_order(loaded.model, rows.X, rows.y, rows.order["time"], block=block, coverage=loaded.coverage)
    loaded.model.save(written, about=plain(model_file.read_info(model)["about"]))
    if json:
        print_json({"model": str(written), "file": rows.file, **followed.as_dict()})
        return
    say(
        f"{count(followed.n_rows)} in {count(followed.n_updates, 'update')}: {percent(followed.inside)} of them were inside the "
        f"{percent(followed.coverage)} intervals that the model gave just before; without these updates, {percent(followed.without)}."
    )
    say(f"Model: {written}")
