"""Rows that occur more than once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from extranets import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    MeanVarianceRegressor,
)
from extranets.estimators.copies import CopiedRowsWarning, _hash, count_copies

QUICK = {"hidden_layer_sizes": (3,), "max_iter": 2, "random_state": 0}


def table(n, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 2)).astype(np.float32), random.normal(size=(n, 1)).astype(np.float32)


def with_copies(n, n_copies):
    rows = np.r_[np.arange(n), np.arange(n_copies)]
    return tuple(values[rows] for values in table(n))


def test_copies_are_counted():
    assert count_copies(*with_copies(100, 10)) == 10
    assert count_copies(*table(100)) == 0


def test_the_same_x_with_another_y_is_no_copy():
    X, y = with_copies(100, 40)
    y[100:103] += 1
    assert count_copies(X, y) == 37
    y[100:] += 1
    assert count_copies(X, y) == 0


@pytest.mark.parametrize("rate", [0.5, 0.1, 0.03, 0.01, 0.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_table_of_few_values_measures_the_same_x_again(rate, seed):
    """Also where most y are the same: two rows agree by chance."""
    random = np.random.default_rng(seed)
    X = random.integers(3, size=(2000, 3)).astype(np.float32)
    assert count_copies(X, (random.uniform(size=(2000, 1)) < rate).astype(np.float32)) == 0


def test_rows_with_the_same_hash_are_the_same():
    """Among them whole numbers, whose last bits are zero; -0.0 is 0.0."""
    X = np.random.default_rng(2).integers(-3, 4, size=(20_000, 6)).astype(np.float32)
    X[::7] *= -1
    assert len(np.unique(_hash(X))) == len(np.unique(X, axis=0))
    assert len(np.unique(_hash(np.array([[0.0, 1.0], [-0.0, 1.0]], dtype=np.float32)))) == 1


@pytest.mark.filterwarnings("ignore:.*out-of-bag", "ignore:.*out of some", "ignore:.*collapse_r2", "ignore:J'J is near")
@pytest.mark.parametrize("cls", [ExtraNetsRegressor, BootstrapNetsRegressor, DeltaMethodRegressor, MCDropoutRegressor])
def test_many_copies_are_warned_of(cls):
    X, y = with_copies(100, 25)
    with pytest.warns(CopiedRowsWarning, match="More than 5% of the rows are copies of others"):
        cls(**QUICK).fit(X, y[:, 0])


def fits_without_a_warning_of_copies(model, n_copies):
    X, y = with_copies(100, n_copies)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CopiedRowsWarning)
        model.fit(X, y[:, 0])


@pytest.mark.filterwarnings("ignore:.*collapse_r2")
def test_few_copies_are_not_warned_of():
    fits_without_a_warning_of_copies(ExtraNetsRegressor(**QUICK), 5)


@pytest.mark.parametrize(
    "model",
    [
        ExtraNetsRegressor(**QUICK, noise="train", interval="paper"),
        BootstrapNetsRegressor(**QUICK, noise="train"),
        MeanVarianceRegressor(**QUICK),
        DeepEnsembleRegressor(**QUICK),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*collapse_r2", "ignore:noise='train'", "ignore:.*out of some")
def test_copies_are_not_warned_of_where_no_row_is_held_out(model):
    fits_without_a_warning_of_copies(model, 25)
