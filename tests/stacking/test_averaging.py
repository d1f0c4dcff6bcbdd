"""What averaging networks of all folds takes away of the error, estimated from rows that all but one fold's have seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from extranets.held_out import Sample
from extranets.stacking.averaging import as_if_averaged, averaged_away
from extranets.stacking.kinds import QUICK
from extranets.uncertainty.components import HeldOut
from tests.stacking.tables import MACHINE, growing, in_folds, sample_of, wavy_table

N = 300


def trained(kind):
    """A kind of networks on ten folds of the first rows, and rows that none has seen."""
    whole = sample_of(*wavy_table(4000))
    sample, new = whole.part(np.arange(N)), whole.part(np.arange(N, 4000))
    plan = in_folds(N, 10)
    (part,) = growing(sample, plan).train([(kind, range(10))], "")
    return sample, new, plan, part


@pytest.fixture(scope="module")
def fitted():
    return trained(next(kind for kind in QUICK if kind.n_bins))


@pytest.mark.parametrize("kind", QUICK, ids=str)
def test_it_is_near_what_averaging_takes_away_on_new_rows(kind):
    """Within 40 %. Where bins let networks follow single rows, the variance between those that have seen them is half of it at most."""
    sample, new, plan, part = trained(kind)
    members = part.networks.members(new.X, MACHINE)[:, :, 0]
    truth = np.mean((members - new.y[:, 0]) ** 2) - np.mean((members.mean(axis=0) - new.y[:, 0]) ** 2)
    found = averaged_away(part, sample, plan, MACHINE)
    assert found.shape == (1,) and found[0] == pytest.approx(truth, rel=0.4)
    seen = part.networks.members(sample.X, MACHINE).var(axis=0).mean()
    assert not kind.n_bins or seen < 0.6 * truth


def test_errors_become_smaller_by_that_much(fitted):
    sample, _, plan, part = fitted
    rows = plan.held_rows()
    held = HeldOut(part.residual[rows], part.spread[rows], np.ones((N, 1)), sample.weight[rows], 1)
    adjusted = as_if_averaged(held, [part], np.ones(1), sample, plan, MACHINE)
    before, after = (np.mean(each.residual**2) for each in (held, adjusted))
    assert before - after == pytest.approx(averaged_away(part, sample, plan, MACHINE)[0])
    assert np.ptp(adjusted.residual / held.residual) < 1e-12  # all errors alike


def test_outputs_are_on_their_own_and_weights_count(fitted):
    sample, _, plan, part = fitted
    doubled = Sample(sample.X, sample.y, np.where(np.arange(N) < N // 2, 2.0, 0.0) + 1e-9)
    assert averaged_away(part, doubled, plan, MACHINE) != averaged_away(part, sample, plan, MACHINE)


def test_nothing_is_taken_where_other_networks_will_predict_or_nothing_is_wrong(fitted):
    sample, _, plan, part = fitted
    rows = plan.held_rows()
    held = HeldOut(part.residual[rows], part.spread[rows], np.ones((N, 1)), sample.weight[rows], 1)
    arguments = [part], np.ones(1), sample
    assert as_if_averaged(held, *arguments, replace(plan, looks_back=True), MACHINE) is held
    perfect = held._replace(residual=np.zeros((N, 1)))
    assert as_if_averaged(perfect, *arguments, plan, MACHINE) is perfect
