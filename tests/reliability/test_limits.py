"""Disk, file handles and rights that run out: an error that names the file, the old file as it was, and nothing beside it."""

from __future__ import annotations

import importlib
import io
import os
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import extranets
from extranets.cli import main
from extranets.tables import TableRegressor
from tests.reliability.children import as_nobody, in_child, limited, needs_fork

pytestmark = [needs_fork, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
SMALL = {"hidden_layer_sizes": (3,), "max_iter": 3, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(3000, 3)), columns=["a", "b", "y"])


@pytest.fixture
def folder(table):
    """A table, a model of it, and older files that must survive. Everybody may read here, as not in ``tmp_path``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        table.to_csv(folder / "table.csv", index=False)
        model = TableRegressor(extranets.ExtraNetsRegressor(2, **SMALL)).fit(table[["a", "b"]][:60], table["y"][:60])
        model.save(folder / "model.xnet")
        for name in ("predictions.csv", "predictions.parquet", "old.xnet", "report.html"):
            (folder / name).write_text("old")
        yield folder


def command(folder, *arguments):
    """The exit status and what the command line prints to standard error."""

    def body():
        os.chdir(folder)
        os.environ["COLUMNS"] = "300"
        sys.argv = ["extranets", *arguments]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as errors:
            try:
                main()
            except SystemExit as end:
                return end.code, errors.getvalue()

    return body


COMMANDS = {
    "fit": ("fit", "table.csv", "-t", "y", "--method", "extra-nets", "--set", "n_estimators=2", "--set", "max_iter=3",
            "--set", "hidden_layer_sizes=(200,200)", "--folds", "0", "-q", "-o", "old.xnet"),
    "predict to CSV": ("predict", "model.xnet", "table.csv", "-q", "-o", "predictions.csv"),
    "predict to Parquet": ("predict", "model.xnet", "table.csv", "-q", "-o", "predictions.parquet"),
    "report": ("report", "model.xnet", "table.csv", "-t", "y", "-o", "report.html"),
}  # fmt: skip


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_is_full_loses_no_file(folder, name):
    """Files may not become longer than 20 kB, as if the disk were full then."""
    before = contents(folder)
    status, errors = in_child(command(folder, *COMMANDS[name]), limited("RLIMIT_FSIZE", 20_000))
    assert status not in (0, None) and "Traceback" not in errors and "too large" in errors.lower()
    assert contents(folder) == before


def test_a_disk_that_is_full_is_an_error_of_save(folder):
    model = extranets.ExtraNetsRegressor(2, **{**SMALL, "hidden_layer_sizes": (200, 200)})
    model.fit(np.random.default_rng(0).normal(size=(30, 3)), np.arange(30.0))
    before = contents(folder)
    with pytest.raises(OSError, match="too large"):
        in_child(lambda: model.save(folder / "old.xnet"), limited("RLIMIT_FSIZE", 20_000))
    assert contents(folder) == before


def test_no_file_handle_is_left(folder, table):
    """The table cannot be opened, and later the same process goes on."""

    def body():
        spare, found = [], []
        importlib.invalidate_caches()  # a version that is looked up again would open folders
        with suppress(OSError):
            while True:
                spare.append(os.open(os.devnull, os.O_RDONLY))
        for action in (lambda: extranets.load(folder / "model.xnet"), lambda: model.save(folder / "old.xnet")):
            try:
                action()
            except OSError as error:
                found.append(str(error))
        for handle in spare:
            os.close(handle)
        again = extranets.load(folder / "model.xnet")
        return found, again.predict_interval(table[:5]).tobytes()

    model = extranets.load(folder / "model.xnet")
    found, answer = in_child(body, limited("RLIMIT_NOFILE", 64))
    assert len(found) == 2 and all("Too many open files" in text for text in found)
    assert answer == model.predict_interval(table[:5]).tobytes() and (folder / "old.xnet").read_text() == "old"


@pytest.mark.parametrize("name", ["fit", "predict to CSV", "predict to Parquet"])
def test_an_ordinary_user_without_rights_in_the_folder(folder, name):
    folder.chmod(0o555)
    before = contents(folder)
    try:
        status, errors = in_child(command(folder, *COMMANDS[name]), as_nobody)
    finally:
        folder.chmod(0o755)
    assert status not in (0, None) and "Traceback" not in errors
    assert "ermission denied" in errors or "may not be written" in errors or "cannot be written" in errors
    assert contents(folder) == before


def test_a_file_that_may_not_be_read_is_named(folder):
    folder.chmod(0o777)
    (folder / "model.xnet").chmod(0)
    (folder / "table.csv").chmod(0)
    for name in ("predict to CSV", "fit"):
        status, errors = in_child(command(folder, *COMMANDS[name]), as_nobody)
        assert status not in (0, None) and "Traceback" not in errors and "ermission denied" in errors
        assert "model.xnet" in errors or "table.csv" in errors
