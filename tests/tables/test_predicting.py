"""Predictions as a table, block by block."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from extranets import ExtraNetsRegressor
from extranets.data import simulated_rents
from extranets.tables import NameTakenError, Notes, TableRegressor, prediction_blocks


@pytest.fixture(scope="module")
def flats():
    return simulated_rents(150, random_state=0)


@pytest.fixture(scope="module")
def fitted(flats):
    network = ExtraNetsRegressor(3, (8,), max_iter=5, random_state=0)
    return TableRegressor(network, kinds={"flat": "ignore"}).fit(flats.drop(columns="rent"), flats["rent"])


def predicted(model, blocks, **named):
    return pandas.concat(prediction_blocks(model, blocks, [0.5, 0.9], **named))


def test_they_are_those_of_the_model(fitted, flats):
    found = predicted(fitted, [flats[:60], flats[60:]])
    bounds = ["lower_50", "upper_50", "lower_90", "upper_90"]
    assert found.columns.tolist() == ["prediction", "sd", *bounds] and found.index.equals(flats.index)
    mean, std = fitted.predict(flats, return_std=True)
    np.testing.assert_allclose(found[["prediction", "sd"]], np.stack([mean, std], axis=1), rtol=1e-12)
    expected = fitted.predict_interval(flats, [0.5, 0.9]).transpose(0, 2, 1).reshape(-1, 4)
    np.testing.assert_allclose(found[bounds], expected, rtol=1e-12)


def test_components_and_members_come_last(fitted, flats):
    found = predicted(fitted, [flats], components=True, members=True)
    assert found.columns[6:].tolist() == ["epistemic_sd", "aleatoric_sd", "member_0", "member_1", "member_2"]
    np.testing.assert_allclose(found["epistemic_sd"] ** 2 + found["aleatoric_sd"] ** 2, found["sd"] ** 2, rtol=1e-9)
    np.testing.assert_allclose(found.iloc[:, 8:].T, fitted.predict_members(flats), rtol=1e-12)


def test_kept_columns_come_first(fitted, flats):
    found = predicted(fitted, [flats], keep=["flat", "district"])
    assert found.columns[:3].tolist() == ["flat", "district", "prediction"]
    assert found["flat"].equals(flats["flat"]) and found["district"].equals(flats["district"])


@pytest.mark.parametrize("name", ["sd", "lower_90"])
def test_a_kept_column_must_not_hide_a_prediction(fitted, flats, name):
    table = flats.assign(**{name: 1.0})
    with pytest.raises(NameTakenError, match=f"{name} is the name of a column that is written"):
        predicted(fitted, [table], keep=["flat", name])
    assert "upper_80" in predicted(fitted, [table.assign(upper_80=1.0)], keep=["upper_80"])


def test_notes_are_gathered_over_blocks(fitted, flats):
    notes, table = Notes(), flats.assign(district="Moon")
    predicted(fitted, [table[:60], table[60:]], notes=notes)
    assert "150 rows hold values that were not seen in training" in notes.lines()[0]
