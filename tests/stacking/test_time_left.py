"""The most work that may follow a training, as it is told while that runs."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from extranets.held_out import Plan, Sample
from extranets.stacking import Growing
from extranets.stacking.search import Search, grow


@contextmanager
def silent(title, ahead=None, minor=False):
    yield None


class Recording(Growing):
    """Keeps the work of every training, and the work that might have followed."""

    def train(self, wanted, title, later=()):
        self.seen = [*getattr(self, "seen", []), (self.work(wanted), self.work(later))]
        return super().train(wanted, title, later)


@pytest.mark.parametrize("effort", ["low", "medium", "high"])
@pytest.mark.parametrize("noise", [0.05, 3.0])
def test_what_follows_is_never_more_than_was_told(effort, noise):
    """Whether the table deserves larger networks or not."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2)).astype(np.float32)
    y = np.sin(4 * X[:, :1]) + noise * random.normal(size=(200, 1)).astype(np.float32)
    sample = Sample(X, (y - y.mean()) / y.std(), np.ones(200))
    machine = {"device": "cpu", "n_threads": 2}
    growing = Recording(sample, Plan(np.arange(200) % 2, 2, 1), 0.9, 0, machine, silent)
    Search(growing, effort).run()
    done = [own for own, _ in growing.seen]
    for place, (_, told) in enumerate(growing.seen):
        assert sum(done[place + 1 :]) <= told * (1 + 1e-12)


def test_a_search_on_some_rows_tells_of_the_training_on_all(monkeypatch):
    """With few rows in the place of 20,000: the choice is made on 60 of 150."""
    from extranets.stacking import search

    monkeypatch.setattr(search, "MANY_ROWS", 100)
    monkeypatch.setattr(search, "SEARCH_ROWS", 60)
    told = []

    @contextmanager
    def watch(title, ahead=None, minor=False):
        told.append((title, ahead))
        yield None

    random = np.random.default_rng(0)
    X = random.normal(size=(150, 2)).astype(np.float32)
    y = np.sin(4 * X[:, :1])  # nothing for ridge regressions alone
    sample = Sample(X, y / y.std(), np.ones(150))
    options = {"members_per_fold": 1, "keep_prob": 0.9, "effort": "low", "seed": 0}
    grow(sample, n_folds=2, machine={"device": "cpu", "n_threads": 2}, watch=watch, **options)
    trainings = [ahead for title, ahead in told if title.startswith("Training")]
    quick, scaled, final = trainings
    assert quick > scaled > 1 and final == 0
