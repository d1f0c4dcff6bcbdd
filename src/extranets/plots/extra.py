"""Packages that only figures and reports need."""

from __future__ import annotations

from importlib.util import find_spec


def require(*packages: str) -> None:
    """Refuse to begin what would fail half-way, and say what to install."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ModuleNotFoundError(
            f'Figures and reports need {" and ".join(missing)}: pip install "extranets[report]"', name=missing[0]
        )
