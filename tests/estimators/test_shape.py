"""Estimators stay flat: whoever reads one has few classes to look into, and finds a method where it is defined."""

from __future__ import annotations

import pytest

from benchmarks.shape import definitions, project_classes
from extranets.estimators import METHODS

EVERY = pytest.mark.parametrize("estimator", METHODS.values(), ids=METHODS)


@EVERY
def test_at_most_three_classes_stand_between_an_estimator_and_scikit_learn(estimator):
    own, *between = project_classes(estimator)
    assert own is estimator
    assert len(between) <= 3, between


@EVERY
def test_no_method_is_overridden_more_than_once_below_its_definition(estimator):
    often = {name: count for name, count in definitions(estimator).items() if count > 2}
    assert not often
