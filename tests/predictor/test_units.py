"""Columns whose differences rounding has eaten are warned of; constant ones are not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from extranets import MeanVarianceRegressor
from extranets.predictor import Scaling

WEIGHT = np.ones(50)
SPREAD = np.random.default_rng(0).normal(size=(50, 3))


def test_a_column_lost_to_rounding_is_warned_of():
    far = SPREAD + np.array([0.0, 1e16, 1e16])
    with pytest.warns(
        UserWarning, match=r"Column 1 of X \(and 1 more\) has .* of its mean, 1e\+16, .* subtract a constant"
    ):
        found = Scaling.of(far, WEIGHT, "X")
    np.testing.assert_array_equal(found.scale > 0, [True, False, False])
    with pytest.warns(UserWarning, match="Column 1 of X "):
        Scaling.of(sparse.csr_matrix(far), WEIGHT, "X")


@pytest.mark.parametrize("value", [0.0, 0.1, -1e16, 1e300, 1 / 3])
def test_a_constant_column_is_no_surprise(value):
    """Its deviation from the rounded mean need not be zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Scaling.of(np.full((50, 2), value), np.linspace(0.1, 2.3, 50), "X")
    np.testing.assert_array_equal(found.scale, 0.0)


def test_fit_names_the_column_at_the_users_line():
    frame = pd.DataFrame(SPREAD + np.array([0.0, 0.0, 1e16]), columns=["rooms", "area", "year"])
    model = MeanVarianceRegressor((4,), max_iter=2, random_state=0)
    with pytest.warns(UserWarning, match=r"Column 'year' of X has") as caught:
        model.fit(frame, SPREAD[:, 0])
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="Column 0 of y has"):
        model.fit(SPREAD, SPREAD[:, 0] + 1e16)


def test_equal_numbers_are_constant_however_their_sum_is_rounded():
    """The mean of 400 times 0.1, added up one after the other, is 33 units in the last place away from 0.1."""
    values = np.column_stack([np.arange(400.0), np.full(400, 0.1)])
    found = Scaling.of(values, np.ones(400), "X")
    assert found.scale[1] == 0 and found.centre[1] == 0.1
    assert found.apply(np.array([[0.0, 0.2]]))[0, 1] == 0
