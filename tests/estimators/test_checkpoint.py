"""fit(checkpoint=FOLDER): a fit that was stopped goes on, with the same result to the last bit."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas
import pytest

from extranets import (
    BootstrapNetsRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    PBPRegressor,
    StackedNetsRegressor,
    VariationalRegressor,
)
from extranets.data import nonlinear_process
from extranets.engine import native
from extranets.tables import TableRegressor

SMALL = {"max_iter": 20, "random_state": 0}
MODELS = {
    "extra-nets": ExtraNetsRegressor(4, (10,), **SMALL),
    "bootstrap": BootstrapNetsRegressor(4, (10,), **SMALL),
    "mc-dropout": MCDropoutRegressor((10,), keep_prob="auto", n_passes=5, **SMALL),
    "stack": StackedNetsRegressor(effort="low", n_folds=2, random_state=0),
}


@pytest.fixture(scope="module")
def table():
    X, y, X_test, _ = nonlinear_process(160, random_state=0).split(150)
    return X, y, X_test


@pytest.fixture
def trained(monkeypatch):
    """The numbers of networks that the engine has trained, call by call."""
    found = []
    true = native.train_all

    def counted(trainings, **how):
        found.append(sum(len(each.members) for each in trainings))
        return true(trainings, **how)

    monkeypatch.setattr(native, "train_all", counted)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_kept_networks_are_not_trained_again(name, table, tmp_path, trained):
    X, y, X_test = table
    model = MODELS[name]
    expected = model.fit(X, y).predict_interval(X_test)
    trained.clear()
    np.testing.assert_array_equal(model.fit(X, y, checkpoint=tmp_path).predict_interval(X_test), expected)
    assert sum(trained) > 0
    trained.clear()
    np.testing.assert_array_equal(model.fit(X, y, checkpoint=tmp_path).predict_interval(X_test), expected)
    assert sum(trained) == 0


def test_other_rows_have_other_networks(table, tmp_path, trained):
    X, y, X_test = table
    model = MODELS["extra-nets"]
    model.fit(X, y, checkpoint=tmp_path)
    expected = model.fit(X[1:], y[1:]).predict(X_test)
    trained.clear()
    np.testing.assert_array_equal(model.fit(X[1:], y[1:], checkpoint=tmp_path).predict(X_test), expected)
    assert sum(trained) > 0


FIT = """
    import sys
    import numpy as np
    import extranets.engine.pieces
    from extranets import StackedNetsRegressor
    from extranets.data import nonlinear_process

    extranets.engine.pieces.KEPT_EVERY = 3e7
    X, y, X_test, _ = nonlinear_process(400, random_state=0).split(390)
    print("begun", flush=True)
    model = StackedNetsRegressor(n_folds=4, random_state=0, n_jobs=1).fit(X, y, checkpoint=sys.argv[1] if len(sys.argv) > 1 else None)
    print(model.predict_interval(X_test).tobytes().hex())
"""


def _begin(*arguments):
    command = [sys.executable, "-c", textwrap.dedent(FIT), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _goes_on_after_kills(n_kills, folder):
    expected = _begin().communicate()[0]
    rng = np.random.default_rng(0)
    n_killed = 0
    for _ in range(n_kills):
        process = _begin(folder)
        process.stdout.readline()
        time.sleep(rng.uniform(0.02, 0.6))
        process.send_signal(signal.SIGKILL)
        n_killed += process.wait() == -signal.SIGKILL
        process.stdout.close()
    assert _begin(folder).communicate()[0] == expected
    return n_killed


def test_a_fit_that_was_killed_goes_on_with_the_same_bits(tmp_path):
    assert _goes_on_after_kills(2, tmp_path) > 0
    assert list(tmp_path.glob("*.networks"))


@pytest.mark.slow
def test_a_fit_that_was_killed_at_twenty_random_moments_goes_on_with_the_same_bits(tmp_path):
    assert _goes_on_after_kills(20, tmp_path) > 0


# -- what cannot be kept -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [None, np.random.RandomState(0)])
def test_the_seed_must_be_an_integer(seed, table, tmp_path):
    with pytest.raises(ValueError, match="checkpoint needs an integer random_state"):
        ExtraNetsRegressor(2, (3,), random_state=seed).fit(*table[:2], checkpoint=tmp_path)


@pytest.mark.parametrize("model", [PBPRegressor(random_state=0), VariationalRegressor(random_state=0)])
def test_single_networks_have_no_parts_to_keep(model, table, tmp_path):
    with pytest.raises(ValueError, match="trains a single network"):
        model.fit(*table[:2], checkpoint=tmp_path)


def test_tables_pass_it_on(table, tmp_path, trained):
    X, y, _ = table
    frame = pandas.DataFrame(X).rename(columns=str).assign(town=np.where(X[:, 0] > 0, "north", "south"))
    model = TableRegressor(ExtraNetsRegressor(2, (5,), max_iter=5, random_state=0))
    first = model.fit(frame, y, checkpoint=tmp_path).predict(frame)
    trained.clear()
    np.testing.assert_array_equal(model.fit(frame, y, checkpoint=tmp_path).predict(frame), first)
    assert sum(trained) == 0


def test_a_regressor_without_networks_is_named(table, tmp_path):
    from sklearn.linear_model import Ridge

    X, y, _ = table
    with pytest.raises(TypeError, match="Ridge has no networks to keep"):
        TableRegressor(Ridge()).fit(pandas.DataFrame(X).rename(columns=str), y, checkpoint=tmp_path)


def test_the_folder_may_be_deleted_afterwards(table, tmp_path):
    X, y, X_test = table
    model = ExtraNetsRegressor(2, (5,), max_iter=5, random_state=0).fit(X, y, checkpoint=tmp_path / "new" / "folder")
    for path in Path(tmp_path / "new" / "folder").iterdir():
        path.unlink()
    assert np.isfinite(model.predict(X_test)).all()
