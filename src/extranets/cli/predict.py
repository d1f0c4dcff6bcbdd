"""``extranets predict``: from a model file and a table to predictions, block by block."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from extranets._interrupt import INTERRUPTED
from extranets.cli._model import Loaded, load_model
from extranets.cli._shared import (
    Delimiter,
    Encoding,
    ModelFile,
    Quiet,
    TableFile,
    check_coverage,
    check_input,
    check_output,
    count,
    named_columns,
    say,
)

TERMINATED = 128 + signal.SIGTERM
PATIENCE = 2.0  # seconds before progress is shown, and between two lines of it


def predict(
    model: ModelFile,
    table: TableFile,
    output: Annotated[
        str, typer.Option("--output", "-o", help="CSV, Parquet or Feather file to write; - prints CSV.")
    ] = "-",
    coverage: Annotated[
        list[float] | None, typer.Option(help="Coverage of the intervals; repeatable. The model's own if not given.")
    ] = None,
    components: Annotated[bool, typer.Option("--components", help="Also epistemic_sd and aleatoric_sd.")] = False,
    members: Annotated[bool, typer.Option("--members", help="Also the prediction of every network.")] = False,
    id: Annotated[str | None, typer.Option("--id", help="Column to keep; the one named at fit if not given.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="Further columns to keep; repeatable.")] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row instead of CSV.")] = False,
) -> None:
    """Predict the rows of a table, with intervals.

    Works block by block, so the table may be larger than memory. Columns: prediction, sd, lower_90, upper_90, ...

    Examples:

      extranets predict model.xnet new.csv --coverage 0.8 --coverage 0.95 -o predictions.parquet

      cat new.csv | extranets predict model.xnet - > predictions.csv
    """
    from extranets.tables import Notes, naming_rows, open_table, open_writer

    if output != "-":
        check_output(Path(output), model, table)
    loaded = load_model(model)
    check_input(table)
    levels = check_coverage(coverage or [loaded.coverage])
    if json and output != "-":
        raise typer.BadParameter("--json prints to standard output; leave out --output.")
    notes, progress = Notes(), Progress(quiet)
    with (
        open_table(table, delimiter=delimiter, encoding=encoding) as reader,
        _terminable(waits=table == "-"),
        open_writer(output, format="jsonl" if json else None) as writer,
    ):
        kept = _kept_columns(id, keep, loaded, reader.columns)
        for block in reader.blocks(loaded.model.block_rows):
            encoded = loaded.model.encode(block, notes)
            with naming_rows(encoded):
                out = _predictions(loaded.model.regressor_, encoded, levels, components, members)
            _refuse_twins(kept, list(out.columns))
            for position, name in enumerate(kept):
                out.insert(position, name, block[name])
            if not writer.write(out):  # whoever read our output has gone
                break
            progress.add(len(block))
    notes.warn()
    progress.close(output)


@contextmanager
def _terminable(waits: bool) -> Iterator[None]:
    """A signal to end is an exception, so that no half-written file is left.

    ``waits``: a thread may wait for more input. Python would wait for that thread, or abort, so it ends without farewell.
    """
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        if waits:
            with suppress(OSError):
                sys.stdout.flush()
            os._exit(INTERRUPTED if isinstance(end, KeyboardInterrupt) else TERMINATED)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _kept_columns(id: str | None, keep: list[str] | None, loaded: Loaded, columns: list[str]) -> list[str]:
    if id is None and loaded.id in columns:
        id = loaded.id
    return named_columns([*([id] if id else []), *(keep or [])], columns, "--id or --keep")


def _refuse_twins(kept: list[str], written: list[str]) -> None:
    for name in kept:
        if name in written:
            raise typer.BadParameter(
                f"--id or --keep: {name} is the name of a column that is written; rename it in the table."
            )


def _predictions(network: Any, X: Any, levels: list[float], components: bool, members: bool) -> Any:
    """A data frame of the columns that are written."""
    parts = network.predict_components(X)
    out = network.predict_interval(X, levels, as_frame=True)
    out.insert(1, "sd", parts.std)
    if components:
        out["epistemic_sd"], out["aleatoric_sd"] = parts.epistemic**0.5, parts.aleatoric**0.5
    if members:
        for number, values in enumerate(network.predict_members(X)):
            out[f"member_{number}"] = values
    return out


class Progress:
    """Rows done, on standard error, once it takes longer than one would wait in silence."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.rows = 0
        self.begin = self.said = time.monotonic()

    def add(self, rows: int) -> None:
        self.rows += rows
        now = time.monotonic()
        if not self.quiet and now - self.said >= PATIENCE:
            self.said = now
            end = "\r" if sys.stderr.isatty() else "\n"
            rate = self.rows / (now - self.begin)
            print(f"{self.rows:,} rows, {rate:,.0f} per second", end=end, file=sys.stderr, flush=True)

    def close(self, output: str) -> None:
        if not self.quiet and output != "-":
            say(f"{count(self.rows)} in {time.monotonic() - self.begin:.1f} s -> {output}")
