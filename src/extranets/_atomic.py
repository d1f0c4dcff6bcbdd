"""Write a file all at once: a reader sees the old file or the new one, never a part."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterable
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


def refuse_special(target: Path) -> None:
    """Refuse a pipe or a device: writing would put a plain file in its place."""
    if target.exists() and not target.is_file():
        raise OSError(f"{target} is a pipe, a device or the like, not a file; give the name of a file.")


def beside(target: Path) -> Path:
    """A new name in the same folder. It does not contain the target's name, which may be as long as the system allows."""
    return target.with_name(f".{uuid.uuid4().hex}.tmp")
