"""Groups and times of a table's rows: from columns to folds, and a word where rows are in the order of a date."""

from __future__ import annotations

import warnings

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LinearRegression

from extranets import ExtraNetsRegressor, PBPRegressor
from extranets.evaluation import cross_validate
from extranets.parting import Parting
from extranets.tables import (
    Schema,
    TableError,
    TableRegressor,
    TableWarning,
    column_groups,
    column_times,
    cross_validate_table,
    fit_table,
)
from extranets.tables.levels import learn_levels

DAYS = pandas.date_range("2023-11-01", periods=120)


def small(estimator=None, **parameters):
    return TableRegressor(estimator or ExtraNetsRegressor(3, (8,), max_iter=5, random_state=0, n_jobs=1), **parameters)


def shops(n=120):
    """Ten shops with levels of their own, in the order of days; text, as from a file."""
    random = np.random.default_rng(0)
    shop = random.integers(0, 10, n)
    table = pandas.DataFrame(
        {
            "day": pandas.Series(DAYS.strftime("%d.%m.%Y").repeat(-(-n // 120))[:n]),
            "shop": [f"s{number}" for number in shop],
            "size": random.normal(size=n),
        }
    )
    return table, table["size"].to_numpy() + random.normal(size=10)[shop]


class Listening(ExtraNetsRegressor):
    """Remembers what it was told."""

    def fit(self, X, y, sample_weight=None, *, groups=None, time=None):
        self.told_ = {"columns": list(X.columns), "groups": groups, "time": time}
        return super().fit(X, y, sample_weight, groups=groups, time=time)


def listening():
    return Listening(3, (8,), max_iter=5, random_state=0, n_jobs=1)


@pytest.mark.parametrize("written", ["%d.%m.%Y", "%Y-%m-%d", "%d/%m/%Y"])
def test_times_are_read_as_the_column_is_written(written):
    texts = pandas.DataFrame({"day": DAYS.strftime(written)})
    np.testing.assert_array_equal(column_times(texts, "day"), DAYS.to_numpy().astype("datetime64[us]"))
    if written == "%d/%m/%Y":
        kinds = {"day": "date:%d/%m/%Y"}
        np.testing.assert_array_equal(column_times(texts, "day", kinds), column_times(texts, "day"))


def test_numbers_are_times_even_where_they_only_count_the_rows():
    table = pandas.DataFrame({"row": range(1, 101), "x": np.sin(np.arange(100))})
    assert "row" in Schema.learn(table).dropped
    np.testing.assert_array_equal(column_times(table, "row"), np.arange(1.0, 101))


def test_columns_that_cannot_be_used_are_refused_by_name():
    table, _ = shops()
    with pytest.raises(TableError, match=r"column 'shop': 's.' is not a number"):
        column_times(table, "shop")
    with pytest.raises(TableError, match=r"no column 'dai' \(did you mean 'day'\?\)"):
        column_times(table, "dai")
    table.loc[7, ["day", "shop"]] = None
    for find, name, what in ((column_times, "day", "is no time"), (column_groups, "shop", "is no group")):
        with pytest.raises(TableError, match=f"row 7, column '{name}': 'None' {what}"):
            find(table, name)


def test_a_named_group_is_no_feature_and_a_named_time_is():
    table, y = shops()
    model = small(listening()).fit(table, y, groups="shop")
    told = model.regressor_.told_
    assert not any("shop" in name for name in told["columns"]) and told["time"] is None
    np.testing.assert_array_equal(told["groups"], table["shop"])
    assert model.predict(table.drop(columns="shop")).shape == (120,)
    told = small(listening()).fit(table, y, time="day").regressor_.told_
    assert "day, days" in told["columns"] and told["groups"] is None
    np.testing.assert_array_equal(told["time"], DAYS.to_numpy().astype("datetime64[us]"))


def test_names_and_arrays_give_the_same_model():
    table, y = shops()
    named = small().fit(table, y, time="day").predict_interval(table)
    given = small().fit(table, y, time=np.arange(120)).predict_interval(table)
    np.testing.assert_array_equal(named, given)


def test_regressors_without_rows_left_out_refuse():
    table, y = shops()
    with pytest.raises(TypeError, match="LinearRegression takes none"):
        small(LinearRegression()).fit(table, y, groups="shop")
    with pytest.raises(ValueError, match="PBPRegressor leaves none out"):
        fit_table(small(PBPRegressor()), table, y, n_folds=0, time=np.arange(120))
    with pytest.raises(ValueError, match="Give groups or time, not both"):
        small().fit(table, y, groups="shop", time="day")


@pytest.mark.parametrize("kind", ["groups", "time"])
def test_a_tables_fit_and_its_cross_validation_follow(kind):
    table, y = shops()
    number = {"groups": table["shop"].to_numpy(), "time": np.arange(120)}[kind]
    model = small(listening())
    held_out = fit_table(model, table, y, n_folds=3, **{kind: number})
    assert held_out.parting == held_out.as_dict()["parting"] == kind
    assert (model.regressor_.told_[kind] is not None) and len(held_out.y) == (120 if kind == "groups" else 90)


def test_a_fold_with_one_group_left_is_fitted_without():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    parting = Parting("groups", np.repeat([0, 1], 10))
    assert len(cross_validate(listening(), pandas.DataFrame(X), y, n_folds=2, parting=parting).y) == 20


@pytest.mark.parametrize("kind", ["groups", "time"])
def test_effects_of_categories_come_from_other_groups_or_earlier_rows(kind):
    """Each level belongs to one group or one time: nothing is known about it elsewhere, and its effect is 0."""
    number = np.repeat(np.arange(40), 5)
    frame = pandas.DataFrame({"person": [f"p{each}" for each in number]})
    (column,) = Schema.learn(frame, max_categories=5).columns
    y = np.random.default_rng(0).normal(size=40)[number]
    arguments = [column], frame, pandas.DataFrame(index=frame.index), [], y, np.ones(200)
    at_random = learn_levels(*arguments)[1]
    found = learn_levels(*arguments, Parting(kind, number))[1]
    assert np.corrcoef(at_random[:, 1], y)[0, 1] > 0.9
    # The earliest block of time has none before it; it learns from its own rows at random.
    later = slice(0, None) if kind == "groups" else slice(40, None)
    assert not found[later, 1].any()
    assert found[:, 0].any() == (kind == "time")


def test_a_block_knows_what_earlier_rows_tell_and_nothing_of_later_ones():
    """Later targets change variances and scale, which belong to all rows, but not how levels differ. The first sixth is random."""
    number = np.arange(600)
    frame = pandas.DataFrame({"person": [f"p{each % 10}" for each in number]})
    (column,) = Schema.learn(frame, max_categories=5).columns
    effects = np.random.default_rng(0).normal(size=10)
    y = effects[number % 10] + 0.1 * np.random.default_rng(1).normal(size=600)
    turned = np.where((number >= 500) & (number % 10 < 5), -y, y)
    both = [
        learn_levels(
            [column], frame, pandas.DataFrame(index=frame.index), [], target, np.ones(600), Parting("time", number)
        )[1][100:500, 1]
        for target in (y, turned)
    ]
    assert np.corrcoef(both[0], effects[number[100:500] % 10])[0, 1] > 0.99
    assert np.corrcoef(*both)[0, 1] > 0.999


def test_a_word_where_rows_are_in_the_order_of_a_date():
    table, y = shops()
    with pytest.warns(TableWarning, match=r"order of the date 'day'.*time='day' \(--time day\)"):
        small().fit(table, y)
    with pytest.warns(TableWarning, match="order of the date 'day'"):
        small().fit(table[::-1], y[::-1])
    mixed = np.random.default_rng(0).permutation(120)
    quiet = (
        lambda: small().fit(table, y, time="day"),
        lambda: small().fit(table, y, groups="shop"),
        lambda: small().fit(table.iloc[mixed], y[mixed]),
        lambda: small(LinearRegression()).fit(table, y),  # leaves no rows out
        lambda: small().fit(table.assign(day=["2023-01-01", "2023-01-02"] * 60), y),
        lambda: cross_validate_table(small(), table, y, Schema.learn(table), n_folds=2),
    )
    for fit in quiet:
        with warnings.catch_warnings():
            warnings.simplefilter("error", TableWarning)
            fit()
