"""CSV files and the like, as a stream of record batches. Every field is read as text; what it means is decided later."""

from __future__ import annotations

import codecs
import re
import threading
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from extranets._warnings import warn_user
from extranets.tables.characters import UTF_8, Decoder
from extranets.tables.delimiters import check_delimiter, find_delimiter, sample_rows
from extranets.tables.errors import Source, TableError, TableWarning, shown
from extranets.tables.headers import clean_names
from extranets.tables.streams import CHUNK, Prefixed, recoded

BLOCK_BYTES = 1 << 20  # the longest row
A_MOMENT = 0.2  # seconds
EXCEL_DELIMITER = re.compile(rb"[\r\n]*\"?sep=(.)\"?\r?\n", re.IGNORECASE)
RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
LINE_BREAK = re.compile(r"\r\n|\r|\n")
WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class DelimitedText:
    """An open CSV file.

    Parameters
    ----------
    stream : its bytes
    source : what messages call it
    delimiter, encoding : found out from the first bytes if None
    """

    def __init__(self, stream: Prefixed, source: Source, delimiter: str | None, encoding: str | None) -> None:
        if encoding is None and stream.head.startswith(WIDE_MARKS):
            encoding = "utf-16"
        if encoding is not None and not _is_utf8(encoding):
            stream, encoding = _recoded(stream, encoding, source), UTF_8
        complete = len(stream.head) < CHUNK
        said = _skip_to_header(stream, source)
        # Latin-1 turns every byte into one letter. The signs that matter are the same bytes in all encodings that get here.
        text = stream.head.decode("latin-1")
        self.delimiter = delimiter or said or find_delimiter(text, complete)
        fields = _first_row(text, self.delimiter, complete, source)
        self._decoder = Decoder(source, encoding)
        self.names = clean_names(self._decoder.header([field.encode("latin-1") for field in fields]), source)
        self._source = source
        self._stream = QuoteCount(stream)
        self._doubted = False

    def batches(self) -> Iterator[pa.RecordBatch]:
        n_rows, last = 0, None
        try:
            for batch in self._reader():
                columns = batch.columns if last is not None else [column.slice(1) for column in batch.columns]
                texts = self._decoder.columns(columns, self.names, n_rows)
                last = pa.RecordBatch.from_arrays(texts, names=self.names)
                if self._stream.count:
                    self._doubt_rows_within(last, n_rows)
                n_rows += last.num_rows
                yield last
        except UnicodeError as error:
            raise self._source.error(f"bytes after row {n_rows} do not fit the encoding: {error}.") from error
        except (pa.ArrowInvalid, OSError) as error:
            raise self._explained(error, n_rows) from error
        finally:
            self._stream.end()
        self._refuse_open_quote(last, n_rows)

    def _reader(self) -> pa.csv.CSVStreamingReader:
        # The header is read like a row: only with names of our own can pyarrow be told the types of all columns.
        names = [f"{position}" for position in range(len(self.names))]
        return pa.csv.open_csv(
            pa.PythonFile(self._stream, mode="r"),
            pa.csv.ReadOptions(
                use_threads=False, block_size=BLOCK_BYTES, column_names=names
            ),  # with threads, rows have no numbers
            pa.csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,  # in a table of one column, an empty line is a missing value
            ),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.binary()), null_values=[""], strings_can_be_null=True
            ),
        )

    def _explained(self, error: Exception, n_rows: int) -> TableError:
        # Not by a handler of pyarrow's for such rows, which cannot take text that is not UTF-8.
        ragged = RAGGED.search(str(error))
        if ragged:
            number, expected, found = map(int, ragged.groups()[:3])
            return self._ragged_error(number, expected, found, ragged[4])
        if "straddl" in str(error):
            return self._source.error(
                f"a row after row {n_rows} is longer than {BLOCK_BYTES >> 20} MB; a closing quote may be missing."
            )
        return self._source.error(f"it cannot be read after row {n_rows}: {error}")

    def _ragged_error(self, row: int, expected: int, found: int, text: str) -> TableError:
        fields = "1 field" if found == 1 else f"{found} fields"
        lack = (
            f"the field for column {self.names[found]!r} is missing"
            if found < expected
            else f"the last column is {self.names[-1]!r}"
        )
        return self._source.error(
            f"it has {fields}, but the header has {expected}; {lack}: {shown(text)}. Fields are separated by "
            f"{self.delimiter!r}; a field that contains this sign needs quotes.",
            row=row - 1,
        )

    def _refuse_open_quote(self, last: pa.RecordBatch | None, n_rows: int) -> None:
        """A quote that is never closed turns the rest of the file into one field."""
        if last is None or not last.num_rows or self._stream.count % 2 == 0:
            return
        name, value = self.names[-1], last.columns[-1][-1].as_py()
        if value is not None and ("\n" in value or "\r" in value):
            raise self._source.error(f"a quote opens and is never closed: {shown(value)}.", row=n_rows, column=name)

    def _doubt_rows_within(self, batch: pa.RecordBatch, n_rows: int) -> None:
        """Warn, once, of a value that has swallowed rows: a quote before it has no other, and the next one ends it."""
        for position, column in enumerate(batch.columns):
            broken = pc.indices_nonzero(pc.match_substring(column, "\n")) if not self._doubted else ()
            for row in map(int, broken):
                text = column[row].as_py()
                if _holds_rows(text, self.delimiter, position, len(self.names)):
                    self._doubted = True
                    message = (
                        f"the value spans {len(LINE_BREAK.split(text))} lines that look like rows: {shown(text)}. If they are rows, "
                        "a quote is missing or too many, and they are lost."
                    )
                    error = self._source.error(message, row=n_rows + row + 1, column=self.names[position])
                    warn_user(str(error), TableWarning)
                    return


def _holds_rows(text: str, delimiter: str, position: int, n_columns: int) -> bool:
    """Whether a value of several lines, in the column of this position, would be rows without its quotes.

    Examples
    --------
    >>> _holds_rows("oak\\n2,elm\\n3,ash", ",", 1, 2), _holds_rows("oak\\nelm, ash", ",", 1, 3)
    (True, False)
    """
    first, *middle, last = (line.count(delimiter) for line in LINE_BREAK.split(text))
    return n_columns > 1 and first == n_columns - 1 - position and last == position and set(middle) <= {n_columns - 1}


class QuoteCount:
    """A stream that counts the quotes in what is read, and that can be ended early.

    A thread of pyarrow's reads ahead, also after an error. Python aborts if it is still at that when Python ends.
    """

    closed = False

    def __init__(self, stream: Prefixed) -> None:
        self.count = 0
        self._stream = stream
        self._wanted = True
        self._over = threading.Event()

    def read(self, size: int) -> bytes:
        piece = self._stream.read(size) if self._wanted else b""
        self.count += piece.count(b'"')
        if not piece:
            self._over.set()
        return piece

    def end(self) -> None:
        """Read nothing more, and wait a moment for the thread to notice; it sleeps if it is far enough ahead."""
        self._wanted = False
        self._over.wait(A_MOMENT)


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")


def _recoded(stream: Prefixed, encoding: str, source: Source) -> Prefixed:
    try:
        return recoded(stream, encoding, source)
    except UnicodeError as error:
        raise source.error(f"its first bytes are not {encoding}: {error}.") from error


def _skip_to_header(stream: Prefixed, source: Source) -> str | None:
    """Leave out what may stand before the header: a mark of UTF-8, empty lines, and Excel's ``sep=;``, which is returned."""
    head = stream.head.removeprefix(codecs.BOM_UTF8)
    _refuse_no_text(head, source)
    said = EXCEL_DELIMITER.match(head)
    try:
        sign = check_delimiter(said[1].decode("latin-1")) if said else None
    except ValueError as error:
        raise source.error(f"its first line names a delimiter: {error}") from None
    rest = head[said.end() if said else 0 :].lstrip(b"\r\n")
    _refuse_no_text(rest, source)
    stream.skip(len(stream.head) - len(rest))
    return sign


def _refuse_no_text(head: bytes, source: Source) -> None:
    if not head.strip():
        raise source.error("it is empty.")
    if b"\0" in head:
        raise source.error(
            "it holds bytes that do not occur in text. If it is a table in UTF-16, say so: encoding='utf-16' "
            "(--encoding utf-16); Parquet, Feather and Excel files are known by their suffix."
        )


def _first_row(text: str, delimiter: str, complete: bool, source: Source) -> list[str]:
    rows = sample_rows(text, delimiter, complete)
    if not rows:
        raise source.error(f"its first row is longer than {CHUNK >> 20} MB, or has an open quote; is it a table?")
    return rows[0]
