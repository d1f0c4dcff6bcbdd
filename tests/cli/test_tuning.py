"""`fit --preset` and `fit --tune`, and what `info` tells of the settings."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time

import pandas
import pytest

import extranets as package

from .conftest import COMMAND, QUICK


def test_settings_are_searched_on_the_encoded_table(rents, tmp_path, extranets):
    model = tmp_path / "m.xnet"
    done = extranets(
        "fit", rents / "train.csv", "-t", "rent", "--id", "flat", *QUICK, "--tune", 4, "--folds", 2, "-o", model
    )
    assert done.returncode == 0, done.stderr
    assert "Tuning" in done.stderr and "Tuned: " in done.stderr and "All rows" not in done.stderr
    assert done.stderr.index("Tuned: ") < done.stderr.index("Fold 1 of 2") and "400 held-out rows" in done.stdout
    loaded = package.load(model)
    regressor = loaded.regressor_
    assert type(regressor) is package.StackedNetsRegressor and regressor.fit_info_["n_rows"] == 400
    assert regressor.n_folds == 2 and regressor.effort == "low"  # they were given
    assert {**loaded.estimator.get_params()} == {**regressor.get_params()}
    assert regressor.random_state == 0 and regressor.n_jobs is None and regressor.verbose == 0
    assert loaded.predict(pandas.read_csv(rents / "test.csv")).shape == (300,)
    told = extranets("info", model).stdout
    assert re.search(r"tuned for\W+4 s", told)
    assert "settings" in told and f"n_folds={regressor.settings_['n_folds']}" in told and "ridge regression" in told


def test_json_stands_alone_and_a_seed_may_be_set_among_the_parameters(rents, tmp_path, extranets):
    model = tmp_path / "m.xnet"
    extra = ("--tune", 3, "--folds", 0, "--set", "random_state=3", "--set", "keep_prob=0.8", "--json", "--quiet")
    done = extranets("fit", rents / "train.csv", "-t", "rent", "--features", "area", *QUICK, *extra, "-o", model)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert json.loads(done.stdout)["n_rows"] == 400
    regressor = package.load(model).regressor_
    assert regressor.random_state == 3 and regressor.keep_prob == 0.8


def test_a_preset_is_taken_and_set_overrides_it(rents, tmp_path, extranets):
    model = tmp_path / "m.xnet"
    quick = ("--set", "max_iter=5", "--set", "n_estimators=4", "--folds", 0, "--quiet", "-o", model)
    done = extranets("fit", rents / "train.csv", "-t", "rent", "--preset", "paper", *quick)
    assert done.returncode == 0, done.stderr
    regressor = package.load(model).regressor_
    assert type(regressor) is package.ExtraNetsRegressor
    assert (regressor.interval, regressor.noise, regressor.n_estimators) == ("paper", "train", 4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tune", "5", "--method", "bootstrap"], ["--tune", "--method stack", "bootstrap"]),
        (["--tune", "5", "--preset", "fast"], ["--tune", "--method stack", "extra-nets"]),
        (["--effort", "low", "--preset", "fast"], ["--effort is for --method stack"]),
        (["--effort", "hihg"], ["hihg", "Did you mean high?"]),
        (["--tune", "0"], ["--tune", "positive number of seconds"]),
        (["--preset", "fast", "--method", "pbp"], ["--preset", "extra-nets", "pbp"]),
        (["--preset", "fast", "--method", "stack"], ["--preset", "extra-nets", "stack"]),
        (["--preset", "accurat"], ["accurat", "Did you mean accurate?"]),
    ],
)
def test_wrong_combinations_are_refused(rents, tmp_path, extranets, arguments, words):
    done = extranets("fit", rents / "train.csv", "-t", "rent", "--folds", 0, "-o", tmp_path / "m.xnet", *arguments)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
    assert all(word in " ".join(done.stderr.split()) for word in words), done.stderr
    assert not (tmp_path / "m.xnet").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_ends_a_search_with_exit_code_130_and_no_file(rents, tmp_path):
    command = [*COMMAND, "fit", str(rents / "train.csv"), "-t", "rent", "--tune", "600", "-o", str(tmp_path / "m.xnet")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()  # the columns are printed before the search
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []
