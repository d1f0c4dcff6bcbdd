"""Write a file all at once: a reader sees the old file or the new one, never a part."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import stat
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any


def write(path: str | bytes | os.PathLike[str], parts: Iterable[Any]) -> None:
    """Write the buffers ``parts`` one after the other, so that readers see the old file or the new one, even after a power cut.

    A link is followed. A file that is replaced passes its permissions on to the new one.
    """
    target = Path(os.path.realpath(os.fsdecode(path)))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} to; make it first.")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file.")
    refuse_special(target)
    temporary = beside(target)
    try:
        with open(temporary, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def to_disk(path: Path) -> None:
    """Wait until the bytes of a file that was written and closed are on the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def refuse_special(target: Path) -> None:
    """Refuse a pipe or a device: writing would put a plain file in its place."""
    if target.exists() and not target.is_file():
        raise OSError(f"{target} is a pipe, a device or the like, not a file; give the name of a file.")


def beside(target: Path) -> Path:
    """A new name in the same folder, where what killed processes have left is removed.

    The name does not contain the target's, which may be as long as the system allows.
    """
    remove_leftovers(target.parent)
    return target.with_name(f".extranets-{_machine()}-{os.getpid()}-{uuid.uuid4().hex}.tmp")


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of this machine's processes that are no more: a killed one cannot do it itself."""
    mine = re.compile(rf"\.extranets-{_machine()}-([1-9]\d{{0,9}})-[0-9a-f]{{32}}\.tmp")
    with suppress(OSError), os.scandir(folder) as entries:  # else a folder that may be written to, but not listed
        for entry in entries:
            found = mine.fullmatch(entry.name)
            if found and entry.is_file(follow_symlinks=False) and not _lives(int(found[1])):
                with suppress(OSError):
                    os.unlink(entry.path)


def _machine() -> str:
    """Where a number of a process means a process: its machine and, in a container, the container."""
    try:
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        numbers = ""
    return hashlib.sha256(f"{platform.node()} {numbers}".encode()).hexdigest()[:12]


def _lives(process: int) -> bool:
    """Whether there is a process of this number. In doubt there is one."""
    if os.name != "posix":  # elsewhere, asking in this way would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
