"""A regressor for tables: what it hands on, what it warns of, and scikit-learn's rules."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.utils.estimator_checks import parametrize_with_checks

import extranets
from extranets import ExtraNetsRegressor, MCDropoutRegressor, StackedNetsRegressor, model_file
from extranets.tables import (
    Notes,
    TableError,
    TableRegressor,
    TableWarning,
    open_table,
    open_writer,
    prediction_blocks,
    take_target,
)
from extranets.tables import regressor as module

NETS = ExtraNetsRegressor(n_estimators=5, max_iter=30, random_state=0)


def flats(n=300, seed=0):
    """Features of four kinds with gaps, and a target that depends on all of them."""
    rng = np.random.default_rng(seed)
    area, city, lift = rng.normal(60, 15, n), rng.choice(["Ulm", "Bonn", "Trier"], n), rng.random(n) < 0.5
    days = rng.integers(0, 365, n)
    rent = 10 * area + 200 * (city == "Bonn") + 100 * lift + 0.5 * days + rng.normal(0, 20, n)
    area[rng.random(n) < 0.1] = np.nan
    text = np.where(lift, "yes", "no").astype(object)
    return pandas.DataFrame(
        {"area": area, "city": city, "lift": text, "built": (np.datetime64("2023-01-01") + days).astype(str)}
    ), rent


X, y = flats()


@pytest.fixture(scope="module")
def fitted():
    return TableRegressor(NETS).fit(X, y)


# -- scikit-learn ------------------------------------------------------------------------------------------------------


EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "mini-batches of repeated rows are not mini-batches of weighted rows"
}


@pytest.mark.filterwarnings("ignore::extranets.tables.TableWarning")
@parametrize_with_checks(
    [TableRegressor(ExtraNetsRegressor(2, max_iter=20, random_state=0))],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_cross_validation_and_grid_search():
    model = TableRegressor(NETS, max_categories=5)
    assert cross_validate(model, X, y, cv=2)["test_score"].min() > 0.6
    search = GridSearchCV(model, {"max_categories": [5, 1], "estimator__keep_prob": [0.9]}, cv=2).fit(X, y)
    assert search.cv_results_["mean_test_score"].min() > 0.6
    assert search.best_estimator_.regressor_.keep_prob == 0.9


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="max_categories"):
        TableRegressor(NETS, max_categories=0).fit(X, y)
    with pytest.raises(ValueError, match="na_values"):
        TableRegressor(NETS, na_values="NA").fit(X, y)


def test_the_default_is_an_ensemble_of_networks():
    assert hasattr(TableRegressor(), "predict_interval")
    assert isinstance(clone(TableRegressor()).set_params(max_categories=3)._unfitted(), StackedNetsRegressor)


def test_a_column_that_is_not_there_may_have_a_number_as_name():
    with pytest.raises(TableError, match="kinds names the column 0, which is not there"):
        TableRegressor(LinearRegression(), kinds={0: "ignore"}).fit(np.zeros((5, 2)), np.arange(5.0))


def test_a_failed_fit_leaves_no_fitted_estimator():
    model = TableRegressor(LinearRegression()).fit(X, y)
    with pytest.raises(TableError):
        model.set_params(kinds={"no such column": "date"}).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


# -- tables ------------------------------------------------------------------------------------------------------------


def test_it_learns_from_all_kinds_of_columns(fitted):
    new, rent = flats(seed=1)
    assert fitted.score(new, rent) > 0.7
    lower, upper = fitted.predict_interval(new, 0.9).T
    # Of 300 rows; the standard error of such a share is 0.017.
    assert ((lower <= rent) & (rent <= upper)).mean() > 0.9 - 4 * 0.017
    assert fitted.n_features_in_ == 4 and fitted.feature_names_in_.tolist() == list(X.columns)
    assert fitted.loss_curve_ is fitted.regressor_.loss_curve_
    assert fitted.settings_ == fitted.regressor_.settings_
    assert fitted.held_out_scores_ == fitted.regressor_.held_out_scores_


@pytest.mark.parametrize(
    "convert", [polars.from_pandas, pa.Table.from_pandas, lambda frame: frame[frame.columns[::-1]]]
)
def test_whatever_holds_the_table(fitted, convert):
    table = convert(X)
    np.testing.assert_array_equal(fitted.predict(table), fitted.predict(X))
    again = clone(fitted).fit(table, y)
    assert sorted(again.feature_names_in_) == sorted(X.columns)
    assert again.score(X, y) > 0.7


def test_arrays_and_numbered_columns():
    numbers = np.random.default_rng(0).normal(size=(100, 3))
    target = numbers @ [1.0, 2.0, 3.0]
    model = TableRegressor(LinearRegression()).fit(numbers, target)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_allclose(model.predict(numbers), target)
    np.testing.assert_allclose(model.predict(pandas.DataFrame(numbers)), target)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        model.predict(pandas.DataFrame(numbers, columns=list("abc")))
    named = TableRegressor(LinearRegression()).fit(pandas.DataFrame(numbers, columns=list("abc")), target)
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_allclose(named.predict(numbers), target)


def test_text_from_a_file_gives_the_same_bits_as_the_frame(tmp_path, fitted):
    X.assign(rent=y).to_csv(tmp_path / "flats.csv", index=False)
    with open_table(tmp_path / "flats.csv") as reader:
        features, target = take_target(reader.read(), "rent")
    np.testing.assert_array_equal(target, y)
    np.testing.assert_array_equal(clone(fitted).fit(features, target).predict(features), fitted.predict(X))


def test_a_column_of_0_and_1_predicts_as_one_of_numbers_does(fitted):
    """Yes/no is how it is shown; the networks get the same inputs, also where a value is missing or is another number."""
    lift = (X["lift"] == "yes").astype(float).where(np.arange(len(X)) % 10 > 0)
    numbers = X.assign(lift=lift)
    models = [clone(fitted).set_params(kinds=kinds).fit(numbers, y) for kinds in (None, {"lift": "number"})]
    assert [model.schema_.kinds()["lift"] for model in models] == ["boolean", "number:1234.5"]
    new = numbers.assign(lift=lift.replace({1.0: 2.0}))
    with pytest.warns(
        TableWarning, match="'lift': .* were not seen in training, taken as the numbers that they are: '2'"
    ):
        found = models[0].predict_interval(new)
    np.testing.assert_array_equal(found, models[1].predict_interval(new))
    np.testing.assert_array_equal(models[0].predict(numbers), models[1].predict(numbers))


def test_columns_that_are_not_used_are_named():
    with pytest.warns(
        TableWarning, match=r"'same': it holds the same value in every row .*'nothing': it holds no values"
    ):
        model = TableRegressor(LinearRegression()).fit(X.assign(same=1, nothing=None), y)
    assert [column.name for column in model.schema_.columns] == list(X.columns)
    model.predict(X)  # the columns that are not used need not be there


def test_new_categories_and_gaps_are_warned_of_once(fitted, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_VALUES", 500)
    new = X.assign(city=["Jena", "Ulm", "Gera"] * 100, lift=[None, "yes", "no"] * 100)
    with pytest.warns(TableWarning) as caught:
        out = fitted.predict(new)
    (warning,) = caught
    assert "'city': 200 rows" in str(warning.message) and "'Jena', 'Gera'" in str(warning.message)
    assert "'lift': 100 rows" in str(warning.message) and warning.filename == __file__
    assert np.isfinite(out).all()
    with pytest.raises(TableError, match="row 0, column 'city': 'Jena' was not seen"):
        clone(fitted).set_params(strict=True).fit(X, y).predict(new)


def test_known_rows_give_no_warning(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(X)


def test_missing_columns_are_named(fitted):
    with pytest.raises(TableError, match=r"'city', 'lift'"):
        fitted.predict(X[["area", "built"]])
    with pytest.raises(TableError, match=r"'city' .*did you mean 'City'"):
        fitted.predict(X.rename(columns={"city": "City"}))


def test_sample_weights_are_handed_on():
    weight = np.r_[np.ones(150), np.zeros(150)]
    weighted = TableRegressor(LinearRegression()).fit(X, y, sample_weight=weight)
    assert not np.allclose(weighted.predict(X), TableRegressor(LinearRegression()).fit(X, y).predict(X))


# -- predictions -------------------------------------------------------------------------------------------------------


def answers(model, table=X):
    mean, std = model.predict(table, return_std=True)
    return {
        "predict": model.predict(table),
        "mean": mean,
        "std": std,
        **model.predict_components(table)._asdict(),
        "var": model.predict_var(table),
        "members": model.predict_members(table),
        "interval": model.predict_interval(table, [0.5, 0.9]),
        "frame": model.predict_interval(table, 0.9, as_frame=True).to_numpy(),
        "quantiles": model.predict_quantiles(table, 0.1),
        "dist": model.predict_dist(table).ppf(0.3),
        "draws": model.sample_y(table, 3, random_state=0),
    }


def test_every_method_is_that_of_the_regressor(fitted):
    encoded = fitted.encode(X)
    direct = answers(fitted.regressor_, encoded)
    for name, values in answers(fitted).items():
        np.testing.assert_array_equal(values, direct[name], err_msg=name)


def test_blocks_change_nothing(fitted, monkeypatch):
    whole = answers(fitted)
    assert fitted.block_rows > len(X)
    monkeypatch.setattr(module, "BLOCK_VALUES", 500)
    assert fitted.block_rows < 50
    for name, values in answers(fitted).items():
        np.testing.assert_array_equal(values, whole[name], err_msg=name)


def test_several_outputs(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_VALUES", 500)
    model = TableRegressor(NETS).fit(X, np.column_stack([y, -y]))
    assert model.predict(X).shape == (300, 2)
    assert model.predict_interval(X, [0.5, 0.9]).shape == (300, 2, 2, 2)
    assert model.predict_members(X).shape == (5, 300, 2)


def test_frames_look_like_their_input(fitted):
    labelled = X.set_axis([f"flat {i}" for i in range(len(X))])
    out = fitted.predict_interval(labelled, 0.9, as_frame=True)
    assert out.index.equals(labelled.index) and out.columns.tolist() == ["prediction", "lower_90", "upper_90"]
    assert isinstance(fitted.predict_interval(polars.from_pandas(X), as_frame=True), polars.DataFrame)


def test_held_out_rows(fitted):
    new, rent = flats(100, seed=2)
    model = TableRegressor(clone(NETS)).fit(X, y)
    before = model.predict_interval(new)
    conformal = model.conformalize(new, rent).predict_interval(new)
    assert not np.array_equal(before, conformal)
    assert ((conformal[:, 0] <= rent) & (rent <= conformal[:, 1])).mean() >= 0.9
    assert not np.array_equal(model.estimate_noise(new, rent).predict_var(new), fitted.predict_var(new))


def test_methods_that_the_regressor_lacks():
    model = TableRegressor(LinearRegression()).fit(X, y)
    assert not hasattr(model, "predict_interval") and not hasattr(model, "conformalize")
    with pytest.raises(AttributeError):
        _ = model.loss_curve_


def test_a_file_is_predicted_block_by_block(tmp_path, fitted):
    """As `extranets predict` does it: one encoding for each block, one collection of notes for the file."""
    X.assign(city=["Jena", *X["city"][1:]]).to_csv(tmp_path / "new.csv", index=False)
    notes = Notes()
    with open_table(tmp_path / "new.csv") as reader, open_writer(tmp_path / "out.parquet") as writer:
        for block in reader.blocks(70):
            writer.write(fitted.regressor_.predict_interval(fitted.encode(block, notes), as_frame=True))
    out = pandas.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_array_equal(out["prediction"][1:], fitted.predict(X)[1:])
    assert len(notes.lines()) == 1 and "1 row holds" in notes.lines()[0]


# -- model files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [NETS, None, MCDropoutRegressor(max_iter=5, n_passes=5, random_state=0)])
def test_saved_and_loaded(tmp_path, estimator):
    settings = {"kinds": {"lift": "category"}, "max_categories": 2, "na_values": ("n.k.",), "strict": True}
    model = TableRegressor(estimator, **settings).fit(X[:40], y[:40])
    model.save(tmp_path / "model.xnet", about={"target": "rent"})
    again = model_file.load(tmp_path / "model.xnet")
    assert isinstance(again, TableRegressor) and again.schema_ == model.schema_
    assert {**again.get_params(), "estimator": 0} == {**model.get_params(), "estimator": 0}
    assert type(again.estimator) is type(model.estimator)
    assert again.feature_names_in_.tolist() == list(X.columns) and again.n_features_in_ == 4
    before = answers(model, X[:40])
    for name, values in answers(again, X[:40]).items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)
    again.save(tmp_path / "again.xnet")
    np.testing.assert_array_equal(clone(again).fit(X[:40], y[:40]).schema_.names, model.schema_.names)
    info = model_file.read_info(tmp_path / "model.xnet")
    assert info["about"] == {"target": "rent"} and info["schema"]["columns"][0]["name"] == "area"


def test_a_set_of_missing_words_is_stored(tmp_path):
    model = TableRegressor(NETS, na_values={"n.k.", "-999"}).fit(X[:40], y[:40])
    model.save(tmp_path / "model.xnet")
    again = model_file.load(tmp_path / "model.xnet")
    assert again.na_values == ["-999", "n.k."] and again.schema_ == model.schema_


def test_conformal_columns_are_found_by_name(tmp_path):
    """A column that is no feature may name the group, another the weight; files keep their names."""
    held, rent = flats(150, seed=3)
    new, _ = flats(40, seed=4)
    held["side"], new["side"] = np.arange(150) % 2, (np.arange(40) % 2).astype(str)
    held["share"], new["share"] = np.arange(1.0, 151), np.arange(1.0, 41)
    model = TableRegressor(NETS).fit(X, y).conformalize(held, rent, groups="side", weights="share")
    by_hand = (
        TableRegressor(NETS)
        .fit(X, y)
        .conformalize(held, rent, groups=held["side"].to_numpy(), weights=held["share"].to_numpy())
    )
    own = {"groups": new["side"].to_numpy(), "weights": new["share"].to_numpy()}
    bounds = by_hand.predict_interval(new, [0.5, 0.8], **own)
    np.testing.assert_array_equal(model.predict_interval(new, [0.5, 0.8]), bounds)
    model.save(tmp_path / "model.xnet")
    again = extranets.load(tmp_path / "model.xnet")
    np.testing.assert_array_equal(again.predict_interval(new, [0.5, 0.8]), bounds)
    np.testing.assert_array_equal(
        again.predict_quantiles(new, [0.1, 0.25, 0.75, 0.9]), bounds[:, [0, 0, 1, 1], [1, 0, 0, 1]]
    )
    (predicted,) = prediction_blocks(again, [new], [0.5])
    np.testing.assert_array_equal(predicted[["lower_50", "upper_50"]], bounds[..., 0])
    with pytest.raises(TableError, match="there is no column 'side'"):
        model.predict_interval(new.drop(columns="side"))
    with pytest.raises(ValueError, match="groups of the new rows are needed"):
        by_hand.predict_interval(new)
    again.update(held, rent)  # which forgets the groups
    assert again.predict_interval(new.drop(columns="side"), 0.8).shape == (40, 2)
    model.conformalize(held, rent)
    assert model.beside_columns_ == {} and model.predict_interval(new, 0.8).shape == (40, 2)


@pytest.mark.parametrize(
    "ways", [{}, {"groups": "side"}, {"weights": "share"}], ids=lambda ways: "+".join(ways) or "plain"
)
def test_distributions_of_blocks_are_joined(monkeypatch, ways):
    held, rent = flats(150, seed=3)
    new, _ = flats(40, seed=4)
    for rows in (held, new):
        rows["side"], rows["share"] = np.arange(len(rows)) % 2, np.arange(1.0, len(rows) + 1)
    model = TableRegressor(NETS).fit(X, y).conformalize(held, rent, **ways)
    whole = model.predict_dist(new).ppf(0.3)
    monkeypatch.setattr("extranets.tables.regressor.MOST_BLOCK_ROWS", 7)
    np.testing.assert_array_equal(model.predict_dist(new).ppf(0.3), whole)


def test_the_training_table_names_groups_of_cv_plus(monkeypatch):
    plus = TableRegressor(clone(NETS).set_params(interval="cv+")).fit(X, y)
    rows, new = X.assign(side=np.arange(len(X)) % 2), flats(30, seed=4)[0].assign(side=1)
    joint = plus.predict_interval(new, 0.8)
    bounds = plus.conformalize_training_rows(rows, groups="side").predict_interval(new, 0.8)
    assert not np.array_equal(bounds, joint)
    whole = plus.predict_dist(new).ppf(0.3)
    monkeypatch.setattr("extranets.tables.regressor.MOST_BLOCK_ROWS", 7)
    np.testing.assert_array_equal(plus.predict_dist(new).ppf(0.3), whole)


def test_conformal_intervals_are_stored(tmp_path):
    model = TableRegressor(NETS).fit(X, y).conformalize(*flats(50, seed=3))
    model.save(tmp_path / "model.xnet")
    np.testing.assert_array_equal(
        model_file.load(tmp_path / "model.xnet").predict_interval(X), model.predict_interval(X)
    )


def test_hostile_model_files(fitted):
    good = fitted._to_stored()
    assert TableRegressor._from_stored(dict(good)).score(X, y) == fitted.score(X, y)
    one = {**good["schema"], "columns": good["schema"]["columns"][:1]}
    hostile = [
        {"schema": one}, {"schema": {}}, {"schema": []}, {"regressor": NETS}, {"regressor": None}, {"n_features": 5},
        {"n_features": "4"}, {"feature_names": ["a"]}, {"feature_names": [1, 2, 3, 4]}, {"parameters": {"max_categories": 0}},
        {"parameters": {"estimator": "os.system"}}, {"parameters": {"strict": 1}}, {"parameters": {"unknown": 1}}, {"more": 1},
    ]  # fmt: skip
    for changes in hostile:
        with pytest.raises(ValueError, match=r"\w"):
            TableRegressor._from_stored({**good, **changes})


def test_regressors_of_others_cannot_be_stored(tmp_path):
    with pytest.raises(TypeError, match=r"cannot hold a LinearRegression, only the regressors of extranets"):
        TableRegressor(LinearRegression()).fit(X, y).save(tmp_path / "model.xnet")
    with pytest.raises(NotFittedError):
        TableRegressor(NETS).save(tmp_path / "model.xnet")


def test_a_value_too_far_from_training_is_named_by_file_row_and_column(tmp_path):
    """In the second block of a large table, after another encoded column. An error about a target names no row."""
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"city": random.choice(["Ulm", "Bonn"], 60), "x": random.normal(size=60)})
    model = TableRegressor(ExtraNetsRegressor(2, max_iter=2, random_state=0)).fit(table, table["x"])
    large = pandas.concat([table] * 1200, ignore_index=True)
    large.loc[68_000, "x"] = 1e200
    path = tmp_path / "new.parquet"
    large.to_parquet(path)
    with open_table(path) as reader:
        frame = reader.read()
    words = r"new\.parquet, row 68001, column 'x': 1e\+200 lies .* standard deviations from the training mean"
    for method in (model.predict, model.predict_components, model.predict_members):
        with pytest.raises(TableError, match=words):
            method(frame)
    with pytest.raises(TableError, match=words):
        model.conformalize(frame, np.zeros(len(frame)))
    with pytest.raises(ValueError, match="too far") as caught:
        model.estimate_noise(table, np.full(len(table), 1e200))
    assert not isinstance(caught.value, TableError)
    with pytest.raises(ValueError, match=r"Row 0, column 0 lies .* too far for any prediction") as caught:
        model.regressor_.predict(np.array([[1e200] * model.regressor_.n_features_in_]))
    again = pickle.loads(pickle.dumps(caught.value))  # as when another process predicts
    assert type(again) is type(caught.value) and (str(again), again.what) == (str(caught.value), caught.value.what)


def test_a_name_of_the_target_is_refused_for_a_table_in_memory():
    with pytest.raises(TypeError, match=r"y='b' names a column.*table\.drop\(columns='b'\)"):
        TableRegressor().fit(pandas.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), "b")


def test_lazy_frames_are_refused():
    frame = polars.DataFrame({"a": [1.0, 2.0, 3.0]})
    with pytest.raises(TypeError, match=r"X is a polars LazyFrame, which holds no rows yet; pass X.collect\(\)"):
        TableRegressor().fit(frame.lazy(), [1.0, 2.0, 3.0])
