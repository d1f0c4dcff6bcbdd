"""Columns as numbers: by hand, by name, and from the schema alone."""

from __future__ import annotations

import pickle

import numpy as np
import pandas
import pytest
from sklearn.compose import ColumnTransformer

from extranets.tables import Schema, TableError, column_transformer

FRAME = pandas.DataFrame(
    {
        "n": [1.0, None, 3.0, 5.0],
        "b": ["yes", "no", "yes", None],
        "c": ["x", "y", "z", None],
        "d": ["2024-01-01", "2024-07-01", None, "2024-12-31"],
        "t": ["2024-01-01 00:00", "2024-01-01 06:00", "2024-01-01 12:00", "2024-01-08 18:00"],
    }
)


@pytest.fixture(scope="module")
def encoded():
    schema = Schema.learn(FRAME)
    # As files of earlier versions have it: the two most frequent values, and one feature for the others.
    stored = schema.to_dict()
    stored["columns"][2] |= {"categories": ["x", "y"], "rare": ["z"]}
    schema = Schema.from_dict(stored)
    transformer = column_transformer(schema)
    assert isinstance(transformer, ColumnTransformer)
    matrix = transformer.transform(schema.read(FRAME))
    assert matrix.dtype == np.float64
    return dict(zip(transformer.get_feature_names_out(), matrix.T, strict=True))


def test_names(encoded):
    waves = ["sine of year", "cosine of year", "sine of week", "cosine of week"]
    assert list(encoded) == [
        "n", "b", "n is missing", "b is missing",
        "d, days", *(f"d, {wave}" for wave in waves),
        "t, days", *(f"t, {wave}" for wave in waves), "t, sine of day", "t, cosine of day", "d is missing",
        "c=x", "c=y", "c=(other)", "c=(missing)",
    ]  # fmt: skip


def test_numbers_and_truth_values(encoded):
    assert encoded["n"].tolist() == [1, 3, 3, 5] and encoded["n is missing"].tolist() == [0, 1, 0, 0]
    assert encoded["b"].tolist() == [1, 0, 1, 1] and encoded["b is missing"].tolist() == [0, 0, 0, 1]


def test_categories(encoded):
    table = np.column_stack([encoded[f"c={value}"] for value in ("x", "y", "(other)", "(missing)")])
    np.testing.assert_array_equal(table, np.eye(4))


def test_dates(encoded):
    assert encoded["d, days"].tolist() == [0, 182, 182, 365] and encoded["d is missing"].tolist() == [0, 0, 1, 0]
    angle = 2 * np.pi * np.array([0, 182, 182, 365]) / 366  # 2024 is a leap year
    np.testing.assert_allclose(encoded["d, sine of year"], np.sin(angle), atol=1e-12)
    np.testing.assert_allclose(encoded["d, cosine of year"], np.cos(angle), atol=1e-12)
    np.testing.assert_allclose(encoded["t, days"], [0, 0.25, 0.5, 7.75])
    np.testing.assert_allclose(encoded["t, sine of day"], [0, 1, 0, -1], atol=1e-12)
    week = (
        2 * np.pi * np.array([0, 0.25, 0.5, 0.75]) / 7
    )  # the first of January 2024 was a Monday, and so was the eighth
    np.testing.assert_allclose(encoded["t, sine of week"], np.sin(week), atol=1e-12)


def test_unknown_categories_are_zeros():
    schema = Schema.learn(pandas.DataFrame({"c": ["x", "y"], "n": [1.0, 3.0]}))
    new = schema.read(pandas.DataFrame({"c": ["new", None, "x"], "n": [None, 2.0, 2.0]}))
    assert column_transformer(schema).transform(new).tolist() == [[1, 0, 0], [2, 0, 0], [2, 1, 0]]


def test_a_stored_schema_makes_the_same_transformer():
    """A transformer from stored JSON gives the same bits: all that was learned is in the schema."""
    schema = Schema.learn(FRAME)
    again = Schema.from_json(schema.to_json())
    new = FRAME.iloc[:2].assign(n=[100.0, -100.0])
    first = column_transformer(schema).transform(schema.read(new))
    np.testing.assert_array_equal(first, column_transformer(again).transform(again.read(new)))
    pickled = pickle.loads(pickle.dumps(column_transformer(schema)))
    np.testing.assert_array_equal(first, pickled.transform(schema.read(new)))


def test_features_of_the_same_name_are_refused():
    frame = pandas.DataFrame({"a": [1.0, None], "a is missing": [1.0, 2.0]})
    with pytest.raises(TableError, match="a is missing"):
        column_transformer(Schema.learn(frame))
