"""The benchmark of tables larger than memory, on small ones."""

from __future__ import annotations

import subprocess
import sys

import pyarrow.parquet
import pytest

from benchmarks.scale.fitting import run
from benchmarks.scale.limits import NoLimit, run_limited
from benchmarks.scale.table import make


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("scale")
    make(found, 52_000, 5)
    return found


def test_the_table_has_what_was_asked_for_and_is_made_once(folder):
    table = pyarrow.parquet.read_table(folder)
    assert table.shape == (52_000, 6)
    (file,) = folder.iterdir()
    before = file.stat().st_mtime_ns
    assert make(folder, 52_000, 5)["rows"] == 52_000 and file.stat().st_mtime_ns == before


@pytest.mark.parametrize("limit", [None, "4GB"])
def test_both_fits_tell_the_same_of_the_same_networks(limit, folder, tmp_path):
    asked = {
        "folder": str(folder),
        "scratch": str(tmp_path),
        "limit": limit,
        "members": 2,
        "epochs": 2,
        "threads": 1,
        "units": [32],
    }
    found = run(asked)
    assert found["rows"] == 52_000 and found["networks"] == 4  # two for all rows, and two that leave a fold out
    assert 0 < found["seconds_of_training"] < found["seconds"]
    assert found["rmse_of_the_truth"] < found["rmse"] < 1.3 and 0.85 < found["coverage_of_90"] < 0.95
    passes = 52_000 * 4 * 2
    assert found["row_passes_per_core_second"] == pytest.approx(passes / found["core_seconds_of_training"])


def test_a_process_beyond_its_limit_is_killed():
    take = "held = bytearray({}_000_000); held[::4096] = b'x' * len(held[::4096]); print(len(held))"
    try:
        assert run_limited([sys.executable, "-c", take.format(50)], 200_000_000).stdout == "50000000\n"
    except NoLimit as why:
        pytest.skip(str(why))
    with pytest.raises(subprocess.CalledProcessError, match="SIGKILL"):
        run_limited([sys.executable, "-c", take.format(400)], 200_000_000)
