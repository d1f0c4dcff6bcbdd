"""Tables with regions left out: the regions are where they should be, and every method says what is scored."""

from __future__ import annotations

import os

import numpy as np
import pytest

from benchmarks.contest.records import Task, measure
from benchmarks.gaps import splits, tables
from benchmarks.gaps.command import tasks
from benchmarks.gaps.methods import METHODS
from benchmarks.gaps.priors import RandomisedPriors
from benchmarks.gaps.scores import scores
from benchmarks.gaps.show import sections

needs_data = pytest.mark.skipif(not os.environ.get("EXTRANETS_DATA"), reason="EXTRANETS_DATA is not set")


def inside(table, X):
    """Rows that lie where training rows may lie."""
    if table == "line":
        return (np.abs(X[:, 0]) >= 1.2) & (np.abs(X[:, 0]) <= 4)
    return (np.abs(X[:, 2] - 0.5) >= 0.15) & (X[:, 0] <= 0.8)


@pytest.mark.parametrize("table", splits.NOISE)
def test_zones_are_where_training_rows_are_not(table):
    known = splits.load(f"{table} home", 3)
    assert inside(table, known.X).all() and inside(table, known.X_test).all()
    for zone in splits.ZONES[1:]:
        found = splits.load(f"{table} {zone}", 3)
        np.testing.assert_array_equal(found.X, known.X)
        assert not inside(table, found.X_test).any()


@pytest.mark.parametrize("table", splits.NOISE)
def test_targets_are_in_units_of_training_and_their_means_are_known(table):
    """The noise's standard deviation from 1,000 rows, within four of its standard errors."""
    data = splits.load(f"{table} home", 0)
    assert data.y.mean() == pytest.approx(0, abs=1e-12) and data.y.std() == pytest.approx(1)
    observed, mean = data.y_test.T
    ratio = splits.load(f"{table} home", 0).y_test[:, 0].std()  # about one: in the same units
    assert 0.8 < ratio < 1.2
    noise = (observed - mean).std()
    signal = splits.line_signal if table == "line" else splits.surface_signal
    scale = signal(data.X_test).std() / mean.std()
    assert noise * scale == pytest.approx(splits.NOISE[table], rel=4 / np.sqrt(2 * len(mean)))


@needs_data
@pytest.mark.parametrize("feature", splits.features("concrete")[:2])
def test_parts_of_a_table_are_left_out_by_one_feature(feature):
    gap, tails = (splits.load(f"concrete {region}", feature) for region in splits.REGIONS)
    x = gap.X_test[:, feature]
    assert len(x) == pytest.approx(1030 / 3, abs=1)
    assert not ((gap.X[:, feature] > x.min()) & (gap.X[:, feature] < x.max())).any()
    x = tails.X_test[:, feature]
    assert ((x <= tails.X[:, feature].min()) | (x >= tails.X[:, feature].max())).all()


def test_constant_columns_are_not_left_out():
    assert splits.features("naval") == [0, 4, 10, 15] and splits.features("power") == [0, 1, 2, 3]


@pytest.mark.parametrize("method", ["stack", "Gaussian process", "MC dropout"])
def test_methods_say_what_is_scored(method):
    found = measure(Task("line outside", 0, method), METHODS[method], splits.load("line outside", 0), scores)
    assert found["log_likelihood"] > -50 and 0 <= found["coverage"] <= 1 and found["epistemic"] > 0
    assert found["squared_error"] < found["rmse"] ** 2


def test_records_become_tables():
    record = {"log_likelihood": -1.0, "coverage": 0.5, "interval_score": 2.0, "rmse": 1.0}
    known = {"squared_error": 0.5, "epistemic": 0.25}
    records = [
        {**record, **known, "dataset": "line gap", "split": 0, "method": "stack"},
        {**record, "dataset": "boston gap", "split": 0, "method": "stack"},
        {**record, "log_likelihood": -4.0, "dataset": "boston gap", "split": 4, "method": "stack"},
    ]
    found = dict(sections(records))
    assert found["Simulated tables: coverage of 90 % intervals"] == [{"method": "stack", "line gap": "0.50"}]
    assert {"method": "stack", "boston gap": "-2.50", "all": "-2.50"} in found[
        "Regions left out, gap: log likelihood, mean over features"
    ]
    assert found["Regions left out: log-likelihood of the worst feature"] == [
        {"method": "stack", "boston gap": "-4.00"}
    ]
    assert any("0.250 / 0.500" in row.values() for rows in found.values() for row in rows)


def test_tasks_of_a_split_stand_together():
    found = tasks(["yacht"], ["stack", "bootstrap"], [7])
    assert found[:2] == [Task("line home", 7, "stack"), Task("line home", 7, "bootstrap")]
    assert len(found) == 2 * (len(splits.simulated_names()) + 2 * 4 + 1)


@pytest.mark.parametrize("name", ["borehole", "circuit", "manifold"])
def test_inner_tables_have_parts_left_out(name):
    X, y = tables.table(name)
    feature = splits.features(name)[0]
    gap, tails, home = (splits.load(f"{name} {region}", feature) for region in splits.WHERE)
    low, high = gap.X_test[:, feature].min(), gap.X_test[:, feature].max()
    assert not ((gap.X[:, feature] > low) & (gap.X[:, feature] < high)).any()
    assert tails.X_test[:, feature].min() < tails.X[:, feature].min() < low
    assert ((home.X[:, feature] > low) & (home.X[:, feature] < high)).any()
    assert len(X) == len(y) == tables.N_ROWS


def test_priors_differ_between_members_and_are_added_back():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(60, 2))
    method = RandomisedPriors(0, size=1.0, length=0.5)
    method.fit(X, X[:, 0])
    far = np.full((1, 2), 5.0)
    first, second = method.members[:2]
    assert first.prior(far) != second.prior(far)
    assert first.predict(far) == first.network.predict(far) + first.prior(far)
    found = method.forecast(np.vstack([X[:1], far]))
    assert found.epistemic[1] > 4 * found.epistemic[0]
    lower, upper = found.bounds[:, :, 0].T
    assert (lower < found.mean).all() and (found.mean < upper).all()
