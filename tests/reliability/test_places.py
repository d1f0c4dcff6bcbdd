"""No home, one that may not be written to, another locale, a clock that was set back: predictions and files stay the same."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import extranets
from extranets.data import simulated_rents
from extranets.studies import runs
from tests.cli.conftest import COMMAND, QUICK
from tests.studies.toy_study import Toy

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="homes and locales are others there")


@pytest.fixture(scope="module")
def rents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rents")
    simulated_rents(300, random_state=0).rename(columns={"district": "quartier é"}).to_csv(
        folder / "table.csv", index=False
    )
    return folder


def fit(folder, output, environment):
    path = folder / output
    command = [
        *COMMAND,
        "fit",
        "table.csv",
        "-t",
        "rent",
        *QUICK,
        "--folds",
        "0",
        "--set",
        "random_state=0",
        "-o",
        str(path),
    ]
    return path, subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300)


@pytest.fixture(scope="module")
def usual(rents):
    """What a model predicts that was fitted in the usual environment."""
    path, done = fit(rents, "usual.xnet", dict(os.environ))
    assert done.returncode == 0, done.stderr.decode()
    return answer(path, rents)


def answer(path, rents):
    return extranets.load(path).predict_interval(pd.read_csv(rents / "table.csv"))


def without(*names):
    return {name: value for name, value in os.environ.items() if name not in names}


@pytest.mark.parametrize(
    "place", ["no home", "a home without rights", "C", pytest.param("a home that is not there", marks=pytest.mark.slow)]
)
def test_homes_and_locales_change_nothing(rents, usual, tmp_path, place):
    read_only = tmp_path / "home"
    read_only.mkdir(mode=0o555)
    environments = {
        "no home": without("HOME", "USER", "LOGNAME", "XDG_CACHE_HOME"),
        "a home that is not there": {**os.environ, "HOME": "/nowhere/at/all", "MPLCONFIGDIR": ""},
        "a home without rights": {**os.environ, "HOME": str(read_only)},
        "C": {**without("LANG"), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    }
    path, done = fit(rents, f"{tmp_path.name}.xnet", environments[place])
    assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr.decode(errors="replace")
    np.testing.assert_array_equal(answer(path, rents), usual)
    assert not list(read_only.iterdir())


def test_decimal_commas_of_a_locale_change_nothing(rents, usual):
    """`locale.setlocale` of the calling program; only where such a locale is installed."""
    import locale

    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            break
        except locale.Error:
            continue
    try:
        np.testing.assert_array_equal(answer(rents / "usual.xnet", rents), usual)
    finally:
        locale.setlocale(locale.LC_ALL, before)


def test_a_clock_that_was_set_back(tmp_path, monkeypatch):
    """Every call of the wall clock is an hour before the last one. Durations come from another clock."""
    model = extranets.ExtraNetsRegressor(2, max_iter=3, random_state=0)
    X = np.random.default_rng(0).normal(size=(40, 2))
    expected = model.fit(X, X[:, 0]).predict_interval(X)
    study = Toy(n_units=3, seconds=0.0)
    records = runs.run(study, tmp_path / "before", jobs=1, progress=False)
    now = time.time()
    calls = iter(range(10**6))
    monkeypatch.setattr(time, "time", lambda: now - 3600 * next(calls))
    model.fit(X, X[:, 0]).save(tmp_path / "m.xnet")
    again = extranets.load(tmp_path / "m.xnet")
    np.testing.assert_array_equal(again.predict_interval(X), expected)
    assert again.fit_info_["seconds"] >= 0
    assert runs.run(study, tmp_path / "run", jobs=1, progress=False) == records
    monkeypatch.setattr(time, "time", lambda: now - 10**8)  # files are from the future now
    assert runs.run(study, tmp_path / "run", jobs=1, progress=False) == records
