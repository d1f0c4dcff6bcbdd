"""What columns are taken for, what is remembered of them, and how new rows are read."""

from __future__ import annotations

import datetime
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas
import pyarrow as pa
import pytest

from extranets.tables import Notes, Schema, TableError, TableWarning, open_table


def learned(values, **options):
    """What is learned about one column. There is a second one in the table, so that the first may be dropped."""
    frame = pandas.DataFrame({"x": values, "other": np.arange(len(values), dtype=float)})
    schema = Schema.learn(frame, **options)
    return next((column for column in schema.columns if column.name == "x"), schema.dropped.get("x"))


def read_one(column_values, new, **options):
    schema = Schema.learn(pandas.DataFrame({"x": column_values}), **options)
    return schema.read(pandas.DataFrame({"x": new}))["x"].tolist()


def refusal(call, *args, **named):
    with pytest.raises(TableError) as caught:
        call(*args, **named)
    return str(caught.value)


def csv_frame(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with open_table(path) as reader:
        return reader.read()


# -- kinds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2.5", "+3e-2", ".5", "5."], "number"),
        ([1, 2, 3], "number"),
        (pandas.array([1, None, 3], dtype="Int64"), "number"),
        (["0", "1", "1"], "boolean"),
        ([0, 1, 1], "boolean"),
        ([0.0, np.nan, 1.0], "boolean"),
        (["0.0", "", "1.0"], "boolean"),  # as pandas writes 0, a gap and 1
        (["1", "yes", "0"], "boolean"),
        ([0, 1, 2], "number"),
        ([0.0, 0.5, 1.0], "number"),
        ([-1, 0, 1], "number"),
        ([0] * 300 + [1, 2], "number"),
        ([True, False, True], "boolean"),
        (["yes", "No", "yes"], "boolean"),
        (["T", "F", None], "boolean"),
        (pandas.Series([True, None, False], dtype=object), "boolean"),
        (["2024-01-02", "2024-02-03", None], "date"),
        (["2024-01-02T10:00:00Z", "2024-01-02T11:30:00+02:00"], "date"),
        (["31.12.2023", "1.2.2024"], "date"),
        (["12/31/2023", "01/02/2024"], "date"),
        (["31 Dec 2023", "1 Jan 2024"], "date"),
        (["2024/01/02 10:30", "2024/01/02 11:00"], "date"),
        ([datetime.date(2024, 1, 2), datetime.date(2024, 5, 2)], "date"),
        (pandas.to_datetime(["2024-01-02", "2024-05-02"]).tz_localize("Europe/Berlin"), "date"),
        (["red", "blue", "now"], "category"),
        (["1-2", "3-4", "x"], "category"),
        (pandas.Categorical(["a", "b", "a"]), "category"),
        (pandas.Series([1, "a", None, 2.5], dtype=object), "category"),
        (["yes", "no", "maybe"], "category"),
        (["1,234", "2,345", "x"], "category"),
    ],
)
def test_kinds(values, kind):
    assert learned(values).kind == kind


def test_points_and_commas_in_one_column_are_a_mistake(tmp_path):
    frame = csv_frame(tmp_path, "a;b\n" + "3,14;1\n" * 60 + "2.5;2\n")
    message = refusal(Schema.learn, frame)
    assert "table.csv, row 61, column 'a': '2.5'" in message
    frame = csv_frame(tmp_path, "a;b\n" + "3.14;1\n" * 60 + "2,5;2\n")
    assert "table.csv, row 61, column 'a': '2,5'" in refusal(Schema.learn, frame)


def test_kinds_can_be_given():
    assert learned([1, 2, 3], kinds={"x": "category"}).categories == ("1", "2", "3")
    assert learned(["0", "1", "1"], kinds={"x": "boolean"}).share == pytest.approx(2 / 3)
    assert learned([20240131, 20240201], kinds={"x": "date:%Y%m%d"}).first.startswith("2024-01-31")
    assert learned(["1/2/2024", "3/4/2024"], kinds={"x": "date:%d/%m/%Y"}).last.startswith("2024-04-03")
    assert learned(["1", "2"], kinds={"x": "ignore"}) == "kinds says so"
    assert "neither true nor false" in refusal(learned, ["0", "1", "2"], kinds={"x": "boolean"})
    assert "row 1, column 'x': 'b' is not a number" in refusal(learned, ["1", "b"], kinds={"x": "number"})
    assert "give its format" in refusal(learned, ["1", "b"], kinds={"x": "date"})
    assert "(did you mean 'other'?)" in refusal(learned, ["1", "2"], kinds={"othr": "number"})
    assert "must be one of" in refusal(learned, ["1", "2"], kinds={"x": "text"})


def test_order_of_day_and_month_must_be_clear():
    message = refusal(learned, ["1/2/2024", "3/4/2024"])
    assert "column 'x'" in message and "date:%d/%m/%Y" in message and "date:%m/%d/%Y" in message


def test_dates_with_short_years_are_named_as_such():
    days = pandas.date_range("2023-01-01", periods=200)
    assert "dates with short years" in learned(days.strftime("%d.%m.%y"))
    assert "(--kind x=date:%d.%m.%y) keeps it" in learned(days.strftime("%d.%m.%y"))
    assert "(--kind x=date:%m/%d/%y) keeps it" in learned(days.strftime("%m/%d/%y"))
    assert learned(days.strftime("%m/%d/%y"), kinds={"x": "date:%m/%d/%y"}).first.startswith("2023-01-01")


@pytest.mark.parametrize("format", ["%Q", "%", "%Y-%Y", "day", ""])
def test_unknown_date_formats_are_refused(format):
    message = refusal(learned, ["31.12.2023", "1.2.2024"], kinds={"x": f"date:{format}"})
    assert "the table, column 'x'" in message and f"'date:{format}' is not a format" in message


def test_advice_is_quoted_for_the_shell():
    frame = pandas.DataFrame({"net price": ["1"] * 60 + ["n a"]})
    message = refusal(Schema.learn, frame)
    assert "(--na 'n a')" in message and "(--kind 'net price=category')" in message
    message = refusal(Schema.learn, pandas.DataFrame({"the day": ["1/2/2024", "3/4/2024"]}))
    assert "(--kind 'the day=date:%d/%m/%Y')" in message and "(--kind 'the day=date:%m/%d/%Y')" in message
    dropped = Schema.learn(pandas.DataFrame({"id $": [f"n{i}" for i in range(200)], "a": np.arange(200.0)})).dropped
    assert "(--kind 'id $=category')" in dropped["id $"]


def test_days_that_do_not_exist_are_not_dates():
    message = refusal(learned, ["28/02/2024"] * 60 + ["31/02/2024"])
    assert "row 60, column 'x': '31/02/2024' is not a date" in message


def test_wrong_type_in_row_70001(tmp_path):
    rows = ["1.5,red"] * 70_000 + ["abc,red"] + ["2.5,blue"] * 100
    frame = csv_frame(tmp_path, "price,colour\n" + "\n".join(rows) + "\n")
    message = refusal(Schema.learn, frame)
    assert "table.csv, row 70001, column 'price': 'abc' is not a number" in message
    assert "--na abc" in message and "--kind price=category" in message
    assert Schema.learn(frame, na_values=["abc"]).columns[0].n_missing == 1
    assert Schema.learn(frame, {"price": "category"}).columns[0].categories == ("1.5", "2.5", "abc")


def test_infinity_is_refused():
    assert "row 1, column 'x'" in refusal(learned, [1.0, np.inf, 2.0])
    assert "infinite" in refusal(learned, ["1", "1e999", "3"])


def test_columns_that_are_dropped(tmp_path):
    assert learned([None, None, None]) == "it holds no values"
    assert learned(["NA", "?", ""]) == "it holds no values"
    assert "same value" in learned(["a", "a", "a"])
    assert learned(["a", None, "a"]).missing  # whether the value is missing is information
    names = [f"name {i}" for i in range(200)]
    assert "200 different values" in learned(names)
    assert len(learned(names, kinds={"x": "category"}).categories) == 200
    assert learned([f"v{i % 100}" for i in range(150)]).kind == "category"
    frame = csv_frame(tmp_path, ",a\n0,1\n1,5\n2,3\n")
    assert "counts the rows" in Schema.learn(frame).dropped["unnamed_1"]
    assert "unnamed_1" in Schema.learn(csv_frame(tmp_path, ",a\n0,1\n4,5\n2,3\n")).names
    assert "no column can be used ('a': it holds no values)" in refusal(Schema.learn, pandas.DataFrame({"a": [None]}))


@pytest.mark.parametrize("n", [20, 400])  # few values look like categories, many like free text
def test_numbers_among_which_words_stand_for_gaps_are_named(n):
    numbers = [f"{number / 7:.4f}" for number in range(n)]
    for words, advice in ((["unknown"], "--na unknown"), (["not known", "?!"], "--na 'not known' --na '?!'")):
        values = numbers + words * (n // 10)
        share = 100 * n / len(values)
        if n == 20:
            with pytest.warns(TableWarning, match="column 'x': it is taken for categories") as caught:
                assert learned(values).kind == "category"
            told = str(caught[0].message)
        else:
            told = learned(values)
            assert "different values" in told
        assert f"{share:.0f} % of its values are numbers" in told and advice in told
        assert learned(values, na_values=words).kind == "number"


CODES = ["9", "10", "11", "12"] * 30


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([*CODES, "other"], ["other"]),
        ([*CODES, "other", "not known"], ["other", "not known"]),
        ([*CODES, "12+"], ["12+"]),
        ([*map(int, CODES), "other"], ["other"]),
        (["0", "1"] * 30 + ["maybe"], ["maybe"]),
    ],
)
def test_a_few_whole_numbers_and_a_word_are_categories_with_a_note(values, words):
    with pytest.warns(TableWarning, match="column 'x': it is taken for categories") as caught:
        column = learned(values)
    assert set(column.categories) == set(map(str, values))
    told = str(caught[0].message)
    assert "% of its values are numbers, and the others " + ", ".join(map(repr, words)) in told
    assert f"na_values={words!r}" in told and "(--kind x=category)" in told
    assert learned(values, na_values=words).kind in ("number", "boolean")


@pytest.mark.parametrize(
    "values",
    [
        [str(number) for number in range(20)] * 5 + ["other"],  # too many different numbers
        [str(number) for number in range(10)] * 4 + ["other"],  # each in too few rows
        ["9.5", "10.5"] * 50 + ["other"],
        ["9"] * 60 + ["other"],
        CODES * 2 + [f"word {letter}" for letter in "abcdef"],
    ],
)
def test_a_word_in_a_column_of_measurements_is_a_mistake(values):
    message = refusal(learned, values)
    assert "is not a number" in message and "(--kind x=category)" in message


WAYS = ("%Y-%m-%d", "%d.%m.%Y", "%d %b %Y")


@pytest.mark.parametrize("times", [1, 20])  # few values look like categories, many different ones like free text
@pytest.mark.parametrize("in_blocks", [False, True])
def test_dates_in_several_formats_are_named_with_examples(times, in_blocks):
    values = [day.strftime(way) for way in WAYS for day in pandas.date_range("2023-01-13", periods=12 * times)]
    values = values if in_blocks else np.array(values).reshape(3, -1).T.ravel().tolist()
    if times == 1:
        with pytest.warns(TableWarning, match="column 'x': it is taken for categories, but its dates") as caught:
            assert learned(values).kind == "category"
        told = str(caught[0].message)
    else:
        told = learned(values)
    assert "its dates are written in 3 ways" in told and "Write all of them in one way, best as 2024-12-31" in told
    assert "(ISO 8601)" in told and "(%d.%m.%Y)" in told and "(%d %b %Y)" in told and "(--kind x=category)" in told
    assert sum(repr(value) in told for value in set(values)) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert learned(values, kinds={"x": "category"}).kind == "category"


def test_mixed_dates_whose_day_nobody_can_tell_are_named_with_both_orders():
    values = ["2023-01-13", "2023-02-14", "2/1/2023", "3/4/2023", "5-6-23"] * 3
    with pytest.warns(TableWarning, match="in 3 ways") as caught:
        learned(values)
    told = str(caught[0].message)
    assert "'2/1/2023' (%d/%m/%Y or %m/%d/%Y)" in told and "'5-6-23' (%d-%m-%y or %m-%d-%y)" in told


def test_categories_with_some_dates_give_no_note():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (
            ["2023-01-13", "1.2.2023", "soon", "later"] * 3,
            ["2023-01-13", "1.2.2023", "1-2"],
            ["1-2", "3-4", "10-20"],
            ["A 1.2", "B 3.4"],
        ):
            assert learned(values).kind == "category"


@pytest.mark.parametrize("example", ["2'293", "2\u2019293.5", "2 293", "2\xa0293,25", "\u22124"])
def test_numbers_with_unknown_signs_are_named(example):
    with pytest.warns(TableWarning, match="looks like a number") as caught:
        assert learned([example, "17", "3"]).kind == "category"
    assert repr(example) in str(caught[0].message)


def test_categories_with_some_numbers_give_no_warning():
    """Words in most rows, numbers with a letter, and a kind that was given."""
    numbers = [str(number) for number in range(20)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (numbers + ["S", "M", "L"] * 7, [*numbers, "12a", "13b"], ["12 a", "1 2", "3"], ["123 45", "7"]):
            assert learned(values).kind == "category"
        assert learned([*numbers, *["unknown"] * 3], kinds={"x": "category"}).kind == "category"


def test_columns_that_cannot_be_used():
    for values in (
        pandas.to_timedelta([1, 2], unit="s"),
        [[1], [2]],
        [b"a", b"b"],
        [datetime.time(1), datetime.time(2)],
    ):
        assert "column 'x'" in (message := refusal(learned, values)) and "--kind x=ignore" in message
        assert learned(values, kinds={"x": "ignore"}) == "kinds says so"
    # Nor does it get in the way of finding out what the commas of another column mean.
    frame = pandas.DataFrame({"a": ["1,017", "2"], "b": ["0.5", "1"], "c": [[1], [2]]})
    assert Schema.learn(frame, {"c": "ignore"}).read(frame)["a"].tolist() == [1017.0, 2.0]
    frame = pandas.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    assert "several columns 'a'" in refusal(Schema.learn, frame)


# -- what is remembered ------------------------------------------------------------------------------------------------


def test_numbers_are_remembered():
    column = learned(["3", "1", "NA", "2", "10"])
    assert (column.fill, column.low, column.high, column.n_missing) == (2.0, 1.0, 10.0, 1)


def test_frequent_categories_come_first():
    column = learned(["b", "a", "c", "c", "d", " b "])
    assert column.categories == column.encoded == ("b", "c", "a", "d") and column.rare == () and not column.learned
    assert replace(learned(["b", "a", "c", "c", "d", " b "], max_categories=3), learned=False) == column


def test_categories_are_described_by_what_stands_for_them():
    few, many = learned(list("aabbc"), max_categories=3), learned(list("aabbc"), max_categories=2)
    assert few.described() == "3: 'a', 'b', 'c'" and not few.learned
    assert many.described() == "3, given as a few numbers each, learned from the target" and many.learned
    old = lumped(Schema.learn(pandas.DataFrame({"x": list("aabbc")})), 0, 2).columns[0]
    assert old.described() == "2 most frequent, the others share an input: 'a', 'b'"


def test_the_more_frequent_truth_value_is_remembered_and_of_equal_ones_the_median():
    for values in ([0, 1, 1], ["yes", "no", "yes"]):
        column = learned(values)
        assert (column.fill, column.share) == (1.0, pytest.approx(2 / 3)) and column.described() == "67 % true"
    assert learned([1, 0, None]).fill == learned([1, 0, None], kinds={"x": "number"}).fill == 0.0


def test_usual_and_given_words_for_missing_values():
    assert learned(["1", "NA", "N/A", "NaN", "null", "None", "?", "-", ".", "", "2"]).n_missing == 9
    assert learned(["1", "2", "-999"], na_values=["-999"]).low == 1.0
    assert learned([1, 2, -999], na_values=["-999"]).low == 1.0


def test_dates_are_remembered():
    column = learned(["2024-03-01 12:00", "2024-01-01 00:00", None, "2024-02-01 00:00"])
    assert (column.first[:10], column.last[:16], column.fill[:10]) == ("2024-01-01", "2024-03-01T12:00", "2024-02-01")
    assert column.has_time and column.described() == "2024-01-01 00:00 to 2024-03-01 12:00"
    assert not learned(["2024-03-01", "2024-01-01"]).has_time


# -- new rows ----------------------------------------------------------------------------------------------------------


def test_new_rows_are_read_by_type_whatever_holds_them():
    assert read_one(["1", "2"], [3, 4]) == [3.0, 4.0]
    assert read_one([1, 2], ["3", "4.5"]) == [3.0, 4.5]
    assert read_one([1, 2], [True, False]) == [1.0, 0.0]
    assert read_one(["yes", "no"], [True, False]) == [1.0, 0.0]
    assert read_one([1, 2, 2], ["2", "1"], kinds={"x": "category"}) == ["2", "1"]
    assert read_one(["1", "2"], [2.0, 1.0], kinds={"x": "category"}) == ["2", "1"]
    assert read_one(["True", "False"], [True, False], kinds={"x": "category"}) == ["True", "False"]
    day = pandas.Timestamp("2024-05-01")
    assert read_one(["2024-01-01", "2024-03-01"], [day]) == [day]
    assert read_one([day, day + pandas.Timedelta(days=1)], ["2024-05-01"]) == [day]
    assert read_one(["31.12.2023", "1.2.2024"], ["1.5.2024"]) == [day]
    zoned = read_one(["2024-01-01", "2024-03-01"], ["2024-05-01T02:00:00+02:00"])
    assert zoned == [day]


@pytest.mark.parametrize(
    ("training", "new", "words"),
    [
        (["1", "2"], ["3", "x"], "'x' is not a number"),
        (["yes", "no"], ["no", "2"], "'2' is neither true nor false"),
        (["2024-01-01", "2024-01-02"], ["2024-01-01", "01.02.2024"], "'01.02.2024' is not a date"),
        (["2024-01-01", "2024-01-02"], ["2024-01-01", "now"], "'now' is not a date"),
        ([1.0, 2.0], [0.0, -np.inf], "'-inf' is infinite"),
        ([1.0, 2.0], pandas.to_datetime(["2024-01-01", "2024-01-02"]), "is not a number"),
    ],
)
def test_values_that_cannot_be_read(training, new, words):
    message = refusal(read_one, training, new)
    assert words in message and "column 'x'" in message
    assert "row 1," in message or "row 0," in message


TRAINING = pandas.DataFrame(
    {"size": [1.0, 2, 3], "colour": ["red", "blue", "red"], "when": ["2024-01-01", "2024-01-02", "2024-01-03"]}
)


def test_columns_are_found_by_name():
    schema = Schema.learn(TRAINING)
    new = TRAINING.assign(extra="?")[["extra", "when", "colour", "size"]]
    pandas.testing.assert_frame_equal(schema.read(new), schema.read(TRAINING))
    message = refusal(schema.read, TRAINING.rename(columns={"colour": "Color"}))
    assert "the column 'colour'" in message and "did you mean 'Color'?" in message
    assert "'colour', 'when'" in refusal(schema.read, TRAINING[["size"]])


@pytest.mark.parametrize("training", [[0, 1, 1], [0.0, 1.0, 1.0], ["0", "1", "1"], ["0.0", "1.0", "1.0"]])
def test_other_numbers_in_a_column_of_0_and_1_are_noted_and_used(training):
    """A few rows may show only 0 and 1 of a column that counts something."""
    schema, notes = Schema.learn(pandas.DataFrame({"x": training})), Notes()
    for new in ([0, 2, 0.5], ["0", "2", "0.5"], ["no", "2.0", "0,5"]):
        assert schema.read(pandas.DataFrame({"x": new}), notes)["x"].tolist() == [0.0, 2.0, 0.5]
    assert schema.read(pandas.DataFrame({"x": [True, False]}))["x"].tolist() == [1.0, 0.0]
    (line,) = notes.lines()
    assert "'x': 6 rows hold values that were not seen in training, taken as the numbers that they are: '2'" in line
    assert "'2' was not seen" in refusal(schema.read, pandas.DataFrame({"x": [1, 2]}), strict=True)
    assert "row 1, column 'x': 'maybe' is neither" in refusal(schema.read, pandas.DataFrame({"x": ["1", "maybe"]}))
    assert "row 1, column 'x': 'inf' is infinite" in refusal(schema.read, pandas.DataFrame({"x": [1, np.inf]}))


def test_notes_tell_new_categories_and_gaps_once():
    schema, notes = Schema.learn(TRAINING), Notes()
    for _ in range(2):
        new = pandas.DataFrame(
            {"size": [None, 1, None], "colour": ["teal", "red", "pink"], "when": [None, None, "2024-01-01"]}
        )
        typed = schema.read(new, notes)
    assert typed["colour"].tolist() == ["(other)", "red", "(other)"]
    assert np.isnan(typed["size"]).tolist() == [True, False, True]
    lines = notes.lines()
    assert len(lines) == 3 and notes
    assert "'colour': 4 rows" in lines[0] and "'teal', 'pink'" in lines[0]
    assert "'size': 4 rows" in lines[1] and "2, the median" in lines[1]
    assert "'when': 4 rows" in lines[2]


def test_rare_categories_are_not_new():
    schema = lumped(Schema.learn(pandas.DataFrame({"x": ["a", "a", "b", "b", "c"]})), 0, 2)
    notes = Notes()
    assert schema.read(pandas.DataFrame({"x": ["c", "a", "(other)"]}), notes)["x"].tolist() == [
        "(other)",
        "a",
        "(other)",
    ]
    assert notes.lines() == [
        "Column 'x': 1 row holds values that were not seen in training, taken as '(other)': '(other)'."
    ]


def test_notes_stay_small():
    schema, notes = Schema.learn(pandas.DataFrame({"x": ["a", "b", "a"]})), Notes()
    schema.read(pandas.DataFrame({"x": [f"new {i}" for i in range(1000)]}), notes)
    (line,) = notes.lines()
    assert "1,000 rows" in line and "and others" in line and len(line) < 300


def test_strict_refuses_with_row_and_column():
    schema = Schema.learn(TRAINING)
    new = TRAINING.assign(colour=["red", "blue", "teal"])
    assert "row 2, column 'colour': 'teal' was not seen in training" in refusal(schema.read, new, strict=True)
    gap = TRAINING.assign(size=[1.0, None, 2.0])
    assert "row 1, column 'size': the value is missing" in refusal(schema.read, gap, strict=True)


# -- JSON --------------------------------------------------------------------------------------------------------------


def lumped(schema, number, most):
    """A column as files of earlier versions have it: so many categories, and the others together."""
    stored = schema.to_dict()
    every = stored["columns"][number]["categories"]
    stored["columns"][number] |= {"categories": every[:most], "rare": every[most:]}
    return Schema.from_dict(stored)


def mixed_schema():
    frame = pandas.DataFrame(
        {
            "n": [0.1 + 0.2, None, 1e-300],
            "b": [True, False, None],
            "d": ["2024-01-02 10:00", None, "2024-01-03 11:00"],
            "c": ["x", "y", "z"],
            "empty": [None] * 3,
        }
    )
    return lumped(Schema.learn(frame, na_values=["n.k."]), 3, 2)


def test_json_round_trip():
    schema = mixed_schema()
    again = Schema.from_json(schema.to_json())
    assert again == schema and again.to_json() == schema.to_json()
    assert [type(column) for column in again.columns] == [type(column) for column in schema.columns]
    assert again.dropped == {"empty": "it holds no values"}
    assert Schema.from_json(schema.to_json().encode()) == schema


def test_truth_values_of_older_descriptions_keep_their_meaning():
    stored = mixed_schema().to_dict()
    del stored["columns"][1]["as_numbers"]
    assert Schema.from_dict(stored) == mixed_schema()


def changed(path, value):
    stored = json.loads(mixed_schema().to_json())
    place = stored
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return stored


HOSTILE = [
    (["version"], 2), (["columns"], []), (["columns"], {}), (["columns"], "abc"), (["na_values"], [1]), (["na_values"], "x"),
    (["dropped"], {"a": 1}), (["dropped"], []), (["more"], 1), (["columns", 0], None), (["columns", 0, "kind"], "object"),
    (["columns", 0, "kind"], ["number"]), (["columns", 0, "kind"], "date"), (["columns", 0, "name"], 3), (["columns", 0, "name"], "b"),
    (["columns", 0, "name"], "x" * 20_000), (["columns", 0, "n_missing"], -1), (["columns", 0, "n_missing"], True),
    (["columns", 0, "n_missing"], 10**30), (["columns", 0, "fill"], "1"), (["columns", 0, "fill"], None),
    (["columns", 0, "fill"], float("inf")), (["columns", 0, "fill"], 10**400), (["columns", 0, "low"], float("nan")),
    (["columns", 0, "more"], 1), (["columns", 1, "fill"], 0.5), (["columns", 1, "share"], 2.0), (["columns", 1, "as_numbers"], 1), (["columns", 2, "fill"], "NaT"),
    (["columns", 2, "first"], "yesterday"), (["columns", 2, "last"], "99999-01-01"), (["columns", 2, "has_time"], 1),
    (["columns", 2, "format"], "x" * 200), (["columns", 2, "format"], "no"), (["columns", 2, "format"], "%Q"), (["columns", 2, "first"], ["2024-01-01"]),
    (["columns", 3, "categories"], "xy"), (["columns", 3, "categories"], [1]), (["columns", 3, "categories"], ["x", "x"]),
    (["columns", 3, "categories"], ["z"]), (["columns", 3, "categories"], ["(other)"]), (["columns", 3, "rare"], 3),
    (["columns", 3, "categories"], [f"{i}" for i in range(20_000)]), (["columns", 3, "learned"], 1), (["columns", 3, "categories"], ["y" * 20_000]),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_descriptions_are_refused(number):
    with pytest.raises(TableError, match="not valid"):
        Schema.from_dict(changed(*HOSTILE[number]))


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", "[]", '{"version": 1}', "\ud800"])
def test_text_that_is_not_a_description_is_refused(text):
    with pytest.raises(TableError):
        Schema.from_json(text)


def test_arrow_types_are_read():
    table = pa.table({
        "d": pa.array([1, 2], pa.decimal128(5, 2)),
        "s": pa.array(["a", "b"]).dictionary_encode(),
        "t": pa.array([0, 86_400_000_000_001], pa.timestamp("ns")),
    }).to_pandas()  # fmt: skip
    assert [column.kind for column in Schema.learn(table).columns] == ["number", "category", "date"]
