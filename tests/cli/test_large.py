"""``extranets fit`` of tables that are read block by block."""

from __future__ import annotations

import json

import pandas
import pytest

from extranets.data import simulated_rents

QUICK = ("--method", "extra-nets", "--set", "n_estimators=3", "--set", "max_iter=2", "--set", "hidden_layer_sizes=8")


@pytest.fixture(scope="module")
def flats(tmp_path_factory):
    """A folder of two files, 51,000 rows together, and one file of them all."""
    folder = tmp_path_factory.mktemp("flats")
    frame = simulated_rents(51_000, random_state=0)
    (folder / "parts").mkdir()
    frame[:30_000].to_parquet(folder / "parts" / "a.parquet", index=False)
    frame[30_000:].to_csv(folder / "parts" / "b.csv", index=False)
    frame.to_parquet(folder / "all.parquet", index=False)
    return folder


def test_a_parquet_file_becomes_a_model_that_predicts(extranets, flats, tmp_path):
    command = (
        "fit",
        flats / "all.parquet",
        "-t",
        "rent",
        "--id",
        "flat",
        "--max-memory",
        "900MB",
        "--scratch",
        tmp_path,
    )
    done = extranets(*command, *QUICK, "-o", tmp_path / "model.xnet", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["n_rows"] == 51_000 and told["cross_validation"] is None
    assert 0.8 < told["held_out"]["coverage"] < 0.97
    assert [path.name for path in tmp_path.iterdir()] == ["model.xnet"]
    small = tmp_path / "new.csv"
    simulated_rents(50, random_state=1).to_csv(small, index=False)
    done = extranets("predict", tmp_path / "model.xnet", small, "-o", tmp_path / "found.csv")
    assert done.returncode == 0, done.stderr
    assert pandas.read_csv(tmp_path / "found.csv").shape[0] == 50


def test_files_of_several_kinds_must_hold_the_same_types(extranets, flats, tmp_path):
    done = extranets("fit", flats / "parts", "-t", "rent", *QUICK, "-o", tmp_path / "model.xnet")
    assert done.returncode == 3 and "b.csv, column 'area': it holds text, but numbers in" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--max-memory", "100MB"), 2, "--max-memory=100MB is too little for"),
        (("--max-memory", "much"), 2, "--max-memory must be a number of bytes, or a text such as '2GB'"),
        (("--max-memory", "4GB", "--checkpoint", "kept"), 2, "--checkpoint needs the table in memory"),
        (("--max-memory", "4GB", "--time", "listed"), 2, "--time needs the table in memory"),
        (("--max-memory", "4GB", "--features", "aera"), 2, "the table has no column aera. Did you mean area?"),
        (("--max-memory", "4GB", "--scratch", "/nowhere/at/all"), 2, "--scratch: there is no folder /nowhere/at/all"),
        (("--max-memory", "4GB", "--kind", "area=date"), 3, "is not a date"),
    ],
)
def test_what_cannot_be_had_is_one_message(here, flats, tmp_path, options, code, message):
    done = here("fit", flats / "all.parquet", "-t", "rent", *QUICK, "-o", tmp_path / "model.xnet", *options)
    assert done.returncode == code and message in " ".join(done.stderr.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []
