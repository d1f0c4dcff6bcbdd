"""The command line in a process of its own, as a user calls it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest

from extranets.cli import _say_warning, main
from extranets.data import simulated_rents

QUICK = ("--effort", "low", "--set", "n_folds=2", "--set", "noise_model=constant")  # fits in tenths of a second
COMMAND = [sys.executable, "-c", "from extranets.cli import main; main()"]


def run_extranets(*arguments, **options):
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, env=environment, **options)


@pytest.fixture(scope="session")
def extranets():
    return run_extranets


@pytest.fixture(scope="session")
def rents(tmp_path_factory):
    """Folder with train.csv, test.csv and a small model of them."""
    folder = tmp_path_factory.mktemp("rents")
    frame = simulated_rents(700, random_state=0)
    frame[:400].to_csv(folder / "train.csv", index=False)
    frame[400:].to_csv(folder / "test.csv", index=False)
    done = run_extranets(
        *("fit", folder / "train.csv", "--target", "rent", "--id", "flat", *QUICK, "--folds", "2"),
        *("-o", folder / "model.xnet"),
    )
    assert done.returncode == 0, done.stderr
    (folder / "fit.txt").write_text(done.stdout)
    (folder / "fit.err").write_text(done.stderr)
    return folder


@pytest.fixture
def here(monkeypatch, capfd):
    """The command line in this process: as ``extranets``, but without a second's wait for imports."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments):
        arguments = ["extranets", *map(str, arguments)]
        capfd.readouterr()
        _say_warning.cache_clear()
        monkeypatch.setattr(sys, "argv", arguments)
        with warnings.catch_warnings(), pytest.raises(SystemExit) as end:
            main()
        out, errors = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, end.value.code, out, errors)

    return call
