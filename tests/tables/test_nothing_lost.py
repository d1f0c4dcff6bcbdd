"""Rows of a file are read, or their loss is told: row counts that can be had another way, and what readers leave out."""

from __future__ import annotations

import io
import re
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest

from extranets.tables import TableError, TableWarning, open_table

N_ROWS = 60
SHEET = "xl/worksheets/sheet1.xml"


def read(path):
    with open_table(path) as reader:
        return reader.read()


def numbered_sheet():
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    for row in range(N_ROWS):
        book.active.append([row, f"t{row}"])
    return book


def edited(path, book, edit):
    """Save a workbook whose first sheet's XML is changed."""
    plain = io.BytesIO()
    book.save(plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, edit(content) if name == SHEET else content)
    return path


def refusal(path):
    with pytest.raises(TableError) as caught:
        read(path)
    return str(caught.value)


# -- sheets ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [b"A1:B4", b"A1:A61", b"A1", b"A1:XFD1048576"])
def test_the_stated_size_of_a_sheet_is_not_believed(tmp_path, size):
    path = edited(
        tmp_path / "t.xlsx", numbered_sheet(), lambda xml: re.sub(rb'(<dimension ref=)"[^"]*"', rb'\1"%s"' % size, xml)
    )
    found = read(path)
    assert found["a"].tolist() == list(range(N_ROWS)) and found["b"].iloc[-1] == f"t{N_ROWS - 1}"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (rb'<row r="10"', rb'<row r="9"', "row 9: it comes after row 9, or is there twice"),
        (rb'<row r="10"', rb'<row r="99"', "row 11: it comes after row 99"),
        (rb'<row r="61"', rb'<row r="999999999"', "row 999999999: a sheet has 1,048,576 rows at most"),
        (rb'(<c r="A10".*?</c>)(<c r="B10".*?</c>)', rb"\2\1", "row 10: its cell A10 is not where it should be"),
        (rb'<c r="B10"', rb'<c r="A10"', "row 10: its cell A10 is not where"),
        (rb'<c r="B10"', rb'<c r="ZZZ10"', "row 10: its cell ZZZ10 is not where"),
        (rb"</sheetData>", rb"", "a damaged one"),
    ],
)
def test_what_openpyxl_would_leave_out_is_refused(tmp_path, before, after, words):
    path = edited(tmp_path / "t.xlsx", numbered_sheet(), lambda xml: re.sub(before, after, xml))
    assert words in refusal(path)


def test_rows_and_cells_without_numbers_are_counted(tmp_path):
    path = edited(tmp_path / "t.xlsx", numbered_sheet(), lambda xml: re.sub(rb'<(row|c) r="\w+"', rb"<\1", xml))
    assert read(path)["a"].tolist() == list(range(N_ROWS))


def test_a_formula_without_a_result_is_not_a_gap(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [3, "=A2+1"]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert "row 3: the formula in the cell of column B has no stored result" in refusal(tmp_path / "t.xlsx")
    with_result = edited(tmp_path / "t.xlsx", book, lambda xml: re.sub(rb"</f><v ?/>", rb"</f><v>4</v>", xml))
    assert read(with_result)["b"].tolist() == [2, 4]
    empty_text = edited(tmp_path / "t.xlsx", book, lambda xml: re.sub(rb'<c r="B3"', rb'<c r="B3" t="str"', xml))
    assert read(empty_text)["a"].tolist() == [1, 3]


def test_values_in_other_sheets_are_told(tmp_path, recwarn):
    book = numbered_sheet()
    book.create_sheet("empty")
    book.save(tmp_path / "t.xlsx")
    assert len(read(tmp_path / "t.xlsx")) == N_ROWS and not recwarn
    book.create_sheet("more").append([1])
    book.save(tmp_path / "t.xlsx")
    with pytest.warns(TableWarning, match=r"only its first sheet, 'Sheet', is read; .* in 'more'"):
        assert len(read(tmp_path / "t.xlsx")) == N_ROWS


def test_an_archive_that_is_a_bomb_is_not_unpacked(tmp_path):
    """Two GB of blanks in two MB, where openpyxl would read all texts into memory."""
    book = numbered_sheet()
    book.save(tmp_path / "t.xlsx")
    piece = b" " * (1 << 20)
    with (
        zipfile.ZipFile(tmp_path / "t.xlsx", "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("xl/bomb.xml", "w", force_zip64=True) as bomb,
    ):
        for _ in range(1025):
            bomb.write(piece)
    assert "it would unpack to 1,0" in refusal(tmp_path / "t.xlsx")


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('1,"oak\n2,elm\n3,"ash"\n4,fir\n5,yew\n', "row 1, column 'b'"),
        ('1,oak\n2,"elm\n3,ash"\n4,fir\n', "row 2, column 'b'"),
        ('"1,oak\n2,elm\n"3,ash\n4,fir\n', "row 1, column 'a'"),
        ('1,"oak\r\n2,elm"\r\n4,fir\r\n', "row 1, column 'b'"),
    ],
)
def test_rows_within_a_quoted_value_are_told(tmp_path, content, place):
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + content.encode())
    with pytest.warns(TableWarning, match=f"{place}: the value spans . lines that look like rows") as caught:
        read(tmp_path / "t.csv")
    assert len(caught) == 1


def test_text_of_several_lines_is_text(tmp_path, recwarn):
    (tmp_path / "t.csv").write_bytes(b'a,b,c\n1,"Main Street 5\nUlm, Germany",2\n"x\n\ny",3,4\n5,"6""\n7""",8\n')
    assert len(read(tmp_path / "t.csv")) == 3 and not recwarn


# -- Arrow -------------------------------------------------------------------------------------------------------------


def stream_of(n_batches):
    table, sink = pa.table({"a": np.arange(100.0)}), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for _ in range(n_batches):
            writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_a_stream_that_was_cut_off_between_batches(tmp_path):
    """One batch less is a valid stream but for the mark at its end."""
    path, end = tmp_path / "t.arrows", 8
    path.write_bytes(stream_of(2)[:-end])
    with pytest.warns(TableWarning, match=r"t\.arrows: it ends without the mark of a finished stream"):
        assert len(read(path)) == 200


def test_a_second_stream_behind_the_first_is_not_left_out(tmp_path):
    path = tmp_path / "t.arrows"
    path.write_bytes(stream_of(2))
    assert len(read(path)) == 200
    path.write_bytes(stream_of(2) + stream_of(1))
    assert "something follows the end of its stream" in refusal(path)


def test_the_rows_of_a_parquet_file_are_those_that_it_states(tmp_path):
    """A file whose footer states one row more than its pages have."""
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table({"a": np.arange(77)}), sink, compression="none", use_dictionary=False)
    content = sink.getvalue()
    footer = content[-8 - int.from_bytes(content[-8:-4], "little") :]
    rows, more = b"\x16\x9a\x01", b"\x16\x9c\x01"  # fields of an integer, 77 and 78, in Thrift's compact coding
    assert footer.count(rows) >= 2
    begin = len(content) - len(footer)
    at = content.index(rows, begin)
    path = tmp_path / "t.parquet"
    path.write_bytes(content[:at] + more + content[at + len(more) :])
    assert "rows" in refusal(path)
