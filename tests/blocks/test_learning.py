"""What one pass learns: moments and drawn rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from extranets.blocks import Drawn, Moments, rank_error
from extranets.blocks.learning import row_keys

rng = np.random.default_rng(0)
X = rng.normal(size=(30_000, 3)) * [1, 1e3, 1e-3] + [0, 1e6, 5]
BORDERS = [0, 1, 4096, 4097, 11_000, 29_999, 30_000]


def drawn_from(most, borders):
    drawn = Drawn(most, lambda block, rows: block[rows], np.concatenate)
    for begin, end in itertools.pairwise(borders):
        drawn.add(begin, end - begin, X[begin:end])
    return drawn.result()


def test_moments_of_parts_are_those_of_the_whole():
    parts = [Moments.of(X[begin:end]) for begin, end in itertools.pairwise(BORDERS)]
    found = sum(parts[1:], parts[0])
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.variance, X.var(axis=0), rtol=1e-9)
    np.testing.assert_array_equal([found.low, found.high], [X.min(axis=0), X.max(axis=0)])
    assert found.n == len(X)


def test_drawn_rows_do_not_depend_on_the_blocks():
    rows, values = drawn_from(500, [0, 30_000])
    others = drawn_from(500, BORDERS)
    np.testing.assert_array_equal(rows, others[0])
    np.testing.assert_array_equal(values, others[1])
    np.testing.assert_array_equal(values, X[rows])
    assert len(rows) == 500 and (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, np.sort(np.argsort(row_keys(0, 30_000))[:500]))


def test_fewer_drawn_rows_are_among_more():
    assert set(drawn_from(100, BORDERS)[0]) < set(drawn_from(500, BORDERS)[0])


def test_of_few_rows_all_are_drawn_in_their_order():
    rows, values = drawn_from(40_000, BORDERS)
    np.testing.assert_array_equal(rows, np.arange(30_000))
    np.testing.assert_array_equal(values, X)


@pytest.mark.parametrize("first", [0, 10_000_000, 3_000_000_000])
def test_drawn_rows_are_spread_evenly(first):
    """Places of the smallest of 400 parts of the rows: their mean has a standard error of 1 / sqrt(12 * 400) = 0.0144 parts."""
    keys = row_keys(first, first + 400 * 100).reshape(400, 100)
    places = keys.argmin(axis=1)
    assert abs(places.mean() / 99 - 0.5) < 4 * 0.0144
    assert len(np.unique(keys)) == keys.size


def test_quantiles_of_drawn_rows_keep_their_promise():
    _, values = drawn_from(2000, BORDERS)
    ranks = np.searchsorted(np.sort(X[:, 0]), np.sort(values[:, 0])) / len(X)
    assert np.abs(ranks - (np.arange(2000) + 0.5) / 2000).max() < rank_error(2000)
