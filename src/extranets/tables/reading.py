"""Tables from files or standard input, as data frames: all at once, or block by block."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import pandas
import pyarrow as pa
import pyarrow.compute as pc

from extranets.tables.columnar import open_arrow_file, open_arrow_stream, open_parquet
from extranets.tables.delimited import DelimitedText
from extranets.tables.delimiters import check_delimiter
from extranets.tables.errors import NoRowsError, Source
from extranets.tables.excel import Workbook
from extranets.tables.streams import Prefixed, look, open_bytes, seekable, unpacked
from extranets.tables.values import TEXT, is_text, null_where

if TYPE_CHECKING:
    from typing_extensions import Self

BLOCK_ROWS = 65_536
SUFFIXES = {
    ".csv": "text", ".tsv": "text", ".txt": "text", ".tab": "text", ".dat": "text", ".data": "text",
    ".parquet": "parquet", ".pq": "parquet",
    ".feather": "arrow", ".arrow": "arrow", ".ipc": "arrow", ".arrows": "arrow",
    ".xlsx": "excel", ".xlsm": "excel",
}  # fmt: skip
PACKED_SUFFIXES = {".gz", ".bz2", ".zst"}
ARROW_FILE, ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"
ARCHIVE = b"PK\x03\x04"
OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis"  # with which its archive begins
WORKBOOK = (b"[Content_Types].xml", b"docProps/", b"xl/worksheets/")  # a workbook is an archive that has one of these
STARTS = {b"PAR1": "parquet", ARROW_FILE: "arrow", ARROW_STREAM: "arrow", ARCHIVE: "excel"}

INTEGERS = {
    pa.int8(): pandas.Int8Dtype(), pa.int16(): pandas.Int16Dtype(), pa.int32(): pandas.Int32Dtype(),
    pa.int64(): pandas.Int64Dtype(), pa.uint8(): pandas.UInt8Dtype(), pa.uint16(): pandas.UInt16Dtype(),
    pa.uint32(): pandas.UInt32Dtype(), pa.uint64(): pandas.UInt64Dtype(),
}  # fmt: skip

Frames = Callable[[int], Iterator[pandas.DataFrame]]


@dataclass
class TableReader:
    """An open table, read once from front to back. Made by :func:`open_table`; close it, or use it in a ``with``.

    Attributes
    ----------
    name : str
        What messages call the file.
    columns : list of str
    """

    source: Source
    columns: list[str]
    _frames: Frames
    _files: ExitStack
    _numbered: bool = False  # the frames know the numbers of their rows

    @property
    def name(self) -> str:
        return self.source.file

    def blocks(self, n_rows: int = BLOCK_ROWS) -> Iterator[pandas.DataFrame]:
        """Data frames of ``n_rows`` rows, the last one shorter. Their index counts the rows below the header from 1; the rows of
        an Excel sheet have the numbers that Excel shows.
        """
        begin = 1
        for frame in self._frames(n_rows):
            if not self._numbered:
                frame.index = pandas.RangeIndex(begin, begin + len(frame))
            frame.attrs.update(file=self.source.file, semicolons=self.source.semicolons)
            begin += len(frame)
            yield frame
        if begin == 1:
            raise NoRowsError(str(self.source.error(f"it has a header with {len(self.columns)} columns, but no rows.")))

    def read(self) -> pandas.DataFrame:
        """All rows as one data frame."""
        return next(self.blocks(sys.maxsize))

    def close(self) -> None:
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    na_values: Sequence[str] = (),
) -> TableReader:
    """Open a table: CSV (compressed or not), Parquet, Arrow, Feather or Excel.

    The suffix says what it is and, where that says nothing, the first bytes. Fields of a CSV file stay the text that they are,
    "NA" as well: what stands for a missing value is up to :class:`Schema` and :func:`take_target`. Empty ones are missing.

    Parameters
    ----------
    path : path of a file, or ``"-"`` for standard input
    delimiter : str, optional
        Of a CSV file. Found out if not given: comma, semicolon, tab or bar.
    encoding : str, optional
        Of a CSV file. Found out if not given: UTF-8, UTF-16 with a mark, or else Windows-1252.
    na_values : sequence of str
        Texts that are read as missing values, in every column.

    Raises
    ------
    TableError
        If the file is empty or not a table, or names a column twice; and, while reading, if a row is ragged or damaged.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "flats.csv")
    ...     _ = path.write_text("area;rent\\n50;700,50\\n72;\\n")
    ...     with open_table(path) as reader:
    ...         table = reader.read()
    >>> table["rent"].isna().tolist(), table.loc[1, "rent"]
    ([False, True], '700,50')
    """
    with ExitStack() as files:
        stream, name = open_bytes(path)
        if name != "standard input":
            files.enter_context(stream)
        source = Source(name)
        content = unpacked(look(stream), source)
        kind = _kind(path, content.head, source)
        if kind == "text":
            sign = None if delimiter is None else check_delimiter(delimiter)
            text = DelimitedText(content, source, sign, encoding)
            source = replace(source, semicolons=text.delimiter == ";")
            names, frames = text.names, frames_of(text, na_values)
        elif kind == "excel":
            book = Workbook(files.enter_context(seekable(content, path)), source)
            names, frames = book.names, book.frames
        else:
            table = _open_columnar(kind, content, path, source, files)
            names, frames = table.names, frames_of(table, na_values)
        return TableReader(source, names, frames, files.pop_all(), _numbered=kind == "excel")


def _kind(path: str | os.PathLike[str], head: bytes, source: Source) -> str:
    """What a file is by its suffix and, if that is unknown, by its first bytes."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    while suffixes and suffixes[-1] in PACKED_SUFFIXES:
        suffixes.pop()
    known = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if head.startswith(ARCHIVE) and OPEN_DOCUMENT in head:
        raise source.error("it is an OpenDocument file, which is not read; save it as .xlsx or .csv.")
    if known != "excel" and head.startswith(ARCHIVE) and not any(part in head for part in WORKBOOK):
        raise source.error(
            "it is a zip archive, which is not read; unpack it first, or compress the table with gzip instead."
        )
    if known is not None:
        return known
    for start, kind in STARTS.items():
        if head.startswith(start):
            return kind
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise source.error(f"it is not one of the files that can be read: {', '.join(SUFFIXES)}.")
    return "text"


def _open_columnar(kind: str, content: Prefixed, path: Any, source: Source, files: ExitStack) -> Any:
    if kind == "arrow" and content.head.startswith(ARROW_STREAM):
        return open_arrow_stream(content, source)
    file = files.enter_context(seekable(content, path))
    return open_parquet(file, source) if kind == "parquet" else open_arrow_file(file, source)


def frames_of(table: Any, na_values: Sequence[str]) -> Frames:
    def frames(n_rows: int) -> Iterator[pandas.DataFrame]:
        for block in _rechunked(table.batches(), n_rows):
            columns = [_null_missing(column, na_values) for column in block.columns] if na_values else block.columns
            # Without types of pandas' own, one gap would make floats of whole numbers, which lose digits.
            yield pa.table(columns, names=table.names).to_pandas(date_as_object=False, types_mapper=INTEGERS.get)

    return frames


def _rechunked(batches: Iterator[pa.RecordBatch], n_rows: int) -> Iterator[pa.Table]:
    """Tables of ``n_rows`` rows; the last one is shorter."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        while count >= n_rows:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, n_rows)
            waiting, count = table.slice(n_rows).to_batches(), count - n_rows
    if count:
        yield pa.Table.from_batches(waiting)


def _null_missing(column: pa.ChunkedArray, na_values: Sequence[str]) -> pa.ChunkedArray | pa.Array:
    if not is_text(column.type):
        return column
    text = pc.cast(column, TEXT).combine_chunks()
    return null_where(text, pc.is_in(pc.utf8_trim_whitespace(text), pa.array(na_values, TEXT)))
