"""``extranets predict``: from a model file and a table to predictions, block by block."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from extranets._interrupt import INTERRUPTED
from extranets.cli._arguments import check_coverage, check_input, check_output, named_columns
from extranets.cli._folder import check_folder_options, digest_of, write_folder
from extranets.cli._options import Delimiter, Encoding, ModelFile, Quiet
from extranets.cli._printing import count, say

if TYPE_CHECKING:
    from extranets.tables import TableModel

ENDING = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]  # signals that end a process
PATIENCE = 2.0  # seconds until the first line of progress, and between two lines


Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="CSV, Parquet, Feather or JSON lines file to write; - prints CSV. Of a folder of tables: the folder to write.",
    ),
]
Table = Annotated[
    str,
    typer.Argument(
        help="CSV, Parquet, Feather or Excel file, or a folder of such files; - reads CSV from standard input."
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Of a folder: also replace files of predictions that another model or other options made. Without it they are an error.",
    ),
]
Coverages = Annotated[
    list[float] | None, typer.Option(help="Coverage of the intervals. Repeatable. Default: the coverage of the fit.")
]
Components = Annotated[bool, typer.Option("--components", help="Write epistemic_sd and aleatoric_sd, too.")]
Members = Annotated[bool, typer.Option("--members", help="Write the prediction of every network, too.")]
Novelty = Annotated[
    bool,
    typer.Option(
        "--novelty",
        help="Write novelty, too: the share of the training rows that are less far from the others than a row is from them; 1 for rows "
        "outside of what the training rows cover.",
    ),
]
Id = Annotated[
    str | None,
    typer.Option("--id", help="Column that names the rows, to write beside predictions. Default: that of the fit."),
]
Keep = Annotated[list[str] | None, typer.Option(help="A further column to write beside predictions. Repeatable.")]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="Put ' before text in the CSV that a spreadsheet would take for a formula and run: text that begins with =, +, - "
        "or @. Without it text is written as it is in the table.",
    ),
]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object for each row instead of CSV.")]


def predict(
    model: ModelFile,
    table: Table,
    output: Output = "-",
    coverage: Coverages = None,
    components: Components = False,
    members: Members = False,
    novelty: Novelty = False,
    id: Id = None,
    keep: Keep = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    safe_csv: SafeCsv = False,
    json: JsonLines = False,
    overwrite: Overwrite = False,
) -> None:
    """Predict the rows of a table, with intervals.

    Works block by block, so the table may be larger than memory. Columns: prediction, sd, lower_90, upper_90, ... What is new to the
    model is said on standard error: categories, gaps, and values and dates outside of training, with their rows.

    Of a folder, each file becomes a Parquet file of predictions, below folders of the same names. After a stop the same command goes
    on with the files that are missing, and with those whose tables have changed.

    Examples:

      extranets predict model.xnet new.csv --coverage 0.8 --coverage 0.95 -o predictions.parquet

      cat new.csv | extranets predict model.xnet - > predictions.csv

      extranets predict model.xnet sales -o predictions
    """
    from extranets.tables import (
        FolderBlocks,
        Notes,
        load_table_model,
        open_table,
        open_writer,
        prediction_blocks,
        predictions_of_folder,
    )

    of_folder = Path(table).is_dir()
    if output != "-" and not of_folder:
        check_output(Path(output), model, table)
    check_input(model)
    loaded = load_table_model(model)
    levels = check_coverage(coverage or [loaded.coverage])
    asked: dict[str, Any] = {"components": components, "members": members, "novelty": novelty}
    notes, progress = Notes(), Progress(quiet)
    if of_folder:
        check_folder_options(output, {"--json": json, "--safe-csv": safe_csv})
        folder = FolderBlocks(Path(table), {"delimiter": delimiter, "encoding": encoding})
        asked |= {"levels": levels, "keep": _kept_columns(id, keep, loaded, folder.columns)}
        files = predictions_of_folder(folder, output, {"model": digest_of(model), **asked}, overwrite=overwrite)
        with _terminable(waits=False), _wrong_keep():
            write_folder(files, loaded.model, asked, notes, progress)
        progress.close(output)
        return
    check_input(table)
    if json and output != "-":
        raise typer.BadParameter("--json prints to standard output; leave out --output.")
    with (
        open_table(table, delimiter=delimiter, encoding=encoding) as reader,
        _terminable(waits=table == "-"),
        open_writer(output, format="jsonl" if json else None, safe_csv=safe_csv) as writer,
        _wrong_keep(),
    ):
        blocks = reader.blocks(loaded.model.block_rows)
        kept = _kept_columns(id, keep, loaded, reader.columns)
        for predicted in prediction_blocks(loaded.model, blocks, levels, keep=kept, notes=notes, **asked):
            if not writer.write(predicted):  # nobody reads our output any more
                break
            progress.add(len(predicted))
    notes.warn()
    if writer.n_escaped:
        say(f"{count(writer.n_escaped, 'text')} began like a formula and got an apostrophe.")
    progress.close(output)


@contextmanager
def _terminable(waits: bool) -> Iterator[None]:
    """Turn a signal to end into an exception, so that no half-written file is left.

    ``waits``: a thread may be waiting for more input. Python would wait for it, or abort; so the process ends at once.
    """
    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as nohup does with SIGHUP
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        if waits:
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(INTERRUPTED if isinstance(end, KeyboardInterrupt) else int(end.code or 0))
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _kept_columns(id: str | None, keep: list[str] | None, loaded: TableModel, columns: list[str]) -> list[str]:
    if id is None and loaded.id in columns:
        id = loaded.id
    return named_columns([*([id] if id else []), *(keep or [])], columns, "--id or --keep")


@contextmanager
def _wrong_keep() -> Iterator[None]:
    """A column that cannot be kept is a wrong argument."""
    from extranets.tables import NameTakenError

    try:
        yield
    except NameTakenError as error:
        raise typer.BadParameter(f"--id or --keep: {error}") from None


class Progress:
    """The number of rows done, on standard error; nothing of a prediction that is over soon."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.rows = 0
        self.where = ""  # a text before the number of rows
        self.begin = self.said = time.monotonic()

    def add(self, rows: int) -> None:
        self.rows += rows
        now = time.monotonic()
        if not self.quiet and now - self.said >= PATIENCE:
            self.said = now
            end = "\r" if sys.stderr.isatty() else "\n"
            rate = self.rows / (now - self.begin)
            print(f"{self.where}{self.rows:,} rows, {rate:,.0f} per second", end=end, file=sys.stderr, flush=True)

    def close(self, output: str) -> None:
        if not self.quiet and output != "-":
            say(f"{count(self.rows)} in {time.monotonic() - self.begin:.1f} s -> {output}")
