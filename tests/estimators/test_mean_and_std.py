"""The pair that ``predict(X, return_std=True)`` returns."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from extranets.estimators.mean_and_std import MeanAndStd

PAIR = MeanAndStd((np.zeros(3), np.ones(3)))


@pytest.mark.parametrize("again", [PAIR, copy.deepcopy(PAIR), pickle.loads(pickle.dumps(PAIR))])
def test_it_is_a_pair(again):
    mean, std = again
    assert isinstance(again, tuple) and len(again) == 2 and mean.sum() == 0 and std.sum() == 3
    assert np.asarray(again).shape == (2, 3) and not hasattr(again, "ndim")
