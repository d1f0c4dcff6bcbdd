"""How the settings of kinds follow a table."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.networks import draw_members
from extranets.stacking.kinds import FEWEST_BINS, KINDS, Kind

ROWS = np.unique(np.geomspace(1, 5_000_000, 3000).astype(int))
EVERY = pytest.mark.parametrize("kind", KINDS, ids=str)


def test_every_kind_is_there_once():
    """The place of a kind names its random streams."""
    assert len(set(KINDS)) == len(KINDS)


@EVERY
def test_options_are_valid_for_any_number_of_rows(kind):
    """The engine's options check themselves."""
    for n in (1, 2, 3, 10, *ROWS[::100]):
        options = kind.options(int(n))
        assert 1 <= options.n_epochs <= 1000 and 1 <= options.batch_size <= 4096
        assert 1e-4 < options.learning_rate < 0.1


@EVERY
def test_the_length_of_a_training_has_no_jumps(kind):
    """Mini-batches of all epochs, for rows that differ by half a percent; epochs are whole numbers."""
    rows = ROWS[(ROWS >= 200) & (ROWS <= 200_000)]
    options = [kind.options(int(n)) for n in rows]
    epochs = np.array([each.n_epochs for each in options])
    steps = epochs * rows / np.array([each.batch_size for each in options])
    growth = rows[1:] / rows[:-1]
    rounding = 0.5 / epochs[1:] + 0.5 / epochs[:-1]
    assert (np.abs(np.log(steps[1:] / steps[:-1])) <= np.log(growth) + 1.1 * rounding).all()


@EVERY
def test_units_and_batches_grow_with_the_rows(kind):
    units = np.array([kind.settings(int(n), 5)["hidden_layer_sizes"][0] for n in ROWS])
    batches = np.array([kind.options(int(n)).batch_size for n in ROWS])
    assert ((np.diff(units) >= 0) & (np.diff(units) <= 2)).all()
    assert (np.diff(batches) >= 0).all() and (np.log2(batches) % 1 == 0).all()


@EVERY
@pytest.mark.parametrize("n_columns", [1, 3, 200, 5000])
def test_networks_are_made_for_tables_of_any_width(kind, n_columns):
    X = np.random.default_rng(0).normal(size=(40, n_columns)).astype(np.float32)
    architecture = kind.architecture(X, 2, 30, n_columns)
    assert (architecture.n_inputs, architecture.n_outputs, architecture.n_heads) == (n_columns, 2, 2)
    assert architecture.hidden == kind.settings(30, n_columns)["hidden_layer_sizes"]
    assert len(draw_members(architecture, 0.9, 0, [0])) == 1


@EVERY
def test_settings_say_what_is_done(kind):
    for n in (10, 1000, 30_000):
        settings, options = kind.settings(n, 8), kind.options(n)
        assert settings["max_iter"] == options.n_epochs and settings["batch_size"] == options.batch_size
        assert settings["learning_rate_init"] == options.learning_rate
        assert settings["alpha"] == options.weight_decay
        X = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
        encoded = kind.architecture(X, 1, n, 8).encoding is not None
        assert (settings["numeric_encoding"] is not None) == encoded == (settings["n_bins"] is not None)


def test_a_longer_kind_is_trained_for_longer():
    short, long = (Kind(2, 0.1, length).options(2000).n_epochs for length in (0.5, 1.0))
    assert long == pytest.approx(2 * short, abs=1)


def test_only_columns_that_can_be_encoded_share_the_bins():
    """A table with many columns of two values each has as many bins as one without them."""
    X = np.random.default_rng(0).integers(0, 2, size=(100, 400)).astype(np.float32)
    X[:, :3] = np.random.default_rng(1).normal(size=(100, 3))
    kind = Kind(1, 0.1, 1.0, n_bins=48)
    added = {n: kind.architecture(X, 1, 100, n).n_first - 400 for n in (3, 400)}
    assert added == {3: 3 * 48, 400: 3 * FEWEST_BINS}
    assert kind.settings(100, 3)["n_bins"] == 48
