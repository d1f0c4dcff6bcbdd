"""Which rows are kept from which networks, and the errors of those networks on them."""

from __future__ import annotations

import numpy as np
import pytest

from extranets import engine
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
from extranets.networks import Architecture, Ensemble, draw_members
from extranets.parting import Parting

SHAPE = Architecture(3, (5,), 2, 2)


def sample_of(n, seed=0):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n, 3)), random.normal(size=(n, 2))
    return Sample(X.astype(np.float32), y.astype(np.float32), random.uniform(1, 2, size=n))


def networks(ids, architecture=SHAPE):
    """Random networks. Their predictions differ, so that it shows which of them predicted a row."""
    members = draw_members(architecture, 1.0, 0, ids)
    draws = np.random.default_rng(1).normal(size=members.offsets[-1])
    return Ensemble(members, draws.astype(np.float32))


# -- plans -------------------------------------------------------------------------------------------------------------


def test_folds_are_of_equal_size_and_depend_on_the_seed():
    plan = cross_validation(23, 5, 16, seed=3)
    assert sorted(np.bincount(plan.fold_of_row)) == [4, 4, 5, 5, 5]
    np.testing.assert_array_equal(plan.fold_of_row, cross_validation(23, 5, 16, seed=3).fold_of_row)
    assert not np.array_equal(plan.fold_of_row, cross_validation(23, 5, 16, seed=4).fold_of_row)
    assert not plan.keeps_rows_from_final


def test_no_more_folds_than_rows():
    assert cross_validation(3, 5, 16, seed=0).n_folds == 3


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


@pytest.mark.parametrize(
    ("n_rows", "fraction", "expected"), [(50, 0.3, 15), (50, 0.001, 1), (50, 0.999, 49), (2, 0.5, 1)]
)
def test_a_hold_out_keeps_at_least_one_row_and_not_all(n_rows, fraction, expected):
    plan = hold_out(n_rows, fraction, seed=1)
    assert (plan.fold_of_row == 0).sum() == expected == len(plan.held_rows())
    assert set(plan.fold_of_row) == {0, -1}
    assert plan.keeps_rows_from_final and plan.fraction == fraction and len(plan.extra_ids()) == 0


def test_plans_of_time_look_back():
    """Fold 0 is the latest, and all folds are left out however many rows are enough."""
    parting = Parting("time", np.random.default_rng(0).permutation(30))
    plan = cross_validation(30, 2, 8, seed=0, enough=5, parting=parting)
    assert plan.looks_back and plan.n_folds == 2 and plan.n_seen == 15
    np.testing.assert_array_equal(plan.fold_of_row, np.repeat([-1, 1, 0], 10)[parting.number])
    np.testing.assert_array_equal(plan.counts(), [parting.number < 20, parting.number < 10])


def test_plans_of_groups_keep_them_whole():
    groups = np.random.default_rng(0).integers(9, size=60)
    plan = cross_validation(60, 3, 8, seed=0, enough=5, parting=Parting("groups", groups))
    assert plan.n_folds == 3 and not plan.looks_back and (plan.fold_of_row >= 0).all()
    assert all(len(np.unique(plan.fold_of_row[groups == each])) == 1 for each in range(9))


def test_the_parameter_noise_decides_on_the_plan():
    given = {"n_folds": 4, "fraction": 0.25}
    np.testing.assert_array_equal(
        plan_rows("cv", 40, 8, 3, **given).fold_of_row, cross_validation(40, 4, 8, 3).fold_of_row
    )
    assert plan_rows("cv", 40, 8, 3, **given, enough=10).n_folds == 1
    np.testing.assert_array_equal(
        plan_rows("holdout", 40, 8, 3, **given).fold_of_row, hold_out(40, 0.25, 3).fold_of_row
    )
    assert plan_rows("train", 40, 8, 3, **given) is None
    assert plan_rows("oob", 40, 8, 3, **given) is None


def test_networks_of_folds_have_ids_of_their_own_and_leave_their_fold_out():
    plan = cross_validation(20, 4, 2, seed=0)
    ids = plan.extra_ids()
    assert len(set(ids)) == 8 and (ids >= FIRST_FOLD_ID).all() and (np.diff(ids.astype(int)) > 0).all()
    np.testing.assert_array_equal(plan.fold_of_member(ids), [0, 0, 1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(plan.fold_of_member(np.arange(3, dtype=np.uint32)), -1)  # final ones see every row
    for fold, counts in enumerate(plan.counts()):
        np.testing.assert_array_equal(counts, plan.fold_of_row != fold)


def test_final_networks_leave_a_hold_out_out_themselves():
    plan = hold_out(20, 0.3, seed=0)
    np.testing.assert_array_equal(plan.fold_of_member(np.arange(3, dtype=np.uint32)), 0)
    np.testing.assert_array_equal(plan.counts(), [plan.fold_of_row != 0])


def test_messages_say_which_network_it_is():
    ids = [7, *cross_validation(20, 4, 2, seed=0).extra_ids()]
    assert [member_name(int(member)) for member in ids[:4]] == [
        "network 7", "network 0 of fold 0", "network 1 of fold 0", "network 0 of fold 1",
    ]  # fmt: skip


# -- errors ------------------------------------------------------------------------------------------------------------


def test_every_row_is_predicted_by_the_networks_that_left_it_out():
    plan, sample = cross_validation(20, 4, 2, seed=0), sample_of(20)
    final, extra = networks(np.arange(2)), networks(plan.extra_ids())
    held = plan.errors(final, extra, sample, engine.moments)
    rows = plan.held_rows()
    assert sorted(rows) == list(range(20)) and held.n_members == 2
    np.testing.assert_array_equal(held.weight, sample.weight[rows])
    np.testing.assert_array_equal(held.noise, 1.0)
    predictions = engine.forward(extra, sample.X).astype(np.float64)  # (8, 20, 2), two networks for each fold
    for row, residual, spread in zip(rows, held.residual, held.spread, strict=True):
        own = predictions[2 * plan.fold_of_row[row] :][:2, row]
        np.testing.assert_allclose(residual, own.mean(axis=0) - sample.y[row], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(spread, own.var(axis=0), rtol=1e-3, atol=1e-6)


def test_rows_of_a_hold_out_are_predicted_by_the_final_networks():
    plan, sample, final = hold_out(20, 0.3, seed=0), sample_of(20), networks(np.arange(3))
    held = plan.errors(final, networks(np.arange(3))[3:], sample, engine.moments)
    expected = errors_on(engine.moments(final), sample, np.flatnonzero(plan.fold_of_row == 0))
    assert held.residual.shape == (6, 2) and held.n_members == 3
    for one, two in zip(held[:4], expected[:4], strict=True):
        np.testing.assert_array_equal(one, two)


def test_errors_hold_the_noise_that_networks_predict():
    sample, architecture = sample_of(20), Architecture(3, (5,), 2, 4)
    moments = engine.moments(networks(np.arange(3), architecture))
    held = errors_on_all(moments, sample)
    mean, spread, noise = moments(sample.X)
    np.testing.assert_array_equal(held.residual, mean - sample.y)
    np.testing.assert_array_equal(held.spread, spread)
    np.testing.assert_array_equal(held.noise, noise)


def test_explained_variance_of_training_rows():
    sample = sample_of(50)
    moments = engine.moments(networks(np.arange(3)))
    squares = (moments(sample.X)[0] - sample.y) ** 2
    np.testing.assert_allclose(training_r2(moments, sample), 1 - sample.weight @ squares / sample.weight.sum())


# -- samples -----------------------------------------------------------------------------------------------------------


def test_a_part_of_a_sample_has_its_rows_targets_and_weights():
    sample = sample_of(20)
    part = sample.part(np.array([3, 1]))
    for name in ("X", "y", "weight"):
        np.testing.assert_array_equal(getattr(part, name), getattr(sample, name)[[3, 1]])


def test_equal_weights_need_not_be_handed_to_the_engine():
    sample = sample_of(4)
    assert sample.weight_or_none is sample.weight
    assert Sample(sample.X, sample.y, np.ones(4)).weight_or_none is None


def test_rows_that_were_not_used_are_nan_in_answers_for_the_whole_table():
    sample = sample_of(2)
    values = np.array([[1.0], [2.0]])
    assert sample.with_unused(values) is values
    used = Sample(sample.X, sample.y, sample.weight, used=np.array([True, False, True]))
    np.testing.assert_array_equal(used.with_unused(values), [[1.0], [np.nan], [2.0]])
