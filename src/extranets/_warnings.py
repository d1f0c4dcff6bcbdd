"""Warnings that point at the user's line, not at one of ours."""

from __future__ import annotations

import sys
import warnings


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Like ``warnings.warn``, with the first caller outside this package as the place."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "extranets":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
