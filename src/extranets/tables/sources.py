"""Tables that are read block by block, as often as needed: files, folders of files, Arrow datasets, Dask's collections, and what is in
memory already."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas
import pyarrow as pa
import pyarrow.dataset

from extranets.blocks import is_dask, partitions_of
from extranets.tables.columnar import Columnar
from extranets.tables.errors import Source, TableError, listed
from extranets.tables.frames import array_names, as_frame, has_names
from extranets.tables.reading import PACKED_SUFFIXES, SUFFIXES, frames_of, open_table

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # what stands for a missing value in the name of a folder


class TableBlocks(ABC):
    """Rows of a table in data frames, as often as they are asked for. ``columns`` are their names."""

    name: str = "the table"
    columns: list[str]
    named: bool = True  # whether the table itself names its columns

    @abstractmethod
    def blocks(self, n_rows: int) -> Iterator[pandas.DataFrame]:
        """Data frames of up to so many rows. The index names the rows of what the block came from, and ``attrs["file"]`` that."""


def table_blocks(
    table: Any, *, delimiter: str | None = None, encoding: str | None = None, na_values: Sequence[str] = ()
) -> TableBlocks:
    """Blocks of whatever holds a table.

    Parameters
    ----------
    table : path of a file or a folder, pyarrow.dataset.Dataset, Dask array or data frame, or table in memory
        In a folder, all files that can be tables are read, in the order of their names, also in folders below. Folders called
        ``name=value`` add a column. Names that begin with a dot or an underscore are left out.
    delimiter, encoding, na_values
        As for :func:`open_table`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for year in ("2024", "2025"):
    ...         pathlib.Path(folder, f"year={year}").mkdir()
    ...         _ = pathlib.Path(folder, f"year={year}", "flats.csv").write_text("area,rent\\n50,700\\n72,950\\n")
    ...     blocks = [frame.to_numpy().tolist() for frame in table_blocks(folder).blocks(1000)]
    >>> blocks
    [[['50', '700', '2024'], ['72', '950', '2024']], [['50', '700', '2025'], ['72', '950', '2025']]]
    """
    if isinstance(table, str | os.PathLike):
        how = {"delimiter": delimiter, "encoding": encoding, "na_values": na_values}
        return FolderBlocks(Path(table), how) if Path(table).is_dir() else FileBlocks(table, how)
    if isinstance(table, pyarrow.dataset.Dataset):
        return DatasetBlocks(table, na_values)
    return PartBlocks(table) if is_dask(table) else HeldBlocks(table)


class FileBlocks(TableBlocks):
    """Of one file."""

    def __init__(self, path: str | os.PathLike[str], how: dict[str, Any]) -> None:
        if os.fspath(path) == "-":
            raise TableError("Standard input can be read only once; save it as a file to read it block by block.")
        self._path, self._how = path, how
        with open_table(path, **how) as reader:
            self.name, self.columns = reader.name, reader.columns

    def blocks(self, n_rows: int) -> Iterator[pandas.DataFrame]:
        with open_table(self._path, **self._how) as reader:
            yield from reader.blocks(n_rows)


class FolderFile(FileBlocks):
    """Of a file in a folder. Its columns are followed by those that folders named ``name=value`` add."""

    def __init__(self, folder: Path, path: Path, how: dict[str, Any]) -> None:
        super().__init__(path, how)
        self.path, self.place = path, path.relative_to(folder)
        self.keys = _keys(self.place)
        twice = [name for name in self.keys if name in self.columns]
        if twice:
            raise Source(self.name).error(
                f"the column {listed(twice)} is in the file and in the name of its folder, too."
            )
        self.columns = [*self.columns, *self.keys]

    def blocks(self, n_rows: int) -> Iterator[pandas.DataFrame]:
        for frame in super().blocks(n_rows):
            added = {name: pandas.Series(value, frame.index, dtype="str") for name, value in self.keys.items()}
            whole = frame.assign(**added)
            whole.attrs.update(frame.attrs)
            yield whole


class FolderBlocks(TableBlocks):
    """Of all files of a folder, which are ``files``."""

    def __init__(self, folder: Path, how: dict[str, Any]) -> None:
        self.name = str(folder)
        self.files = [FolderFile(folder, path, how) for path in _files_of(folder)]
        if not self.files:
            raise TableError(f"{folder}: there is no table in this folder; read are {', '.join(SUFFIXES)}.")
        self.columns = self.files[0].columns
        for file in self.files:
            self._check(file)

    def _check(self, file: FolderFile) -> None:
        """Refuse a file with other columns than the first one."""
        gone, more = (
            [n for n in one if n not in other]
            for one, other in ((self.columns, file.columns), (file.columns, self.columns))
        )
        if gone or more:
            what = [f"{word} {listed(names)}" for word, names in (("lacks", gone), ("also has", more)) if names]
            message = f"it has other columns than {self.files[0].name}: it {' and '.join(what)}."
            raise Source(file.name).error(message)

    def blocks(self, n_rows: int) -> Iterator[pandas.DataFrame]:
        for file in self.files:
            for frame in file.blocks(n_rows):
                noted = frame.attrs
                frame = frame[self.columns]
                frame.attrs.update(noted)
                yield frame


def _files_of(folder: Path) -> list[Path]:
    found = []
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED_SUFFIXES]
        if path.is_file() and not hidden and suffixes[-1:] and suffixes[-1] in SUFFIXES:
            found.append(path)
    return found


def _keys(path: Path) -> dict[str, str | None]:
    """What the folders of a file are called: ``name=value``."""
    pairs = [part.partition("=") for part in path.parts[:-1] if "=" in part]
    return {unquote(name): None if value == NO_VALUE else unquote(value) for name, _, value in pairs}


class DatasetBlocks(TableBlocks):
    """Of an Arrow dataset, fragment after fragment."""

    def __init__(self, dataset: pyarrow.dataset.Dataset, na_values: Sequence[str]) -> None:
        self._dataset, self._na_values = dataset, na_values
        self.name = "the dataset"
        self.columns = self._table(iter(()), self.name).names

    def _table(self, batches: Iterator[pa.RecordBatch], name: str) -> Columnar:
        return Columnar(self._dataset.schema, batches, Source(name))

    def blocks(self, n_rows: int) -> Iterator[pandas.DataFrame]:
        for number, fragment in enumerate(self._dataset.get_fragments()):
            name = getattr(fragment, "path", None) or f"{self.name}, part {number}"
            frames = frames_of(self._table(self._batches(fragment), name), self._na_values)
            begin = 1
            for frame in frames(n_rows):
                frame.index = pandas.RangeIndex(begin, begin + len(frame))
                frame.attrs["file"] = name
                begin += len(frame)
                yield frame

    def _batches(self, fragment: Any) -> Iterator[pa.RecordBatch]:
        how = {"use_threads": False, "batch_readahead": 1, "batch_size": 16_384}
        yield from fragment.to_batches(schema=self._dataset.schema, **how)


class PartBlocks(TableBlocks):
    """Of an array or a data frame of Dask: one partition at a time is computed."""

    def __init__(self, values: Any) -> None:
        self._parts = partitions_of(values)
        self.named = hasattr(values, "columns")
        self.columns = [str(name) for name in values.columns] if self.named else array_names(values.shape[1])

    def blocks(self, n_rows: int) -> Iterator[pandas.DataFrame]:
        for number, part in enumerate(self._parts):
            frame = as_frame(part.compute())
            for begin in range(0, len(frame), n_rows):
                block = frame.iloc[begin : begin + n_rows]
                block.attrs["file"] = f"partition {number}"
                yield block


class HeldBlocks(TableBlocks):
    """Of a table in memory, or of an array that is mapped from a file."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.named, self.n_rows = has_names(table), int(table.shape[0])
        self.columns = list(self._part(0, 0).columns)

    def _part(self, begin: int, end: int) -> pandas.DataFrame:
        if hasattr(self._table, "iloc"):
            return as_frame(self._table.iloc[begin:end])
        frame = as_frame(
            self._table.slice(begin, end - begin) if hasattr(self._table, "slice") else self._table[begin:end]
        )
        frame.index = pandas.RangeIndex(begin, begin + len(frame))
        return frame

    def blocks(self, n_rows: int) -> Iterator[pandas.DataFrame]:
        for begin in range(0, self.n_rows, n_rows):
            yield self._part(begin, min(begin + n_rows, self.n_rows))
