"""Tables that unpack to far more than their size, or promise what they do not have, are refused in little memory and time."""

from __future__ import annotations

import gzip
import io
import time
import tracemalloc
import zipfile
from contextlib import suppress

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest

from extranets.tables import TableError, open_table
from extranets.tables.delimited import DelimitedText
from extranets.tables.errors import Source
from extranets.tables.streams import look

PIECE = 1 << 20


def rows_of(path):
    with open_table(path) as reader:
        return sum(map(len, reader.blocks()))


def refusal(path, most=40 * PIECE):
    """The message; at most so many bytes were in memory before, where the file unpacks to much more."""
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    try:
        with pytest.raises(TableError) as caught:
            rows_of(path)
        assert tracemalloc.get_traced_memory()[1] + pa.total_allocated_bytes() - before < most
    finally:
        tracemalloc.stop()
    return str(caught.value)


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "piece", "words"),
    [
        (b"", b"a" * PIECE, "its first row is longer than 1 MB"),
        (b"", b"a," * (PIECE // 2), "its first row is longer than 1 MB"),
        (b"a,b\n", b"\n" * PIECE, "its first row is longer than 1 MB"),
        (b'a,b\n1,2\n3,"', b"x" * PIECE, "a row after row 1 is longer than 1 MB"),
        (b'a,b\n1,2\n3,"', b"4,5\n" * (PIECE // 4), "a row after row 1 is longer than 1 MB"),
        (b"", b"\0" * PIECE, "bytes that do not occur in text"),
    ],
    ids=["one name", "names", "empty lines", "one value", "rows in quotes", "zeros"],
)
def test_packed_text_that_never_ends_a_row(tmp_path, head, piece, words):
    """400 MB in 2 MB."""
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(400):
            file.write(piece)
    assert words in refusal(path)


class Slow(io.RawIOBase):
    """A value that goes on for ever, in reads that take a hundredth of a second. Counts them."""

    def __init__(self):
        self.count = 0

    def readable(self):
        return True

    def read(self, size=-1):
        self.count += 1
        time.sleep(0.01)
        return b'a,b\n1,2\n3,"' if self.count == 1 else b"x" * PIECE


def test_nothing_is_read_any_more_after_an_error():
    """A thread that goes on reading can abort Python when it ends."""
    stream = Slow()
    text = DelimitedText(look(stream, PIECE), Source("t.csv"), ",", "utf-8")
    with pytest.raises(TableError, match="longer than 1 MB"):
        list(text.batches())
    count = stream.count
    time.sleep(0.2)
    assert stream.count == count


# -- sheets ------------------------------------------------------------------------------------------------------------


def sheet(path, edit):
    """A workbook whose first sheet is written by ``edit(its XML, a file)``."""
    plain = io.BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.save(plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for name in source.namelist():
            with target.open(name, "w") as file:
                content = source.read(name)
                edit(content, file) if name.endswith("sheet1.xml") else file.write(content)
    return path


def test_a_sheet_of_many_empty_rows(tmp_path):
    """More than a million in 3 kB: no program writes so many."""

    def fill(xml, file):
        head, tail = xml.split(b"</sheetData>")
        file.write(head)
        for _ in range(12):
            file.write(b"<row/>" * 100_000)
        file.write(b"</sheetData>" + tail)

    assert "a sheet has 1,048,576 rows at most" in refusal(sheet(tmp_path / "t.xlsx", fill))


def test_entities_of_xml_are_not_multiplied(tmp_path):
    """A "billion laughs": each of eleven entities is ten times the one before. The parser gives up after a while."""
    names = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))

    def fill(xml, file):
        laughs = b"<sheetData><row><c t='inlineStr'><is><t>&a11;</t></is></c></row>"
        entities = f'<!DOCTYPE x [<!ENTITY a0 "lol">{names}]>'.encode()
        file.write(xml.replace(b"<worksheet", entities + b"<worksheet", 1).replace(b"<sheetData>", laughs))

    assert "a damaged one" in refusal(sheet(tmp_path / "t.xlsx", fill), 200 * PIECE)


def test_a_file_beside_the_table_is_not_read_through_xml(tmp_path):
    (tmp_path / "secret").write_text("42")

    def fill(xml, file):
        cell = b"<sheetData><row><c t='inlineStr'><is><t>&s;</t></is></c></row>"
        entity = f'<!DOCTYPE x [<!ENTITY s SYSTEM "{tmp_path / "secret"}">]>'.encode()
        file.write(xml.replace(b"<worksheet", entity + b"<worksheet", 1).replace(b"<sheetData>", cell))

    path = sheet(tmp_path / "t.xlsx", fill)
    assert "42" not in refusal(path)


# -- Parquet -----------------------------------------------------------------------------------------------------------


def test_a_parquet_file_of_one_repeated_value_is_read_in_blocks(tmp_path):
    """Twenty million rows in 2 kB: they are rows, so they are read, a block at a time."""
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(
        pa.table({"a": np.zeros(20_000_000, np.int8)}), path, compression="zstd", row_group_size=1 << 22
    )
    with open_table(path) as reader:
        sizes = [len(block) for block, _ in zip(reader.blocks(10_000), range(100), strict=False)]
    assert sizes == [10_000] * 100


@pytest.mark.parametrize("seed", range(60))
def test_damaged_parquet_files_are_refused_or_read(tmp_path, seed):
    """Bits flipped anywhere; nothing but a `TableError`, and no crash."""
    rng = np.random.default_rng(seed)
    sink = io.BytesIO()
    table = pa.table({"a": rng.normal(size=50), "b": [f"t{i % 7}" for i in range(50)], "c": rng.integers(0, 9, 50)})
    pa.parquet.write_table(table, sink, compression=["none", "zstd", "snappy"][seed % 3])
    content = bytearray(sink.getvalue())
    begin = len(content) // 2 if seed % 2 else 0  # the footer is in the second half
    for position in rng.integers(8 * begin, 8 * len(content), 1 + seed % 4):
        content[position // 8] ^= 1 << position % 8
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    with suppress(TableError):
        assert rows_of(path) == 50
