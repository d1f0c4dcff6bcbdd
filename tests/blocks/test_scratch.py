"""The scratch file: full folders, and what is left of it."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from extranets.blocks import Scratch, ScratchError


def test_rows_come_back_in_any_order(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32), np.arange(200.0).reshape(100, 2)
    with Scratch(tmp_path, 3, 2) as scratch:
        scratch.append(X[:60], y[:60])
        np.testing.assert_array_equal(scratch.columns(10, 20), X[10:20])
        scratch.append(X[60:], y[60:])
        np.testing.assert_array_equal(scratch.columns(55, 70), X[55:70])
        np.testing.assert_array_equal(scratch.targets(0, 100), y)
        assert list(tmp_path.iterdir()) == []  # it has no name
        with pytest.raises(ScratchError, match="ends before row 101"):
            scratch.columns(99, 101)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ScratchError, match=r"nowhere cannot be used .*--scratch"):
        Scratch(tmp_path / "nowhere", 3, 1)


def test_too_little_room_is_refused_at_once(tmp_path):
    with pytest.raises(ScratchError, match=r"GB of room, and the table needs 24000000\.0 GB.*scratch=FOLDER"):
        Scratch(tmp_path, 4, 1, n_rows=10**15)


FULL = """
    import resource, signal, sys
    import numpy as np
    from extranets.blocks import Scratch, ScratchError
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))  # files can have 1 MB, as on a disk that is full
    with Scratch(sys.argv[1], 10, 1) as scratch:
        try:
            while True:
                scratch.append(np.zeros((5000, 10), np.float32), np.zeros((5000, 1)))
        except ScratchError as error:
            print(error)
"""


def test_a_folder_that_becomes_full_is_named_with_the_row(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL), tmp_path], capture_output=True, text=True, check=True
    )
    assert f"The scratch folder {tmp_path} cannot take row 30,000 of the table (File too large)" in done.stdout
    assert list(tmp_path.iterdir()) == [] and done.stderr == ""


KILLED = """
    import os, sys, time
    import numpy as np
    from extranets.blocks import Scratch
    scratch = Scratch(sys.argv[1], 10, 1)
    scratch.append(np.zeros((5000, 10), np.float32), np.zeros((5000, 1)))
    print("ready", flush=True)
    time.sleep(60)
"""


def test_nothing_is_left_after_a_kill(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), tmp_path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    assert list(tmp_path.iterdir()) == []
