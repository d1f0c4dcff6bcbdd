"""Excel workbooks: the first sheet, whose first row that is not blank names the columns."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO

import pandas

from extranets._extras import how_to_install
from extranets._warnings import warn_user
from extranets.tables.errors import Source, TableError, TableWarning, listed
from extranets.tables.headers import clean_names
from extranets.tables.sheets import SheetCheck

LARGE, MOST_PACKING = 1 << 30, 200  # bytes of an archive's contents; how many times its size they may be, if large
LOOKED_AT = 100  # rows of other sheets


class Workbook:
    """An open workbook. Cells keep their types; an error such as #DIV/0! is text."""

    def __init__(self, file: BinaryIO, source: Source) -> None:
        rows = _open(file, source)
        self._rows = ((number, row) for number, row in rows if any(cell is not None for cell in row))
        header = list(next(self._rows, (0, ()))[1])
        if not header:
            raise source.error("it is empty.")
        while header[-1] is None:  # formatted cells beyond the table
            header.pop()
        self.names = clean_names(header, source)
        self._source = source

    def frames(self, n_rows: int) -> Iterator[pandas.DataFrame]:
        """Their index has the numbers that Excel shows beside the rows."""
        rows = self._checked()
        while block := list(islice(rows, n_rows)):
            numbers, *columns = zip(*block, strict=True)
            named = zip(self.names, columns, strict=True)
            yield pandas.DataFrame(
                {name: pandas.Series(values, index=numbers, dtype=object) for name, values in named}, index=numbers
            )

    def _checked(self) -> Iterator[tuple[Any, ...]]:
        """Rows of the header's length, with their numbers before them."""
        width = len(self.names)
        for number, row in self._rows:
            if any(cell is not None for cell in row[width:]):
                raise self._source.error(
                    f"it has a value to the right of the last named column, {self.names[-1]!r}.", row=number
                )
            yield (number, *row[:width], *[None] * (width - len(row)))


def _open(file: BinaryIO, source: Source) -> Iterator[tuple[int, tuple[Any, ...]]]:
    try:
        import openpyxl  # type: ignore[import-untyped]
    except ImportError:
        raise source.error(f"reading Excel files needs openpyxl: {how_to_install('excel')}.") from None
    with _explained(source):
        _refuse_bomb(file, source)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        first, *others = book.worksheets
        with first._get_source() as xml:
            last_row = SheetCheck(xml, source).last_row
        used = [sheet.title for sheet in others if _has_values(sheet)]
    if used:
        message = f"only its first sheet, {first.title!r}, is read; there are values in {listed(used, most=5)}, too."
        warn_user(str(source.error(message)), TableWarning)
    return _rows(first, last_row, source)


def _rows(sheet: Any, last_row: int, source: Source) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Values with their numbers. ``last_row`` is what the XML says, with which the number of rows is compared."""
    number = 0
    with _explained(source):
        sheet.reset_dimensions()  # the size that a file states may be wrong
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            yield number, row
    if number != last_row:
        raise source.error(f"{number} rows were read, but the sheet has {last_row}.")


@contextmanager
def _explained(source: Source) -> Iterator[None]:
    """Damaged files make openpyxl fail in many ways."""
    try:
        yield
    except (TableError, MemoryError):
        raise
    except Exception as error:
        raise source.error(f"it is not an Excel workbook (.xlsx), or a damaged one: {error}") from error


def _has_values(sheet: Any) -> bool:
    sheet.reset_dimensions()
    return any(cell is not None for row in islice(sheet.iter_rows(values_only=True), LOOKED_AT) for cell in row)


def _refuse_bomb(file: BinaryIO, source: Source) -> None:
    """An archive can hold a thousand times its size, all of which openpyxl would read."""
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
    packed, size = sum(part.compress_size for part in parts), sum(part.file_size for part in parts)
    if size > LARGE and size > MOST_PACKING * packed:
        raise source.error(
            f"it would unpack to {size >> 20:,} MB, {size // max(packed, 1)} times its size, as no table does. "
            "If it is one, save it as .csv."
        )
