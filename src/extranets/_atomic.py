"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(path: str | os.PathLike[str], parts: Iterable[Any]) -> None:
    """Write the buffers ``parts`` one after the other, so that readers see the old file or the new one, even after a power cut.

    A link is followed; a file that is replaced passes its permissions on.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} to; make it first.")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file.")
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
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
