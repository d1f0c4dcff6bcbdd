"""Kinds trained on folds: every error is that of networks that never saw the row."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from extranets.held_out import FOLD_BITS, Plan
from extranets.stacking import Kind, growing
from extranets.stacking.kinds import KINDS
from tests.stacking import tables
from tests.stacking.tables import MACHINE, in_folds, linear_table, sample_of

FIRST, SECOND = KINDS[0], KINDS[-1]
ALL = range(4)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """What is learned does not matter here."""
    own = Kind.options
    monkeypatch.setattr(Kind, "options", lambda self, *args: replace(own(self, *args), n_epochs=3))


@pytest.fixture
def sample():
    return sample_of(*linear_table(60, n_outputs=2), np.random.default_rng(0).uniform(0.5, 2, size=60))


@pytest.fixture
def plan():
    return in_folds(60, 4, n_members=3)


def folds_of(part):
    return (part.networks.ensemble.members.ids >> FOLD_BITS).astype(int) - 1


def assert_same_networks(one, two):
    np.testing.assert_array_equal(one.members.ids, two.members.ids)
    np.testing.assert_array_equal(one.parameters, two.parameters)


@pytest.mark.parametrize("kind", [FIRST, SECOND, None], ids=str)
def test_errors_are_those_of_networks_that_never_saw_the_row(kind, sample, plan):
    """By hand, from every network's prediction of every row."""
    grower = tables.growing(sample, plan)
    part = grower.linear() if kind is None else grower.train([(kind, ALL)], "")[0]
    predictions = part.networks.members(sample.X, MACHINE).astype(np.float64)
    for row, fold in enumerate(plan.fold_of_row):
        own = predictions[folds_of(part) == fold, row]
        assert len(own) == (1 if kind is None else 3)
        np.testing.assert_allclose(part.residual[row], own.mean(axis=0) - sample.y[row], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(part.spread[row], own.var(axis=0), rtol=1e-3, atol=1e-6)


def test_a_row_has_no_influence_on_the_networks_that_leave_it_out(sample, plan):
    """Other targets in a fold change all networks but those of this fold."""
    held = plan.fold_of_row == 1
    other = replace(sample, y=np.where(held[:, None], sample.y + 100, sample.y))
    one, two = (tables.growing(each, plan).train([(FIRST, ALL)], "")[0] for each in (sample, other))
    same = [
        np.array_equal(one.networks.ensemble[k : k + 1].parameters, two.networks.ensemble[k : k + 1].parameters)
        for k in range(len(one.networks.ensemble))
    ]
    np.testing.assert_array_equal(same, folds_of(one) == 1)


@pytest.mark.parametrize("kind", [FIRST, KINDS[-1], None], ids=str)
def test_later_rows_have_no_influence_on_networks_that_look_back(kind, sample):
    """Fold 2 is the earliest that is held out, and its rows are in none of its own or later folds' networks."""
    plan = Plan(np.repeat([-1, 2, 1, 0], 15), 3, 2, looks_back=True)
    later = (plan.fold_of_row >= 0) & (plan.fold_of_row <= 1)
    other = replace(sample, y=np.where(later[:, None], sample.y * 1.1, sample.y))
    growers = [tables.growing(each, plan) for each in (sample, other)]
    one, two = (g.linear() if kind is None else g.train([(kind, range(3))], "")[0] for g in growers)
    same = [
        np.array_equal(one.networks.ensemble[k : k + 1].parameters, two.networks.ensemble[k : k + 1].parameters)
        for k in range(len(one.networks.ensemble))
    ]
    np.testing.assert_array_equal(same, folds_of(one) >= 1)
    assert growers[0].n_seen == 30  # 15, 30 or 45
    np.testing.assert_array_equal(np.isnan(one.residual[:, 0]), plan.fold_of_row < 0)


def test_folds_may_be_added_later(sample, plan):
    grower = tables.growing(sample, plan)
    whole, some, rest = grower.train([(SECOND, ALL), (SECOND, [0]), (SECOND, [1, 2, 3])], "")
    held = plan.fold_of_row == 0
    assert not np.isnan(some.residual[held]).any() and np.isnan(some.residual[~held]).all()
    assert np.isnan(rest.spread[held]).all() and not np.isnan(rest.spread[~held]).any()
    both = some + rest
    assert_same_networks(both.networks.ensemble, whole.networks.ensemble)
    np.testing.assert_array_equal(both.residual, whole.residual)
    np.testing.assert_array_equal(both.spread, whole.spread)
    assert both.kind == SECOND


def test_networks_do_not_depend_on_their_company(sample, plan):
    alone = tables.growing(sample, plan).train([(FIRST, ALL)], "")[0]
    other, again = tables.growing(sample, plan).train([(SECOND, [2]), (FIRST, ALL)], "")
    assert_same_networks(again.networks.ensemble, alone.networks.ensemble)
    assert other.kind == SECOND and set(folds_of(other)) == {2}


def test_kinds_have_random_numbers_of_their_own(sample, plan):
    """Two kinds of one shape start from other weights and draw other masks."""
    ids = [
        part.networks.ensemble.members.ids
        for part in tables.growing(sample, plan).train([(kind, ALL) for kind in KINDS], "")
    ]
    assert len(np.unique(np.concatenate(ids))) == len(KINDS) * 4 * 3


def test_a_kind_that_diverges_is_none_and_does_not_stop_the_others(sample, plan, monkeypatch):
    own = Kind.options

    def options(self, *args):
        return replace(own(self, *args), **({"learning_rate": 1e30, "max_restarts": 0} if self == SECOND else {}))

    monkeypatch.setattr(Kind, "options", options)
    first, second, third = tables.growing(sample, plan).train([(FIRST, ALL), (SECOND, ALL), (FIRST, [1])], "")
    assert second is None and np.isfinite(first.residual).all() and third is not None


def test_rows_in_no_fold_have_no_errors(sample):
    plan = Plan(np.r_[np.full(30, -1), np.arange(30) % 3], 3, 1)
    grower = tables.growing(sample, plan)
    for part in (grower.linear(), *grower.train([(FIRST, range(3))], "")):
        assert np.isnan(part.residual[:30]).all() and np.isfinite(part.residual[30:]).all()
    assert grower.n_seen == 50


@pytest.mark.parametrize(("n_rows", "n_folds"), [(2, 2), (3, 3), (5, 2)])
def test_a_few_rows(n_rows, n_folds):
    sample = sample_of(*linear_table(n_rows, 2))
    grower = tables.growing(sample, in_folds(n_rows, n_folds))
    part = grower.train([(SECOND, range(n_folds))], "")[0]
    assert np.isfinite(part.residual).all() and (part.spread == 0).all()
    assert grower.n_seen == n_rows - n_rows // n_folds


def test_no_linear_part_of_a_table_that_is_too_large(sample, plan, monkeypatch):
    monkeypatch.setattr("extranets.stacking.linear.MOST_COLUMNS", 2)
    assert tables.growing(sample, plan).linear() is None


def test_progress_has_a_title_with_the_number_of_networks(sample, plan):
    titles, shares = [], []

    @contextmanager
    def watch(title, ahead=None, minor=False):
        titles.append(title)
        yield shares.append

    tables.growing(sample, plan, watch=watch).train([(FIRST, ALL), (SECOND, [0])], "Training {n} networks")
    assert titles == ["Training 15 networks"]
    assert shares == sorted(shares)


def test_ids_have_room_for_all_that_parameters_allow():
    """200 folds, 1,000 networks in each, and kinds: no two have the same id."""
    plan = Plan(np.arange(200), 200, 1000)
    assert len(KINDS) << growing.KIND_BITS <= 1 << FOLD_BITS and plan.members_per_fold < 1 << growing.KIND_BITS
    ids = plan.extra_ids().astype(np.int64) + ((len(KINDS) - 1) << growing.KIND_BITS)
    assert ids.max() < 2**32 and (np.diff(ids) > 0).all()
    np.testing.assert_array_equal(plan.fold_of_member(ids.astype(np.uint32)), np.repeat(np.arange(200), 1000))
