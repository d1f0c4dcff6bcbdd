"""Columns scaled by how much they matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from extranets import engine
from extranets.engine import Options, TrainingData
from extranets.held_out import Plan
from extranets.networks import draw_members
from extranets.stacking import Growing, Kind
from extranets.stacking.growing import drawn_in
from extranets.stacking.kinds import QUICK, SCALED
from extranets.stacking.relevance import of_all_folds, reading_as_it_is, reading_scaled
from tests.stacking.tables import MACHINE, sample_of, silent

N_FOLDS, N_COLUMNS, MATTER = 4, 20, 2


@pytest.fixture(scope="module")
def sample():
    """Two columns of twenty matter: one in a straight line, the other in a curve without a slope on average."""
    random = np.random.default_rng(0)
    X = random.normal(size=(240, N_COLUMNS))
    return sample_of(X, X[:, 0] + X[:, 1] ** 2 + 0.5 * random.normal(size=240))


def grown(sample, seed=0):
    plan = Plan(np.arange(len(sample.y)) % N_FOLDS, N_FOLDS, 1)
    growing = Growing(sample, plan, 0.9, seed, MACHINE, silent)
    quick = growing.train([(kind, range(N_FOLDS)) for kind in QUICK], "{n}")
    growing.learn_factors(quick)
    return growing


def test_columns_that_matter_have_the_largest_factors(sample):
    factors = grown(sample).factors
    assert factors.shape == (N_FOLDS, N_COLUMNS)
    assert factors[:, :MATTER].min() > factors[:, MATTER:].max()
    np.testing.assert_array_equal(np.log2(factors) % 1, 0)  # powers of two: nothing is rounded


def test_a_fold_says_nothing_about_its_own_factors(sample):
    """Otherwise errors on its rows would be too small: that is how a choice of columns before cross-validation cheats."""
    fold = 1
    held = np.arange(len(sample.y)) % N_FOLDS == fold
    other = replace(sample, y=np.where(held[:, None], sample.y[::-1] * 3, sample.y).astype(np.float32))
    before, after = grown(sample).factors, grown(other).factors
    np.testing.assert_array_equal(after[fold], before[fold])
    assert (np.delete(after, fold, axis=0) != np.delete(before, fold, axis=0)).any()


def test_of_noise_alone_scaled_kinds_explain_nothing():
    """On rows that were left out. Of 200 rows, chance adds or takes a few hundredths."""
    random = np.random.default_rng(1)
    sample = sample_of(random.normal(size=(200, 40)), random.normal(size=200))
    growing = grown(sample)
    for part in growing.train([(kind, range(N_FOLDS)) for kind in SCALED], "{n}"):
        assert np.mean(part.residual**2) > 0.9


@pytest.mark.parametrize("kind", [Kind(2, 0.1, 0.1), Kind(1, 0.1, 0.1, n_bins=8)], ids=str)
def test_the_factors_go_into_the_weights_to_the_last_bit(sample, kind):
    X, factors = drawn_in(sample.X, 3.0), 2.0 ** np.random.default_rng(2).integers(-13, 4, N_COLUMNS)
    architecture = kind.architecture(X, 1, len(X), N_COLUMNS)
    members = draw_members(reading_scaled(architecture, factors), 0.8, 0, [0, 1, 2])
    scaled = X * factors.astype(np.float32)
    trained = engine.train(members, TrainingData(scaled, sample.y), Options(n_epochs=3), 0).ensemble
    as_it_is = reading_as_it_is(trained, architecture, factors)
    assert as_it_is.members.architecture == architecture
    np.testing.assert_array_equal(engine.forward(as_it_is, X), engine.forward(trained, scaled))


def test_one_row_of_factors_serves_all_folds(sample):
    """As for tables of which only some rows were searched."""
    growing = grown(sample)
    growing.factors = of_all_folds(growing.factors)
    np.testing.assert_array_equal(np.log2(growing.factors) % 1, 0)
    part = growing.train([(SCALED[0], range(N_FOLDS))], "{n}")[0]
    assert len(part.networks.ensemble) == N_FOLDS and np.isfinite(part.residual).all()
