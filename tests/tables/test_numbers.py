"""How numbers are written: found out once in training, and never by the cells that happen to stand beside one."""

from __future__ import annotations

import numpy as np
import pandas
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extranets.tables import Schema, TableError, open_table, take_target
from extranets.tables.columns import NumberColumn
from extranets.tables.values import STYLES, TEXT, fitting_styles, parse_numbers


def frame_of(tmp_path, text, name="table.csv"):
    (tmp_path / name).write_text(text)
    with open_table(tmp_path / name) as reader:
        return reader.read()


def column_file(tmp_path, values, delimiter, beside="x"):
    """A file with the values in column 'a', quoted if they have to be, and text in column 'b'."""
    rows = [f'"{value}"' if delimiter in value else value for value in values]
    return frame_of(
        tmp_path, f"a{delimiter}b\n" + "".join(f"{row}{delimiter}{beside}{i}\n" for i, row in enumerate(rows))
    )


def refusal(call, *args, **named):
    with pytest.raises(TableError) as caught:
        call(*args, **named)
    return str(caught.value)


POINT, COMMA, POINT_GROUPED, COMMA_GROUPED = "1234.5", "1234,5", "1,234.5", "1.234,5"
ALL = ",;\t|"


@pytest.mark.parametrize(
    ("values", "delimiters", "style", "numbers"),
    [
        (["50", "60", "1e3"], ALL, "1234", [50, 60, 1000]),
        (["50.5", "60", "+1.5e1"], ALL, POINT, [50.5, 60, 15]),
        (["50,5", "60", "-0,25", "+1,5e1"], ALL, COMMA, [50.5, 60, -0.25, 15]),
        (
            ["0,125", "1,250"],
            ALL,
            COMMA,
            [0.125, 1.25],
        ),  # a number with a comma between thousands does not begin with 0
        (["0.125", "1.250"], ALL, POINT, [0.125, 1.25]),
        (["1.250", "2"], ",\t|", POINT, [1.25, 2]),
        (["1,250", "2"], ";", COMMA, [1.25, 2]),
        (["1.000,50", "2.000", "7"], ALL, COMMA_GROUPED, [1000.5, 2000, 7]),
        (["1.000.000", "2.000"], ALL, COMMA_GROUPED, [1e6, 2000]),
        (["1,017", "1,017.50", "-3"], ALL, POINT_GROUPED, [1017, 1017.5, -3]),
        (["1,017,000", "1,017"], ALL, POINT_GROUPED, [1017000, 1017]),
    ],
)
def test_styles(tmp_path, values, delimiters, style, numbers):
    for delimiter in delimiters:
        frame = column_file(tmp_path, values, delimiter)
        schema = Schema.learn(frame)
        column = schema.columns[0]
        assert isinstance(column, NumberColumn) and column.style == style, delimiter
        assert schema.read(frame)["a"].tolist() == numbers and column.high == max(numbers)
        assert take_target(frame, "a")[1].tolist() == numbers


@pytest.mark.parametrize(
    ("values", "delimiters", "words"),
    [
        (["2", "1.250"], ";", ["'1.250' may be 1.25 or 1250", "number:1234.5", "--kind a=number:1.234,5"]),
        (["2", "1,017"], ",\t|", ["'1,017' may be 1.017 or 1017", "number:1,234.5", "--kind a=number:1234,5"]),
        (["1,234", "1.234"], ALL, ["'1,234' may be 1234 or 1.234", "number:1,234.5", "number:1.234,5"]),
    ],
)
def test_numbers_that_can_be_read_in_two_ways_are_refused(tmp_path, values, delimiters, words):
    for delimiter in delimiters:
        frame = column_file(tmp_path, values, delimiter)
        message = refusal(Schema.learn, frame)
        assert "table.csv, column 'a': " in message and all(word in message for word in words)
        message = refusal(take_target, frame, "a")
        assert "table.csv, column 'a': " in message and words[0] in message and "without signs" in message


def test_the_style_can_be_given(tmp_path):
    frame = column_file(tmp_path, ["2", "1.250"], ";")
    for style, number in ((POINT, 1.25), (COMMA_GROUPED, 1250.0)):
        schema = Schema.learn(frame, {"a": f"number:{style}"})
        assert schema.read(frame)["a"].tolist() == [2.0, number]
        assert Schema.from_json(schema.to_json()).read(frame)["a"].tolist() == [2.0, number]
        # Some of the rows, which would not show the style by themselves, are read in the same way.
        assert Schema.learn(frame[1:], schema.kinds()).read(frame)["a"].tolist() == [2.0, number]
    assert "'1.250' is not a number, like 1234,5" in refusal(Schema.learn, frame, {"a": f"number:{COMMA}"})
    assert "number:1.234,5" in refusal(Schema.learn, frame, {"a": "number:German"})


def test_points_in_another_column_tell_that_commas_divide_thousands(tmp_path):
    frame = frame_of(tmp_path, 'a,b,c\n"1,017",x,0.5\n2,y,1\n')
    assert Schema.learn(frame).read(frame)["a"].tolist() == [1017.0, 2.0]
    assert take_target(frame, "a")[1].tolist() == [1017.0, 2.0]
    assert Schema.learn(frame).columns[0].fill == 2.0 and Schema.learn(frame).columns[0].high == 1017.0
    assert "may be" in refusal(Schema.learn, frame_of(tmp_path, 'a,b,c\n"1,017",x.y,5\n2,y,1\n'))


@pytest.mark.parametrize(
    ("training", "trained", "new", "other", "expected"),
    [
        (["50,5", "7"], ";", "1.250", ";", None),
        (["50,5", "7"], ";", "1,250", ",", 1.25),
        (["50,5", "7"], ";", "50.5", ",", None),
        (["50.5", "7"], ",", "50,5", ";", None),
        (["50.5", "7"], ",", "1.250", ";", 1.25),
        (["1.000,5", "7"], ";", "1.250", ",", 1250.0),
        (["1.000,5", "7"], ";", "1.25", ",", None),
        (["1,000.5", "7"], ",", "1,250", ";", 1250.0),
        (["50", "7"], ";", "50,5", ";", 50.5),
        (["50", "7"], ";", "50.5", ";", 50.5),
        (["50", "7"], ",", "12.125", ",", 12.125),
        (["50", "7"], ";", "1.250", ";", None),
        (["50", "7"], ";", "1,250", ";", None),
        (["50", "7"], "\t", "-1,250", "\t", None),
    ],
)
def test_new_files_are_read_as_training_was(tmp_path, training, trained, new, other, expected):
    schema = Schema.learn(column_file(tmp_path, training, trained))
    if expected is not None:
        assert schema.read(column_file(tmp_path, [new, "3"], other))["a"].tolist() == [expected, 3.0]
        return
    for beside in ("3", "7,5", "7.5", "1,250"):  # whatever is in other rows
        message = refusal(schema.read, column_file(tmp_path, [new, beside], other))
        assert f"table.csv, row 1, column 'a': '{new}' is not a number like" in message


def test_columns_of_numbers_count_as_written_with_a_point():
    schema = Schema.learn(pandas.DataFrame({"a": [1.5, 2.0]}))
    assert schema.read(pandas.DataFrame({"a": ["1.250"]}))["a"].tolist() == [1.25]
    assert "'1,5' is not a number like 1234.5" in refusal(schema.read, pandas.DataFrame({"a": ["1,5"]}))


def test_a_stored_column_without_a_style_has_a_point():
    stored = Schema.learn(pandas.DataFrame({"a": ["1,5", "2"]})).to_dict()
    assert stored["columns"][0].pop("style") == COMMA
    assert Schema.from_dict(stored).columns[0].style == POINT
    for style in ("1'234.5", 1, None):
        stored["columns"][0]["style"] = style
        assert "not valid" in refusal(Schema.from_dict, stored)
    del stored["columns"][0]["style"], stored["columns"][0]["low"]
    assert "other entries" in refusal(Schema.from_dict, stored)


NUMBERS = st.lists(st.integers(-(10**9), 10**9).map(lambda cents: cents / 100), min_size=1, max_size=20)


@given(NUMBERS, st.sampled_from(STYLES[1:]))
def test_what_is_written_in_a_style_is_read_in_it(numbers, style):
    grouped = style in (POINT_GROUPED, COMMA_GROUPED)
    texts = [f"{number:,.2f}" if grouped else f"{number:.2f}" for number in numbers]
    swap = str.maketrans(",.", ".,") if style in (COMMA, COMMA_GROUPED) else {}
    text = pa.array([text.translate(swap) for text in texts], TEXT)
    found, bad = parse_numbers(text, style)
    assert found.tolist() == numbers and not bad.any()
    best = fitting_styles(text)  # the plainer one if nothing is grouped
    assert len(best) == 1 and parse_numbers(text, best[0])[0].tolist() == numbers


# -- signs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values", [["$1,017", "$2,050.50"], ["€ 12,50", "€ 3"], ["12%", "3.5%"], ["-$5", "£7"], ["12 €", "3 €"]]
)
def test_signs_of_currency_and_percent_are_named(tmp_path, values):
    frame = column_file(tmp_path, values, "|")
    message = refusal(Schema.learn, frame)
    assert f"table.csv, column 'a': '{values[0]}'" in message and "Remove the sign" in message
    assert Schema.learn(frame, {"a": "category"}).columns[0].kind == "category"
    message = refusal(take_target, frame, "a")
    assert f"column 'a': '{values[0]}'" in message and "Remove the sign" in message and "--na" not in message


def test_a_sign_far_down_in_the_target(tmp_path):
    message = refusal(take_target, column_file(tmp_path, ["1", "2"] * 300 + ["$5"], ","), "a")
    assert "'$5'" in message and "Remove the sign" in message


def test_words_with_signs_are_categories(tmp_path):
    for values in (["<5%", "5-10%"], ["5%", "free"], ["A$", "B$"], ["$", "$$"]):
        assert Schema.learn(column_file(tmp_path, values, ",")).columns[0].kind == "category"


def test_words_for_missing_values_are_not_numbers_in_any_style(tmp_path):
    frame = column_file(tmp_path, ["50,5", "NA", "-", "."], ";")
    assert np.isnan(Schema.learn(frame).read(frame)["a"]).tolist() == [False, True, True, True]
    assert Schema.learn(frame).columns[0].n_missing == 3
