"""The ten data sets: the loader on small folders written here, its errors, and the splits against the stored ones."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from extranets.data import (
    DATASETS,
    DatasetInfo,
    available,
    cache_dir,
    data_dir,
    load,
    splits,
    stored_split,
    stored_splits,
)

ROWS = ["1.5\t2 3 9", "-4 5e1 6 9", "7 8 9 9"]
# The columns are out of order and one is unused, so that a loader that guesses is caught.
SMALL = DatasetInfo("small", "small-folder", rows=3, features=2, n_splits=1)
# The real description with fewer rows: its columns and file names are tested.
SONGS = replace(DATASETS["year"], rows=12, n_train=9)


def write_small(root: Path, rows: list[str] = ROWS, file: str = "data.txt") -> Path:
    folder = root / SMALL.folder / "data"
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / file, "\n".join(rows) + "\n")
    write_text(folder / "index_features.txt", "2\n0\n")
    write_text(folder / "index_target.txt", "1\n")
    return folder


def write_text(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_splits(folder: Path, train: str = "2 0", test: str = "1", count: str = "1") -> None:
    write_text(folder / "index_train_0.txt", train.replace(" ", "\n") + "\n")
    write_text(folder / "index_test_0.txt", test + "\n")
    write_text(folder / "n_splits.txt", count + "\n")


def real_data() -> Path:
    """The real folder. Skips without it: the data is not part of the project."""
    if not os.environ.get("EXTRANETS_DATA"):
        pytest.skip("EXTRANETS_DATA is not set: the real data sets are not available")
    return data_dir()


def real_folder(name: str) -> Path:
    folder = real_data() / DATASETS[name].folder / "data"
    if not folder.is_dir():
        pytest.skip(f"{folder} does not exist: this data set is not available")
    return folder


# --- what is known about the data sets


def test_ten_data_sets_are_listed_in_the_papers_order():
    names = ["boston", "concrete", "energy", "kin8nm", "naval", "power", "protein", "wine", "yacht", "year"]
    assert list(DATASETS) == names
    assert [DATASETS[n].rows for n in names] == [506, 1030, 768, 8192, 11934, 9568, 45730, 1599, 308, 515345]
    assert [DATASETS[n].features for n in names] == [13, 8, 8, 8, 16, 4, 9, 11, 6, 90]
    assert [DATASETS[n].n_splits for n in names] == [20, 20, 20, 20, 20, 20, 5, 20, 20, 1]


def test_the_list_cannot_be_changed():
    with pytest.raises(TypeError):
        DATASETS["mine"] = SMALL
    with pytest.raises(AttributeError):
        DATASETS["boston"].rows = 1


# --- where the data is


def test_argument_wins_over_environment(tmp_path, monkeypatch):
    (tmp_path / "argument").mkdir()
    (tmp_path / "environment").mkdir()
    monkeypatch.setenv("EXTRANETS_DATA", str(tmp_path / "environment"))
    assert data_dir() == tmp_path / "environment"
    assert data_dir(tmp_path / "argument") == tmp_path / "argument"
    assert data_dir(str(tmp_path / "argument")) == tmp_path / "argument"


@pytest.mark.parametrize("value", [None, ""])
def test_unset_folder_says_how_to_set_it(monkeypatch, value):
    monkeypatch.delenv("EXTRANETS_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("EXTRANETS_DATA", value)
    with pytest.raises(ValueError, match=r"Pass data_dir=\.\.\., or set the environment variable EXTRANETS_DATA"):
        data_dir()


def test_absent_folder_is_named_with_its_source(tmp_path, monkeypatch):
    monkeypatch.setenv("EXTRANETS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"nowhere \(EXTRANETS_DATA\) does not exist"):
        data_dir()
    with pytest.raises(FileNotFoundError, match=r"elsewhere \(data_dir\) does not exist"):
        data_dir(tmp_path / "elsewhere")


def test_cache_folder_is_an_argument_a_variable_or_in_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("EXTRANETS_CACHE", str(tmp_path / "variable"))
    assert cache_dir(tmp_path / "argument") == tmp_path / "argument"
    assert cache_dir() == tmp_path / "variable"
    monkeypatch.delenv("EXTRANETS_CACHE")
    assert cache_dir() == Path.home() / ".cache" / "extranets"


def test_load_looks_into_the_data_folder_then_into_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EXTRANETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EXTRANETS_DATA", raising=False)
    write_small(tmp_path / "cache", ["1 2 3"] * 3)
    assert load(SMALL).y.tolist() == [2, 2, 2]
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("EXTRANETS_DATA", str(tmp_path / "data"))
    assert load(SMALL).y.tolist() == [2, 2, 2]
    write_small(tmp_path / "data", ["1 5 3"] * 3)
    assert load(SMALL).y.tolist() == [5, 5, 5]
    with pytest.raises(FileNotFoundError, match="No data file for small"):
        load(SMALL, tmp_path)  # a folder that is named is the only one that counts


def test_available_names_what_load_would_find(tmp_path, monkeypatch):
    monkeypatch.setenv("EXTRANETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EXTRANETS_DATA", str(tmp_path / "data"))
    for place, name, file in [("cache", "boston", "data.txt"), ("data", "year", "YearPredictionMSD.txt.gz")]:
        folder = tmp_path / place / DATASETS[name].folder / "data"
        folder.mkdir(parents=True)
        write_text(folder / file, "1 2\n")
    (tmp_path / "data" / DATASETS["yacht"].folder / "data").mkdir(parents=True)  # a folder without a table
    assert available() == ("boston", "year")
    assert available(tmp_path / "data") == ("year",)


# --- reading


@pytest.mark.parametrize("file", ["data.txt", "data.txt.gz"])
@pytest.mark.parametrize("separator", [None, ","])
def test_load_takes_the_columns_of_the_index_files(tmp_path, file, separator):
    rows = ROWS if separator is None else [separator.join(row.split()) for row in ROWS]
    write_small(tmp_path, rows, file)
    table = load(SMALL, tmp_path)
    assert table.name == "small"
    np.testing.assert_array_equal(table.X, [[3, 1.5], [6, -4], [9, 7]])
    np.testing.assert_array_equal(table.y, [2, 50, 8])
    assert table.X.dtype == table.y.dtype == np.float64
    assert table.X.flags.c_contiguous


def test_load_finds_the_folder_by_environment(tmp_path, monkeypatch):
    write_small(tmp_path)
    monkeypatch.setenv("EXTRANETS_DATA", str(tmp_path))
    assert load(SMALL).X.shape == (3, 2)


def test_unused_column_may_hold_nan(tmp_path):
    write_small(tmp_path, [*ROWS[:2], "7 8 9 nan"])
    assert load(SMALL, tmp_path).X.shape == (3, 2)


# NumPy also warns about an empty file.
@pytest.mark.filterwarnings("ignore:loadtxt")
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROWS[0], "-4 5e1 6", ROWS[2]], r"data\.txt: row 2 has 3 columns, the rows before it have 4"),
        ([ROWS[0], "-4 5e1 6 9 1", ROWS[2]], r"data\.txt: row 2 has 5 columns, the rows before it have 4"),
        ([*ROWS[:2], "nan 8 9 9"], r"data\.txt: row 3, column 1: nan is not a finite number"),
        ([ROWS[0], "-4 inf 6 9", ROWS[2]], r"data\.txt: row 2, column 2: inf is not a finite number"),
        ([ROWS[0], "-4 5e1 six 9", ROWS[2]], r"data\.txt: row 2, column 3: 'six' is not a number"),
        (["1,2,3,9", "4,,6,9", "7,8,9,9"], r"data\.txt: row 2, column 2: '' is not a number"),
        ([], r"data\.txt: 0 rows, but small has 3"),
        (ROWS[:2], r"data\.txt: 2 rows, but small has 3"),
        ([*ROWS, ROWS[0]], r"data\.txt: 4 rows, but small has 3"),
        (["1 2", "3 4", "5 6"], r"name column 2, but the data has 2 columns"),
    ],
)
def test_faulty_table_is_refused_with_the_place(tmp_path, rows, message):
    write_small(tmp_path, rows)
    with pytest.raises(ValueError, match=message):
        load(SMALL, tmp_path)


def test_half_a_gzip_file_is_refused(tmp_path):
    folder = write_small(tmp_path, ROWS * 100, "data.txt.gz")
    whole = (folder / "data.txt.gz").read_bytes()
    (folder / "data.txt.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"data\.txt\.gz: cannot be unpacked"):
        load(SMALL, tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("index_features.txt", "0\n", "1 input columns, but small has 2"),
        ("index_features.txt", "0\n1\n", "column 1 is both an input and the target"),
        ("index_features.txt", "0\n-1\n", "name column -1"),
        ("index_features.txt", "0\nx\n", r"index_features\.txt: whole numbers expected"),
        ("index_target.txt", "1\n3\n", r"index_target\.txt: one column number expected, got 2"),
        ("index_target.txt", "", r"index_target\.txt: one column number expected, got 0"),
    ],
)
def test_faulty_column_index_is_refused(tmp_path, file, text, message):
    folder = write_small(tmp_path)
    write_text(folder / file, text)
    with pytest.raises(ValueError, match=message):
        load(SMALL, tmp_path)


@pytest.mark.parametrize("file", ["data.txt", "index_features.txt", "index_target.txt"])
def test_missing_file_is_named(tmp_path, file):
    folder = write_small(tmp_path)
    (folder / file).unlink()
    with pytest.raises(FileNotFoundError) as caught:
        load(SMALL, tmp_path)
    assert file in str(caught.value)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("function", [load, stored_splits])
def test_unknown_name_lists_the_known_ones(tmp_path, function):
    with pytest.raises(ValueError, match=r"Unknown data set 'bostn'\. Known names: boston, .*, year\."):
        function("bostn", tmp_path)


# --- the year data set, on a small table of its form: comma separated, target first, no index files


def write_songs(root: Path, file: str, n_columns: int = 91) -> np.ndarray:
    values = np.random.RandomState(0).normal(size=(SONGS.rows, n_columns)).round(5)
    values[:, 0] = 1990 + np.arange(SONGS.rows)
    folder = root / SONGS.folder / "data"
    folder.mkdir(parents=True)
    write_text(folder / file, "".join(",".join(f"{v:.10g}" for v in row) + "\n" for row in values))
    return values


@pytest.mark.parametrize("file", ["data.txt", "data.txt.gz", "YearPredictionMSD.txt", "YearPredictionMSD.txt.gz"])
def test_year_is_read_without_index_files(tmp_path, file):
    values = write_songs(tmp_path, file)
    table = load(SONGS, tmp_path)
    np.testing.assert_allclose(table.X, values[:, 1:], rtol=1e-9)
    np.testing.assert_array_equal(table.y, values[:, 0])


def test_year_uses_index_files_that_exist(tmp_path):
    values = write_songs(tmp_path, "data.txt")
    folder = tmp_path / SONGS.folder / "data"
    write_text(folder / "index_features.txt", "\n".join(map(str, range(90))))
    write_text(folder / "index_target.txt", "90")
    np.testing.assert_allclose(load(SONGS, tmp_path).y, values[:, 90], rtol=1e-9)


def test_year_with_a_column_too_few_is_refused(tmp_path):
    write_songs(tmp_path, "data.txt", n_columns=90)
    with pytest.raises(ValueError, match="89 input columns, but year has 90"):
        load(SONGS, tmp_path)


def test_year_row_count_is_checked(tmp_path):
    write_songs(tmp_path, "YearPredictionMSD.txt")
    with pytest.raises(ValueError, match="12 rows, but year has 515345"):
        load("year", tmp_path)


def test_year_has_one_split_by_position():
    [(train, test)] = DATASETS["year"].splits()
    np.testing.assert_array_equal(train, np.arange(463715))
    np.testing.assert_array_equal(test, np.arange(463715, 515345))


# --- splits


def test_splits_are_partitions_of_the_rows():
    for train, test in splits(25, 3):
        assert len(train) == 22  # round(22.5): to even, as Python and NumPy both do
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(25))


def test_splits_come_from_one_stream():
    three = [test.tolist() for _, test in splits(308, 3)]
    assert three[:2] == [test.tolist() for _, test in splits(308, 2)]
    assert three[0] != three[1]
    # The first test rows of the benchmark's yacht split 0.
    assert three[0][:5] == [121, 115, 286, 216, 264]


def test_splits_follow_the_benchmark_recipe():
    rng = np.random.RandomState(1)
    for train, test in splits(101, 4):
        order = rng.choice(range(101), 101, replace=False)
        np.testing.assert_array_equal(train, order[:91])
        np.testing.assert_array_equal(test, order[91:])


@pytest.mark.parametrize("n_rows", [4, 0, -3])
def test_too_few_rows_to_split_are_refused(n_rows):
    with pytest.raises(ValueError, match="n_rows must be at least 5"):
        next(splits(n_rows, 1))


def test_one_stored_split_is_read_or_absent(tmp_path):
    folder = write_small(tmp_path)
    assert stored_split(SMALL, 0, tmp_path) is None
    write_splits(folder)
    train, test = stored_split(SMALL, 0, tmp_path)
    assert (train.tolist(), test.tolist()) == ([2, 0], [1])
    assert stored_split(SMALL, 1, tmp_path) is None
    write_splits(folder, count="7")
    with pytest.raises(ValueError, match="but small has 1 splits"):
        stored_split(SMALL, 0, tmp_path)
    (folder / "index_test_0.txt").unlink()
    (folder / "n_splits.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"index_test_0\.txt is missing"):
        stored_split(SMALL, 0, tmp_path)


def test_stored_splits_are_read(tmp_path):
    write_splits(write_small(tmp_path))
    [(train, test)] = stored_splits(SMALL, tmp_path)
    assert (train.tolist(), test.tolist()) == ([2, 0], [1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": "2 1"}, "split 0 does not hold each of the 3 rows exactly once"),
        ({"train": "2 3"}, "split 0 does not hold each of the 3 rows exactly once"),
        ({"train": "2"}, "split 0 does not hold each of the 3 rows exactly once"),
        ({"train": "2 0.5"}, r"index_train_0\.txt: whole numbers expected"),
        ({"count": "20"}, r"n_splits\.txt: holds \[20\], but small has 1 splits"),
    ],
)
def test_faulty_stored_split_is_refused(tmp_path, change, message):
    write_splits(write_small(tmp_path), **change)
    with pytest.raises(ValueError, match=message):
        stored_splits(SMALL, tmp_path)


def test_missing_split_file_is_named(tmp_path):
    write_small(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"index_train_0\.txt is missing"):
        stored_splits(SMALL, tmp_path)


# --- the real files, where they are


@pytest.mark.parametrize("name", DATASETS)
def test_real_table_has_the_stated_shape(name):
    real_folder(name)
    table = load(name)
    assert table.X.shape == (DATASETS[name].rows, DATASETS[name].features)
    assert table.y.shape == (DATASETS[name].rows,)
    assert table.y.std() > 0


@pytest.mark.parametrize("name", DATASETS)
def test_regenerated_splits_equal_the_stored_ones(name):
    if not (real_folder(name) / "index_train_0.txt").is_file():
        pytest.skip(f"{name} has no stored splits")
    regenerated = list(DATASETS[name].splits())
    stored = stored_splits(name)
    assert len(regenerated) == len(stored) == DATASETS[name].n_splits
    for ours, theirs in zip(regenerated, stored, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])
