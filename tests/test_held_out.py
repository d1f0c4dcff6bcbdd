"""Which rows are kept from which networks, and the errors of those networks on them."""

from __future__ import annotations

import numpy as np
import pytest

from extranets import engine
from extranets.engine import TrainingData
from extranets.held_out import (
    FIRST_FOLD_ID,
    Sample,
    cross_validation,
    errors_on,
    errors_on_all,
    hold_out,
    member_name,
    plan_rows,
    training_r2,
)
from extranets.networks import Architecture, draw_members

# -- plans -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "n_folds", "used"),
    [(4999, 5, 5), (5000, 5, 5), (6000, 5, 5), (6251, 5, 4), (12_500, 5, 2), (25_000, 5, 1), (10**6, 5, 1), (10**5, 10, 1)],
)  # fmt: skip
def test_folds_are_left_out_until_rows_are_enough(n_rows, n_folds, used):
    all_folds = cross_validation(n_rows, n_folds, 16, seed=3)
    plan = cross_validation(n_rows, n_folds, 16, seed=3, enough=5000)
    assert plan.n_folds == used and plan.members_per_fold == all_folds.members_per_fold == 6
    held = len(plan.held_rows())
    assert held >= min(5000, n_rows) and (used == 1 or held - 5000 < n_rows / n_folds + 1)
    kept = all_folds.fold_of_row < used
    np.testing.assert_array_equal(plan.fold_of_row[kept], all_folds.fold_of_row[kept])
    assert (plan.fold_of_row[~kept] == -1).all()


def test_every_fold_has_enough_members():
    assert [cross_validation(100, 5, n, seed=0).members_per_fold for n in (1, 5, 16, 30, 31, 70)] == [1, 5, 6, 6, 7, 14]
