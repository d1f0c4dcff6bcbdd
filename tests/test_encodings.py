"""What is learned from a table's columns, and that an encoding is the same as another only if its arrays are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from extranets.encodings import MOST_BINS, Periodic, PiecewiseLinear, learn_periodic, learn_piecewise_linear
from extranets.networks import Architecture


def column(*values):
    return np.array(values, dtype=np.float32)[:, None]


def edges(X, n_bins):
    return [part.tolist() for part in learn_piecewise_linear(X, n_bins).edges_of_columns()]


def test_edges_are_quantiles():
    X = np.random.default_rng(0).normal(size=(500, 1)).astype(np.float32)
    expected = np.quantile(X.astype(float), np.linspace(0, 1, 17))
    np.testing.assert_allclose(edges(X, 16)[0], expected, rtol=1e-6)
    assert edges(X, 16)[0][0] == X.min() and edges(X, 16)[0][-1] == X.max()


def test_one_bin_reaches_from_the_smallest_to_the_largest():
    assert edges(column(3, 1, 7, 2), 1) == [[1, 7]]


def test_a_column_with_few_values_has_them_as_edges():
    assert edges(column(5, 5, 5, 5, 1, 5, 9), 16) == [[1, 5, 9]]
    assert edges(column(5, 5, 5, 5, 1, 5, 9), 2) == [[1, 5, 9]]


def test_equal_quantiles_count_once():
    X = column(*[0.0] * 90, *range(1, 11))
    found = edges(X, 4)[0]
    assert found[0] == 0 and found[-1] == 10 and (np.diff(found) > 0).all() and len(found) < 5


@pytest.mark.parametrize("values", [(1, 1, 1, 1), (0, 1, 0, 1)], ids=["constant", "binary"])
def test_columns_that_a_line_can_do_are_not_encoded(values):
    X = np.hstack([column(*values), column(1, 2, 3, 4), column(*values)])
    assert learn_piecewise_linear(X, 4).columns.tolist() == [1]
    assert learn_periodic(X, 4).columns.tolist() == [1]
    nothing = learn_piecewise_linear(column(*values), 4)
    assert len(nothing.columns) == len(nothing.edges) == 0 and nothing.n_entries.sum() == 0


def test_values_that_float32_cannot_divide_apart_count_once():
    """Their distance is a denormal number, which the engine takes for zero."""
    X = column(0, 1e-40, 2e-40, 3e-40, 1, 2)
    assert edges(X, 16) == [[0, 1, 2]]


def test_neighbouring_numbers_are_edges():
    x = np.float32(1)
    above = np.nextafter(x, np.float32(2))
    assert edges(column(x, above, np.nextafter(above, np.float32(2))), 16)[0][:2] == [x, above]


def test_frequencies_rise_in_equal_ratios():
    encoding = learn_periodic(column(1, 2, 3), 16)
    assert len(encoding.frequencies) == 8 and encoding.n_entries.tolist() == [16]
    ratio = encoding.frequencies[1:] / encoding.frequencies[:-1]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    assert encoding.frequencies[[0, -1]].tolist() == [0.125, 2]
    assert learn_periodic(column(1, 2, 3), 1).n_entries.tolist() == [2]


def test_the_first_layer_reads_columns_and_entries():
    X = np.hstack([column(1, 2, 3, 4), column(0, 1, 0, 1)])
    architecture = Architecture(2, (5,), 1, 1, learn_piecewise_linear(X, 2))
    assert architecture.n_first == 4
    assert architecture.layer_sizes([5]) == [(4, 5), (5, 1)]
    assert Architecture(2, (5,), 1, 1).layer_sizes([5]) == [(2, 5), (5, 1)]


def test_equal_only_with_the_same_numbers():
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    first, again = learn_piecewise_linear(X, 8), learn_piecewise_linear(X, 8)
    assert first == again and hash(first) == hash(again)
    assert Architecture(2, (5,), 1, 1, first) == Architecture(2, (5,), 1, 1, again) != Architecture(2, (5,), 1, 1)
    assert first != replace(first, edges=first.edges + np.float32(1))
    assert first != learn_piecewise_linear(X, 7)
    assert Periodic(first.columns, first.edges) != Periodic(first.columns, first.edges * 2) != first


def test_edges_that_do_not_increase_are_refused():
    columns, offsets = np.array([0], dtype=np.int32), np.array([0, 3], dtype=np.int32)
    with pytest.raises(ValueError, match="must increase"):
        PiecewiseLinear(columns, offsets, np.array([0, 1, 1], dtype=np.float32))
    with pytest.raises(ValueError, match="must increase"):
        PiecewiseLinear(columns, offsets, np.array([0, np.nan, 1], dtype=np.float32))
    with pytest.raises(ValueError, match="between 1 and 255 bins, got 0"):
        PiecewiseLinear(columns, np.array([0, 1], dtype=np.int32), np.zeros(1, dtype=np.float32))
    many = np.arange(MOST_BINS + 2, dtype=np.float32)
    with pytest.raises(ValueError, match="between 1 and 255 bins"):
        PiecewiseLinear(columns, np.array([0, len(many)], dtype=np.int32), many)
