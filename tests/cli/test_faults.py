"""What the surroundings may do to a command: close its streams, leave it no memory."""

from __future__ import annotations

import os
import shlex
import subprocess

import pandas
import pytest

from tests.cli.conftest import COMMAND, QUICK


def with_closed(redirection, *arguments):
    """The command in a shell that closes some of its streams."""
    line = f"{shlex.join([*COMMAND, *map(str, arguments)])} {redirection}"
    return subprocess.run(["sh", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    ("redirection", "arguments", "code", "message"),
    [
        (">&-", ["info", "model.xnet"], 1, "standard output is closed"),
        (">&-", ["predict", "model.xnet", "test.csv"], 1, "standard output is closed"),
        ("<&-", ["predict", "model.xnet", "-"], 3, "Standard input is closed"),
        ("<&- 2>&-", ["predict", "model.xnet", "-"], 3, ""),
        ("2>&-", ["info", "model.xnet"], 0, ""),
    ],
)
def test_closed_streams_are_an_error_of_one_line(rents, redirection, arguments, code, message):
    files = [rents / name if "." in name else name for name in arguments]
    done = with_closed(redirection, *files)
    assert done.returncode == code, done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr and done.stderr.count("\n") <= 1
    assert bool(done.stdout) == (code == 0)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_file_does_not_get_the_number_of_a_closed_stream(rents, tmp_path):
    """Or a library's complaint to standard error would go into the predictions."""
    done = with_closed("<&- 2>&-", "predict", rents / "model.xnet", rents / "test.csv", "-o", tmp_path / "out.csv")
    assert done.returncode == 0
    assert (tmp_path / "out.csv").read_text().startswith("flat,prediction,sd,")


def test_too_little_memory_is_an_error_of_one_line(rents, here, tmp_path):
    """Two layers of three million units: no machine has memory for the weights between them."""
    done = here(
        *("fit", rents / "train.csv", "-t", "rent", "--folds", "0", "-q", "-o", tmp_path / "m.xnet"),
        *("--method", "deep-ensemble", "--set", "hidden_layer_sizes=(3000000, 3000000)"),
    )
    assert done.returncode == 1 and "Error: there is not enough memory" in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "m.xnet").exists()


def test_formulas_get_an_apostrophe_on_request_and_it_is_said(rents, here, tmp_path):
    table = pandas.read_csv(rents / "test.csv")
    table["district"] = ["=1+1"] * 2 + list(table["district"][2:])
    table.to_csv(tmp_path / "formulas.csv", index=False)
    asked = ("predict", rents / "model.xnet", tmp_path / "formulas.csv", "--keep", "district")
    plain, safe = here(*asked), here(*asked, "--safe-csv")
    assert ",=1+1," in plain.stdout and "'" not in plain.stdout
    assert safe.stdout == plain.stdout.replace(",=1+1,", ",'=1+1,")
    assert "2 texts began like a formula" in safe.stderr and "formula" not in plain.stderr


@pytest.mark.parametrize(
    ("column", "message"), [("rent", "row 5, column 'rent': '1e300' is too large"), ("area", "Column 'area'")]
)
def test_numbers_without_squares_are_a_table_that_cannot_be_used(rents, here, tmp_path, column, message):
    table = pandas.read_csv(rents / "train.csv", dtype=str)
    table.loc[4, column] = "1e300"
    table.to_csv(tmp_path / "huge.csv", index=False)
    done = here("fit", tmp_path / "huge.csv", "-t", "rent", *QUICK, "--folds", "0", "-q", "-o", tmp_path / "m.xnet")
    assert done.returncode == 3 and message in done.stderr and "Traceback" not in done.stderr


def test_a_coverage_that_rounding_would_decide_is_refused_before_any_work(rents, here):
    done = here("predict", rents / "model.xnet", rents / "test.csv", "--coverage", "0.9999999999999999")
    assert done.returncode == 2 and "too near 0 or 1" in done.stderr


@pytest.mark.parametrize("width", [60, 90])
def test_tables_on_a_pipe_heed_columns(rents, here, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))  # after the fixture's own
    assert max(map(len, here("info", rents / "model.xnet").stdout.splitlines())) == width
