"""Tables to files or standard output, block by block."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pandas
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from extranets import _atomic
from extranets.tables.errors import TableError
from extranets.tables.values import TEXT, as_arrow, is_text

if TYPE_CHECKING:
    from typing_extensions import Self

FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet",
    ".feather": "feather", ".arrow": "feather", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
PACKING = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
FORMULA = "^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"  # how text begins that a spreadsheet takes for a formula


class TableWriter:
    """Writes data frames with the same columns, one below the other. Made by :func:`open_writer`; use it in a ``with``.

    A file gets its name when all is written; after an error nothing is left.
    """

    def __init__(self, layout: Layout, path: Path | None, temporary: Path = Path()) -> None:
        self._layout = layout
        self._path = path  # None: standard output
        self._temporary = temporary
        self._open = True
        if path is not None:
            weakref.finalize(self, temporary.unlink, missing_ok=True)  # a signal may come before a "with" has begun

    def write(self, frame: pandas.DataFrame) -> bool:
        """Append rows. False if standard output was closed by its reader, so that there is no use in writing more."""
        if self._open:
            try:
                self._layout.write(frame)
            except BrokenPipeError:
                self._open = False
                _forget_stdout()
        return self._open

    @property
    def n_escaped(self) -> int:
        """How many texts got an apostrophe, as :func:`open_writer` says."""
        return self._layout.n_escaped

    def close(self) -> None:
        """Finish the file and give it its name."""
        if self._path is None:
            self._flush()
        elif self._open:
            self._layout.finish()
            self._layout.file.close()
            _atomic.to_disk(self._temporary)
            os.replace(self._temporary, self._path)
        self._open = False

    def _flush(self) -> None:
        try:
            self._layout.finish()
            self._layout.file.flush()
        except BrokenPipeError:
            _forget_stdout()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.close()
            elif self._path is not None:
                self._layout.finish()  # the file goes, but a writer that is not finished would complain when collected
        finally:
            if self._path is not None:
                self._layout.file.close()
                self._temporary.unlink(missing_ok=True)


def open_writer(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    safe_csv: bool = False,
    about: Mapping[str, str] | None = None,
) -> TableWriter:
    """Open a file, or standard output, to write a table to.

    Parameters
    ----------
    path : path of a file, or ``"-"`` for standard output
        The suffix says what is written: ``.csv``, ``.tsv``, ``.parquet``, ``.feather``, ``.arrow`` or ``.jsonl``; CSV and JSON
        lines also with ``.gz``, ``.bz2`` or ``.zst`` after it. Standard output gets CSV.
    format : {"csv", "tsv", "parquet", "feather", "jsonl"}, optional
        Instead of what the suffix says.
    safe_csv : bool, default=False
        Put an apostrophe before text in CSV that a spreadsheet would take for a formula, and run: text that begins with ``=``,
        ``+``, ``-``, ``@`` or a white character. Numbers stay as they are. The writer counts such values in ``n_escaped``.
    about : mapping of str to str, optional
        Noted in a Parquet or Feather file, beside its columns' types: ``pyarrow.parquet.read_schema(path).metadata``.

    Examples
    --------
    >>> import pandas, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "flats.csv")
    ...     with open_writer(path) as writer:
    ...         done = writer.write(pandas.DataFrame({"city": ["Ulm"], "rent": [700.5]}))
    ...         done = writer.write(pandas.DataFrame({"city": ["Bonn"], "rent": [None]}))
    ...     print(path.read_text())
    city,rent
    Ulm,700.5
    Bonn,
    <BLANKLINE>
    """
    if os.fspath(path) == "-":
        if sys.stdout is None:
            raise TableError("Standard output is closed; give the name of a file to write to.")
        return TableWriter(_layout(format or "csv", sys.stdout.buffer, safe_csv), None)
    target = Path(os.path.realpath(path))
    suffixes = [suffix.lower() for suffix in target.suffixes]
    packing = PACKING.get(suffixes.pop()) if suffixes and suffixes[-1] in PACKING else None
    format = format or FORMATS.get(suffixes[-1] if suffixes else "")
    if format is None:
        raise TableError(f"{target.name}: a table is written to a file that ends in {', '.join(FORMATS)}.")
    if not target.parent.is_dir() or target.is_dir():
        raise TableError(f"{target}: this is a folder, or its folder does not exist.")
    _atomic.refuse_special(target)
    temporary = _atomic.beside(target)
    try:
        file = pa.output_stream(os.fspath(temporary), compression=packing)
        return TableWriter(_layout(format, file, safe_csv, about), target, temporary)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _forget_stdout() -> None:
    """Python flushes standard output once more when it ends; that must not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- layouts -----------------------------------------------------------------------------------------------------------


class Layout(ABC):
    """How rows become bytes of ``file``."""

    n_escaped = 0  # texts that a spreadsheet would have taken for formulas

    def __init__(self, file: Any) -> None:
        self.file = file

    @abstractmethod
    def write(self, frame: pandas.DataFrame) -> None: ...

    def finish(self) -> None:  # noqa: B027  most have nothing more to write
        """What stands at the end of the file."""


class Delimited(Layout):
    """Numbers with all their digits, and nothing where a value is missing."""

    def __init__(self, file: Any, delimiter: str, safe: bool) -> None:
        super().__init__(file)
        self._delimiter = delimiter
        self._safe = safe
        self._header = True

    def write(self, frame: pandas.DataFrame) -> None:
        header = io.StringIO()
        table = _arrow(frame)
        names = pa.array(table.column_names, TEXT)
        if self._safe:
            table = pa.table([self._escaped(column) for column in table.columns], names=table.column_names)
            names = self._escaped(names) if self._header else names
        if self._header:
            csv.writer(header, delimiter=self._delimiter, lineterminator="\n").writerow(names.to_pylist())
            self._header = False
        self.file.write(header.getvalue().encode("utf-8") + self._rows(table))

    def _escaped(self, column: Any) -> Any:
        """With an apostrophe before what a spreadsheet would take for a formula."""
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if not is_text(column.type):
            return column
        formulas = pc.match_substring_regex(column, FORMULA)
        self.n_escaped += pc.sum(formulas).as_py() or 0
        text = column.cast(TEXT)
        return pc.if_else(formulas, pc.binary_join_element_wise(pa.scalar("'", TEXT), text, pa.scalar("", TEXT)), text)

    def _rows(self, table: pa.Table) -> bytes:
        try:
            return self._quoted(table, "none")
        except pa.ArrowInvalid:  # some text needs quotes; pyarrow then gives them to all
            return self._quoted(table, "needed")

    def _quoted(self, table: pa.Table, quotes: str) -> bytes:
        buffer = io.BytesIO()
        options = pa.csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=quotes)
        pa.csv.write_csv(table, buffer, options)
        return buffer.getvalue()


class JsonLines(Layout):
    """One object for each row; null where a value is missing or not finite."""

    def write(self, frame: pandas.DataFrame) -> None:
        names = [str(name) for name in frame.columns]
        columns = [column.to_pylist() for column in _arrow(frame).columns]
        lines = [
            json.dumps(dict(zip(names, map(_finite, row), strict=True)), ensure_ascii=False, default=str) + "\n"
            for row in zip(*columns, strict=True)
        ]
        self.file.write("".join(lines).encode("utf-8"))


class Batched(Layout):
    """Parquet and Feather. The first block says what the columns' types are."""

    def __init__(self, file: Any, format: str, about: Mapping[str, str] | None) -> None:
        super().__init__(file)
        self._format, self._about = format, about
        self._writer: Any = None
        self._schema: pa.Schema | None = None

    def write(self, frame: pandas.DataFrame) -> None:
        table = _arrow(frame)
        if self._writer is None:
            make = pa.parquet.ParquetWriter if self._format == "parquet" else pa.ipc.new_file
            self._schema = table.schema.with_metadata(self._about)
            self._writer = make(self.file, self._schema)
        try:
            self._writer.write_table(table.cast(self._schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TableError(
                f"A column has another type than in the rows before, so it cannot be written: {error}"
            ) from error

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _layout(format: str, file: BinaryIO, safe_csv: bool, about: Mapping[str, str] | None = None) -> Layout:
    if format in ("csv", "tsv"):
        return Delimited(file, "," if format == "csv" else "\t", safe_csv)
    if safe_csv:
        raise TableError(f"Only CSV can be made safe from formulas; {format} keeps text apart from them by itself.")
    if format in ("parquet", "feather"):
        return Batched(file, format, about)
    if format == "jsonl":
        return JsonLines(file)
    raise TableError(f"There is no format {format!r}; a table is written as csv, tsv, parquet, feather or jsonl.")


def _arrow(frame: pandas.DataFrame) -> pa.Table:
    """Columns of several types become text; a column without any value, too."""
    columns = [as_arrow(frame.iloc[:, i]) for i in range(frame.shape[1])]
    filled = [column.cast(TEXT) if pa.types.is_null(column.type) else column for column in columns]
    return pa.table(filled, names=[str(name) for name in frame.columns])


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
