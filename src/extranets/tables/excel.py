"""Excel workbooks: the first sheet, whose first row that is not blank names the columns."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

import pandas

from extranets._extras import how_to_install
from extranets.tables.errors import Source
from extranets.tables.headers import clean_names


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
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except (zipfile.BadZipFile, OSError, KeyError, ValueError) as error:
        raise source.error(f"it is not an Excel workbook (.xlsx): {error}") from error
    return enumerate(book.worksheets[0].iter_rows(values_only=True), start=1)
