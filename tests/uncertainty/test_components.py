"""Variances as parts of a predictive distribution."""

from __future__ import annotations

import numpy as np

from extranets.uncertainty.components import Components, unbiased


def test_total_is_the_sum_and_std_its_root():
    parts = Components(np.zeros(2), np.array([1.0, 4.0]), np.array([3.0, 5.0]))
    np.testing.assert_array_equal(parts.total, [4.0, 9.0])
    np.testing.assert_array_equal(parts.std, [2.0, 3.0])


def test_unbiased_matches_ddof_one():
    members = np.random.default_rng(0).normal(size=(7, 3))
    np.testing.assert_allclose(unbiased(members.var(axis=0), 7), members.var(axis=0, ddof=1))


def test_one_member_has_no_spread():
    np.testing.assert_array_equal(unbiased(np.zeros(3), 1), 0.0)
