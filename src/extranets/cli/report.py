"""``extranets report``: a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from extranets.cli._model import load_model
from extranets.cli._shared import Delimiter, DropMissing, Encoding, Json, check_input, check_output, print_json, say
from extranets.cli.evaluate import OptionalTarget, judged


def report(
    source: Annotated[Path, typer.Argument(help="Model file, or the folder of a study's run.")],
    table: Annotated[str | None, typer.Argument(help="Table with known targets; none for a run.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    target: OptionalTarget = None,
    rows: Annotated[int, typer.Option(min=5, help="So many rows of a larger table, drawn at random.")] = 50_000,
    drop_missing_target: DropMissing = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """Write one HTML page about predictions of known targets, or about a study's run.

    The page needs no network. Its figures are also written as JSON, beside it.

    Examples:

      extranets report model.xnet test.csv -o report.html

      extranets report runs/uci -o uci.html
    """
    from extranets.report import summarise, summarise_run, write

    figures = output.with_name(f"{output.stem}.summary.json")
    check_output(output, source, table)
    check_output(figures, source, table)
    summary: Any
    if source.is_dir():
        if table is not None:
            raise typer.BadParameter(f"{source} is a folder, so a run; a run takes no table.")
        summary = summarise_run(source)
    else:
        check_input(str(source))
        if table is None:
            raise typer.BadParameter(
                "A report on a model needs a table with known targets: extranets report MODEL TABLE"
            )
        loaded = load_model(str(source))
        predictions = judged(
            loaded,
            table,
            target,
            most_rows=rows,
            members=True,
            drop_missing_target=drop_missing_target,
            delimiter=delimiter,
            encoding=encoding,
        )
        summary = summarise(predictions, loaded.coverage)
    write(summary, output, figures)
    if json:
        print_json({"report": str(output), "summary": str(figures)})
    else:
        say(f"Report: {output} ({output.stat().st_size / 1e6:.1f} MB); its figures: {figures}")
