"""What the XML of an Excel sheet says by itself, before openpyxl reads it.

openpyxl leaves out what is not in its place: rows whose number was there before, cells right of the last one, results that
were never stored. Such a sheet is refused, so that nothing is lost without a word.
"""

from __future__ import annotations

import re
from typing import IO
from xml.parsers import expat

from extranets.tables.errors import Source

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # of a sheet, by the format
SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
ROW, CELL, FORMULA, VALUE = (f"{SPREADSHEET} {name}" for name in ("row", "c", "f", "v"))
PLACE = re.compile(r"([A-Z]{1,3})[0-9]*")
AGAIN = "Open the file in Excel or LibreOffice, and save it again."


class SheetCheck:
    """Checks the order of rows and cells, and that formulas have results. ``last_row`` is the number of the last row.

    Parameters
    ----------
    xml : stream of the sheet's XML
    source : what messages call the file
    """

    def __init__(self, xml: IO[bytes], source: Source) -> None:
        self.last_row = 0
        self._source = source
        self._column = 0  # of the last cell in this row
        self._awaited = self._is_text = False  # of this cell: a formula's result is to come; it is a text
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._begin
        parser.ParseFile(xml)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if name == CELL:
            self._begin_cell(attributes.get("r"))
            self._is_text = attributes.get("t") == "str"  # which may be empty
        elif name == ROW:
            self._begin_row(attributes.get("r"))
        elif name == FORMULA:
            self._awaited = True
            self._parser.EndElementHandler = self._end  # only now, for most cells have none
        elif name == VALUE and self._awaited:
            self._awaited = not self._is_text
            self._parser.CharacterDataHandler = self._found

    def _begin_row(self, number: str | None) -> None:
        row = self.last_row + 1 if number is None else int(number)
        if row <= self.last_row:
            raise self._source.error(f"it comes after row {self.last_row}, or is there twice. {AGAIN}", row=row)
        if row > MOST_ROWS:
            raise self._source.error(f"a sheet has {MOST_ROWS:,} rows at most.", row=row)
        self.last_row, self._column = row, 0

    def _begin_cell(self, place: str | None) -> None:
        column = self._column + 1 if place is None else _column_of(place)
        if column <= self._column or column > MOST_COLUMNS:
            raise self._source.error(f"its cell {place} is not where it should be. {AGAIN}", row=self.last_row)
        self._column, self._awaited = column, False

    def _found(self, _: str) -> None:
        self._awaited = False

    def _end(self, name: str) -> None:
        if name == VALUE:
            self._parser.CharacterDataHandler = None
        elif name == CELL:
            self._parser.EndElementHandler = None
            if self._awaited:
                cell = f"the formula in the cell of column {letters(self._column)}"
                raise self._source.error(f"{cell} has no stored result. {AGAIN}", row=self.last_row)


def _column_of(place: str) -> int:
    """Zero for what is no place of a cell.

    Examples
    --------
    >>> _column_of("A7"), _column_of("AB12"), _column_of("7")
    (1, 28, 0)
    """
    found = PLACE.fullmatch(place)
    column = 0
    for letter in found[1] if found else "":
        column = 26 * column + ord(letter) - ord("A") + 1
    return column


def letters(column: int) -> str:
    """What Excel calls a column.

    Examples
    --------
    >>> letters(1), letters(28)
    ('A', 'AB')
    """
    name = ""
    while column:
        column, digit = divmod(column - 1, 26)
        name = chr(ord("A") + digit) + name
    return name
