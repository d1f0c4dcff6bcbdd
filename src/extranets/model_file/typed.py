"""Whether a value is what a type annotation says, for the annotations that stored classes use."""

from __future__ import annotations

import types
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np


def fits(value: Any, hint: Any) -> bool:
    """NumPy's numbers count as numbers, integers as floats; truth values are neither.

    Examples
    --------
    >>> fits((1, 2), tuple[int, ...]), fits(True, int), fits(None, str | None), fits([1.5], list[int])
    (True, False, True, False)
    """
    if hint is Any:
        return True
    hint = _spelled_out(hint)
    if get_origin(hint) is not None:
        return _fits_generic(value, get_origin(hint), get_args(hint))
    if hint in (int, float):
        return isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
    return isinstance(value, hint)


def _spelled_out(hint: Any) -> Any:
    """What an alias stands for. Since NumPy 2.5, ``NDArray`` is an alias made by the statement ``type``."""
    while hasattr(get_origin(hint), "__value__"):
        hint = get_origin(hint).__value__[get_args(hint)]
    return hint


def _fits_generic(value: Any, origin: Any, args: tuple[Any, ...]) -> bool:
    if origin in (Union, types.UnionType):
        return any(fits(value, arg) for arg in args)
    if origin is Literal:
        return any(type(value) is type(arg) and value == arg for arg in args)
    if not isinstance(value, origin):
        return False
    if origin is np.ndarray:
        return value.dtype == np.dtype(get_args(args[1])[0])
    if origin is dict:
        return all(fits(key, args[0]) and fits(entry, args[1]) for key, entry in value.items())
    if origin is list or args[-1] is Ellipsis:
        return all(fits(entry, args[0]) for entry in value)
    raise TypeError(f"The annotation {origin}{list(args)} cannot be checked.")


def check_types(values: dict[str, Any], hints: dict[str, Any], optional: Collection[str] = ()) -> None:
    """Raise ``ValueError`` unless the names are those of ``hints`` and every value is of its type; ``optional`` may be missing."""
    unknown, missing = values.keys() - hints.keys(), hints.keys() - values.keys() - set(optional)
    if unknown or missing:
        raise ValueError(f"unknown entries {sorted(map(str, unknown))[:5]}, missing entries {sorted(missing)[:5]}")
    for name, given in values.items():
        hint = hints[name]
        if not fits(given, hint):
            kind = f"{given.dtype} array" if isinstance(given, np.ndarray) else type(given).__name__
            raise ValueError(f"{name} is a {kind}, not of type {hint.__name__ if type(hint) is type else hint}")
