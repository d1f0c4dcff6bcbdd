"""The simulated YearPredictionMSD: its file is what the loader expects, and the whole path runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import year
from extranets.data.uci import DATASETS, available, read

SMALL = replace(DATASETS["year"], rows=120, n_train=100)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("uci")
    year.write(SMALL, path)
    return path


def test_the_file_is_found_and_read_back(folder):
    assert available(folder) == ("year",)
    table, made = read(SMALL, folder), year.simulate(SMALL)
    np.testing.assert_array_equal(table.X, made.X)
    np.testing.assert_array_equal(table.y, made.y)


def test_years_are_whole_and_depend_on_the_inputs():
    table = year.simulate(replace(SMALL, rows=20_000))
    assert (table.y == table.y.round()).all() and table.y.min() >= year.FIRST and table.y.max() <= year.LAST
    # The share of the signal is 36 / (36 + 81) = 0.31; the best linear function finds most of it.
    X = np.column_stack([np.ones(len(table.y)), table.X / table.X.std(axis=0)])
    fitted = X @ np.linalg.lstsq(X, table.y, rcond=None)[0]
    assert 0.1 < fitted.var() / table.y.var() < 0.32


def test_every_step_is_timed(folder):
    rows = year.measure(SMALL, folder, [3, 2], epochs=2, device="cpu")
    assert [row["what"].split()[0] for row in rows] == ["read", "fit", "predict", "fit", "predict"]
    assert (
        "120 x 90" in rows[0]["what"] and "100 rows, T = 2" in rows[1]["what"] and "20 rows, T = 3" in rows[4]["what"]
    )
    assert all(row["seconds"] > 0 for row in rows) and rows[4]["rmse"] > 0
