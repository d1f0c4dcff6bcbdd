"""Which classes may stand in a model file, under which name, and how objects become fields and come back."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_type_hints

from extranets.model_file.errors import ModelFileError
from extranets.model_file.typed import check_types

# The modules of the classes that `import extranets` does not load. Names in files are looked up here; no file names a
# module.
LATE = {"TableRegressor": "extranets.tables", "LevelEffects": "extranets.tables"}

T = TypeVar("T")


@dataclass(frozen=True)
class Stored:
    """A class that may be stored: its name in files, an object's fields, and an object from fields."""

    name: str
    take_apart: Callable[[Any], dict[str, Any]]
    rebuild: Callable[[dict[str, Any]], Any]


_by_class: dict[type, Stored] = {}
_by_name: dict[str, Stored] = {}


def register(cls: type, stored: Stored) -> None:
    if stored.name in _by_name:
        raise ValueError(f"There is a storable class {stored.name!r} already.")
    _by_class[cls] = _by_name[stored.name] = stored


def storable(name: str) -> Callable[[type[T]], type[T]]:
    """Class decorator: objects may be stored under this name. The package's documentation says what a class needs."""

    def add(cls: type[T]) -> type[T]:
        if hasattr(cls, "_to_stored"):
            register(cls, Stored(name, lambda value: value._to_stored(), lambda stored: cls._from_stored(stored)))  # type: ignore[attr-defined]
        elif dataclasses.is_dataclass(cls):
            register(cls, Stored(name, _take_apart, lambda stored: _rebuild(cls, stored)))
        else:
            raise TypeError(f"{cls.__name__} is not a dataclass and has no _to_stored().")
        return cls

    return add


def take_apart(value: Any) -> tuple[str, dict[str, Any]] | None:
    """The name of the object's class and its fields; None for a class that is not storable.

    A subclass is another class: a file would bring back the one that was registered.
    """
    stored = _by_class.get(type(value))
    return None if stored is None else (stored.name, stored.take_apart(value))


def checked(value: T) -> T:
    """The object itself, after the checks that one passes which is stored."""
    if take_apart(value) is None:
        raise TypeError(f"{type(value)} is not storable.")
    return value


def rebuild(name: str, fields: dict[str, Any]) -> Any:
    """The object of that class with these fields, if the class accepts them."""
    if name in LATE:
        importlib.import_module(LATE[name])
    if name not in _by_name:
        raise ModelFileError(f"it holds an object of the unknown class {name[:40]!r}; a newer extranets may know it")
    try:
        return _by_name[name].rebuild(fields)
    except ModelFileError:
        raise
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{name}: {error}") from error


def _take_apart(value: Any) -> dict[str, Any]:
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    cls: Any = type(value)
    check_types(fields, _types(cls))
    _check(value)
    return fields


def _rebuild(cls: Any, fields: dict[str, Any]) -> Any:
    # Files of earlier versions lack the fields that were added since.
    optional = [field.name for field in dataclasses.fields(cls) if field.default is not dataclasses.MISSING]
    check_types(fields, _types(cls), optional)
    value = cls(**fields)
    _check(value)
    return value


@cache
def _types(cls: Any) -> dict[str, Any]:
    """Of the fields; attributes of the class are not stored."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _check(value: Any) -> None:
    if hasattr(value, "_check_stored"):
        value._check_stored()
