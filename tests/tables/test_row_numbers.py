"""Which columns of whole numbers are set aside because they only name the rows, and which are not."""

from __future__ import annotations

import io

import numpy as np
import pandas
import pytest
from sklearn.dummy import DummyRegressor

from extranets.tables import Schema, TableRegressor, TableWarning

N = 60
RANDOM = np.random.default_rng(0)
MEASURED = RANDOM.normal(size=N)


def learn(name, values, **options):
    return Schema.learn(pandas.DataFrame({name: values, "measured": MEASURED[: len(values)]}), **options)


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("flat", np.arange(N), "it counts the rows from 0 on"),
        ("flat", np.arange(1, N + 1), "it counts the rows from 1 on"),
        ("flat", np.arange(1, 21), "it counts the rows from 1 on"),
        ("flat", [str(number) for number in range(N)], "it counts the rows from 0 on"),
        ("flat", np.arange(N, dtype=np.uint8), "it counts the rows from 0 on"),
        ("unnamed_1", np.arange(700, 703), "it has no name and counts the rows"),
        ("Unnamed: 0", np.arange(N), "it has no name and counts the rows"),
        *((name, RANDOM.permutation(N) * 7 + 1000, "its name is that of an id, and its whole numbers all differ")
          for name in ("id", "ID", "customer_id", "PassengerId", "customerID", "index", "row", "Row Number", "nr", "rownames")),
    ],
)  # fmt: skip
def test_row_numbers_and_ids_are_set_aside_and_can_be_kept(name, values, why):
    reason = learn(name, values).dropped[name]
    assert reason.startswith(why) and f"kinds={{{name!r}: 'number'}} (--kind " in reason and reason.endswith("keeps it")
    kept = learn(name, values, kinds={name: "number"})
    assert kept.names == [name, "measured"] and not kept.dropped


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("price", RANDOM.permutation(N) * 7 + 1000),  # all different, and a measurement
        ("price", np.sort(RANDOM.permutation(10 * N)[:N])),
        ("year", np.arange(1950, 1950 + N)),  # a table of years, in order
        ("vintage", np.arange(1950, 1950 + N)),
        ("week", np.arange(1, N + 1)),
        ("Time", np.arange(N)),
        ("age_of_plant", np.arange(N)),
        ("rank", np.arange(1, N + 1)),
        ("wavelength", np.arange(400, 400 + N)),
        ("dose", np.arange(1, 20)),  # few rows
        ("id", np.arange(101, 120)),
        ("school_id", np.repeat(np.arange(N // 2), 2)),  # the same id in several rows is a group
        ("paid", RANDOM.permutation(N) + 100),  # these end in "id", but are other words
        ("humid", RANDOM.permutation(N) + 100),
        ("price_index", RANDOM.permutation(N) + 100),
        ("flat", np.arange(N, dtype=float)),
        ("flat", [f"{number}.0" for number in range(N)]),
        ("flat", pandas.array([None, *range(1, N)], dtype="Int64")),
        ("id", ["", *map(str, RANDOM.permutation(N - 1))]),
        ("flat", np.arange(N)[::-1]),
    ],
)
def test_measurements_are_kept(name, values):
    assert learn(name, values).kinds()[name].startswith("number")


def test_the_only_column_is_kept():
    assert Schema.learn(pandas.DataFrame({"x": np.arange(N)})).names == ["x"]


def test_what_pandas_writes_beside_the_rows_is_set_aside():
    """An index that was written and read again, as text in a file and as numbers in a frame."""
    file = io.StringIO()
    pandas.DataFrame({"measured": MEASURED}).to_csv(file)
    file.seek(0)
    with pytest.warns(TableWarning, match=r"'Unnamed: 0': .*--kind 'Unnamed: 0=number'\) keeps it"):
        model = TableRegressor().fit_with(pandas.read_csv(file), None, lambda encoded: object())
    assert model.schema_.names == ["measured"]


def test_folds_of_a_table_say_once_what_is_not_used():
    """Python shows a warning of the same text and place once: so the text must not count a fold's own rows."""
    table = pandas.DataFrame(
        {"row_id": RANDOM.permutation(61) * 7 + 1000, "constant": "x", "area": RANDOM.normal(size=61)}
    )
    texts = set()
    for fold in (table[:40], table[20:], table[10:55]):  # of unequal sizes
        with pytest.warns(TableWarning, match="not used") as told:
            TableRegressor(DummyRegressor()).fit(fold, fold["area"])
        texts |= {str(warning.message) for warning in told}
    assert len(texts) == 1
