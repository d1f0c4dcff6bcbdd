"""A table's model catches up with rows whose targets have become known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas
import pytest

from extranets import ExtraNetsRegressor
from extranets.tables import TableRegressor, update_in_order
from extranets.tables.updating import blocks_in_order


def rows(n=500):
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"x": random.normal(size=n), "kind": random.choice(["a", "b"], n)})
    return table, table["x"].to_numpy() + np.where(np.arange(n) < 200, 0.3, 0.9) * random.normal(size=n)


def fitted():
    X, y = rows()
    network = ExtraNetsRegressor(4, (8,), max_iter=20, numeric_encoding=None, n_jobs=1, random_state=0)
    return TableRegressor(network).fit(X[:200], y[:200])


def test_it_is_one_update_after_the_other_each_judged_by_the_intervals_before_it():
    X, y = rows()
    model, other = fitted(), fitted()
    followed = update_in_order(model, X[200:], y[200:], block=30, coverage=0.8)
    hits = []
    for begin in range(200, 500, 30):
        own = slice(begin, begin + 30)
        lower, upper = other.predict_interval(X[own], 0.8).T
        hits += ((lower <= y[own]) & (y[own] <= upper)).tolist()
        other.update(X[own], y[own])
    assert (followed.n_rows, followed.n_updates, followed.inside) == (300, 10, np.mean(hits))
    lower, upper = fitted().predict_interval(X[200:], 0.8).T
    assert followed.without == ((lower <= y[200:]) & (y[200:] <= upper)).mean() < followed.inside
    np.testing.assert_array_equal(model.predict_interval(X), other.predict_interval(X))


def test_rows_are_taken_in_the_order_of_their_times():
    X, y = rows()
    mixed = np.random.default_rng(1).permutation(np.arange(200, 500))
    one, two = fitted(), fitted()
    update_in_order(one, X[200:], y[200:])
    update_in_order(two, X.iloc[mixed], y[mixed], time=mixed)
    np.testing.assert_array_equal(one.predict_interval(X), two.predict_interval(X))


@pytest.mark.parametrize("block", [1, 7, 100])
def test_a_time_is_never_divided(block):
    time = np.random.default_rng(0).integers(0, 30, 200)
    found = blocks_in_order(200, time, block)
    assert sorted(np.concatenate(found).tolist()) == list(range(200))
    assert all(time[a].max() < time[b].min() for a, b in pairwise(found))
    assert all(len(each) >= block for each in found[:-1])
    assert blocks_in_order(200, np.zeros(200), block)[0].tolist() == list(range(200))
