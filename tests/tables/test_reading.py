"""Tables from files: every format gives the same rows, and a file that is no table is refused with its name, row and column."""

from __future__ import annotations

import bz2
import gzip
import io
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extranets.tables import Schema, TableError, open_table, open_writer
from extranets.tables.values import TEXT, null_words

FRAME = pandas.DataFrame({"area": [50.5, 72.0, None], "city": ["Ulm", "Köln", None], "rooms": [2, 3, 4]})
CSV = FRAME.to_csv(index=False)


def read(path, **options):
    with open_table(path, **options) as reader:
        return reader.read()


def read_bytes(tmp_path, content, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(content)
    return read(path, **options)


def refusal(tmp_path, content, name="table.csv", **options):
    with pytest.raises(TableError) as caught:
        read_bytes(tmp_path, content, name, **options)
    assert name in str(caught.value)
    return str(caught.value)


def assert_is_frame(found):
    """The values of FRAME, whether they are still text or not. Excel counts the header as a row, too."""
    assert found.columns.tolist() == ["area", "city", "rooms"]
    np.testing.assert_array_equal(found["area"].astype(float), FRAME["area"])
    np.testing.assert_array_equal(found["rooms"].astype(float), FRAME["rooms"])
    assert found["city"].tolist()[:2] == ["Ulm", "Köln"]
    assert found["city"].isna().tolist() == [False, False, True]
    assert found.index.tolist() in ([1, 2, 3], [2, 3, 4])


# -- formats -----------------------------------------------------------------------------------------------------------


def ipc(table, make):
    sink = pa.BufferOutputStream()
    with make(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def as_parquet():
    sink = io.BytesIO()
    FRAME.set_index(pandas.Index(["p", "q", "r"])).to_parquet(sink)  # with an index of its own, which is not a column
    return sink.getvalue()


def as_excel():
    sink = io.BytesIO()
    FRAME.to_excel(sink, index=False)
    return sink.getvalue()


DICTIONARY = pa.table(
    {
        **{n: pa.array(FRAME[n], from_pandas=True) for n in ("area", "rooms")},
        "city": pa.array(["Ulm", "Köln", None]).dictionary_encode(),
    }
)
DICTIONARY = DICTIONARY.select(["area", "city", "rooms"])
FORMATS = {
    "table.csv": CSV.encode(),
    "table.tsv": FRAME.to_csv(index=False, sep="\t").encode(),
    "table.csv.gz": gzip.compress(CSV.encode()),
    "table.csv.bz2": bz2.compress(CSV.encode()),
    "table.csv.zst": pa.compress(CSV.encode(), "zstd").to_pybytes(),
    "table.parquet": as_parquet(),
    "table.feather": ipc(DICTIONARY, pa.ipc.new_file),
    "table.arrows": ipc(DICTIONARY, pa.ipc.new_stream),
    "table.xlsx": as_excel(),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_table(tmp_path, name):
    assert_is_frame(read_bytes(tmp_path, FORMATS[name], name))


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "table.tsv"])
def test_without_a_suffix_the_first_bytes_tell(tmp_path, name):
    assert_is_frame(read_bytes(tmp_path, FORMATS[name], "table"))


CHILD = """
import sys
from extranets.tables import open_table
with open_table("-") as reader:
    frame = reader.read()
    sys.stdout.write(f"{reader.name}|{frame['area'].iloc[1]}|{frame['city'].iloc[0]}|{len(frame)}|{frame.attrs['file']}")
"""


def test_standard_input():
    """A real pipe, which cannot seek and gives its bytes in pieces."""
    process = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(CSV[:3].encode())
    process.stdin.flush()
    out, _ = process.communicate(CSV[3:].encode())
    assert out.decode().split("|") == ["standard input", "72.0", "Ulm", "3", "standard input"]


class Drops(io.RawIOBase):
    """Gives seven bytes at a time and cannot seek, as a pipe may do it."""

    def __init__(self, content):
        self.content = io.BytesIO(content)

    def read(self, size=-1):
        return self.content.read(min(size, 7) if size >= 0 else 7)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "table.tsv"])
def test_standard_input_of_every_format(monkeypatch, name):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Drops(FORMATS[name])))
    found = read("-")
    assert_is_frame(found)
    assert found.attrs["file"] == "standard input"


def test_blocks_number_their_rows(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "".join(f"{i},x\n" for i in range(1, 251)))
    with open_table(path) as reader:
        assert reader.columns == ["a", "b"]
        blocks = list(reader.blocks(100))
    assert [len(block) for block in blocks] == [100, 100, 50]
    assert blocks[1].index[0] == 101 and blocks[1]["a"].iloc[0] == "101"
    assert all(block.attrs["file"] == str(path) for block in blocks)
    assert pandas.concat(blocks)["a"].tolist() == [str(i) for i in range(1, 251)]


def test_blocks_cross_the_batches_of_all_formats(tmp_path):
    frame = pandas.DataFrame({"a": np.arange(50_000.0), "b": ["x", "y"] * 25_000})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=7_000)
    frame.to_csv(tmp_path / "t.csv", index=False)
    for name in ("t.parquet", "t.csv"):
        with open_table(tmp_path / name) as reader:
            blocks = list(reader.blocks(12_345))
        assert [len(block) for block in blocks] == [12_345] * 4 + [620]
        joined = pandas.concat(blocks)
        assert joined["a"].astype(float).tolist() == frame["a"].tolist()
        assert joined.index.tolist() == list(range(1, 50_001))


def test_fields_stay_as_they_are(tmp_path):
    """A column that is kept beside predictions is written as in the file, even where its words stand for missing values."""
    found = read_bytes(tmp_path, b"a,b\nNA,x\n ? ,-\n.,\nnone,n.k.\n", na_values=["n.k."])
    assert found["a"].tolist() == ["NA", " ? ", ".", "none"]
    assert found["b"].tolist()[:2] == ["x", "-"] and found["b"].isna().tolist() == [False, False, True, True]
    pandas.DataFrame({"a": ["NA", "", None]}).to_parquet(tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet")
    assert found["a"].tolist()[:2] == ["NA", ""] and found["a"].isna().tolist() == [False, False, True]


def test_gaps_are_found_in_every_encoding(tmp_path):
    for encoding in ("utf-8", "cp1252"):
        found = read_bytes(tmp_path, "a,b\n,Köln\nKöln,\n".encode(encoding))
        assert found["a"].isna().tolist() == [True, False] and found["b"].isna().tolist() == [False, True]
        assert found["a"].iloc[1] == "Köln"


@pytest.mark.parametrize("kind", ["int64", "int32", "uint64"])
def test_whole_numbers_keep_their_digits_beside_a_gap(tmp_path, kind):
    high = int(np.iinfo(kind).max)
    table = pa.table({"id": pa.array([high, None, high - 1], kind), "x": [1.0, 2.0, 3.0]})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    with open_table(tmp_path / "t.parquet") as reader, open_writer(tmp_path / "out.csv") as writer:
        for block in reader.blocks(2):
            writer.write(block)
    assert (tmp_path / "out.csv").read_text() == f"id,x\n{high},1\n,2\n{high - 1},3\n"
    found = read(tmp_path / "t.parquet")
    features = Schema.learn(found).read(found)
    assert features["id"].isna().tolist() == [False, True, False] and features["id"].iloc[0] == float(high)


def test_codes_are_the_same_texts_in_every_format(tmp_path):
    """Such as phone numbers, with more digits than a double has; pandas makes doubles of whole numbers beside a gap."""
    codes = [4006381333931, 4006381333948, 49123456789, 2**53, 2**53 + 1, 10**10, 7]
    table = pandas.DataFrame({"code": codes, "gappy": [*codes[:3], None, *codes[5:], 1]})
    assert table["gappy"].dtype == np.float64
    table.astype("Int64").to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    table.to_feather(tmp_path / "t.feather")
    table.to_excel(tmp_path / "t.xlsx", index=False)
    decimal = pa.table({"code": pa.array(codes, pa.decimal128(18, 0)), "gappy": pa.array(table["gappy"])})
    pa.parquet.write_table(decimal, tmp_path / "decimal.parquet")
    for name in ("t.csv", "t.parquet", "t.feather", "t.xlsx", "decimal.parquet"):
        with open_table(tmp_path / name) as reader:
            frame = reader.read()
        code, gappy = Schema.learn(frame, {"code": "category", "gappy": "category"}).columns
        if name != "t.xlsx":  # Excel stores doubles
            assert set(code.categories) == set(map(str, codes)), name
        assert set(code.categories) >= set(map(str, [*codes[:3], 10**10, 7])), name
        assert set(gappy.categories) == set(map(str, [*codes[:3], *codes[5:], 1])), name
        assert Schema.learn(frame, na_values=["7"]).read(frame)["code"].tolist()[:3] == codes[:3]
        assert Schema.learn(frame, na_values=["7"]).columns[0].n_missing == 1, name


def test_quotes_hold_delimiters_newlines_and_quotes(tmp_path):
    found = read_bytes(tmp_path, b'a,"b, c"\r\n"1\n2","say ""x"""\r\n3,4\r\n')
    assert found.columns.tolist() == ["a", "b, c"]
    assert found["a"].tolist() == ["1\n2", "3"] and found["b, c"].tolist() == ['say "x"', "4"]


def test_a_quote_within_a_field_before_a_gap(tmp_path):
    assert read_bytes(tmp_path, b'a,b\n1"x,\n')["a"].tolist() == ['1"x']


def test_empty_lines_are_not_rows(tmp_path):
    found = read_bytes(tmp_path, b"\na,b\n\n1,2\n\n\n3,4\n\n")
    assert found["a"].tolist() == ["1", "3"]
    assert "row 2: it has 1 field," in refusal(tmp_path, b"\na,b\n\n1,2\n\n3\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_empty_lines_of_a_single_column_are_missing_values(tmp_path, newline):
    found = read_bytes(tmp_path, newline.join(["", "x", "1", "", "3"]).encode())
    assert found["x"].isna().tolist() == [False, True, False] and found["x"].tolist()[::2] == ["1", "3"]
    assert found.index.tolist() == [1, 2, 3]


@pytest.mark.parametrize("start", [b"sep=;\r\n", b"\xef\xbb\xbfsep=;\n", b'"sep=;"\n', b"SEP=;\n\n"])
def test_excel_names_the_delimiter(tmp_path, start):
    found = read_bytes(tmp_path, start + b"a,1,x;b,2\r\n3,4,x;5,6\r\n7,8,x;9,0\r\n")
    assert found.columns.tolist() == ["a,1,x", "b,2"] and found["b,2"].tolist() == ["5,6", "9,0"]
    assert found.attrs["semicolons"]
    assert "row 1: it has 1 field," in refusal(tmp_path, start + b"a;b\n1\n")
    assert "empty" in refusal(tmp_path, start)
    assert read_bytes(tmp_path, start + b"a;b\n1;2\n", delimiter="|").columns.tolist() == ["a;b"]


def test_utf16_before_the_line_that_names_the_delimiter(tmp_path):
    assert read_bytes(tmp_path, "sep=\t\na\tb\n1\t2\n".encode("utf-16")).columns.tolist() == ["a", "b"]


def test_names_are_trimmed_and_given_where_they_lack(tmp_path):
    assert read_bytes(tmp_path, b", area ,rent\n0,1,2\n").columns.tolist() == ["unnamed_1", "area", "rent"]


# -- delimiters and encodings ------------------------------------------------------------------------------------------

CELL = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=8)
# No signs whose bytes can follow another letter's in UTF-8: "ß€" in Windows-1252 is also a letter of N'Ko in UTF-8.
CELL_1252 = st.text(st.sampled_from("aZ 09.-,;|\t\"'äéÿß\n"), max_size=8)
NAME = st.text(st.sampled_from("abcäß_ "), min_size=1, max_size=6).map(lambda text: "c" + text.strip())


def tables(cells):
    return st.lists(NAME, min_size=2, max_size=4, unique=True).flatmap(
        lambda names: st.tuples(
            st.just(names), st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), min_size=1, max_size=6)
        )
    )


def check_round_trip(folder, names, rows, delimiter, encoding):
    path = folder / "table.csv"
    pandas.DataFrame(rows, columns=names).to_csv(
        path, index=False, sep=delimiter, encoding=encoding, lineterminator="\n"
    )
    with open_table(path) as reader:
        assert reader.columns == names
        found = reader.read()
    given_ = pandas.DataFrame(rows, columns=names)
    for name in names:
        for cell, wanted in zip(found[name], given_[name], strict=True):
            assert pandas.isna(cell) or cell == wanted


@settings(max_examples=40, deadline=None)
@given(tables(CELL), st.sampled_from(",;\t|"), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_delimiter_and_unicode_are_found_out(tmp_path_factory, table, delimiter, encoding):
    check_round_trip(tmp_path_factory.mktemp("t"), *table, delimiter, encoding)


@settings(max_examples=40, deadline=None)
@given(tables(CELL_1252), st.sampled_from(",;\t|"))
def test_windows_1252_is_found_out(tmp_path_factory, table, delimiter):
    check_round_trip(tmp_path_factory.mktemp("t"), *table, delimiter, "cp1252")


def test_an_encoding_that_shows_late(tmp_path):
    """The first letter beyond ASCII comes long after the bytes that are looked at when the file is opened."""
    rows = b"1,Ulm\n" * 400_000
    found = read_bytes(tmp_path, b"a,b\n" + rows + "2,Köln\n".encode("cp1252"))
    assert found["b"].iloc[-1] == "Köln"
    message = refusal(tmp_path, "a,b\n3,Köln\n".encode() + rows + "2,Köln\n".encode("cp1252"))
    assert "row 400002, column 'b'" in message and "UTF-8" in message


def test_a_damaged_header(tmp_path):
    message = refusal(tmp_path, "köln,straße,".encode() + "größe\n1,2,3\n".encode("cp1252"))
    assert "row 0 (the header), column '3'" in message


def test_bytes_that_windows_1252_does_not_know(tmp_path):
    assert read_bytes(tmp_path, b"a,b\n1,\x81\xe9\n2,\x80\n")["b"].tolist() == ["\x81é", "€"]


def test_a_given_delimiter_or_encoding_is_not_guessed(tmp_path):
    assert read_bytes(tmp_path, b"a;b,c\n1;2,3\n", delimiter=",").columns.tolist() == ["a;b", "c"]
    assert read_bytes(tmp_path, "a,b\n1,é\n".encode(), encoding="latin-1")["b"].tolist() == ["Ã©"]
    assert read_bytes(tmp_path, "a,b\n1,日本\n".encode("shift-jis"), encoding="shift-jis")["b"].tolist() == ["日本"]


def test_one_column(tmp_path):
    assert read_bytes(tmp_path, b"a\n1\n2\n")["a"].tolist() == ["1", "2"]


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_ragged_rows(tmp_path):
    rows = b"1,2,3\n" * 70_000
    message = refusal(tmp_path, b"a,b,c\n" + rows + b"1,2\n" + rows)
    assert (
        "row 70001" in message
        and "it has 2 fields, but the header has 3" in message
        and "column 'c' is missing" in message
    )
    message = refusal(tmp_path, b"a,b,c\n" + rows + b'"x\ny",2,3\n1,2,3,4\n')
    assert "row 70002" in message and "it has 4 fields, but the header has 3" in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["empty"]),
        (b" \n\n", ["empty"]),
        (b"\xef\xbb\xbf", ["empty"]),
        (b"a,b\n", ["2 columns", "no rows"]),
        (b"a,b,a, b\n1,2,3,4\n", ["'a' (columns 1, 3)", "'b' (columns 2, 4)"]),
        (b"a,b\n1,2\n3,\"4\n5,6\n", ["row 2", "column 'b'", "quote"]),
        (b"a,b\n1,2\n\"" + b"3,4\n" * 600_000, ["after row 1", "quote"]),
        (b"MZ\x90\x00\x03\x00", ["do not occur in text"]),
        (b"a,b\n1,\xff\n", ["row 1", "column 'b'", "UTF-8"], ),
    ],
)  # fmt: skip
def test_refusals_say_what_is_wrong(tmp_path, content, words):
    message = refusal(tmp_path, content, **({"encoding": "utf-8"} if b"\xff" in content else {}))
    for word in words:
        assert word in message


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrows", "t.xlsx"])
def test_files_that_are_not_what_they_are_called(tmp_path, name):
    assert "it is not a" in refusal(tmp_path, b"junk" * 100, name)


def test_damaged_files(tmp_path):
    rows = b"a,b\n" + b"".join(b"%d,%d\n" % (i * 7919 % 10**6, i) for i in range(400_000))
    assert "Truncated" in refusal(tmp_path, gzip.compress(rows, 1)[:-1000], "t.csv.gz")
    assert "unpacked" in refusal(tmp_path, gzip.compress(rows[:100_000])[:1000], "t.csv.gz")
    content = bytearray(FORMATS["table.parquet"])
    content[4:40] = b"\xff" * 36
    assert "damaged" in refusal(tmp_path, bytes(content), "t.parquet")


def test_unknown_binary_files_and_encodings(tmp_path):
    assert ".parquet" in refusal(tmp_path, b"\x00\x01\x02", "t.xyz")
    assert "utf-16" in refusal(tmp_path, "a,b\n1,2\n".encode("utf-16-le"))
    assert "not ascii" in refusal(tmp_path, b"a\n\xff\n", encoding="ascii")
    assert "after row" in refusal(tmp_path, b"a,b\n" + b"1,2\n" * 400_000 + b"\xff,2\n", encoding="ascii")


def test_excel_refusals(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    path = tmp_path / "t.xlsx"
    book.save(path)
    with pytest.raises(TableError, match=r"t\.xlsx: it is empty"):
        read(path)
    for row in (["a", "b"], [1, 2], [None, None], [3, 4, 5]):
        book.active.append(row)
    book.save(path)
    with pytest.raises(TableError, match=r"t\.xlsx, row 4: .* 'b'"):
        read(path)


def test_rows_of_a_sheet_have_the_numbers_that_excel_shows(tmp_path):
    """Blank rows above and below the header are not rows of the table, just as empty lines of a CSV file are not."""
    import openpyxl

    book, path = openpyxl.Workbook(), tmp_path / "t.xlsx"
    cells = {"A3": "a", "B3": "b", "A4": 1, "B4": 2, "A7": "much", "B7": 4, "A8": 5, "B8": 6}
    for place, value in cells.items():
        book.active[place] = value
    book.save(path)
    found = read(path)
    assert found.columns.tolist() == ["a", "b"] and found.index.tolist() == [4, 7, 8]
    with open_table(path) as reader:
        assert [block.index.tolist() for block in reader.blocks(2)] == [[4, 7], [8]]
    with pytest.raises(TableError, match=r"t\.xlsx, row 7, column 'a': 'much' is not a number"):
        Schema.learn(found, {"a": "number"})


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        open_table(tmp_path / "nowhere.csv")


def test_a_zip_archive_is_called_one(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", CSV)
    for name in ("t.zip", "t.csv", "t"):
        assert "it is a zip archive" in refusal(tmp_path, (tmp_path / "t.zip").read_bytes(), name)


def test_an_open_document_is_called_one(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    assert "save it as .xlsx or .csv" in refusal(tmp_path, (tmp_path / "t.ods").read_bytes(), "t.ods")


def test_a_delimiter_is_one_character_and_an_encoding_is_known(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    for sign in ("", ",,", "§", '"'):
        with pytest.raises(ValueError, match="single ASCII character"):
            open_table(tmp_path / "t.csv", delimiter=sign)
    for encoding in ("utf-99", "base64", "rot13"):
        with pytest.raises(TableError, match=f"no encoding of text '{encoding}'"):
            open_table(tmp_path / "t.csv", encoding=encoding)


def test_nulls_in_slices_of_text():
    """Blocks of a table are slices. Releases of Arrow before 24 go wrong with them where ``if_else`` is used."""
    text = pa.array(["zz", "NA", " ? ", None, "", "n.k.", "end"], TEXT)
    for begin in range(7):
        for n in range(8 - begin):
            part = text.slice(begin, n)
            found = null_words(part, ["NA", "n.k."])
            found.validate(full=True)
            assert found.to_pylist() == [None if word in ("NA", "n.k.") else word for word in part.to_pylist()]


def test_a_ragged_row_that_is_not_utf_8_is_named(tmp_path, capfd):
    path = tmp_path / "t.csv"
    path.write_bytes("ort,zahl\nBonn,2\nKöln,1,2\n".encode("cp1252"))
    with pytest.raises(TableError, match=r"row 2: it has 3 fields, but the header has 2.*K.ln,1,2"):
        read(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("sign", [b"\xe9", b'"', b"\0"])
def test_excel_may_not_name_every_delimiter(tmp_path, sign):
    (tmp_path / "t.csv").write_bytes(b"sep=" + sign + b"\na,b\n1,2\n")
    with pytest.raises(TableError):
        read(tmp_path / "t.csv")
