"""``extranets report``: a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from extranets.cli._arguments import check_input, check_output
from extranets.cli._options import Delimiter, DropMissing, Encoding, Json, JudgedGroup, JudgedTime, OptionalTarget
from extranets.cli._printing import print_json, say
from extranets.cli._reading import Named
from extranets.cli.evaluate import read_judged


def report(
    source: Annotated[Path, typer.Argument(help="Model file, or the folder of a study's run.")],
    table: Annotated[
        str | None, typer.Argument(help="Table whose targets are known. Leave it out for a study's run.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    target: OptionalTarget = None,
    rows: Annotated[
        int, typer.Option(min=5, help="Report on so many rows, drawn at random from a larger table.")
    ] = 50_000,
    group: JudgedGroup = None,
    time: JudgedTime = None,
    drop_missing_target: DropMissing = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    json: Json = False,
) -> None:
    """Write one HTML page about a model's predictions of known targets, or about a study's run.

    The page needs no network. Its figures are also written as JSON, into a file beside it.

    Examples:

      extranets report model.xnet test.csv -o report.html

      extranets report runs/uci -o uci.html
    """
    from extranets.report import summarise, summarise_run, write
    from extranets.tables import load_table_model

    figures = output.with_name(f"{output.stem}.summary.json")
    check_output(output, source, table)
    check_output(figures, source, table)
    summary: Any
    if source.is_dir():
        if table is not None:
            raise typer.BadParameter(f"{source} is the folder of a study's run, which is reported without a table.")
        summary = summarise_run(source)
    else:
        check_input(str(source))
        if table is None:
            raise typer.BadParameter(
                "A report on a model needs a table with known targets: extranets report MODEL TABLE"
            )
        loaded = load_table_model(source)
        named = Named(group=group, time=time)
        judged = read_judged(loaded, table, target, drop_missing_target, delimiter, encoding, named)
        summary = summarise(loaded.judge(judged, members=True, max_rows=rows), loaded.coverage)
    write(summary, output, figures)
    if json:
        print_json({"report": str(output), "summary": str(figures)})
    else:
        say(f"Report: {output} ({output.stat().st_size / 1e6:.1f} MB); its figures: {figures}")
