"""Columns of many levels: the tables, the ways to encode them, and what is printed."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import levels
from benchmarks.levels import FEW, LUMP, METHODS, SIMULATED
from benchmarks.ordinary import manifest
from extranets import ExtraNetsRegressor


def test_tables_that_judge_are_not_among_these():
    judges = {(table.package, table.name) for table in manifest.selected("judge")}
    assert not judges & {(package, item) for package, item, _, _ in levels.REAL.values()}


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_tables_are_the_same_every_time_and_split_without_overlap(name):
    split, again = (levels.load(name, 0) for _ in range(2))
    np.testing.assert_array_equal(split.y, again.y)
    assert not set(split.X.index) & set(split.X_test.index) and len(split.y_test) == len(levels.read(name)[1]) // 5


def test_lumped_levels_are_one():
    split = levels.load("simulated: slopes of shops", 0)
    model = METHODS["lumped"].make(0)
    model.model.model.set_params(estimator=ExtraNetsRegressor(2, (4,), max_iter=2, random_state=0, n_jobs=1))
    model.fit(split.X.iloc[:500], split.y[:500])
    (column,) = [column for column in model.model.model.schema_.columns if column.kind == "category"]
    assert len(column.categories) == FEW + 1 and LUMP in column.categories and not column.learned
    assert model.forecast(split.X_test).mean.shape == split.y_test.shape


def test_a_row_for_each_table_and_a_cell_for_each_method():
    done = {"dataset": "t", "split": 0, "method": "effects", "relative": 0.5, "fit_seconds": 2.0}
    peer = {**done, "method": "CatBoost", "relative": 1.0}
    second, third = {**done, "split": 1, "relative": 0.7}, {**done, "split": 2}
    (row,) = levels.rows([done, second, third, peer, {**peer, "split": 1}])
    assert row == {"table": "t", "effects": "0.600 (2.0 s)", "CatBoost": "1.000 (2.0 s)", "splits": 2}
    assert levels.rows([done, {**peer, "dataset": "u"}]) == []
