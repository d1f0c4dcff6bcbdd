"""Read tables and lists of numbers from text files. An error names the place that cannot be read."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array

Rows = npt.NDArray[np.int64]


def open_text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return open(path, encoding="utf-8", errors="replace")


def read_table(path: Path) -> Array:
    try:
        delimiter = delimiter_of(path)
        return np.loadtxt(path, dtype=np.float64, delimiter=delimiter, comments=None, ndmin=2, encoding="utf-8")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: cannot be unpacked, it may be incomplete ({error})") from error
    except ValueError as error:
        raise ValueError(f"{path}: {first_fault(path, delimiter) or error}") from error


def delimiter_of(path: Path) -> str | None:
    """A comma if the first line has one. Otherwise None, which means any blanks."""
    with open_text(path) as file:
        return "," if "," in file.readline() else None


def first_fault(path: Path, delimiter: str | None) -> str | None:
    """Say where a file that NumPy refused goes wrong; its own messages count rows now from 0, now from 1."""
    n_columns = None
    with open_text(path) as file:
        for row, line in enumerate((line for line in file if line.strip()), start=1):
            fields = line.split(delimiter)
            n_columns = n_columns or len(fields)
            if len(fields) != n_columns:
                return f"row {row} has {len(fields)} columns, the rows before it have {n_columns}"
            for column, field in enumerate(fields, start=1):
                if not is_number(field):
                    return f"row {row}, column {column}: {field.strip()!r} is not a number (counted from 1)"
    return None


def is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def read_indices(path: Path) -> Rows:
    if not path.is_file():
        raise FileNotFoundError(f"The index file {path} is missing.")
    try:
        return np.array([int(word) for word in path.read_text(encoding="utf-8").split()], dtype=np.int64)
    except ValueError as error:
        raise ValueError(f"{path}: whole numbers expected ({error})") from error


def check_finite(path: Path, values: Array, columns: list[int]) -> None:
    """Refuse NaN and infinity in the columns that are used; other columns do not matter."""
    bad = ~np.isfinite(values)
    bad_rows = np.flatnonzero(bad[:, columns].any(axis=1))
    if len(bad_rows):
        row = bad_rows[0]
        column = min(c for c in columns if bad[row, c])
        value = values[row, column]
        raise ValueError(f"{path}: row {row + 1}, column {column + 1}: {value} is not a finite number (counted from 1)")
