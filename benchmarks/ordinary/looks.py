"""The log of looks: a line in the file of records for every run that saw test rows of a table marked ``judge``."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.contest import records
from benchmarks.contest.records import LOOK, Task
from benchmarks.ordinary.manifest import tables
from benchmarks.ordinary.rows import Label


def log(path: Path, tasks: Iterable[Task]) -> None:
    """Write the line, before the fits, if any of these tasks is a look."""
    judged = [task for task in tasks if _is_look(Label.read(task.dataset))]
    if judged:
        look = {
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "commit": commit(),
            "methods": list(dict.fromkeys(task.method for task in judged)),
            "tables": list(dict.fromkeys(task.dataset for task in judged)),
        }
        records.append(path, {LOOK: look})


def read(*paths: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for path in paths if path.exists() for line in path.read_text().splitlines()]
    return [line[LOOK] for line in lines if LOOK in line]


def commit() -> str:
    """Of the code, with ``-dirty`` where files were changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.check_output(command, cwd=Path(__file__).parent, text=True, stderr=subprocess.DEVNULL).strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _is_look(label: Label) -> bool:
    return tables()[label.name].role == "judge" and not label.inner
