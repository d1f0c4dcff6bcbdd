"""Rows of a fit are known again, and equal rows that chance explains are not taken for them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from extranets import ExtraNetsRegressor, PBPRegressor
from extranets.data import linear_process
from extranets.predictor.seen import SeenRows, row_numbers


@pytest.fixture(scope="module")
def table():
    return linear_process(400, random_state=0).split(200)


def columns(y):
    return y.reshape(len(y), -1)


def test_a_number_depends_on_every_value_and_its_place():
    X, y = np.arange(12.0).reshape(4, 3), np.arange(4.0)[:, None]
    numbers = row_numbers(X, y)
    assert len(set(numbers)) == 4
    for change in (lambda Z: Z[:, ::-1], lambda Z: Z + np.array([0, 0, 1e-5]), lambda Z: Z * 2):
        assert not np.isin(row_numbers(np.ascontiguousarray(change(X + 1)), y), row_numbers(X + 1, y)).any()
    assert not np.isin(row_numbers(X, y + 1), numbers).any()


def test_a_number_does_not_depend_on_how_a_value_is_stored():
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.zeros((50, 1))
    X[::2, 1] = 0.0
    for same in (X.astype(np.float32).astype(np.float64), sparse.csr_matrix(X), np.where(X == 0, -0.0, X)):
        np.testing.assert_array_equal(row_numbers(same, y), row_numbers(X, y))


def test_numbers_of_blocks_are_those_of_the_whole(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.zeros((50, 1))
    whole = row_numbers(X, y)
    monkeypatch.setattr("extranets._arrays.BLOCK_ROWS", 7)
    np.testing.assert_array_equal(row_numbers(X, y), whole)


def test_training_rows_are_refused_by_every_path(table):
    X, y, X_new, y_new = table
    model = PBPRegressor(max_iter=2, random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match=r"200 of 200 rows were in the fit: rows 0, 1, 2, 3, 4, \.\.\., .* cover less than"
    ):
        model.conformalize(X, y)
    with pytest.raises(ValueError, match=r"1 of 200 rows were in the fit: rows 7, counted from 0"):
        model.conformalize(np.insert(X_new[:-1], 7, X[3], axis=0), np.insert(y_new[:-1], 7, y[3]))
    model.conformalize(X, y + 1e-3)  # the same x with another target is another row
    model.conformalize(X_new, y_new)


def test_rows_of_weight_zero_were_not_seen(table):
    X, y = table[:2]
    weight = (np.arange(200) < 100).astype(float)
    model = PBPRegressor(max_iter=2, random_state=0).fit(X, y, weight)
    model.conformalize(X[100:], y[100:])
    with pytest.raises(ValueError, match="100 of 100 rows"):
        model.conformalize(X[:100], y[:100])


def test_a_new_fit_has_other_rows_and_a_file_keeps_them(table, tmp_path):
    import extranets

    X, y, X_new, y_new = table
    model = ExtraNetsRegressor(2, max_iter=2, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=3).fit(X, y).save(tmp_path / "model.xnet")
    for each in (model, extranets.load(tmp_path / "model.xnet")):
        with pytest.raises(ValueError, match="were in the fit"):
            each.conformalize(X, y)
    model.set_params(warm_start=False).fit(X_new, y_new).conformalize(X, y)


def test_equal_rows_that_chance_explains_are_taken():
    """Rows of two small numbers: some 3 of 4 have a twin, within training and in other tables of the same kind alike."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 10, size=(5, 200, 1)).astype(float), rng.integers(0, 15, size=(5, 200, 1)).astype(float)
    seen = SeenRows.of(X[0], y[0])
    assert 0.5 < seen.twins < 0.8
    for other in range(1, 5):
        assert np.isin(row_numbers(X[other], y[other]), seen.numbers).mean() > 0.4
        seen.refuse(X[other], y[other])
    with pytest.raises(ValueError, match=r"200 of 200 rows were in the fit \(by chance, about \d+ would"):
        seen.refuse(X[0], y[0])
