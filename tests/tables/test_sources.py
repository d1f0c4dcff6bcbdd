"""Tables that are read block by block: every kind gives the same rows, and names what is wrong with it."""

from __future__ import annotations

import dask.array
import dask.dataframe
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from extranets.tables import TableError, table_blocks

N_ROWS = 1000
FRAME = pandas.DataFrame(
    {
        "area": np.random.default_rng(0).normal(50, 10, N_ROWS).round(2),
        "city": np.array(["Ulm", "Bonn", None], dtype=object)[np.arange(N_ROWS) % 3],
        "year": np.arange(N_ROWS) // 250 + 2020,
    }
)


def file(folder, name, write):
    write(folder / name)
    return folder / name


def partitioned(folder):
    """Two files for every year; the year is in the folders' names alone."""
    for year, part in FRAME.groupby("year"):
        below = folder / f"year={year}"
        below.mkdir()
        for number, rows in enumerate(np.array_split(np.arange(len(part)), 2)):
            part.iloc[rows].drop(columns="year").to_parquet(below / f"{number}.parquet", index=False)
    (folder / "_metadata.parquet").write_text("left out, for its name")
    return folder


KINDS = {
    "csv": lambda folder: file(folder, "a.csv", lambda path: FRAME.to_csv(path, index=False)),
    "packed csv": lambda folder: file(folder, "a.csv.gz", lambda path: FRAME.to_csv(path, index=False)),
    "parquet": lambda folder: file(folder, "a.parquet", lambda path: FRAME.to_parquet(path, row_group_size=300)),
    "feather": lambda folder: file(folder, "a.feather", lambda path: FRAME.to_feather(path)),
    "folder": partitioned,
    "dataset": lambda folder: pyarrow.dataset.dataset(
        file(folder, "a.parquet", lambda path: FRAME.to_parquet(path, row_group_size=300))
    ),
    "partitioned dataset": lambda folder: pyarrow.dataset.dataset(partitioned(folder), partitioning="hive"),
    "dataset in memory": lambda folder: pyarrow.dataset.dataset(pa.Table.from_pandas(FRAME)),
    "dask": lambda folder: dask.dataframe.from_pandas(FRAME, npartitions=3),
    "pandas": lambda folder: FRAME,
    "polars": lambda folder: polars.from_pandas(FRAME),
    "arrow": lambda folder: pa.Table.from_pandas(FRAME),
}


def values(frame):
    city = frame["city"].astype(object).where(frame["city"].notna(), None)
    return frame["area"].astype(float).tolist(), city.tolist(), frame["year"].astype(int).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [77, 10_000])
def test_all_rows_come_twice_and_in_order(kind, n_rows, tmp_path):
    table = table_blocks(KINDS[kind](tmp_path))
    assert sorted(table.columns) == sorted(FRAME.columns)
    for _ in range(2):
        blocks = list(table.blocks(n_rows))
        assert max(map(len, blocks)) <= n_rows
        assert values(pandas.concat(blocks)) == values(FRAME)


@pytest.mark.parametrize("array", [np.asarray, lambda a: dask.array.from_array(a, chunks=(300, 1))])
def test_arrays_name_no_columns(array):
    table = table_blocks(array(FRAME[["area", "year"]].to_numpy()))
    assert table.columns == ["x0", "x1"] and not table.named
    assert pandas.concat(table.blocks(70))["x1"].tolist() == FRAME["year"].tolist()


def test_rows_are_numbered_within_their_file(tmp_path):
    blocks = list(table_blocks(partitioned(tmp_path)).blocks(100))
    assert {frame.attrs["file"] for frame in blocks} == {str(path) for path in tmp_path.rglob("[01].parquet")}
    assert [(frame.index[0], frame.index[-1]) for frame in blocks[:3]] == [(1, 100), (101, 125), (1, 100)]


def test_a_missing_value_in_a_folders_name(tmp_path):
    for key in ("__HIVE_DEFAULT_PARTITION__", "a%2Fb"):
        (tmp_path / f"k={key}").mkdir()
        (tmp_path / f"k={key}" / "a.csv").write_text("x\n1\n2\n")
    found = pandas.concat(table_blocks(tmp_path).blocks(10))["k"]
    assert found.isna().tolist() == [True, True, False, False] and found.tolist()[2:] == ["a/b", "a/b"]


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "there is no table in this folder"),
        (
            {"a": "x,y\n1,2\n", "b": "x,z\n1,2\n"},
            r"b\.csv: it has other columns than .*a\.csv: it lacks 'y' and also has 'z'",
        ),
        ({"a": "x,y\n1,2\n", "b": "x\n1\n"}, r"b\.csv: .* it lacks 'y'\."),
        ({"a": "x,y\n1,2\n", "b": ""}, r"b\.csv: it is empty"),
    ],
)
def test_folders_that_are_no_table_are_refused_by_file(files, message, tmp_path):
    write(tmp_path, **files)
    with pytest.raises(TableError, match=message):
        table_blocks(tmp_path)


def test_a_column_twice_is_refused(tmp_path):
    (tmp_path / "x=5").mkdir()
    (tmp_path / "x=5" / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(TableError, match="'x' is in the file and in the name of its folder, too"):
        table_blocks(tmp_path)


def test_other_orders_of_columns_are_the_same_table(tmp_path):
    write(tmp_path, a="x,y\n1,2\n", b="y,x\n4,3\n")
    assert pandas.concat(table_blocks(tmp_path).blocks(10))[["x", "y"]].to_numpy().tolist() == [["1", "2"], ["3", "4"]]


@pytest.mark.parametrize("as_dataset", [False, True])
def test_a_corrupt_file_in_the_middle_is_named(as_dataset, tmp_path):
    partitioned(tmp_path)
    bad = tmp_path / "year=2021" / "1.parquet"
    content = bytearray(bad.read_bytes())
    content[40:400] = b"\xff" * 360
    bad.write_bytes(content)
    table = table_blocks(pyarrow.dataset.dataset(tmp_path, partitioning="hive") if as_dataset else tmp_path)
    with pytest.raises(TableError, match=r"year=2021/1\.parquet: it cannot be read beyond row 0; it may be damaged"):
        list(table.blocks(100))


def test_standard_input_is_refused():
    with pytest.raises(TableError, match="can be read only once"):
        table_blocks("-")
