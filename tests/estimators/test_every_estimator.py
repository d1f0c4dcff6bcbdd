"""One interface: what holds for every estimator of the package, whatever its method."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from extranets.data import linear_process
from extranets.estimators.parameters import SHARED_DOCS
from extranets.metrics import interval_score_scorer

# A tiny table may leave the delta method's J'J singular, and few resampled networks leave rows in every bag; both say so.
pytestmark = pytest.mark.filterwarnings("ignore:J'J is near singular", "ignore:.*out-of-bag")


@pytest.fixture(scope="module")
def table():
    return linear_process(500, random_state=1).split(300)


@pytest.fixture
def model(estimator, table):
    return estimator.fit(*table[:2])


def plain(estimator):
    """With Normal noise that is the same everywhere, where an estimator has the choice."""
    wanted = {"noise_model": "constant", "distribution": "normal"}
    return estimator.set_params(**{name: value for name, value in wanted.items() if name in estimator.get_params()})


def two_outputs(y):
    return np.column_stack([y, 100 - 3 * y])


# -- predictions -------------------------------------------------------------------------------------------------------


def test_it_learns(model, table):
    assert model.score(*table[2:]) > 0.7


def test_shapes_for_one_output(model, table):
    X = table[2]
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (200,)
    assert model.predict_members(X).shape[1:] == (200,)
    assert all(part.shape == (200,) for part in model.predict_components(X))
    assert model.predict_interval(X).shape == (200, 2)
    assert model.predict_interval(X, [0.5, 0.9, 0.99]).shape == (200, 2, 3)
    assert model.predict_quantiles(X, [0.1, 0.9]).shape == (200, 2)
    assert model.sample_y(X, 7, random_state=0).shape == (200, 7)
    assert model.predict_dist(X).mean().shape == (200,)


def test_shapes_for_two_outputs(estimator, table):
    X_train, y_train, X, _ = table
    model = estimator.fit(X_train, two_outputs(y_train))
    assert model.predict(X).shape == (200, 2)
    assert model.predict_members(X).shape[1:] == (200, 2)
    assert model.predict_interval(X).shape == (200, 2, 2)
    assert model.predict_interval(X, [0.5, 0.9]).shape == (200, 2, 2, 2)
    assert model.score(X, two_outputs(table[3])) > 0.7
    one = model.predict_interval(X[:1], 0.9)[0]
    assert (one[:, 0] < one[:, 1]).all()


def test_the_parts_make_the_whole(model, table):
    parts = model.predict_components(table[2])
    mean, std = model.predict(table[2], return_std=True)
    np.testing.assert_array_equal(mean, parts.mean)
    np.testing.assert_allclose(std**2, parts.epistemic + parts.aleatoric)
    np.testing.assert_array_equal(model.predict(table[2]), mean)
    assert (parts.epistemic >= 0).all() and (parts.aleatoric > 0).all()
    np.testing.assert_allclose(model.predict_var(table[2]), std**2)


def test_intervals_are_central_and_nested(model, table):
    bounds = model.predict_interval(table[2], [0.5, 0.9, 0.99])
    assert (np.diff(bounds[:, 1], axis=1) > 0).all() and (np.diff(bounds[:, 0], axis=1) < 0).all()
    if model.distribution_.name != "empirical":  # which need not be symmetric
        np.testing.assert_allclose(bounds.mean(axis=1), np.repeat(model.predict(table[2])[:, None], 3, axis=1))
    np.testing.assert_allclose(model.predict_quantiles(table[2], [0.05, 0.95]), bounds[:, :, 1])
    np.testing.assert_allclose(np.stack(model.predict_dist(table[2]).interval(0.9), axis=1), bounds[:, :, 1])


def test_samples_follow_the_distribution(estimator, table):
    model = plain(estimator).fit(*table[:2])
    mean, std = model.predict(table[2][:5], return_std=True)
    draws = model.sample_y(table[2][:5], 4000, random_state=0)
    # standard errors of a mean and a standard deviation of 4,000 Normal draws: 1/63 and 1/89 of a standard deviation
    np.testing.assert_array_less(np.abs(draws.mean(axis=1) - mean) / std, 4.5 / 63)
    np.testing.assert_array_less(np.abs(draws.std(axis=1) / std - 1), 4.5 / 89)


def test_a_row_does_not_depend_on_its_neighbours(model, table):
    X = table[2]
    np.testing.assert_allclose(model.predict(X)[50:60], model.predict(X[50:60]), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.predict_var(X)[50:60], model.predict_var(X[50:60]), rtol=1e-4)


# -- randomness and units ----------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(estimator, table):
    X_train, y_train, X, _ = table
    one = clone(estimator).set_params(n_jobs=1).fit(X_train, y_train)
    two = clone(estimator).set_params(n_jobs=2).fit(X_train, y_train)
    np.testing.assert_array_equal(one.predict_interval(X), two.predict_interval(X))
    np.testing.assert_array_equal(one.predict_members(X), two.predict_members(X))
    other = clone(estimator).set_params(random_state=1).fit(X_train, y_train)
    assert not np.array_equal(one.predict(X), other.predict(X))


def test_units_of_the_table_do_not_matter(estimator, table):
    X_train, y_train, X, _ = table
    plain = clone(estimator).fit(X_train, y_train).predict_interval(X)
    moved = clone(estimator).fit(X_train * 64 - 8, y_train * 1024 + 512).predict_interval(X * 64 - 8)
    np.testing.assert_allclose((moved - 512) / 1024, plain, rtol=1e-3, atol=1e-3 * y_train.std())


def test_a_constant_target_is_predicted_without_error(estimator, table):
    model = estimator.fit(table[0], np.full(300, 7.0))
    mean, std = model.predict(table[2], return_std=True)
    np.testing.assert_allclose(mean, 7.0)
    np.testing.assert_allclose(std, 0.0, atol=1e-12)


def test_rows_of_weight_zero_are_left_out(estimator, table):
    X, y = table[:2]
    weight = np.r_[np.ones(200), np.zeros(100)]
    spoiled = np.where(weight > 0, y, 1e6)
    with_zeros = clone(estimator).fit(X, spoiled, sample_weight=weight).predict(table[2])
    without = clone(estimator).fit(X[:200], y[:200]).predict(table[2])
    np.testing.assert_array_equal(with_zeros, without)


def test_weights_matter(estimator, table):
    X, y = table[:2]
    weight = np.where(X[:, 0] > 0, 10.0, 0.1)
    assert not np.allclose(clone(estimator).fit(X, y, sample_weight=weight).predict(X), estimator.fit(X, y).predict(X))


# -- tables ------------------------------------------------------------------------------------------------------------


def test_pandas_polars_and_sparse_tables(estimator, table):
    X_train, y_train, X, _ = table
    names = list("abcde")
    expected = clone(estimator).fit(X_train, y_train).predict_interval(X)
    for frame in (pd.DataFrame, pl.DataFrame):
        as_frame = dict(zip(names, X_train.T, strict=True))
        model = clone(estimator).fit(frame(as_frame), y_train)
        assert list(model.feature_names_in_) == names
        new = frame(dict(zip(names, X.T, strict=True)))
        np.testing.assert_array_equal(model.predict_interval(new), expected)
        assert isinstance(model.predict_interval(new, as_frame=True), frame)
    model = clone(estimator).fit(sparse.csr_matrix(X_train), y_train)
    np.testing.assert_allclose(model.predict_interval(sparse.csr_matrix(X)), expected, rtol=1e-6)


def test_pickle(model, table):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(table[2]), model.predict_interval(table[2]))


# -- in scikit-learn's tools -------------------------------------------------------------------------------------------


def test_grid_search_on_the_interval_score(estimator, table):
    grid = (
        {"hidden_layer_sizes": [(3,), (20,)]}
        if "hidden_layer_sizes" in estimator.get_params()
        else {"keep_prob": [0.5, 1]}
    )
    search = GridSearchCV(estimator, grid, cv=2, scoring=interval_score_scorer(0.9))
    search.fit(*table[:2])
    assert search.best_score_ < 0 and search.predict(table[2]).shape == (200,)


def test_pipeline_and_transformed_target(estimator, table):
    X, y = table[:2]
    assert cross_val_score(make_pipeline(StandardScaler(), clone(estimator)), X, y, cv=2).mean() > 0.3
    transformer = QuantileTransformer(n_quantiles=100)
    transformed = TransformedTargetRegressor(clone(estimator), transformer=transformer).fit(X, y)
    assert transformed.score(*table[2:]) > 0.6
    with pytest.raises(AttributeError, match=r"cannot be undone for a standard deviation.*docs/scikit_learn\.md"):
        transformed.predict(X, return_std=True)


# -- held-out rows -----------------------------------------------------------------------------------------------------


def test_conformal_intervals_cover(model, table):
    X, y = table[2:]
    lower, upper = model.conformalize(X[:100], y[:100]).predict_interval(X[:100], 0.9).T
    # On the rows themselves at least the 91st of 100 scores is within, by construction.
    assert ((lower <= y[:100]) & (y[:100] <= upper)).sum() >= 91


def test_noise_from_rows_of_the_users_choice(estimator, table):
    model = plain(estimator).fit(*table[:2])
    X, y = table[2:]
    if model.noise_variance_ is None:
        with pytest.raises(ValueError, match="predict the noise"):
            model.estimate_noise(X, y)
        return
    model.estimate_noise(X, y)
    squares = (model.predict(X) - y) ** 2
    if model.model_.interval == "delta":  # whose errors have variance noise * (1 + S(x))
        parts = model.predict_components(X)
        squares /= parts.total / parts.aleatoric
    assert model.noise_variance_ == pytest.approx(np.mean(squares), rel=1e-5)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_unfitted_estimators_say_so(estimator, table):
    for method in ("predict", "predict_interval", "predict_members", "predict_components", "sample_y"):
        with pytest.raises(NotFittedError):
            getattr(estimator, method)(table[2])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, y: (np.where(np.arange(5) == 2, np.nan, X), y), r"NaN \(row 0, column 2\)"),
        (lambda X, y: (X, np.where(np.arange(300) == 7, np.inf, y)), r"infinity \(row 7\)"),
        (lambda X, y: (X[:1], y[:1]), "minimum of 2"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers"),
        (lambda X, y: (pd.DataFrame(X).assign(town="Oslo"), y), "'town'"),
    ],
)
def test_bad_tables_are_refused_and_leave_no_fitted_estimator(estimator, table, spoil, message):
    X, y = spoil(*table[:2])
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y)
    with pytest.raises(NotFittedError):
        estimator.predict(table[2])


def test_a_refit_that_fails_leaves_nothing_of_the_earlier_fit(model, table):
    learned = {name for name in dir(model) if name.endswith("_") and name[0] != "_" and hasattr(model, name)}
    assert "noise_variance_" in learned
    X = table[0].copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, table[1])
    left = {name for name in learned if hasattr(model, name)}
    assert left <= {"n_features_in_", "feature_names_in_"}


def test_a_constant_output_can_be_conformalized(estimator, table):
    X, y = table[:2]
    model = estimator.fit(X, np.column_stack([y, np.full_like(y, 3.0)]))
    rows = slice(0, 100)
    bounds = model.conformalize(table[2][rows], np.column_stack([table[3][rows], np.full(100, 3.0)])).predict_interval(
        X
    )
    np.testing.assert_allclose(bounds[:, 1], 3.0)
    assert (bounds[:, 0, 0] < bounds[:, 0, 1]).all()
    surprised = model.conformalize(table[2][rows], np.column_stack([table[3][rows], np.full(100, 4.0)]), tails="joint")
    np.testing.assert_allclose(surprised.predict_interval(X)[:, 1], [[2.0, 4.0]] * len(X))


def test_conformal_intervals_are_for_the_parameters_they_were_made_with(model, table):
    if "n_passes" not in model.get_params() or type(model).__name__ == "PBPRegressor":
        return  # whose predictions do not depend on it
    model.conformalize(*table[2:]).set_params(n_passes=3)
    with pytest.raises(ValueError, match="call conformalize again"):
        model.predict_interval(table[2])
    with pytest.raises(ValueError, match="n_passes"):
        model.set_params(n_passes=0).predict_members(table[2])


def test_bad_questions_are_refused(model, table):
    with pytest.raises(ValueError, match="coverage must lie strictly between 0 and 1"):
        model.predict_interval(table[2], 90)
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1"):
        model.predict_quantiles(table[2], [0.5, 1.0])
    with pytest.raises(ValueError, match="coverage lies too near 0 or 1"):
        model.predict_interval(table[2], [0.9, 1 - 1e-16])
    with pytest.raises(ValueError, match="alpha lies too near 0 or 1"):
        model.predict_quantiles(table[2], 1 - 1e-16)
    with pytest.raises(ValueError, match="features"):
        model.predict(table[2][:, :3])


def test_bad_parameters_are_named(estimator, table):
    for name, value in [("hidden_layer_sizes", (5, 0)), ("n_jobs", "two"), ("random_state", "x")]:
        if name in estimator.get_params():
            with pytest.raises(ValueError, match=name):
                clone(estimator).set_params(**{name: value}).fit(*table[:2])


def test_documentation_is_complete(estimator):
    """Every parameter is described, and no placeholder of a shared paragraph is left."""
    text = type(estimator).__doc__
    for name in estimator.get_params():
        assert f"{name} :" in text or f"{name}, " in text or f", {name}" in text, name
    assert not any("{" + name + "}" in text for name in SHARED_DOCS)
