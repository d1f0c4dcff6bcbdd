"""What the surroundings may do to a command: close its streams, leave it no memory."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest

from tests.cli.conftest import COMMAND


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
