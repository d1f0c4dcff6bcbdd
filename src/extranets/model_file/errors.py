"""How a file, or a value in it, is refused."""

from __future__ import annotations


class ModelFileError(ValueError):
    """The file cannot be read as a model: it is damaged, of another kind, of a newer version, or inconsistent."""

    exit_code = 4  # the command line ends with it


def require(holds: object, otherwise: str) -> None:
    """Raise ``ValueError(otherwise)`` unless ``holds`` is true."""
    if not holds:
        raise ValueError(otherwise)
