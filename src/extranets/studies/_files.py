"""The files of a run. Each is complete or absent."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

from extranets import _atomic

Record = dict[str, str | int | float | None]

OLD = 3600.0  # seconds after which a temporary file belongs to no living process


class UnitResult(NamedTuple):
    """What a unit of work gives: its records, which are the same bits every time, and seconds by name."""

    records: list[Record]
    timings: dict[str, float]


def save_unit(folder: Path, unit: str, result: UnitResult) -> None:
    _check_plain(result)
    write(_path(folder, unit), json.dumps({"unit": unit, "records": result.records, "timings": result.timings}))


def read_unit(folder: Path, unit: str) -> UnitResult | None:
    """A finished unit; None if it is missing or damaged, and so has to be done again."""
    try:
        content = json.loads(_path(folder, unit).read_text(encoding="utf-8"))
        result = UnitResult([dict(record) for record in content["records"]], dict(content["timings"]))
        return result if content["unit"] == unit else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _path(folder: Path, unit: str) -> Path:
    return folder / "units" / f"{unit}.json"


def write(path: Path, text: str) -> None:
    _atomic.write(path, [text.encode("utf-8")])


def remove_old_temporaries(folder: Path) -> None:
    for path in (*folder.glob("*.tmp"), *(folder / "units").glob("*.tmp")):
        try:
            if time.time() - path.stat().st_mtime > OLD:
                path.unlink()
        except FileNotFoundError:  # another process was quicker
            pass


def _check_plain(result: UnitResult) -> None:
    """Refuse what JSON would turn into something else, such as a NumPy integer or a key that is not text."""
    for table, types in ((result.records, (str, int, float, type(None))), ([result.timings], (int, float))):
        for key, value in (item for row in table for item in row.items()):
            if not isinstance(key, str) or not isinstance(value, types):
                raise TypeError(
                    f"{key!r}: {value!r} ({type(value).__name__}) cannot be stored; use Python's own numbers."
                )
