"""Rows for training: what is taken, as what, and which errors name the argument that cannot be used."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from extranets.engine import TrainingData
from extranets.networks import Architecture, draw_members

X = np.arange(12.0).reshape(4, 3)
Y = np.arange(8.0).reshape(4, 2)
COUNTS = np.array([[1, 0, 2, 1], [0, 3, 0, 0]])


# -- what is taken -----------------------------------------------------------------------------------------------------

EVERYTHING = {"weight": [1, 2, 0, 1], "counts": COUNTS, "count_rows": [1, -1, 0], "adversarial": [0, 1, 2]}


def assert_contiguous(array, dtype, expected):
    assert array.dtype == dtype and array.flags.c_contiguous
    np.testing.assert_array_equal(array, expected)


FORMS = {
    "arrays": np.asarray,
    "lists": lambda values: np.asarray(values).tolist(),
    "Fortran order": np.asfortranarray,
    "strided": lambda values: np.repeat(values, 2, axis=-1)[..., ::2],
}


@pytest.mark.parametrize("given", FORMS.values(), ids=FORMS.keys())
def test_arrays_and_lists_become_contiguous_arrays_of_the_engines_types(given):
    data = TrainingData(given(X), given(Y), **{name: given(values) for name, values in EVERYTHING.items()})
    assert_contiguous(data.X, np.float32, X)
    assert_contiguous(data.y, np.float32, Y)
    assert_contiguous(data.weight, np.float32, EVERYTHING["weight"])
    assert_contiguous(data.counts, np.uint16, COUNTS)
    assert_contiguous(data.count_rows, np.int32, [1, -1, 0])
    assert_contiguous(data.adversarial, np.float32, [0, 1, 2])


def test_what_is_not_given_is_none():
    data = TrainingData(X, Y)
    assert data.weight is data.counts is data.count_rows is data.adversarial is None


def test_y_with_one_axis_is_one_output():
    assert TrainingData(X, Y[:, 0]).y.shape == (4, 1)


def test_arrays_that_need_no_conversion_are_not_copied():
    table, targets, counts = X.astype(np.float32), Y.astype(np.float32), COUNTS.astype(np.uint16)
    data = TrainingData(table, targets, counts=counts, count_rows=[0])
    assert data.X is table and data.y is targets and data.counts is counts


def test_true_and_false_are_counts():
    held_out = np.array([[True, False, False, True]])
    np.testing.assert_array_equal(TrainingData(X, Y, counts=~held_out, count_rows=[0]).counts, [[0, 1, 1, 0]])


def test_members_may_all_train_on_every_row():
    np.testing.assert_array_equal(TrainingData(X, Y, count_rows=[-1, -1]).count_rows, [-1, -1])


def test_a_sample_that_nobody_trains_on_may_be_empty():
    TrainingData(X, Y, counts=[[1, 1, 1, 1], [0, 0, 0, 0]], count_rows=[0, -1])


def test_data_cannot_be_changed_unchecked():
    with pytest.raises(FrozenInstanceError):
        TrainingData(X, Y).y = Y[:2]


def test_rows_of_a_sample():
    data = TrainingData(X, Y, **EVERYTHING)
    np.testing.assert_array_equal(data.row_counts(1), [0, 3, 0, 0])
    np.testing.assert_array_equal(data.row_counts(-1), [1, 1, 1, 1])
    np.testing.assert_array_equal(TrainingData(X, Y).row_counts(-1), [1, 1, 1, 1])


def test_some_of_the_members_keep_their_samples():
    data = TrainingData(X, Y, **EVERYTHING)
    part = data.of_members(slice(1, 3))
    np.testing.assert_array_equal(part.count_rows, [-1, 0])
    np.testing.assert_array_equal(data.count_rows, [1, -1, 0])
    assert part.X is data.X and part.counts is data.counts
    assert TrainingData(X, Y).of_members(slice(1, 3)).count_rows is None


# -- what is refused ---------------------------------------------------------------------------------------------------


def with_value(array, value):
    out = array.copy()
    out[1, 0] = value
    return out


REFUSED = {
    "X with one axis": ({"X": X[:, 0]}, r"X must have two axes, got shape \(4,\)"),
    "X with three axes": ({"X": X[None]}, r"X must have two axes, got shape \(1, 4, 3\)"),
    "no rows": ({"X": X[:0], "y": Y[:0]}, "X must have at least one row"),
    "no columns": ({"X": X[:, :0]}, "X must have at least one column"),
    "text in X": ({"X": [["a"]] * 4}, "X must be an array of numbers: could not convert string to float: 'a'"),
    "X of unequal rows": ({"X": [[1], [1, 2], [1], [1]]}, "X must be an array of numbers"),
    "objects in X": ({"X": [[object()]] * 4}, "X must be an array of numbers"),
    "NaN in X": ({"X": with_value(X, np.nan)}, "X must be finite"),
    "minus infinity in X": ({"X": with_value(X, -np.inf)}, "X must be finite"),
    "infinity in X": ({"X": with_value(X, np.inf)}, "X must be finite"),
    "None in X": ({"X": [[None]] * 4}, "X must be finite"),
    "too large for float32": ({"X": with_value(X, 1e39)}, "X must be finite in float32"),
    "y with three axes": ({"y": Y[None]}, "y must have one axis or two"),
    "another number of targets": ({"y": Y[:3]}, "X and y must have the same number of rows, got 4 and 3"),
    "no outputs": ({"y": Y[:, :0]}, "y must have at least one column"),
    "text in y": ({"y": list("abcd")}, "y must be an array of numbers"),
    "infinite y": ({"y": with_value(Y, np.inf)}, "y must be finite"),
    "few weights": ({"weight": [1, 1, 1]}, r"weight must have one entry for each row, shape \(4,\), got \(3,\)"),
    "a column of weights": ({"weight": np.ones((4, 1))}, r"weight must have one entry for each row"),
    "text as weight": ({"weight": "auto"}, "weight must be an array of numbers"),
    "a negative weight": ({"weight": [1, 1, -1, 1]}, "weight must be finite and not negative"),
    "NaN as weight": ({"weight": [1, np.nan, 1, 1]}, "weight must be finite and not negative"),
    "few steps": ({"adversarial": [0.1]}, r"adversarial must have one entry for each column of X, shape \(3,\)"),
    "a negative step": ({"adversarial": [0.1, -0.1, 0.1]}, "adversarial must be finite and not negative"),
    "an infinite step": ({"adversarial": [0.1, np.inf, 0.1]}, "adversarial must be finite and not negative"),
    "counts with one axis": ({"counts": COUNTS[0]}, "counts must have one column for each row of X"),
    "counts of other rows": ({"counts": COUNTS[:, :3]}, r"counts must have .* shape \(n_samples, 4\), got \(2, 3\)"),
    "counts with a fraction": ({"counts": COUNTS / 2}, "counts must hold integers, got float64"),
    "counts of unequal lengths": ({"counts": [[1, 1], [1]]}, "counts must be an array of integers"),
    "negative counts": ({"counts": COUNTS - 1}, "counts must lie between 0 and 65535"),
    "large counts": ({"counts": 40_000 * COUNTS}, "counts must lie between 0 and 65535"),
    "counts without count_rows": ({"count_rows": None}, "counts needs count_rows"),
    "count_rows with two axes": ({"count_rows": [[0]]}, r"count_rows must have one axis, got shape \(1, 1\)"),
    "count_rows with a fraction": ({"count_rows": [0.5]}, "count_rows must hold integers, got float64"),
    "a sample that is not there": ({"count_rows": [0, 2]}, "count_rows points outside counts"),
    "a sample below -1": ({"count_rows": [0, -2]}, "count_rows points outside counts"),
    "samples without counts": ({"counts": None}, "count_rows points outside counts"),
    "an empty sample": ({"counts": 0 * COUNTS}, "count_rows names a sample without rows"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_an_error_names_the_argument_that_cannot_be_used(changes, message):
    given = {"X": X, "y": Y, "counts": COUNTS, "count_rows": [0, 1], **changes}
    with pytest.raises(ValueError, match=message):
        TrainingData(**given)


@pytest.mark.parametrize(
    ("n_inputs", "n_outputs", "ids", "message"),
    [
        (2, 2, [0, 1, 2], "X has the wrong number of columns: the networks have 2, got 3"),
        (3, 1, [0, 1, 2], "y has the wrong number of columns: the networks have 1, got 2"),
        (3, 2, [0, 1], "count_rows must have one entry for each of 2 members"),
    ],
)
def test_members_that_do_not_fit_the_rows(n_inputs, n_outputs, ids, message):
    members = draw_members(Architecture(n_inputs, (5,), n_outputs, n_outputs), 1.0, seed=0, ids=ids)
    with pytest.raises(ValueError, match=message):
        TrainingData(X, Y, **EVERYTHING).check_members(members)


def test_members_that_fit_the_rows():
    members = draw_members(Architecture(3, (5,), 2, 2), 1.0, seed=0, ids=[4, 5, 6])
    TrainingData(X, Y, **EVERYTHING).check_members(members)
