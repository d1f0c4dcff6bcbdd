"""A process that may not have more than so much memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Where limits are written, and their file's name: control groups of version 2, and of version 1.
KINDS = (
    (Path("/sys/fs/cgroup"), "memory.max", "cgroup.controllers"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "tasks"),
)


class NoLimit(RuntimeError):
    """No hard limit can be set here."""


def run_limited(command: Sequence[str], most_bytes: int) -> subprocess.CompletedProcess[str]:
    """Run a command in a control group of its own. The kernel kills it where it holds more."""
    group = _new_group(most_bytes)
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, preexec_fn=lambda: _enter(group))
    finally:
        group.rmdir()


def _new_group(most_bytes: int) -> Path:
    for root, limit, sign in KINDS:
        if not (root / sign).exists():
            continue
        group = root / f"extranets-{os.getpid()}"
        try:
            group.mkdir()
            (group / limit).write_text(str(most_bytes))
        except OSError:
            if group.is_dir():
                group.rmdir()
            continue
        return group
    raise NoLimit(
        "A control group with a limit of memory needs root, and /sys/fs/cgroup with the controller of memory."
    )


def _enter(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))
