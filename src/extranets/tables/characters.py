"""Bytes as text where nobody says what the encoding is: UTF-8, or else Windows-1252."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from extranets.tables.errors import Source
from extranets.tables.values import TEXT

UTF_8 = "utf-8"
HEADER = 0  # the number of its row: the rows below it count from 1


class Decoder:
    """Decides on an encoding at the first bytes that are not ASCII, however late they come, and then keeps to it.

    Text in a single-byte encoding is practically never valid UTF-8. So one field beyond ASCII that is valid decides for UTF-8,
    and a field that is not is then a mistake; if all such fields are invalid, the encoding is Windows-1252.
    """

    def __init__(self, source: Source, encoding: str | None = None) -> None:
        self._source = source
        self._encoding = encoding

    def header(self, fields: list[bytes]) -> list[str]:
        columns = [pa.array([field], pa.binary()) for field in fields]
        positions = [str(position) for position in range(1, len(fields) + 1)]
        return [str(name[0].as_py()) for name in self.columns(columns, positions, HEADER - 1)]

    def columns(self, columns: list[pa.Array], names: list[str], rows_before: int) -> list[pa.Array]:
        """Binary arrays as text."""
        if self._encoding == "cp1252":
            return [_decode_bytes(column) for column in columns]
        try:
            texts = [pc.cast(column, TEXT) for column in columns]
        except pa.ArrowInvalid:
            return self._not_all_utf8(columns, names, rows_before)
        if self._encoding is None and not all(pc.all(pc.string_is_ascii(text)).as_py() for text in texts):
            self._encoding = UTF_8
        return texts

    def _not_all_utf8(self, columns: list[pa.Array], names: list[str], rows_before: int) -> list[pa.Array]:
        valid, invalid = False, None
        for name, column in zip(names, columns, strict=True):
            for row, field in enumerate(column.to_pylist(), start=rows_before + 1):
                if field is not None and not field.isascii():
                    if _is_utf8(field):
                        valid = True
                    elif invalid is None or row < invalid[0]:
                        invalid = (row, name, field)
        assert invalid is not None  # or the columns could have been cast
        if valid or self._encoding == UTF_8:
            row, name, field = invalid
            raise self._source.error(
                f"{field[:40]!r} is not valid UTF-8, as the rest is. Mend it, or name the encoding: encoding='cp1252' "
                "(--encoding cp1252).",
                row="0 (the header)" if row == HEADER else row,
                column=name,
            )
        self._encoding = "cp1252"
        return self.columns(columns, names, rows_before)


def _is_utf8(field: bytes) -> bool:
    try:
        field.decode(UTF_8)
    except UnicodeDecodeError:
        return False
    return True


def _decode_bytes(column: pa.Array) -> pa.Array:
    try:
        return pc.cast(column, TEXT) if _all_ascii(column) else _decode_fields(column)
    except pa.ArrowInvalid:
        return _decode_fields(column)


def _all_ascii(column: pa.Array) -> bool:
    return bool(pc.all(pc.string_is_ascii(pc.cast(column, TEXT))).as_py())


def _decode_fields(column: pa.Array) -> pa.Array:
    return pa.array([None if field is None else _decode(field) for field in column.to_pylist()], TEXT)


def _decode(field: bytes) -> str:
    try:
        return field.decode("cp1252")
    except UnicodeDecodeError:  # Windows-1252 gives five bytes no meaning; in Latin-1 they are control characters
        return field.decode("latin-1")
