"""The column to predict."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from extranets.tables import TableError, open_table, take_target, target_style


def frame_of(tmp_path, text):
    path = tmp_path / "rents.csv"
    path.write_text(text)
    with open_table(path) as reader:
        return reader.read()


def refusal(frame, target, **options):
    with pytest.raises(TableError) as caught:
        take_target(frame, target, **options)
    return str(caught.value)


def test_features_and_target(tmp_path):
    X, y = take_target(frame_of(tmp_path, "a;rent;b\n1;10,5;x\n2;20;y\n"), "rent")
    assert X.columns.tolist() == ["a", "b"] and y.tolist() == [10.5, 20.0] and y.dtype == np.float64
    assert X.attrs["file"].endswith("rents.csv") and X.index.tolist() == [1, 2]


def test_a_target_that_is_not_there(tmp_path):
    message = refusal(frame_of(tmp_path, "area,rent\n1,2\n2,3\n"), "Rents")
    assert (
        "rents.csv" in message
        and "'Rents'" in message
        and "did you mean 'rent'?" in message
        and "'area', 'rent'" in message
    )
    assert "add a line" in refusal(frame_of(tmp_path, "1.5,2\n1,2\n"), "rent")


def test_targets_that_are_missing(tmp_path):
    frame = frame_of(tmp_path, "a,rent\n1,2\n2,NA\n3,4\n4,n.k.\n")
    message = refusal(frame, "rent", na_values=["n.k."])
    assert (
        "rents.csv, column 'rent'" in message
        and "2 of 4 rows (row 2, 4)" in message
        and "--drop-missing-target" in message
    )
    X, y = take_target(frame, "rent", na_values=["n.k."], drop_missing=True)
    assert X["a"].tolist() == ["1", "3"] and X.index.tolist() == [1, 3] and y.tolist() == [2.0, 4.0]


def test_targets_that_are_not_numbers(tmp_path):
    frame = frame_of(tmp_path, "a,rent\n" + "1,2\n" * 70_000 + "2,cheap\n")
    assert "rents.csv, row 70001, column 'rent': 'cheap' is not a number" in refusal(frame, "rent")
    assert "row 2, column 'rent'" in refusal(frame_of(tmp_path, "a,rent\n1,2\n2,inf\n"), "rent")
    assert "row 1, column 'y'" in refusal(pandas.DataFrame({"y": [1.0, -np.inf]}), "y")


def test_targets_with_one_value(tmp_path):
    frame = frame_of(tmp_path, "a,rent\n1,700\n2,700\n3,700\n")
    message = refusal(frame, "rent")
    assert "rents.csv, column 'rent'" in message and "only one value, 700, in all 3 rows" in message
    assert take_target(frame, "rent", allow_constant=True)[1].tolist() == [700.0] * 3
    assert "at least two rows" in refusal(frame.iloc[:1], "rent")
    assert "there is none" in refusal(frame.assign(rent=None), "rent", drop_missing=True)


def test_the_style_of_training_reads_new_rows(tmp_path):
    training = frame_of(tmp_path, "a;rent\n1;1.234,50\n2;2.000\n")
    style = target_style(training, "rent")
    assert style == "1.234,5" and take_target(training, "rent", style=style)[1].tolist() == [1234.5, 2000.0]
    for delimiter in ",;":
        new = frame_of(tmp_path, f"a{delimiter}rent\n1{delimiter}2.293\n2{delimiter}7\n")
        assert take_target(new, "rent", style=style)[1].tolist() == [2293.0, 7.0]
    message = refusal(frame_of(tmp_path, "a,rent\n1,2\n2,2.29\n"), "rent", style=style)
    assert "rents.csv, row 2, column 'rent': '2.29' is not a number like 1.234,5" in message
    assert "'2.293' may be" in refusal(frame_of(tmp_path, "a;rent\n1;2.293\n2;7\n"), "rent")


def test_targets_that_are_not_text_have_no_style():
    frame = pandas.DataFrame({"y": [1.0, 2.5]})
    assert target_style(frame, "y") is None and take_target(frame, "y", style="1.234,5")[1].tolist() == [1.0, 2.5]
    with pytest.raises(ValueError, match="style must be one of '1234'"):
        take_target(frame, "y", style="German")
