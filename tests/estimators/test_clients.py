"""Libraries that take any scikit-learn regressor with ``predict(X, return_std=True)`` accept ours."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from extranets.data import linear_process

pytestmark = pytest.mark.filterwarnings("ignore:J'J is near singular", "ignore:.*out-of-bag")


def copy_of(model):
    return pickle.loads(pickle.dumps(model))


@pytest.fixture
def table(estimator):
    X_train, y_train, X, y = linear_process(900, random_state=0).split(400)
    return estimator.fit(X_train, y_train), X[:250], y[:250], X[250:], y[250:]


def test_mapie_calibrates_by_our_standard_deviations(table):
    """MAPIE's scores |y - mean| / std are those of our conformalize: the same upper bounds.

    MAPIE takes the lower bound's quantile one rank further in, so that it may be a little higher than ours, never lower.
    """
    regression = pytest.importorskip("mapie.regression", reason="needs MAPIE")
    scores = pytest.importorskip("mapie.conformity_scores")
    model, X_held, y_held, X, _ = table
    score = scores.StdConformityScore()
    mapie = regression.SplitConformalRegressor(model, confidence_level=0.9, conformity_score=score, prefit=True)
    point, bounds = mapie.conformalize(X_held, y_held).predict_interval(X)
    np.testing.assert_allclose(point, model.predict(X))
    ours = copy_of(model).conformalize(X_held, y_held, tails="joint").predict_interval(X, 0.9)
    np.testing.assert_allclose(bounds[:, 1, 0], ours[:, 1], rtol=1e-6)
    inwards = (bounds[:, 0, 0] - ours[:, 0]) / model.predict(X, return_std=True)[1]
    np.testing.assert_allclose(inwards, inwards[0], atol=1e-6)
    assert 0 <= inwards[0] < 0.1


def test_skpro_adapts_our_estimator(table):
    """skpro makes a Normal distribution of our mean and standard deviation; we must be asked for one too."""
    adapters = pytest.importorskip("skpro.regression.adapters.sklearn", reason="needs skpro")
    model, X_held, y_held, X, _ = table
    if "distribution" in model.get_params():
        model = clone(model).set_params(distribution="normal")
    columns = list("abcde")
    wrapped = adapters.SklearnProbaReg(clone(model))
    wrapped.fit(pd.DataFrame(X_held, columns=columns), pd.DataFrame({"y": y_held}))
    frame = pd.DataFrame(X, columns=columns)
    ours = clone(model).fit(pd.DataFrame(X_held, columns=columns), y_held)
    np.testing.assert_allclose(wrapped.predict(frame).to_numpy().ravel(), ours.predict(frame), rtol=1e-6)
    interval = wrapped.predict_interval(frame, coverage=0.8)
    np.testing.assert_allclose(interval.to_numpy(), ours.predict_interval(frame, 0.8), rtol=1e-4)
