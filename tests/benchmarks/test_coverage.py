"""Processes whose truth is known, and what the defaults cover of them in every part."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.contest.records import Task, measure
from benchmarks.coverage.command import DEFAULTS, tasks
from benchmarks.coverage.processes import N_GROUPS, PROCESSES, TEST_ROWS, TRAINING_ROWS, load
from benchmarks.coverage.scores import scores
from benchmarks.coverage.show import sections, shares
from benchmarks.gaps.methods import Known

# What the defaults promise at 90 %, in points: as a whole, in each tail, in each third by width, and group by group.
NOMINAL = {"coverage": 90, "below": 5, "above": 5, "thirds": 90, "groups": 90}
PROMISED = {"coverage": 1.0, "below": 1.5, "above": 1.5, "thirds": 2.5, "groups": 3.0}
TABLES = 12


@pytest.mark.parametrize("process", PROCESSES)
def test_means_are_those_of_the_targets(process):
    """The error of 5,000 targets around their means has mean zero in every group, within four standard errors."""
    data = load(process, 0)
    assert data.X.shape[0] == len(data.y) == TRAINING_ROWS and len(data.X_test) == TEST_ROWS
    y, mean, group = data.y_test.T
    assert set(np.unique(group)) == set(range(N_GROUPS))
    for each in range(N_GROUPS):
        errors = (y - mean)[group == each]
        assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(len(errors))
    assert not np.array_equal(load(process, 1).y, data.y)


def test_scores_count_every_part():
    """Bounds of -1 and 1 around two groups of six rows, of which the wider half misses above."""
    y = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, -9.0])
    known = np.column_stack([y, np.zeros(12), np.repeat([0.0, 1.0], 6)])
    bounds = np.array([-1.0, 1.0])[None, :, None] * np.linspace(1, 2, 12)[:, None, None]
    found = scores(known, Known(np.full(12, 0.5), bounds, epistemic=np.arange(12.0)))
    assert (found["coverage"], found["below"], found["above"]) == pytest.approx((9 / 12, 1 / 12, 2 / 12))
    assert found["thirds"] == [1, 1, 0.25] and found["groups"] == [1, 0.5]
    assert found["squared_error"] == pytest.approx([0.25] * 3) and found["epistemic"] == [1.5, 5.5, 9.5]


def test_records_become_tables():
    record = {"dataset": "t3", "method": "stack", "coverage": 0.9, "below": 0.04, "above": 0.06, "thirds": [0.8, 0.9, 1.0],
              "groups": [0.9, 0.9], "variance": 2.0, "squared_error": [0.1, 0.2, 0.3], "epistemic": [0.1, 0.1, 0.1]}  # fmt: skip
    other = record | {"coverage": 0.92}
    covered, errors = sections([record, other, {"error": "no"} | record])
    assert covered.rows[0]["coverage"] == "91.0 ± 1.0" and covered.rows[0]["thirds"] == "80.0 / 90.0 / 100.0 ± 0.0"
    assert errors.rows[0]["epistemic"] == "50.0" and errors.rows[0]["ratio"] == "0.50"


def test_tasks_of_a_table_stand_together():
    assert tasks(["t3"], ["stack", "extra-nets"], 2)[:2] == [Task("t3", 0, "stack"), Task("t3", 0, "extra-nets")]


@pytest.mark.slow
@pytest.mark.parametrize("method", DEFAULTS)
@pytest.mark.parametrize("process", PROCESSES)
def test_defaults_cover_as_promised_in_every_part(process, method):
    """Means over 12 tables, within what is promised and two of their standard errors."""
    records = [
        measure(Task(process, seed, method), DEFAULTS[method], load(process, seed), scores) for seed in range(TABLES)
    ]
    for name, (means, errors) in shares(records).items():
        assert (np.abs(means - NOMINAL[name]) < PROMISED[name] + 2 * errors).all(), name
