"""Columns that say nothing, say the same, or are of any size; very few rows, very many columns; for every estimator."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import extranets
from extranets.data import linear_process
from tests.estimators.conftest import small

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # few rows and networks cause many
TABLE = linear_process(300, random_state=1).split(200)


@pytest.fixture(params=extranets.estimators.__all__)
def estimator(request):
    return clone(small(request.param))


ODD_COLUMNS = {
    "constant": lambda X: np.column_stack([X, np.full(len(X), 7.0)]),
    "duplicated": lambda X: np.column_stack([X, X]),
    "collinear": lambda X: np.column_stack([X, X @ np.arange(1.0, X.shape[1] + 1)]),
}


@pytest.mark.parametrize("columns", ODD_COLUMNS)
def test_columns_that_say_nothing_new_do_no_harm(estimator, columns):
    X, y, X_test, y_test = TABLE
    add = ODD_COLUMNS[columns]
    model = estimator.fit(add(X), y)
    assert model.score(add(X_test), y_test) > 0.6
    bounds = model.predict_interval(add(X_test))
    assert np.isfinite(bounds).all() and (bounds[:, 0] <= bounds[:, 1]).all()


def test_columns_of_any_size_are_as_good_as_others(estimator):
    """Multiplied by powers of two near 1e30 and 1e-30, every number keeps its digits, so predictions do, too."""
    X, y, X_test, _ = TABLE
    sizes = 2.0 ** np.resize([100, -100, 0], X.shape[1])
    plain = clone(estimator).fit(X, y).predict_interval(X_test)
    scaled = estimator.fit(X * sizes, y * 2.0**100).predict_interval(X_test * sizes)
    np.testing.assert_allclose(scaled / 2.0**100, plain, rtol=1e-6)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_numbers_whose_squares_do_not_exist_are_refused_by_column(estimator, size):
    X, y = TABLE[0].copy(), TABLE[1]
    X[:, 1] *= size
    with pytest.raises(ValueError, match=r"Column 1 of X .* leaves no room for squares; rescale it"):
        estimator.fit(X, y)


def test_one_row_is_refused_and_two_are_fitted(estimator):
    X, y = TABLE[:2]
    with pytest.raises(ValueError, match="minimum of 2"):
        clone(estimator).fit(X[:1], y[:1])
    assert np.isfinite(estimator.fit(X[:2], y[:2]).predict_interval(X)).all()
    assert estimator.predict_interval(X[:1]).shape == (1, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named_wherever_it_stands(value):
    X, y, X_test, y_test = TABLE
    model = extranets.ExtraNetsRegressor(4, max_iter=5, random_state=0).fit(X, y)
    before = model.predict(X_test)
    spoiled = X_test.copy()
    spoiled[3, 2] = value
    for call in (model.predict, model.predict_interval, model.predict_members, model.predict_var):
        with pytest.raises(ValueError, match=r"NaN|infinity") as caught:
            call(spoiled)
        assert "row 3, column 2" in str(caught.value)
    targets = np.where(np.arange(len(y_test)) == 5, value, y_test)
    for call in (model.conformalize, model.estimate_noise, clone(model).fit):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            call(spoiled, y_test)
        with pytest.raises(ValueError, match=r"(?s)y.*(NaN|infinity)"):
            call(X_test, targets)
    with pytest.raises(ValueError, match=r"(?i)weight.*(NaN|infinity)"):
        clone(model).fit(X, y, sample_weight=np.where(np.arange(len(y)) == 1, value, 1.0))
    np.testing.assert_array_equal(model.predict(X_test), before)


def test_thousands_of_columns_are_fitted():
    X = np.random.default_rng(0).normal(size=(30, 3000))
    model = extranets.ExtraNetsRegressor(2, (3,), max_iter=2, numeric_encoding=None, random_state=0, n_jobs=1)
    assert np.isfinite(model.fit(X, X[:, 0]).predict_interval(X)).all()
