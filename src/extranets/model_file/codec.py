"""Trees of values as JSON, with their arrays beside it.

None, truth values, text, integers and finite floats are themselves, a list is a list. Everything else is an object with one key,
which says what it is: ``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}``, ``{"bytes": "hex"}``, ``{"float": "nan"}``,
``{"array": "its name in the file"}``, ``{"scalar": ["F64", "hex"]}`` for a number of NumPy's,
``{"object": ["its class", {"field": value}]}``. So every value comes back with its type and all its bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from extranets.model_file import registry
from extranets.model_file.container import CODES, DTYPES, Arrays
from extranets.model_file.errors import ModelFileError
from extranets.model_file.strict_json import INTEGERS

MOST_DEPTH = 64
KEYS = (str, int, float, np.generic)  # types of a dict's keys
ODD_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Encoder:
    """Values to JSON. Arrays gather in ``arrays``, named after where they were met; one that is met twice is stored once."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self._seen: dict[int, tuple[np.ndarray, str]] = {}  # with the array, which must live as long as its id counts

    def fields(self, values: Mapping[str, Any], path: str, depth: int = 0) -> dict[str, Any]:
        return {name: self.encode(value, f"{path}.{name}".lstrip("."), depth + 1) for name, value in values.items()}

    def encode(self, value: Any, path: str, depth: int = 0) -> Any:
        if depth > MOST_DEPTH:
            raise ValueError(f"{path[:60]}... is nested too deeply to be stored.")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str(value)
        if isinstance(value, (np.generic, int, float, bytes)):
            return _encode_scalar(value, path)
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        return self._compound(value, path, depth)

    def _compound(self, value: Any, path: str, depth: int) -> Any:
        if isinstance(value, (list, tuple)):
            entries = [self.encode(entry, f"{path}.{i}", depth + 1) for i, entry in enumerate(value)]
            return entries if isinstance(value, list) else {"tuple": entries}
        if isinstance(value, dict):
            if not all(isinstance(key, KEYS) for key in value):
                raise TypeError(f"{path} has keys that are neither texts nor numbers, which a model file cannot hold.")
            keys = [self.encode(key, path, depth + 1) for key in value]
            entries = [self.encode(entry, f"{path}.{key}", depth + 1) for key, entry in value.items()]
            return {"dict": [list(pair) for pair in zip(keys, entries, strict=True)]}
        name, fields = _taken_apart(value, path)
        return {"object": [name, self.fields(fields, path, depth)]}

    def _array(self, array: np.ndarray, path: str) -> Any:
        if array.dtype.newbyteorder("<") not in CODES:
            raise TypeError(f"{path} is an array of type {array.dtype}, which a model file cannot hold.")
        if id(array) not in self._seen:
            name = path
            while name in self.arrays:  # a dict with the keys 1 and "1" leads here
                name += "'"
            self.arrays[name] = array.astype(array.dtype.newbyteorder("<"), copy=False)
            self._seen[id(array)] = array, name
        return {"array": self._seen[id(array)][1]}


def _taken_apart(value: Any, path: str) -> tuple[str, dict[str, Any]]:
    try:
        parts = registry.take_apart(value)
    except ValueError as error:
        raise ValueError(f"{path} cannot be stored: {error}") from error
    if parts is None:
        raise TypeError(f"{path} is of {type(value)}, which a model file cannot hold.")
    return parts


def _encode_scalar(value: Any, path: str) -> Any:
    if isinstance(value, np.generic):
        if value.dtype not in CODES:
            raise TypeError(f"{path} is a number of type {value.dtype}, which a model file cannot hold.")
        return {"scalar": [CODES[value.dtype], value.tobytes().hex()]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(value)}
    if value not in INTEGERS:
        raise ValueError(f"{path}={value} has more than 64 bits and cannot be stored.")
    return int(value)


class Decoder:
    """JSON to values.

    Parameters
    ----------
    arrays : mapping of str
        The arrays by name or, for a reader who only wants to know about them, their descriptions.
    build : callable
        Makes an object from the name of its class and its fields.
    """

    def __init__(self, arrays: Mapping[str, Any], build: Callable[[str, dict[str, Any]], Any]) -> None:
        self.used: set[str] = set()
        self._arrays = arrays
        self._build = build

    def fields(self, tree: Any, depth: int = 0) -> dict[str, Any]:
        if not isinstance(tree, dict):
            raise ModelFileError("an object has no fields")
        return {name: self.decode(entry, depth + 1) for name, entry in tree.items()}

    def decode(self, tree: Any, depth: int = 0) -> Any:
        if depth > MOST_DEPTH:
            raise ModelFileError("its values are nested too deeply")
        if isinstance(tree, list):
            return [self.decode(entry, depth + 1) for entry in tree]
        if not isinstance(tree, dict):
            return tree
        if len(tree) != 1:
            raise ModelFileError(f"a value has {len(tree)} kinds instead of one")
        kind, content = next(iter(tree.items()))
        if kind in ("tuple", "dict", "object"):
            return self._compound(kind, content, depth)
        return self._leaf(kind, content)

    def _compound(self, kind: str, content: Any, depth: int) -> Any:
        if not isinstance(content, list):
            raise ModelFileError(f"a {kind} does not hold a list")
        if kind == "tuple":
            return tuple(self.decode(entry, depth + 1) for entry in content)
        if kind == "dict":
            return self._dict(content, depth)
        if len(content) != 2 or not isinstance(content[0], str):
            raise ModelFileError("an object has no class")
        return self._build(content[0], self.fields(content[1], depth))

    def _dict(self, pairs: list[Any], depth: int) -> dict[Any, Any]:
        found = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise ModelFileError("a dict does not hold pairs")
            key = self.decode(pair[0], depth + 1)
            if not isinstance(key, KEYS) or key in found:
                raise ModelFileError("a dict has a key that is there twice, or is neither text nor number")
            found[key] = self.decode(pair[1], depth + 1)
        return found

    def _leaf(self, kind: str, content: Any) -> Any:
        if kind == "array" and isinstance(content, str) and content in self._arrays:
            self.used.add(content)
            return self._arrays[content]
        if kind == "float" and isinstance(content, str) and content in ODD_FLOATS:
            return ODD_FLOATS[content]
        if kind == "bytes" and isinstance(content, str):
            return _from_hex(content)
        if kind == "scalar" and isinstance(content, list) and len(content) == 2:
            return _decode_scalar(*content)
        raise ModelFileError(f"it holds a value that cannot be read ({kind[:20]!r}: {str(content)[:40]!r})")


def _decode_scalar(code: Any, text: Any) -> np.generic:
    if not isinstance(code, str) or code not in DTYPES or not isinstance(text, str):
        raise ModelFileError("it holds a number of an unknown type")
    raw = _from_hex(text)
    if len(raw) != DTYPES[code].itemsize or (code == "BOOL" and raw[0] > 1):
        raise ModelFileError(f"it holds a number of type {code} with wrong bytes ({text[:20]!r})")
    return np.frombuffer(raw, dtype=DTYPES[code])[0]


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ModelFileError(f"it holds bytes that are not written in hex ({text[:20]!r})") from None
