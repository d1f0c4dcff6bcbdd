"""Parquet and Arrow files, as a stream of record batches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet

from extranets._warnings import warn_user
from extranets.tables.errors import Source, TableWarning
from extranets.tables.headers import clean_names

BATCH_ROWS = 16_384
BUFFER = 1 << 20  # bytes that are read of a column at a time: else all of a row group, however large
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
SAVED_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls the row names that it stores


class Columnar:
    """An open file of record batches."""

    def __init__(
        self, schema: pa.Schema, batches: Iterator[pa.RecordBatch], source: Source, n_rows: int | None = None
    ) -> None:
        self._used = [name for name in schema.names if not SAVED_INDEX.fullmatch(name)]
        self.names = clean_names(self._used, source)
        self._batches = batches
        self._source = source
        self._n_rows = n_rows  # that the file says it has

    def batches(self) -> Iterator[pa.RecordBatch]:
        count = 0
        try:
            for batch in self._batches:
                count += batch.num_rows
                columns = [_plain(batch.column(name)) for name in self._used]
                yield pa.RecordBatch.from_arrays(columns, names=self.names)
        except (pa.ArrowInvalid, OSError) as error:
            raise self._source.error(f"it cannot be read beyond row {count:,}; it may be damaged: {error}") from error
        if self._n_rows not in (None, count):
            raise self._source.error(f"{count:,} rows were read, but it says that it has {self._n_rows:,}.")


def open_parquet(file: BinaryIO, source: Source) -> Columnar:
    try:
        parquet = pa.parquet.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER)
    except (pa.ArrowInvalid, OSError) as error:
        raise source.error(f"it is not a Parquet file: {error}") from error
    return Columnar(parquet.schema_arrow, _row_groups(parquet), source, parquet.metadata.num_rows)


def _row_groups(parquet: pa.parquet.ParquetFile) -> Iterator[pa.RecordBatch]:
    for number in range(parquet.num_row_groups):
        try:
            yield from parquet.iter_batches(BATCH_ROWS, row_groups=[number], use_threads=False)
        except (pa.ArrowInvalid, OSError) as error:
            raise pa.ArrowInvalid(f"row group {number}: {error}") from error


def open_arrow_file(file: BinaryIO, source: Source) -> Columnar:
    """Arrow's file format, which is also Feather's."""
    try:
        reader = pa.ipc.open_file(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise source.error(f"it is not an Arrow or Feather file: {error}") from error
    batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    return Columnar(reader.schema, batches, source)


def open_arrow_stream(stream: Any, source: Source) -> Columnar:
    tail = Tail(stream)
    try:
        reader = pa.ipc.open_stream(pa.PythonFile(tail, mode="r"))
    except (pa.ArrowInvalid, OSError) as error:
        raise source.error(f"it is not an Arrow stream: {error}") from error
    return Columnar(reader.schema, _to_its_end(reader, tail, source), source)


class Tail:
    """A stream that keeps the last bytes that were read."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self.last = b""
        self._stream = stream

    def read(self, size: int) -> bytes:
        piece = bytes(self._stream.read(size))
        self.last = (self.last + piece)[-len(END_OF_STREAM) :]
        return piece


def _to_its_end(batches: Any, tail: Tail, source: Source) -> Iterator[pa.RecordBatch]:
    """The batches; then whether the stream has ended, as only its mark can tell."""
    yield from batches
    if tail.last != END_OF_STREAM:
        message = "it ends without the mark of a finished stream; if it was cut off, rows are missing."
        warn_user(str(source.error(message)), TableWarning)
    elif tail.read(1):
        raise source.error("something follows the end of its stream, perhaps a second one. Read them one by one.")


def _plain(column: pa.Array) -> pa.Array:
    """The values themselves, not codes of a dictionary: the dictionaries of two batches may differ."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
