"""Packages that only a part of this one needs, and what installs them."""

from __future__ import annotations

from importlib.util import find_spec


def how_to_install(extra: str) -> str:
    """There is no release yet, so that only a checkout can be asked for an extra by its name."""
    return f'pip install ".[{extra}]" in a checkout of extranets'


def require(what: str, extra: str, *packages: str) -> None:
    """Refuse to begin what would fail half-way, and say what to install."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ModuleNotFoundError(f"{what} needs {' and '.join(missing)}: {how_to_install(extra)}.", name=missing[0])
