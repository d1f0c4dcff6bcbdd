"""Categories of many levels: what training rows and new rows get, and what is stored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression

from extranets import ExtraNetsRegressor, model_file
from extranets.tables import Schema, TableError, TableRegressor, TableWarning, column_transformer, cross_validate_table
from extranets.tables.levels import LevelEffects

SAMPLES = Path(__file__).parent / "samples"
NETS = ExtraNetsRegressor(2, (4,), max_iter=5, random_state=0, n_jobs=1)


class Keeping(RegressorMixin, BaseEstimator):
    """A linear regression that keeps the table that it was fitted to."""

    def fit(self, X, y, sample_weight=None):
        self.seen_, self.model_ = X, LinearRegression().fit(X, y, sample_weight)
        return self

    def predict(self, X):
        return self.model_.predict(X)


def ratings(n=2000, n_users=200, effect=1.0, seed=0):
    """Users with normal effects, a number with a slope of one, and noise of variance one. Shape of the effects: (n_users,)."""
    random = np.random.default_rng(seed)
    users, effects = random.integers(0, n_users, n), effect * random.normal(size=n_users)
    table = pandas.DataFrame({"user": np.char.add("u", users.astype(str)), "x": random.normal(size=n)})
    return table, effects[users] + table["x"].to_numpy() + random.normal(size=n), effects


@pytest.fixture(scope="module")
def fitted():
    table, y, _ = ratings()
    return TableRegressor(Keeping()).fit(table, y)


def test_a_column_of_many_levels_becomes_a_few_numbers(fitted):
    assert list(fitted.transformer_.get_feature_names_out()) == ["x", "user: rows", "user: effect"]
    assert fitted.schema_.columns[0].described() == "200, given as a few numbers each, learned from the target"
    assert list(fitted.levels_) == ["user"] and fitted.levels_["user"].values.dtype == np.float32
    table, y, _ = ratings()
    assert list(TableRegressor(Keeping(), max_categories=200).fit(table, y).levels_) == []


def test_effects_are_those_of_the_levels_and_predict_new_rows(fitted):
    """The number's slope is no effect of levels. 10 rows of each level, noise and effects of variance one: the best prediction
    has an error of variance 1 / 11 for the effect."""
    _, y, effects = ratings()
    column = fitted.schema_.columns[0]
    known = {f"u{number}": effect for number, effect in enumerate(effects)}
    truth = np.array([known[name] for name in column.categories])
    found = fitted.levels_["user"].values[:, 1] * y.std()
    # A variance of 200 errors has a standard error of a tenth.
    assert np.var(found - truth) < 1 / 11 * (1 + 4 * 0.1)
    new = pandas.DataFrame({"user": list(known), "x": 0.0})
    assert np.var(fitted.predict(new) - effects) < 1.5 / 11 * (1 + 4 * 0.1)


def test_a_level_that_is_not_known_and_a_gap_get_the_mean(fitted):
    new = pandas.DataFrame({"user": ["nobody", None], "x": [0.0, 0.0]})
    with pytest.warns(TableWarning, match="taken as an average value"):
        encoded = fitted.encode(new)
    assert encoded.to_numpy().tolist() == [[0.0, 0.0, 0.0]] * 2
    with pytest.raises(TableError, match="'nobody' was not seen in training"):
        clone(fitted).set_params(strict=True).fit(*ratings()[:2]).predict(new[:1])


def test_gaps_of_training_are_a_level():
    table, y, _ = ratings()
    table.loc[:99, "user"] = None
    y[:100] += 5
    model = TableRegressor(Keeping()).fit(table, y)
    assert model.schema_.columns[0].encoded[-1] == "(missing)" and len(model.levels_["user"].values) == 201
    assert model.predict(pandas.DataFrame({"user": [None], "x": [0.0]}))[0] > 4


def test_training_rows_get_what_other_rows_tell():
    """A change of a row's own target leaves its own numbers alone, but for variances, and changes those of its level's rows."""
    table, y, _ = ratings(400, 40)
    changed = y.copy()
    changed[0] += 0.5
    first, second = (
        TableRegressor(Keeping()).fit(table, target).regressor_.seen_["user: effect"] for target in (y, changed)
    )
    moved = np.abs(second * changed.std() - first * y.std())
    alike = (table["user"] == table["user"][0]).to_numpy()
    # Through the variances and the regression on x, every number moves a little: by far less than by a row of the level.
    assert moved[0] < 0.2 * moved[alike].max() and moved[alike].max() > 0.5 / 20


def test_noise_is_not_learned():
    """1,000 levels of 5 rows and a target of noise alone. With n = 5,000 rows, correlations have a standard error of n ** -0.5."""
    error = 5000**-0.5
    for seed in range(3):
        table, y, _ = ratings(5000, 1000, effect=0.0, seed=seed)
        y -= table["x"].to_numpy()
        new, new_y, _ = ratings(5000, 1000, effect=0.0, seed=100 + seed)
        new_y -= new["x"].to_numpy()
        model = TableRegressor(Keeping()).fit(table, y)
        effect = model.regressor_.seen_["user: effect"]
        if effect.std() > 0:
            assert abs(np.corrcoef(effect, y)[0, 1]) < 4 * error
        # Three slopes that are noise cost 3 / n on average; the square of a normal variable of that size is seldom 10 times as large.
        assert 1 - ((model.predict(new) - new_y) ** 2).mean() / new_y.var() < 10 * error**2
        assert model.regressor_.score(model.regressor_.seen_, y) < 15 * error**2


def test_leaving_rows_in_would_be_seen():
    """The check above is one: numbers from all rows correlate with the training rows' own targets, if effects are not all zero."""
    table, y, _ = ratings(2000, 1000, effect=0.5)
    model = TableRegressor(Keeping()).fit(table, y)
    own = np.corrcoef(model.encode(table)["user: effect"], y)[0, 1]
    crossed = np.corrcoef(model.regressor_.seen_["user: effect"], y)[0, 1]
    assert own > crossed + 8 * 2000**-0.5


def test_every_output_has_its_own_effects():
    table, y, _ = ratings()
    other = y[::-1].copy()
    both = TableRegressor(Keeping()).fit(table, np.column_stack([y, other]))
    names = list(both.transformer_.get_feature_names_out())
    assert names == ["x", "user: rows", "user: effect, output 0", "user: effect, output 1"]
    for output, target in enumerate((y, other)):
        alone = TableRegressor(Keeping()).fit(table, target)
        np.testing.assert_array_equal(both.levels_["user"].values[:, output + 1], alone.levels_["user"].values[:, 1])


def test_a_number_that_means_more_in_some_levels_adds_a_slope():
    table, y, effects = ratings(4000)
    users = table["user"].str[1:].astype(int).to_numpy()
    y += effects[::-1][users] * table["x"].to_numpy()
    model = TableRegressor(Keeping()).fit(table, y)
    assert model.levels_["user"].names == ["user: rows", "user: effect", "user: slope of x"]


def test_weights_of_zero_count_as_rows_that_are_not_there_and_their_scale_does_not_matter():
    table, y, _ = ratings()
    weight = np.where(np.arange(len(y)) % 4 == 0, 0.0, 1.0)
    some, fewer = (
        TableRegressor(Keeping()).fit(table, y, weight),
        TableRegressor(Keeping()).fit(table[weight > 0], y[weight > 0]),
    )
    effects = [
        dict(zip(m.schema_.columns[0].encoded, m.levels_["user"].values[:, 1], strict=True)) for m in (some, fewer)
    ]
    for level, effect in effects[1].items():
        assert effects[0][level] == pytest.approx(effect, abs=1e-5)
    again = TableRegressor(Keeping()).fit(table, y, 1000 * weight)
    np.testing.assert_allclose(again.levels_["user"].values, some.levels_["user"].values, rtol=1e-5)


def test_the_same_rows_give_the_same_numbers_and_folds_of_a_cross_validation_learn_their_own():
    table, y, _ = ratings()
    first, second = (TableRegressor(Keeping()).fit(table, y) for _ in range(2))
    pandas.testing.assert_frame_equal(first.regressor_.seen_, second.regressor_.seen_)
    noise = np.random.default_rng(1).normal(size=len(y))
    model = TableRegressor(NETS)
    found = cross_validate_table(model, table, noise, model.learn_schema(table), n_folds=4)
    # R2 of noise: 2,000 rows, standard error of a correlation 0.022; a leak of five rows a level would give about 0.1.
    assert found.scores()["r2"] < 0.01


def test_only_columns_of_many_levels_and_several_of_them():
    table, y, _ = ratings()
    table = table.assign(film=table["user"].sample(frac=1, random_state=0).to_numpy()).drop(columns="x")
    model = TableRegressor(Keeping()).fit(table, y)
    assert [len(effects.names) for effects in model.levels_.values()] == [2, 2]
    assert model.predict(table).shape == (2000,)


def test_targets_that_cannot_be_used_are_refused():
    table, y, _ = ratings()
    for bad, words in ((np.where(y > 2, np.nan, y), "y contains NaN"), (y[:-1], "inconsistent numbers of samples")):
        with pytest.raises(ValueError, match=words):
            TableRegressor(Keeping()).fit(table, bad)
    for extreme in (y * 1e100, y * 1e-100, np.zeros(2000)):
        assert np.isfinite(TableRegressor(Keeping()).fit(table, extreme).levels_["user"].values).all()


def test_a_transformer_alone_says_what_is_missing():
    table, _, _ = ratings()
    with pytest.raises(TableError, match=r"'user'\) need numbers that are learned from the target: use TableRegressor"):
        column_transformer(Schema.learn(table))


# -- model files -------------------------------------------------------------------------------------------------------


def test_effects_are_stored(tmp_path):
    table, y, _ = ratings()
    model = TableRegressor(NETS).fit(table, y)
    model.save(tmp_path / "m.xnet")
    again = model_file.load(tmp_path / "m.xnet")
    new = pandas.DataFrame({"user": ["u1", "nobody", "u7"], "x": [0.0, 1.0, 2.0]})
    with pytest.warns(TableWarning):
        np.testing.assert_array_equal(again.predict_interval(new), model.predict_interval(new))
    text = (tmp_path / "m.xnet").read_bytes()
    assert text.count(b"u137") == 1  # names of levels are stored once
    arrays = model_file.read_info(tmp_path / "m.xnet")["arrays"]
    assert arrays["levels.user.values"]["bytes"] == 200 * 2 * 4


def test_hostile_effects_are_refused(tmp_path):
    table, y, _ = ratings()
    model = TableRegressor(NETS).fit(table, y)
    good, effects = model._to_stored(), model.levels_["user"]
    nan = np.full_like(effects.values, np.nan)
    hostile = [
        {}, {"x": effects}, {"user": effects, "x": effects}, {"user": None}, {"user": 3}, {"user": [1.0]},
        {"user": LevelEffects(effects.names, effects.values[:-1])}, {"user": LevelEffects(["x", "x"], effects.values)},
        {"user": LevelEffects(["a"], effects.values[:, :1])},
    ]  # fmt: skip
    for levels in hostile:
        with pytest.raises(ValueError, match=r"\w"):
            TableRegressor._from_stored({**good, "levels": levels})
    schema = json.loads(json.dumps(good["schema"]))
    schema["columns"][0]["learned"] = 1
    with pytest.raises(TableError, match="learned must be true or false"):
        TableRegressor._from_stored({**good, "schema": schema})
    for bad in (
        replace(effects, values=nan),
        replace(effects, names=["a"]),
        replace(effects, values=effects.values[0]),
    ):
        with pytest.raises((ValueError, TypeError)):
            model_file.save(bad, tmp_path / "m.xnet")


def test_a_file_of_an_earlier_version_predicts_what_it_did():
    """Its five least frequent cities share a feature; ``about`` holds rows and the intervals that were predicted then."""
    about = model_file.read_info(SAMPLES / "lumped.xnet")["about"]
    model = model_file.load(SAMPLES / "lumped.xnet")
    assert model.levels_ == {} and model.schema_.columns[0].has_other
    new = pandas.DataFrame(about["rows"], columns=["city", "x"])
    with pytest.warns(TableWarning, match=r"taken as '\(other\)'"):
        found = model.predict_interval(new, as_frame=True)
    np.testing.assert_allclose(found.to_numpy(), about["expected"], rtol=1e-4, atol=1e-4)
    damaged = {**model._to_stored(), "levels": {"city": LevelEffects(["a"], np.zeros((3, 1), np.float32))}}
    with pytest.raises(ValueError, match="the effects are those of other columns"):
        TableRegressor._from_stored(damaged)
