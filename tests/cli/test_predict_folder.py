"""``extranets predict`` of a folder: a folder of whole files comes out, whatever happens on the way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas
import pyarrow.parquet
import pytest

import extranets as package
from extranets.data import simulated_rents

N_FILES, N_ROWS = 6, 500
STOPPED = """
import os, signal
from extranets.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
replace, named = os.replace, []

def stopped(*paths):  # the fourth file is written, but does not have its name yet
    if len(named) == 3:
        os.kill(os.getpid(), {number})
    named.append(replace(*paths))

os.replace = stopped
main()
"""


@pytest.fixture(scope="module")
def flats():
    return simulated_rents(N_FILES * N_ROWS, random_state=3).assign(year=np.arange(N_FILES * N_ROWS) // (2 * N_ROWS))


@pytest.fixture(scope="module")
def original(flats, tmp_path_factory):
    """Two files for each year; the year is in the folders' names alone."""
    folder = tmp_path_factory.mktemp("folders") / "sales"
    for number in range(N_FILES):
        rows = flats[number * N_ROWS : (number + 1) * N_ROWS]
        below = folder / f"year={rows['year'].iloc[0]}"
        below.mkdir(parents=True, exist_ok=True)
        rows.drop(columns="year").to_parquet(below / f"{number}.parquet", index=False, row_group_size=200)
    return folder


@pytest.fixture
def sales(original, tmp_path):
    shutil.copytree(original, tmp_path / "sales")
    return tmp_path / "sales"


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def contents(folder):
    return {name: (folder / name).read_bytes() for name in files_in(folder)}


def test_each_file_becomes_one_with_the_models_predictions(rents, here, sales, flats, tmp_path):
    out = tmp_path / "out"
    done = here("predict", rents / "model.xnet", sales, "--keep", "year", "--coverage", 0.8, "-o", out)
    assert done.returncode == 0 and f"{N_FILES * N_ROWS:,} rows" in done.stderr
    assert files_in(out) == files_in(sales)
    assert pyarrow.parquet.read_schema(out / "year=0/0.parquet").names[:2] == ["flat", "prediction"]
    found = pandas.read_parquet(out).sort_values("flat")  # which finds the year in the folders' names
    model = package.load(rents / "model.xnet")
    np.testing.assert_allclose(found["prediction"], model.predict(flats), rtol=1e-12)
    np.testing.assert_allclose(found[["lower_80", "upper_80"]], model.predict_interval(flats, 0.8), rtol=1e-12)
    assert found["year"].astype(int).tolist() == flats["year"].tolist()


def test_blocks_and_files_of_other_kinds_give_the_same(rents, here, sales, tmp_path, monkeypatch):
    assert here("predict", rents / "model.xnet", sales, "-o", tmp_path / "whole").returncode == 0
    file = sales / "year=1" / "3.parquet"
    pandas.read_parquet(file).to_csv(file.with_name("3.csv.gz"), index=False)
    file.unlink()
    monkeypatch.setattr("extranets.tables.regressor.MOST_BLOCK_ROWS", 77)
    assert here("predict", rents / "model.xnet", sales, "-o", tmp_path / "blocks").returncode == 0
    assert files_in(tmp_path / "whole") == files_in(tmp_path / "blocks")
    one, other = (pandas.read_parquet(tmp_path / name) for name in ("whole", "blocks"))
    pandas.testing.assert_frame_equal(one, other, rtol=1e-12)


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_after_a_stop_the_same_command_goes_on(rents, here, sales, tmp_path, number):
    out, undisturbed = tmp_path / "out", tmp_path / "undisturbed"
    command = ["predict", str(rents / "model.xnet"), str(sales), "-o"]
    assert here(*command, undisturbed).returncode == 0
    stopped_run = [sys.executable, "-c", STOPPED.format(number=int(number)), *command, str(out)]
    done = subprocess.run(stopped_run, capture_output=True, text=True)
    stopped = contents(out)
    whole = {name: content for name, content in stopped.items() if name.endswith(".parquet")}
    assert len(whole) == 3 and whole.items() <= contents(undisturbed).items()
    if number == signal.SIGINT:  # a process that is killed cannot remove its temporary file itself
        assert stopped == whole
        assert done.returncode == 130 and "3 of 6 files are written. The same command goes on" in done.stderr
    else:
        assert done.returncode == -number and len(stopped) == 4
    times = {name: (out / name).stat().st_mtime_ns for name in whole}
    done = here(*command, out)
    assert done.returncode == 0 and f"of {N_FILES} had been predicted before" in done.stderr
    assert contents(out) == contents(undisturbed)
    assert times == {name: (out / name).stat().st_mtime_ns for name in whole}


def test_a_corrupt_row_group_is_named_and_its_file_is_not_written(rents, here, sales, tmp_path):
    out, bad = tmp_path / "out", sales / "year=1" / "3.parquet"
    sound, command = bad.read_bytes(), ("predict", rents / "model.xnet", sales, "-o", out)
    begin = pyarrow.parquet.ParquetFile(bad).metadata.row_group(1).column(0).data_page_offset
    bad.write_bytes(sound[:begin] + b"\xff" * 40 + sound[begin + 40 :])
    done = here(*command)
    assert done.returncode == 3 and f"{bad}: it cannot be read beyond row 200" in done.stderr
    assert "row group 1" in done.stderr and "Traceback" not in done.stderr
    assert files_in(out) == ["year=0/0.parquet", "year=0/1.parquet", "year=1/2.parquet"]
    bad.write_bytes(sound)
    assert here(*command).returncode == 0 and files_in(out) == files_in(sales)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="area"), "it has other columns than"),
        (lambda frame: frame.assign(more=1), "also has 'more'"),
        (lambda frame: frame.assign(year=1), "the column 'year' is in the file and in the name of its folder"),
    ],
)
def test_another_schema_is_named_before_anything_is_written(rents, here, sales, tmp_path, change, message):
    bad = sales / "year=1" / "3.parquet"
    change(pandas.read_parquet(bad)).to_parquet(bad)
    done = here("predict", rents / "model.xnet", sales, "-o", tmp_path / "out")
    assert done.returncode == 3 and f"{bad}: " in done.stderr and message in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_value_that_does_not_fit_is_named_by_file_and_row(rents, here, sales, tmp_path):
    bad = sales / "year=1" / "3.parquet"
    frame = pandas.read_parquet(bad)
    frame["area"] = frame["area"].astype(str)
    frame.loc[300, "area"] = "much"
    frame.to_parquet(bad)
    done = here("predict", rents / "model.xnet", sales, "-o", tmp_path / "out")
    assert done.returncode == 3 and f"{bad}, row 301, column 'area': 'much' is not a number" in done.stderr
    assert len(files_in(tmp_path / "out")) == 3


def test_a_table_that_changed_is_predicted_again_and_only_that(rents, here, sales, tmp_path):
    out, changed = tmp_path / "out", sales / "year=1" / "3.parquet"
    command = ("predict", rents / "model.xnet", sales, "-o", out)
    assert here(*command).returncode == 0
    before = contents(out)
    pandas.read_parquet(changed)[:100].to_parquet(changed)
    done = here(*command)
    assert "5 files of 6 had been predicted before" in done.stderr and "100 rows" in done.stderr
    assert {name for name, content in contents(out).items() if content != before[name]} == {"year=1/3.parquet"}


def test_files_of_other_options_are_replaced_on_request_only(rents, here, sales, tmp_path):
    out = tmp_path / "out"
    (out / "year=0").mkdir(parents=True)
    (out / "year=0" / "0.parquet").write_text("somebody's")
    command = ("predict", rents / "model.xnet", sales, "-o", out)
    done = here(*command)
    assert done.returncode == 3 and "--overwrite" in done.stderr
    assert files_in(out) == ["year=0/0.parquet"]
    assert here(*command, "--overwrite").returncode == 0
    before = contents(out)
    assert here(*command, "--components").returncode == 3 and contents(out) == before
    assert here(*command, "--components", "--overwrite").returncode == 0
    assert "aleatoric_sd" in pandas.read_parquet(out).columns


def test_tables_without_rows_get_no_file(rents, here, sales, tmp_path):
    empty = sales / "year=1" / "3.parquet"
    pandas.read_parquet(empty)[:0].to_parquet(empty)
    done = here("predict", rents / "model.xnet", sales, "-o", tmp_path / "out")
    assert done.returncode == 0 and "1 table without rows got no file" in done.stderr
    assert len(files_in(tmp_path / "out")) == N_FILES - 1


def test_folders_that_cannot_be_written_are_refused_before_any_work(rents, here, sales, tmp_path):
    model = rents / "model.xnet"
    before = files_in(tmp_path)
    for options, code, message in (
        ([], 2, "name the folder that the predictions"),
        (["-o", tmp_path / "out", "--json"], 2, "leave out --json"),
        (["-o", tmp_path / "out", "--safe-csv"], 2, "leave out --safe-csv"),
        (["-o", tmp_path / "out", "--keep", "aera"], 2, "Did you mean area?"),
        (["-o", sales], 3, "a folder apart from that of the tables"),
        (["-o", sales / "predicted"], 3, "a folder apart from that of the tables"),
        (["-o", tmp_path], 3, "a folder apart from that of the tables"),
        (["-o", sales / "year=1" / "3.parquet"], 3, "is a file"),
    ):
        done = here("predict", model, sales, *options)
        assert done.returncode == code and message in " ".join(done.stderr.replace("│", " ").split()), done.stderr
    assert files_in(tmp_path) == before
    shutil.copy(sales / "year=1" / "3.parquet", sales / "year=1" / "3.pq")
    done = here("predict", model, sales, "-o", tmp_path / "out")
    assert done.returncode == 3 and "3.pq: its predictions would have the same name as those of" in done.stderr
