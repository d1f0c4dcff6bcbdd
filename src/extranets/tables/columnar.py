"""Parquet and Arrow files, as a stream of record batches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet

from extranets.tables.errors import Source
from extranets.tables.headers import clean_names

BATCH_ROWS = 16_384
SAVED_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls the row names that it stores


class Columnar:
    """An open file of record batches."""

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch], source: Source) -> None:
        self._used = [name for name in schema.names if not SAVED_INDEX.fullmatch(name)]
        self.names = clean_names(self._used, source)
        self._batches = batches
        self._source = source

    def batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches:
                columns = [_plain(batch.column(name)) for name in self._used]
                yield pa.RecordBatch.from_arrays(columns, names=self.names)
        except (pa.ArrowInvalid, OSError) as error:
            raise self._source.error(f"it cannot be read to its end; it may be damaged: {error}") from error


def open_parquet(file: BinaryIO, source: Source) -> Columnar:
    try:
        parquet = pa.parquet.ParquetFile(file, pre_buffer=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise source.error(f"it is not a Parquet file: {error}") from error
    return Columnar(parquet.schema_arrow, parquet.iter_batches(BATCH_ROWS, use_threads=False), source)


def open_arrow_file(file: BinaryIO, source: Source) -> Columnar:
    """Arrow's file format, which is also Feather's."""
    try:
        reader = pa.ipc.open_file(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise source.error(f"it is not an Arrow or Feather file: {error}") from error
    batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    return Columnar(reader.schema, batches, source)


def open_arrow_stream(stream: Any, source: Source) -> Columnar:
    try:
        reader = pa.ipc.open_stream(pa.PythonFile(stream, mode="r"))
    except (pa.ArrowInvalid, OSError) as error:
        raise source.error(f"it is not an Arrow stream: {error}") from error
    return Columnar(reader.schema, iter(reader), source)


def _plain(column: pa.Array) -> pa.Array:
    """The values themselves, not codes of a dictionary: the dictionaries of two batches may differ."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
