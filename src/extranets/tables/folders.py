"""Predictions of a folder of tables, as a folder of Parquet files. What is done is known from the files themselves, so that a run that
was stopped goes on with those that are missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pyarrow.parquet

from extranets.tables.errors import NoRowsError, Source, TableError
from extranets.tables.reading import PACKED_SUFFIXES
from extranets.tables.sources import FolderBlocks, FolderFile
from extranets.tables.writing import open_writer

SETTINGS, TABLE = (
    "extranets.predictions",
    "extranets.table",
)  # what a file of predictions notes: how, and of which table

Predict = Callable[[Iterable[pandas.DataFrame]], Iterator[pandas.DataFrame]]


@dataclass(frozen=True)
class FilePredictions:
    """The predictions of one file, as they are or will be on disk.

    Attributes
    ----------
    table : FolderFile
    path : pathlib.Path
        Of the Parquet file with the predictions.
    done : bool
        Whether this file is there, whole, and of this table as it is now.
    """

    table: FolderFile
    path: Path
    done: bool
    _about: dict[str, str]

    def write(self, predict: Predict, block_rows: int) -> Iterator[int]:
        """Predict block by block, and give the number of rows of each. The file gets its name when all is written.

        A table without rows gets no file. Row names are pairs of the table's name and the row.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(NoRowsError), open_writer(self.path, about=self._about) as writer:
            for predicted in predict(self._blocks(block_rows)):
                writer.write(predicted)
                yield len(predicted)

    def _blocks(self, block_rows: int) -> Iterator[pandas.DataFrame]:
        for frame in self.table.blocks(block_rows):
            frame.index = pandas.MultiIndex.from_product([[self.table.name], frame.index])
            yield frame


def predictions_of_folder(
    source: FolderBlocks, target: str | os.PathLike[str], settings: Mapping[str, Any], *, overwrite: bool = False
) -> list[FilePredictions]:
    """What is to be written to a folder, a file for each of the source's, with the same name and below the same folders.

    Parameters
    ----------
    source : FolderBlocks
    target : path of a folder; it need not exist
    settings : mapping
        All that predictions depend on besides the table, as JSON has it: a digest of the model, coverages and so on. It is noted in
        each file.
    overwrite : bool, default=False
        Whether files that are there and were made with other settings, or by something else, are to be replaced.

    Raises
    ------
    TableError
        If one of the folders is inside the other, two files would get the same name, or there are such files.
    """
    target = Path(target)
    _refuse_nested(Path(source.name), target)
    wanted = json.dumps(settings, sort_keys=True)
    found: dict[Path, FilePredictions] = {}
    for table in source.files:
        path = target / _parquet(table.place)
        about = {SETTINGS: wanted, TABLE: _state(table.path)}
        if path in found:
            raise Source(table.name).error(
                f"its predictions would have the same name as those of {found[path].table.name}; rename it."
            )
        noted = _noted(path)
        if noted is not None and noted.get(SETTINGS) != wanted and not overwrite:
            raise TableError(
                f"{path} is there already, and is not what this model gives with these options. Give another folder, or replace "
                "such files: --overwrite (overwrite=True)."
            )
        found[path] = FilePredictions(table, path, noted == about, about)
    return list(found.values())


def _refuse_nested(source: Path, target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise TableError(f"{target} is a file; the predictions of a folder are written to a folder.")
    one, other = Path(os.path.realpath(source)), Path(os.path.realpath(target))
    if one == other or one in other.parents or other in one.parents:
        raise TableError(f"{target}: predictions must be written to a folder apart from that of the tables, {source}.")


def _parquet(place: Path) -> Path:
    """``a.csv.gz`` becomes ``a.parquet``."""
    plain = place.with_suffix("") if place.suffix.lower() in PACKED_SUFFIXES else place
    return plain.with_suffix(".parquet")


def _state(path: Path) -> str:
    """What changes when a file does."""
    found = path.stat()
    return f"{found.st_size} bytes, {found.st_mtime_ns} ns"


def _noted(path: Path) -> dict[str, str] | None:
    """What a file of predictions notes about itself; nothing if it is something else, and None if there is no file."""
    if not path.exists():
        return None
    try:
        noted = pa.parquet.read_schema(path).metadata or {}
    except (pa.ArrowInvalid, OSError):
        return {}
    return {name: noted[name.encode()].decode() for name in (SETTINGS, TABLE) if name.encode() in noted}
