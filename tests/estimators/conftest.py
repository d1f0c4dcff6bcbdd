"""Every estimator of the package, small enough to fit in a fraction of a second."""

from __future__ import annotations

import pytest
from sklearn.base import clone

import extranets

# Trials of encodings, which have tests of their own, would be most of the time.
SMALL = {
    "n_estimators": 8,
    "max_iter": 30,
    "n_passes": 20,
    "effort": "low",
    "numeric_encoding": None,
    "random_state": 0,
}


def small(name):
    return with_known(getattr(extranets.estimators, name)(), SMALL)


def with_known(estimator, parameters):
    """The estimator with those of the parameters that it has."""
    known = estimator.get_params()
    return estimator.set_params(**{key: value for key, value in parameters.items() if key in known})


@pytest.fixture(params=extranets.estimators.__all__)
def estimator(request):
    """An unfitted instance of each estimator in turn."""
    return clone(small(request.param))
