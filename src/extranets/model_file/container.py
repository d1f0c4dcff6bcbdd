"""Arrays and one JSON text in one file: a valid safetensors file with a digest.

Eight bytes give the length of the header. The header is JSON: for every array its type, shape and place, and under
``__metadata__`` four texts: the format's name, the digest, the format's version, and the model. The arrays' bytes follow without
gaps. The header begins with the format's name and the digest, so that both have a fixed place: the digest is the SHA-256 of
the whole file with its own 64 characters taken as zeros, and finds every flipped bit.

The file is read here and not by the safetensors package, because a file may be hostile: sizes are compared with the file's
size, and limits with our own, before anything is allocated.
"""

from __future__ import annotations

import hashlib
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from extranets import _atomic
from extranets.model_file import strict_json
from extranets.model_file.errors import ModelFileError

Arrays = dict[str, npt.NDArray[Any]]

VERSION = 1  # of the format; raise it when a file of the new kind would be misread by the old code
MOST_HEADER = 16 << 20
MOST_ARRAYS = 10_000
MOST_AXES = 8

DTYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    **{f"{kind}{8 * size}": np.dtype(f"<{kind.lower()}{size}") for kind in "IU" for size in (1, 2, 4, 8)},
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
CODES = {dtype: code for code, dtype in DTYPES.items()}

LENGTH_BYTES = 8
START = b'{"__metadata__":{"format":"extranets","sha256":"'
DIGEST_BEGIN, DIGEST_END = len(START), len(START) + 64
NO_DIGEST = b"0" * 64
METADATA_KEYS = {"format", "sha256", "version", "model"}


@dataclass(frozen=True)
class Place:
    """One array of a file: what it is, and how many bytes it takes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)


@dataclass(frozen=True)
class Header:
    """``model`` is the JSON text; ``places`` stand in the order of their bytes."""

    version: int
    model: str
    places: dict[str, Place]
    digest: str


# -- writing -----------------------------------------------------------------------------------------------------------


def write(path: str | os.PathLike[str], model: str, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write the whole file, or leave the old one as it was. Arrays must be of a type in ``DTYPES``."""
    # Large items first, as in the safetensors package, so that every array is aligned.
    names = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    bodies = [np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data for name in names]
    header = _header(model, {name: arrays[name] for name in names})
    start = len(header).to_bytes(LENGTH_BYTES, "little")
    digest = hashlib.sha256(start + header)
    for body in bodies:
        digest.update(body)
    signed = header[:DIGEST_BEGIN] + digest.hexdigest().encode() + header[DIGEST_END:]
    _atomic.write(path, [start, signed, *bodies])


def _header(model: str, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    metadata = {"format": "extranets", "sha256": NO_DIGEST.decode(), "version": str(VERSION), "model": model}
    table: dict[str, Any] = {"__metadata__": metadata}
    begin = 0
    for name, array in arrays.items():
        end = begin + array.nbytes
        table[name] = {"dtype": CODES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
        begin = end
    header = strict_json.dumps(table).encode("ascii")
    header += b" " * (-len(header) % 8)  # so that the first array is aligned
    if len(header) > MOST_HEADER or len(arrays) > MOST_ARRAYS:
        raise ValueError(
            f"The model is too intricate for a file: its header takes {len(header):,} of {MOST_HEADER:,} bytes and it has "
            f"{len(arrays):,} of {MOST_ARRAYS:,} arrays."
        )
    return header


# -- reading -----------------------------------------------------------------------------------------------------------


def read_header(path: str | os.PathLike[str]) -> Header:
    """The header, checked against the size of the file. The arrays are not read, so the digest is not compared."""
    with _open(path) as file:
        return _read_header(file)[1]


def read(path: str | os.PathLike[str]) -> tuple[Header, Arrays]:
    """The whole file. The digest has been compared, and every array is a fresh, writable one."""
    with _open(path) as file:
        raw, header = _read_header(file)
        digest = hashlib.sha256(raw[: LENGTH_BYTES + DIGEST_BEGIN] + NO_DIGEST + raw[LENGTH_BYTES + DIGEST_END :])
        arrays = {name: _read_array(file, place, digest) for name, place in header.places.items()}
    if digest.hexdigest() != header.digest:
        raise ModelFileError("it is damaged: its SHA-256 digest is not that of its contents")
    for name, array in arrays.items():
        # NumPy relies on truth values being 0 or 1.
        if array.dtype == np.bool_ and (array.view(np.uint8) > 1).any():
            raise ModelFileError(f"array {name!r} holds values that are neither true nor false")
    return header, arrays


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    if not stat.S_ISREG(os.stat(path).st_mode):  # before it is opened: opening a pipe would wait for a writer
        raise ModelFileError("it is a folder" if Path(path).is_dir() else "it is not an ordinary file")
    return open(path, "rb")


def _read_header(file: BinaryIO) -> tuple[bytes, Header]:
    """The bytes before the arrays, and what they say."""
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        raise ModelFileError("it is empty")
    start = file.read(LENGTH_BYTES)
    length = int.from_bytes(start, "little")
    if length > MOST_HEADER or LENGTH_BYTES + length > size:
        raise ModelFileError("it is not an extranets model, or a truncated one")
    text = file.read(length)
    if not text.startswith(START):
        raise ModelFileError(
            "it is not an extranets model" + (" but another safetensors file" if text[:1] == b"{" else "")
        )
    return start + text, _checked_header(text, size - LENGTH_BYTES - length, size)


def _checked_header(text: bytes, n_body: int, size: int) -> Header:
    try:
        table = strict_json.loads(text.decode("utf-8"))
    except UnicodeDecodeError:
        raise ModelFileError("its header is not text") from None
    metadata = table.pop("__metadata__")  # always there: the text begins with it
    version = _checked_version(metadata)
    if metadata.keys() != METADATA_KEYS or not all(isinstance(value, str) for value in metadata.values()):
        raise ModelFileError("its metadata are not those of a model")
    if len(table) > MOST_ARRAYS:
        raise ModelFileError(f"it has more than {MOST_ARRAYS:,} arrays")
    places, begin = {}, 0
    for name, entry in table.items():
        places[name] = _place(name, entry, begin, size)
        begin += places[name].n_bytes
    if begin != n_body:
        raise ModelFileError(f"it is truncated or too long: {n_body:,} bytes of arrays instead of {begin:,}")
    return Header(version, metadata["model"], places, metadata["sha256"])


def _checked_version(metadata: dict[str, Any]) -> int:
    version = metadata.get("version")
    if version != str(VERSION):
        raise ModelFileError(
            f"its format version is {str(version)[:20]!r}, and this version of extranets reads {VERSION!r} only; a newer "
            "extranets may read it"
        )
    return VERSION


def _place(name: str, entry: Any, begin: int, size: int) -> Place:
    """An entry of the table, which must begin where the one before it ends."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"the entry of array {name!r} is malformed")
    code, shape = entry["dtype"], entry["shape"]
    if not isinstance(code, str) or code not in DTYPES:
        raise ModelFileError(f"array {name!r} is of the unknown type {str(code)[:20]!r}")
    if not isinstance(shape, list) or len(shape) > MOST_AXES or not all(type(n) is int and n >= 0 for n in shape):
        raise ModelFileError(f"array {name!r} has no valid shape")
    place = Place(DTYPES[code], tuple(shape))
    # An array with an axis of length 0 takes no bytes, whatever its other axes say; none may be longer than the file.
    if place.dtype.itemsize * math.prod(max(n, 1) for n in shape) > size:
        raise ModelFileError(f"array {name!r} of shape {shape} is larger than the file")
    if entry["data_offsets"] != [begin, begin + place.n_bytes]:
        raise ModelFileError(f"array {name!r} does not stand where its shape puts it")
    return place


def _read_array(file: BinaryIO, place: Place, digest: Any) -> npt.NDArray[Any]:
    array = np.empty(place.shape, dtype=place.dtype)
    body = array.reshape(-1).view(np.uint8)
    if file.readinto(body.data) != place.n_bytes:  # type: ignore[attr-defined]
        raise ModelFileError("it was truncated while it was being read")
    digest.update(body.data)
    return array
