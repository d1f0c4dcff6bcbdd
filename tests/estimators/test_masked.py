"""Masked arrays: what is under a mask is never taken for data."""

from __future__ import annotations

import numpy as np
import pytest

from extranets import MeanVarianceRegressor, metrics, tune

X = np.random.default_rng(0).normal(size=(60, 2))
Y = X[:, 0]


def masked(values, *place):
    found = np.ma.masked_array(values.copy(), mask=False)
    found[place] = np.ma.masked
    return found


@pytest.fixture(scope="module")
def model():
    return MeanVarianceRegressor((4,), max_iter=2, random_state=0).fit(X, Y)


def test_fit_refuses_them(model):
    for given, message in [
        (
            (masked(X, 7, 1), Y),
            r"X is a masked array with 1 masked entries \(the first in row 7, column 1\).*X\.filled",
        ),
        (
            (X, masked(Y, slice(3, 5))),
            r"y is a masked array with 2 masked entries \(the first in row 3\).*leave out the rows",
        ),
        ((X, Y, masked(np.ones(60), 4)), "sample_weight is a masked array"),
    ]:
        with pytest.raises(ValueError, match=message):
            MeanVarianceRegressor().fit(*given)
    with pytest.raises(ValueError, match="y is a masked array"):
        model.conformalize(X, masked(Y, 0))
    with pytest.raises(ValueError, match="y is a masked array"):
        tune(X, masked(Y, 0), budget=1)


@pytest.mark.parametrize("method", ["predict", "predict_interval", "predict_members", "predict_components"])
def test_predictions_refuse_them(model, method):
    with pytest.raises(ValueError, match="X is a masked array"):
        getattr(model, method)(masked(X, 0, 0))


def test_a_mask_that_hides_nothing_changes_nothing(model):
    bare = np.ma.masked_array(X, mask=False)
    again = MeanVarianceRegressor((4,), max_iter=2, random_state=0).fit(bare, np.ma.masked_array(Y, mask=False))
    np.testing.assert_array_equal(again.predict(bare), model.predict(X))
    assert metrics.rmse(np.ma.masked_array(Y, mask=False), Y) == 0
