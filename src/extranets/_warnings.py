"""Warnings that point at the user's line, not at one of ours."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

_muted: ContextVar[tuple[type[Warning], ...]] = ContextVar("muted", default=())
_shown: set[tuple[str, type[Warning], str, int]] = set()
MOST_SHOWN = 10_000


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Like ``warnings.warn``, with the first caller outside this package as the place."""
    if not is_muted(category):
        warnings.warn(message, category, stacklevel=_outer_frame()[0])


def warn_once(message: str, category: type[Warning] = UserWarning) -> None:
    """The same, where Python shows each text once for a line of code, as it does by default.

    Python forgets what it has shown whenever anyone uses ``warnings.catch_warnings``, as scikit-learn does in every prediction.
    """
    frame = _outer_frame()[1]
    place = message, category, frame.f_code.co_filename, frame.f_lineno
    if place in _shown and _action(category) == "default":
        return
    if len(_shown) >= MOST_SHOWN:
        _shown.clear()
    _shown.add(place)
    warn_user(message, category)


def _outer_frame() -> tuple[int, FrameType]:
    """The first caller's frame outside this package, and how far up it is from the caller of this function, which is 1."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "extranets":
        level, frame = level + 1, frame.f_back
    return level, frame


def _action(category: type[Warning]) -> str:
    """What Python does with warnings of this category, as far as filters for all texts and modules tell."""
    for action, text, kind, module, _ in warnings.filters:
        if text is None and module is None and issubclass(category, kind):
            return action
    return "default"


@contextmanager
def muted(*categories: type[Warning]) -> Iterator[None]:
    """No warnings of ours of these categories: whoever calls says it in better words. Unlike ``warnings.catch_warnings``, for this
    thread alone, and what Python has shown stays shown.
    """
    token = _muted.set((*_muted.get(), *categories))
    try:
        yield
    finally:
        _muted.reset(token)


def is_muted(category: type[Warning]) -> bool:
    return issubclass(category, _muted.get())
