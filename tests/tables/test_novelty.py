"""Rows of a table unlike those of training: told in the table's own columns."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LinearRegression

from extranets import ExtraNetsRegressor, NoveltyWarning
from extranets.evaluation import predict_with_targets
from extranets.plots import NoveltyDisplay
from extranets.tables import Notes, TableRegressor, prediction_blocks


def flats(n=300, seed=0):
    random = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "area": random.uniform(20, 120, n),
            "city": random.choice(["Ulm", "Bonn"], n),
            "street": [f"s{number}" for number in random.integers(0, 40, n)],
            "lift": random.choice(["yes", "no"], n),
            "seen": pandas.Timestamp("2023-01-01") + pandas.to_timedelta(random.integers(0, 365, n), unit="D"),
        }
    )


@pytest.fixture(scope="module")
def model():
    table = flats()
    network = ExtraNetsRegressor(3, (8,), max_iter=5, n_jobs=1, random_state=0)
    return TableRegressor(network).fit(table, table["area"] * 10 + (table["city"] == "Bonn"))


def changed(**values):
    """Five rows like those of training, but for some values: of a column, by row."""
    table = flats(5, seed=1)
    for name, by_row in values.items():
        for row, value in by_row.items():
            table.loc[row, name] = value
    return table


NEW = changed(area={1: 900.0, 3: -50.0}, city={0: "Rome"}, street={2: "new"}, seen={4: pandas.Timestamp("2026-02-01")})
HOW = r"'area': 2 of 5 values are outside of training \(.*\), in rows 1, 3\. .*'seen': 1 of 5 values is later than the last date of training, 2023-12-31, in row 4\."  # fmt: skip


def told(model, table):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.predict(table)
    return [str(each.message) for each in found if each.category is NoveltyWarning]


def test_values_outside_by_row_and_column(model):
    with pytest.warns(NoveltyWarning, match=HOW):
        outside = model.predict_outside(NEW)
    expected = pandas.DataFrame(False, index=NEW.index, columns=["area", "city", "street", "lift", "seen"])
    for row, name in ((1, "area"), (3, "area"), (0, "city"), (2, "street"), (4, "seen")):
        expected.loc[row, name] = True
    pandas.testing.assert_frame_equal(outside, expected)


def test_scores_are_one_where_a_value_is_outside(model):
    with pytest.warns(NoveltyWarning):
        assert model.predict_novelty(NEW).tolist() == [1.0] * 5
    usual = model.predict_novelty(flats(500, seed=2))
    assert abs((usual > 0.9).mean() - 0.1) < 0.1 and usual.min() < 0.2


@pytest.mark.parametrize("predict", ["predict", "predict_interval", "predict_members", "predict_dist", "sample_y"])
def test_predictions_tell_in_the_tables_columns(model, predict):
    with pytest.warns(NoveltyWarning, match=HOW):
        getattr(model, predict)(NEW)


def test_rows_like_those_of_training_are_not_told_of(model):
    assert told(model, changed()) == []


def test_a_single_row_is_told_of_without_its_name(model):
    """So that a loop over rows says it once."""
    lines = {text for row in (1, 3) for text in told(model, NEW[row : row + 1])}
    assert lines == {f"Column 'area': the value is outside of training ({model.schema_.columns[0].described()})."}


def test_dates_are_named_as_such_on_both_sides_and_within(model):
    texts = told(model, changed(seen={0: pandas.Timestamp("2022-10-31"), 1: pandas.Timestamp("2024-03-01")}))
    assert "later than the last date of training, 2023-12-31, in row 1." in texts[0]
    assert "earlier than the first date of training, 2023-01-01, in row 0." in texts[0]
    table = flats()
    table = table[(table["seen"].dt.month < 4) | (table["seen"].dt.month > 10)].reset_index(drop=True)
    winter = TableRegressor(ExtraNetsRegressor(3, (8,), max_iter=5, n_jobs=1, random_state=0)).fit(table, table["area"])
    texts = told(winter, changed(seen={row: pandas.Timestamp("2023-07-01") for row in range(5)}))
    assert "'seen': 5 of 5 values are in a part of the time or the year in which training" in texts[0]


def test_the_margin_of_dates_is_the_same_in_warnings_columns_and_reports(model):
    table = flats(365 + 120, seed=4)
    table["seen"] = pandas.Timestamp("2022-11-02") + pandas.to_timedelta(np.arange(len(table)), unit="D")
    outside = model.predict_outside(table)["seen"].to_numpy()
    (text,) = told(model, table)
    counts = re.findall(r"'seen': (\d+) of 485 values are (later|earlier) than the (?:last|first) date", text)
    assert {side: int(count) for count, side in counts} == {"later": outside[-60:].sum(), "earlier": outside[:60].sum()}
    assert outside[[0, -1]].all() and not outside[[55, -56]].any()  # the first and last days of training are 60 and -61
    inside, beyond = table[~outside], table[outside]
    assert told(model, inside) == [] and reported(model, inside).startswith("No row lies outside")
    assert reported(model, beyond).startswith(
        f"{len(beyond)} rows lie outside of what the training rows cover, in seen"
    )


def reported(model, table):
    return NoveltyDisplay.of(predict_with_targets(model, table, table["area"])).words()


def test_blocks_are_told_of_together(model, monkeypatch):
    monkeypatch.setattr("extranets.tables.regressor.MOST_BLOCK_ROWS", 2)
    (text,) = told(model, NEW)
    assert "2 of 5 values are outside of training" in text
    notes = Notes()
    for _ in prediction_blocks(model, [NEW[:2], NEW[2:]], [0.9], notes=notes):
        pass
    assert any("2 of 5 values are outside of training" in line for line in notes.lines())


def test_as_a_column(model):
    with pytest.warns(NoveltyWarning):
        frame = model.predict_interval(NEW, as_frame=True, novelty=True)
    assert frame.columns[-1] == "novelty" and (frame["novelty"] == 1).all()
    (block,) = prediction_blocks(model, [flats(5, seed=3)], [0.9], novelty=True)
    np.testing.assert_array_equal(block["novelty"], model.predict_novelty(flats(5, seed=3)))
    with pytest.raises(ValueError, match="as_frame=True"):
        model.predict_interval(NEW, novelty=True)


def test_other_regressors_have_none():
    table = flats()
    model = TableRegressor(LinearRegression()).fit(table, table["area"])
    assert not hasattr(model, "predict_novelty") and not hasattr(model, "predict_outside")
    assert told(model, NEW) == []


def test_later_rows_update_without_a_word(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoveltyWarning)
        model.encode(NEW)
