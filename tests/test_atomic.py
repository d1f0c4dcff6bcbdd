"""Files are written all at once."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap

import pytest

from extranets import _atomic


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "model.xnet").write_bytes(b"old")
    return folder / "model.xnet"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(path):
    before = path.read_bytes()

    def parts():
        yield b"half of it"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _atomic.write(path, parts())
    assert path.read_bytes() == before and os.listdir(path.parent) == ["model.xnet"]


def test_readers_never_see_a_part(path):
    before = path.read_bytes()

    def parts():
        yield b"first"
        assert path.read_bytes() == before
        yield b"second"

    with open(path, "rb") as reader:
        _atomic.write(path, parts())
        assert reader.read() == before  # it was replaced, not written over
    assert path.read_bytes() == b"firstsecond"


def test_permissions_are_those_of_an_ordinary_file_or_of_the_file_before(tmp_path):
    mask = os.umask(0o027)
    try:
        _atomic.write(tmp_path / "new", [b"x"])
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o604)
    _atomic.write(tmp_path / "new", [b"y"])
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o604


def test_a_link_stays_a_link(path, tmp_path):
    (tmp_path / "latest.xnet").symlink_to(path)
    _atomic.write(tmp_path / "latest.xnet", [b"new"])
    assert (tmp_path / "latest.xnet").is_symlink() and path.read_bytes() == b"new"


def test_places_that_cannot_be_written_to_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        _atomic.write(tmp_path / "nowhere" / "model.xnet", [b""])
    with pytest.raises(IsADirectoryError, match="is a folder"):
        _atomic.write(tmp_path, [b""])


@pytest.mark.skipif(sys.platform == "win32", reason="makes a pipe")
@pytest.mark.parametrize("through_a_link", [False, True])
def test_a_pipe_is_not_replaced(tmp_path, through_a_link):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe is a pipe, a device or the like, not a file"):
        _atomic.write(tmp_path / ("link" if through_a_link else "pipe"), [b""])
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="whole paths are limited there")
def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path):
    path = tmp_path / ("m" * 255)
    _atomic.write(path, [b"x"])
    assert path.read_bytes() == b"x" and os.listdir(tmp_path) == [path.name]


def test_a_path_may_be_text_bytes_or_a_path(tmp_path):
    path = tmp_path / "m\u00f6del.xnet"
    for given in (str(path), os.fsencode(path), path):
        _atomic.write(given, [type(given).__name__.encode()])
        assert path.read_bytes() == type(given).__name__.encode()


KILLED = """
    import os, signal, sys
    from extranets import _atomic

    def parts():
        yield b"half of it"
        print("written", flush=True)
        signal.pause()

    _atomic.write(sys.argv[1], parts())
"""


@pytest.mark.skipif(os.name != "posix", reason="asks the system which processes live")
def test_what_killed_writers_left_goes_at_the_next_write_and_nothing_else(path):
    def start():
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(KILLED), str(path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout.readline() == "written\n"
        return child

    def temporaries():
        return sorted(entry for entry in os.listdir(path.parent) if entry.endswith(".tmp"))

    killed, living = start(), start()
    try:
        assert len(temporaries()) == 2
        killed.kill()
        killed.wait()
        left = next(name for name in temporaries() if f"-{killed.pid}-" in name)
        others = [
            left.replace(".extranets-", ".extranets-0"),
            left + "x",
            left.replace(str(killed.pid), "0"),
            ".mine.tmp",
        ]
        for name in others:
            (path.parent / name).touch()
        (path.parent / left.replace(left[-8:], "0000.tmp")).mkdir()
        _atomic.write(path, [b"new"])
        kept = {*os.listdir(path.parent)} - {*others, path.name, left.replace(left[-8:], "0000.tmp")}
        assert [name for name in kept if f"-{living.pid}-" in name] == list(kept) and len(kept) == 1
    finally:
        living.kill()
        living.wait()
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_cannot_be_listed_can_be_written_to(path):
    path.parent.chmod(0o300)
    try:
        _atomic.write(path, [b"new"])
    finally:
        path.parent.chmod(0o700)
    assert path.read_bytes() == b"new"
