"""Ordinary tables: what peers get to see of mixed columns."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from benchmarks.contest.forecast import Forecast
from benchmarks.ordinary import columns
from benchmarks.ordinary.columns import GAP, NEW, Columns, Prepared


@pytest.fixture
def mixed():
    return pandas.DataFrame(
        {
            "number": [1.0, np.nan, 3.0, 4.0],
            "city": ["Ulm", None, "Bonn", "Ulm"],
            "day": ["2020-02-01", "2020-02-02", None, "1970-01-02T12:00:00Z"],
        }
    )


def test_dates_become_numbers(mixed):
    found = Columns(gap_is_level=True).fit_transform(mixed.assign(day=mixed["day"].str[:10]))
    assert found["day_day"].tolist()[-1] == 1.0 and found["day_month"].tolist()[:2] == [2, 2]
    assert found["day_weekday"].tolist()[:2] == [5, 6]  # Saturday and Sunday
    assert found.loc[2, [name for name in found if name.startswith("day")]].isna().all() and "day" not in found


def test_gaps_and_new_levels_are_levels_or_gaps(mixed):
    new = mixed.assign(city=["Ulm", None, "Rom", "Bonn"])
    assert Columns(gap_is_level=True).fit(mixed).transform(new)["city"].tolist() == ["Ulm", GAP, NEW, "Bonn"]
    found = Columns(gap_is_level=False).fit(mixed).transform(new)["city"]
    assert found.isna().tolist() == [False, True, True, False] and found[3] == "Bonn"


def test_the_frame_that_is_given_stays_as_it_is(mixed):
    kept = mixed.copy()
    Columns(gap_is_level=True).fit_transform(mixed)
    pandas.testing.assert_frame_equal(mixed, kept)


def test_plain_numbers_have_a_column_for_each_level_and_each_gap(mixed):
    found = columns.plain_numbers(0).fit_transform(mixed.drop(columns="day"), np.arange(4.0))
    assert found.shape == (4, 3 + 2)  # Bonn, Ulm, missing; the number and where it was missing
    np.testing.assert_array_equal(found[:, 3], [1, 3, 3, 4])
    np.testing.assert_array_equal(found[:, 4], [0, 1, 0, 0])


def many_levels():
    rng = np.random.default_rng(0)
    level = np.repeat(np.arange(300), 10)
    return pandas.DataFrame({"x": rng.normal(size=3000), "who": level.astype(str)}), level + rng.normal(size=3000)


def test_many_levels_become_one_number_for_trees_and_columns_for_ridge():
    X, y = many_levels()
    encoded = columns.few_levels(0).fit_transform(X, y)
    assert encoded["who"].dtype == float and np.corrcoef(encoded["who"], y)[0, 1] > 0.99
    assert columns.plain_numbers(0).fit_transform(X, y).shape == (3000, 2)
    assert columns.scaled_numbers().fit_transform(X, y).shape == (3000, 301)


def test_few_levels_stay_categories(mixed):
    found = columns.few_levels(0).fit_transform(mixed, np.arange(4.0))
    assert isinstance(found["city"].dtype, pandas.CategoricalDtype) and found["number"].isna().sum() == 1


def test_filled_numbers_have_no_gaps_and_categories_stay(mixed):
    found = columns.filled().fit(mixed, np.arange(4.0)).transform(mixed)
    assert not found.isna().any(axis=None) and isinstance(found["city"].dtype, pandas.CategoricalDtype)


def test_columns_are_learned_from_training_rows_alone(mixed):
    class Seen:
        def fit(self, X, y):
            self.train = X

        def forecast(self, X):
            self.test = X
            return Forecast(np.zeros(len(X)))

    model = Seen()
    prepared = Prepared(columns.plain_numbers(0), model)
    numbers = mixed[["number"]]
    prepared.fit(numbers, np.arange(4.0))
    prepared.forecast(pandas.DataFrame({"number": [np.nan, 100.0]}))
    np.testing.assert_array_equal(model.test[:, 0], [3.0, 100.0])  # the median of 1, 3 and 4
