"""Models of tables in files: what was noted at the fit, and predictions beside known targets."""

from __future__ import annotations

import numpy as np
import pytest

from extranets import ExtraNetsRegressor, PBPRegressor
from extranets.data import simulated_rents
from extranets.evaluation import predict_with_targets
from extranets.model_file import ModelFileError
from extranets.tables import Labelled, TableModel, TableRegressor, load_table_model, read_labelled


@pytest.fixture(scope="module")
def rents():
    frame = simulated_rents(150, random_state=0)
    return Labelled("rents.csv", frame.drop(columns="rent"), frame["rent"].to_numpy(), "rent", None)


@pytest.fixture(scope="module")
def fitted(rents):
    network = ExtraNetsRegressor(3, (8,), max_iter=5, random_state=0)
    return TableRegressor(network, kinds={"flat": "ignore"}).fit(rents.X, rents.y)


# -- tables with targets -------------------------------------------------------------------------------------------------


def test_a_file_is_split_into_features_and_target(tmp_path):
    (tmp_path / "flats.csv").write_text("area;rent;flat\n50;1.700,50;a\n72;;b\n72;1.950;c\n")
    flats = read_labelled(tmp_path / "flats.csv", "rent", drop_missing=True)
    assert flats.y.tolist() == [1700.5, 1950.0] and flats.style == "1.234,5" and len(flats) == 2
    assert flats.file.endswith("flats.csv") and flats.columns == ["area", "flat"]
    assert read_labelled(tmp_path / "flats.csv", "rent", style="1.234,5", drop_missing=True).style == "1.234,5"


@pytest.mark.parametrize(
    ("features", "without", "left"),
    [
        ((), (), ["area", "rooms", "flat"]),
        ((), ["flat"], ["area", "rooms"]),
        (["rooms", "area"], (), ["rooms", "area"]),
        (["rooms", "flat"], ["flat"], ["rooms"]),
    ],
)
def test_features_are_selected_by_name(tmp_path, features, without, left):
    (tmp_path / "flats.csv").write_text("area,rooms,flat,rent\n50,2,a,700\n72,3,b,900\n")
    assert read_labelled(tmp_path / "flats.csv", "rent").select(features, without).columns == left


# -- what was noted ------------------------------------------------------------------------------------------------------


def test_what_was_noted_comes_back(fitted, tmp_path):
    about = {"target": "rent", "target_style": "1.234,5", "id": "flat", "coverage": 0.8}
    fitted.save(tmp_path / "m.xnet", about=about)
    found = load_table_model(tmp_path / "m.xnet")
    assert {name: getattr(found, name) for name in about} == about
    assert found.style_of("rent") == "1.234,5" and found.style_of("price") is None


@pytest.mark.parametrize(
    "about",
    [
        None,
        {"target": 3, "target_style": ["1234"], "id": {}, "coverage": "wide"},
        {"coverage": 1.5, "target_style": "?"},
    ],
)
def test_nothing_is_taken_from_a_file_that_notes_nonsense(fitted, tmp_path, about):
    fitted.save(tmp_path / "m.xnet", about=about)
    found = load_table_model(tmp_path / "m.xnet")
    assert (found.target, found.target_style, found.id, found.coverage) == (None, None, None, 0.9)


def test_other_models_are_refused(fitted, rents, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    PBPRegressor((4,), max_iter=1, random_state=0).fit(X, X[:, 0]).save(tmp_path / "arrays.xnet")
    with pytest.raises(ModelFileError, match=r"arrays.xnet holds a PBPRegressor, which takes arrays.*TableRegressor"):
        load_table_model(tmp_path / "arrays.xnet")
    TableRegressor(ExtraNetsRegressor(2, (4,), max_iter=1, random_state=0)).fit(X, X).save(tmp_path / "two.xnet")
    with pytest.raises(ModelFileError, match=r"two.xnet predicts several targets"):
        load_table_model(tmp_path / "two.xnet")


# -- judging -------------------------------------------------------------------------------------------------------------


def test_a_model_is_judged_at_its_own_coverage_too(fitted, rents):
    found = TableModel(fitted, coverage=0.77).judge(rents, levels=[0.5])
    expected = predict_with_targets(fitted, rents.X, rents.y, levels=[0.5, 0.77])
    assert found.levels.tolist() == [0.5, 0.77] and found.members is None and found.target == "rent"
    np.testing.assert_array_equal(found.bounds, expected.bounds)
    assert found.features.columns.tolist() == fitted.schema_.names
    assert found.about["table"] == "rents.csv" and found.about["rows"] == "150"
    assert found.about["method"] == "ExtraNetsRegressor" and found.about["trained"].endswith(", on 150 rows")


def test_a_large_table_is_judged_on_some_of_its_rows(fitted, rents):
    found = TableModel(fitted).judge(rents, members=True, max_rows=40)
    assert len(found) == 40 and found.members.shape == (3, 40) and len(found.features) == 40
    assert found.about["rows"] == "40 of 150, drawn at random"
    assert found.y.tolist() == [rents.y[row] for row in found.features.index]
