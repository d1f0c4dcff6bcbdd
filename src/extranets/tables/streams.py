"""Bytes of a file or of standard input: looked at, unpacked and recoded, but read only once and from front to back."""

from __future__ import annotations

import codecs
import io
import os
import shutil
import sys
import tempfile
from typing import Any, BinaryIO

import pyarrow as pa

from extranets.tables.errors import Source, TableError

PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
CHUNK = 1 << 20


def open_bytes(path: str | os.PathLike[str]) -> tuple[BinaryIO, str]:
    """A stream, and its name for messages. ``-`` is standard input.

    Standard input is read without its buffer, because the buffer has a lock. A thread of Arrow's that waits for input would
    hold it; and Python aborts if it cannot take the lock when it ends, after Ctrl-C or a signal.
    """
    if os.fspath(path) == "-":
        if sys.stdin is None:
            raise TableError("Standard input is closed; there is no table to read.")
        return getattr(sys.stdin.buffer, "raw", sys.stdin.buffer), "standard input"
    return open(path, "rb"), os.fspath(path)


class Prefixed(io.RawIOBase):
    """Bytes that have been read already, and then the rest of the stream."""

    def __init__(self, head: bytes, rest: Any) -> None:
        super().__init__()
        self.head = head
        self._waiting = head
        self._rest = rest

    def skip(self, size: int) -> None:
        """Leave out the first bytes of ``head``, before anything is read."""
        self.head = self._waiting = self.head[size:]

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size is None or size < 0:
            size = sys.maxsize
        if self._waiting:
            out, self._waiting = self._waiting[:size], self._waiting[size:]
            return out
        return _read(self._rest, size) if size < sys.maxsize else bytes(self._rest.read())


def look(stream: Any, size: int = CHUNK) -> Prefixed:
    """The stream with its first bytes, up to ``size``, in ``head``."""
    return Prefixed(_read(stream, size), stream)


def _read(stream: Any, size: int) -> bytes:
    """So many bytes, or all that are left. A pipe may give them in small pieces."""
    pieces, count = [], 0
    while count < size:
        piece = stream.read(size - count)
        if not piece:
            break
        pieces.append(bytes(piece))
        count += len(piece)
    return b"".join(pieces)


def unpacked(stream: Prefixed, source: Source) -> Prefixed:
    """The contents of a packed stream (gzip, bzip2, zstd, known by its first bytes); any other as it is."""
    for start, name in PACKED.items():
        if stream.head.startswith(start):
            try:
                return look(pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), name))
            except OSError as error:
                raise source.error(f"it cannot be unpacked ({name}); it may be damaged: {error}") from error
    return stream


def recoded(stream: Prefixed, encoding: str, source: Source) -> Prefixed:
    """The same text in UTF-8."""
    try:
        codec = text_codec(encoding)
    except LookupError as error:
        raise source.error(str(error)) from None
    return look(Recoded(stream, codecs.getincrementaldecoder(codec.name)()))


def text_codec(encoding: str) -> codecs.CodecInfo:
    """What Python knows about an encoding of text. A LookupError for other names, and for codecs such as base64."""
    try:
        codec = codecs.lookup(encoding)
        if codec._is_text_encoding and codec.incrementaldecoder is not None:
            return codec
    except (LookupError, ValueError):
        pass
    raise LookupError(f"there is no encoding of text {encoding!r}; some are utf-8, cp1252, latin-1, utf-16.")


class Recoded(io.RawIOBase):
    """Text of any encoding as UTF-8. Gives pieces as they come, of any length above zero until the end."""

    def __init__(self, stream: Prefixed, decoder: codecs.IncrementalDecoder) -> None:
        super().__init__()
        self._stream = stream
        self._decoder = decoder
        self._waiting = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._waiting and not self._ended:
            piece = self._stream.read(CHUNK)
            self._ended = not piece
            self._waiting = self._decoder.decode(piece, final=self._ended).encode("utf-8")
        size = len(self._waiting) if size is None or size < 0 else size
        out, self._waiting = self._waiting[:size], self._waiting[size:]
        return out


def seekable(stream: Prefixed, path: str | os.PathLike[str]) -> BinaryIO:
    """A file that can be read in any order, as Parquet and Excel need it. A pipe is first copied to a temporary file."""
    if os.fspath(path) != "-":
        return open(path, "rb")
    file = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    shutil.copyfileobj(stream, file)
    file.seek(0)
    return file
