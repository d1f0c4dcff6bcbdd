"""Tables to files: whole or not at all, and back again without loss."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pandas
import pytest

from extranets.tables import TableError, open_table, open_writer, writing

BLOCK = pandas.DataFrame({"id": ["a", None, "c,d"], "value": [0.1 + 0.2, np.nan, 1e-300], "count": [1, 2, 3]})


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.csv.zst", "t.parquet", "t.feather"])
def test_blocks_come_back(tmp_path, name):
    with open_writer(tmp_path / name) as writer:
        for _ in range(2):
            assert writer.write(BLOCK)
    with open_table(tmp_path / name) as reader:
        found = reader.read()
    assert found["id"].fillna("nothing").tolist() == ["a", "nothing", "c,d"] * 2
    np.testing.assert_array_equal(found["value"].astype(float), np.tile(BLOCK["value"], 2))
    assert found["count"].astype(int).tolist() == [1, 2, 3] * 2
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_json_lines(tmp_path):
    with open_writer(tmp_path / "t.jsonl") as writer:
        writer.write(BLOCK.assign(value=[0.1 + 0.2, np.nan, np.inf]))
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert lines[0] == {"id": "a", "value": 0.1 + 0.2, "count": 1}
    assert lines[1]["value"] is None and lines[2]["value"] is None and lines[1]["id"] is None


def test_plain_text_has_no_quotes(tmp_path):
    with open_writer(tmp_path / "t.csv") as writer:
        writer.write(pandas.DataFrame({"a": ["x", "y"], 'b "c"': [1.5, None]}))
    assert (tmp_path / "t.csv").read_text() == 'a,"b ""c"""\nx,1.5\ny,\n'


def test_columns_of_several_types_become_text(tmp_path):
    with open_writer(tmp_path / "t.parquet") as writer:
        writer.write(pandas.DataFrame({"a": pandas.Series([1, "x", None], dtype=object), "b": [None, None, None]}))
        writer.write(pandas.DataFrame({"a": ["y"], "b": ["z"]}))
    found = pandas.read_parquet(tmp_path / "t.parquet")
    assert found["a"].dropna().tolist() == ["1", "x", "y"] and found["b"].iloc[3] == "z"


def test_after_an_error_the_old_file_is_there(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), open_writer(path) as writer:
        writer.write(BLOCK.assign(value=1 // len(path.read_text()[3:])))
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_a_type_that_changes_is_refused(tmp_path):
    blocks = [pandas.DataFrame({"a": [1.0]}), pandas.DataFrame({"a": ["x"]})]
    with pytest.raises(TableError, match="another type"), open_writer(tmp_path / "t.parquet") as writer:
        [writer.write(block) for block in blocks]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["t.xlsx", "t", "nowhere/t.csv", "."])
def test_places_that_cannot_be_written_to_are_refused(tmp_path, name):
    with pytest.raises(TableError):
        open_writer(tmp_path / name)


@pytest.mark.skipif(sys.platform == "win32", reason="makes a pipe")
def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "table.csv")
    with pytest.raises(OSError, match="is a pipe, a device or the like"):
        open_writer(tmp_path / "table.csv")
    assert stat.S_ISFIFO((tmp_path / "table.csv").stat().st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="whole paths are limited there")
def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path):
    path = tmp_path / ("t" * 251 + ".csv")
    with open_writer(path) as writer:
        writer.write(pandas.DataFrame({"a": [1]}))
    assert path.read_text() == "a\n1\n"


def test_unknown_format(tmp_path):
    with pytest.raises(TableError, match="no format 'xml'"):
        open_writer(tmp_path / "t.csv", format="xml")


CHILD = """
import pandas, sys
from extranets.tables import open_writer
blocks = 0
with open_writer("-", format={format!r}) as writer:
    while blocks < {most} and writer.write(pandas.DataFrame({{"a": range(10_000)}})):
        blocks += 1
print(blocks, file=sys.stderr)
"""


def test_standard_output():
    done = subprocess.run([sys.executable, "-c", CHILD.format(format="jsonl", most=2)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith('{"a": 0}\n{"a": 1}\n')
    assert len(done.stdout.splitlines()) == 20_000


def test_a_reader_that_stops_is_not_an_error():
    """As in ``extranets predict ... | head``."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(format=None, most=10_000)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "a\n"
    process.stdout.close()
    errors = process.stderr.read()
    assert process.wait() == 0
    assert int(errors) < 10_000  # standard error holds only the number of blocks; and it stopped early


def test_a_writer_that_is_never_used_leaves_nothing(tmp_path):
    """As when a signal ends the program between the opening and the ``with``."""
    writer = open_writer(tmp_path / "out.csv")
    assert len(list(tmp_path.iterdir())) == 1
    del writer
    assert list(tmp_path.iterdir()) == []


def test_a_layout_that_cannot_be_made_leaves_nothing(tmp_path, monkeypatch):
    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, "_layout", fails)
    with pytest.raises(KeyboardInterrupt):
        open_writer(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


FORMULAS = ['=HYPERLINK("http://x")', "+1", "-x", "@SUM(1)", "\tx", "\r=1", "\uff1d1"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
@pytest.mark.parametrize("kind", ["object", "string", "category"])
def test_safe_csv_puts_an_apostrophe_before_formulas_in_text_and_nowhere_else(tmp_path, name, kind):
    harmless = ["a=1", "'=1", "", None, "1-2"]
    table = pandas.DataFrame({"=id": pandas.Series([*FORMULAS, *harmless], dtype=kind), "value": -1.5, "count": -3})
    with open_writer(tmp_path / name, safe_csv=True) as writer:
        writer.write(table)
        writer.write(table[-5:])
    assert writer.n_escaped == len(FORMULAS) + 1  # and the name of a column
    found = pandas.read_csv(tmp_path / name, sep="\t" if name == "t.tsv" else ",", keep_default_na=False)
    expected = [*(f"'{text}" for text in FORMULAS), *(text or "" for text in harmless)]
    assert [text.replace("\n", "\r") for text in found["'=id"]] == [*expected, *expected[-5:]]
    assert set(found["value"]) == {-1.5} and set(found["count"]) == {-3}


def test_without_safe_csv_text_is_written_as_it_is(tmp_path):
    with open_writer(tmp_path / "t.csv") as writer:
        writer.write(pandas.DataFrame({"=id": ["=1+1"]}))
    assert (tmp_path / "t.csv").read_text() == "=id\n=1+1\n" and writer.n_escaped == 0


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.jsonl"])
def test_safe_csv_is_for_csv(tmp_path, name):
    with pytest.raises(TableError, match="Only CSV"):
        open_writer(tmp_path / name, safe_csv=True)
    assert list(tmp_path.iterdir()) == []
