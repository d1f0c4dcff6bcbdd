"""What intervals promise, kept in 400 replications within four Monte Carlo standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

from benchmarks.guarantees import FORGOTTEN, REFITTED, SPLIT, Case, judged, misses, show

REPLICATIONS = 400


def name_of(case):
    return "-".join([case.method, case.tails, *case.knows])


@pytest.mark.slow
@pytest.mark.parametrize("case", [*SPLIT, *REFITTED], ids=name_of)
def test_promises_are_kept(case):
    """Means of 400 replications with 100 new rows each. What theory says exactly must be met from both sides."""
    for where, mean, error, (tail, both) in judged(case, misses(case, REPLICATIONS)):
        below, above, missed = mean - 4 * error
        assert missed <= both, where
        if case.tails == "separate":
            assert below <= tail and above <= tail, where
        if case.exact:
            assert missed + 8 * error[2] >= both, where


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in SPLIT if case.knows], ids=name_of)
def test_intervals_are_not_wider_than_they_must_be(case):
    """Split conformal intervals miss no less than theory's lower limit: 1 / (n + 1) of each bound where rows count alike; with weights,
    the largest share that a row of so many may have, about 8 / n here."""
    rows = case.n_rows * 0.2 if "groups" in case.knows else case.n_rows
    slack = (8 if "weights" in case.knows else 3) / rows
    for where, mean, error, _ in judged(case, misses(case, REPLICATIONS)):
        assert mean[2] + 4 * error[2] >= 0.1 - 2 * slack, where


@pytest.mark.slow
def test_without_groups_and_weights_the_promise_breaks():
    """So the replications can tell: the noisiest group is missed far too often, and shifted rows are, too."""
    alike, shifted = (misses(case, REPLICATIONS) for case in FORGOTTEN)
    own = alike[:, 3].sum(axis=1)
    own = own[~np.isnan(own)]
    assert own.mean() - 4 * own.std() / np.sqrt(len(own)) > 0.15
    shifted = shifted[:, 0].sum(axis=1)
    assert shifted.mean() - 4 * shifted.std() / np.sqrt(REPLICATIONS) > 0.11


def test_shares_of_few_replications():
    case = Case("split", "separate", 60, ("groups", "weights"), shift=True)
    shares = misses(case, 2)
    assert shares.shape == (2, 4, 2) and (np.nanmin(shares), np.nanmax(shares)) >= (0, 0)
    assert [where for where, *_ in judged(case, shares)] == ["all rows", "group 1", "group 2", "group 3"]
    assert Case("split", "separate", 99).promise(99) == pytest.approx((0.05, 0.1))
    assert Case("split", "joint", 50).promise(50)[1] == pytest.approx(5 / 51)


def test_the_table_has_a_line_for_every_kind(monkeypatch):
    monkeypatch.setattr("benchmarks.guarantees.REFITTED", REFITTED[-1:])
    console = Console(width=220, record=True, quiet=True)
    console.quiet = False
    with console.capture() as printed:
        show(console, 2)
    assert printed.get().count("split") >= len(SPLIT) and "jackknife+" in printed.get()
