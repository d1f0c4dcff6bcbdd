"""How a file, or a value in it, is refused."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file is no model that this version can read: damaged, of another kind, of a newer version, or inconsistent."""

    exit_code = 4  # of the command line


def require(holds: object, otherwise: str) -> None:
    """Raise ``ValueError(otherwise)`` unless it holds."""
    if not holds:
        raise ValueError(otherwise)
