"""``extranets predict`` of a folder of tables."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from extranets._interrupt import INTERRUPTED
from extranets.cli._printing import count, say

if TYPE_CHECKING:
    from extranets.cli.predict import Progress
    from extranets.tables import FilePredictions, Notes, TableRegressor


def check_folder_options(output: str, others: Mapping[str, bool]) -> None:
    """Refuse what has no meaning where a folder is written."""
    if output == "-":
        raise typer.BadParameter("--output: name the folder that the predictions of a folder are written to.")
    for option, given in others.items():
        if given:
            raise typer.BadParameter(f"{option}: predictions of a folder are Parquet files; leave out {option}.")


def digest_of(model: str) -> str:
    """What names a model file by its contents."""
    return hashlib.sha256(Path(model).read_bytes()).hexdigest()


def write_folder(
    files: Sequence[FilePredictions], model: TableRegressor, asked: Mapping[str, Any], notes: Notes, progress: Progress
) -> None:
    """Write the files that are not done. A column that a folder's name tells is not written again."""
    from extranets.tables import prediction_blocks

    missing = [file for file in files if not file.done]
    if len(missing) < len(files):
        say(f"{count(len(files) - len(missing), 'file')} of {len(files):,} had been predicted before.")
    empty = 0
    for number, file in enumerate(missing):
        progress.where = f"file {number + 1:,} of {len(missing):,}; "
        own = {**asked, "keep": [name for name in asked["keep"] if name not in file.table.keys]}
        before = progress.rows
        try:
            for rows in file.write(partial(prediction_blocks, model, notes=notes, **own), model.block_rows):
                progress.add(rows)
        except KeyboardInterrupt:
            written = f"{number:,} of {count(len(missing), 'file')} are written"
            say(f"\nInterrupted: {written}. The same command goes on with the others.")
            raise typer.Exit(INTERRUPTED) from None
        empty += progress.rows == before
    notes.warn()
    if empty:
        say(f"{count(empty, 'table')} without rows got no file.")
