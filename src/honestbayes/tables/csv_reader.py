"""The header of a CSV file: its names, its delimiter, and the decimal mark of its numbers."""

from __future__ import annotations

import codecs
import csv
import io
import re
from array import array
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from honestbayes.tables.conversion import MISSING
from honestbayes.tables.errors import InputError, listed, shown
from honestbayes.tables.formats import DAMAGED, damaged, open_unpacked

# --------------------------------------------------------------------------------------------------
# Byte streams: unpacked, counted, and checked to be text
# --------------------------------------------------------------------------------------------------


_BOM = codecs.BOM_UTF8


class ByteStream:
    """A readable stream for pyarrow and for the header, with its checks.

    Every byte of the file passes through here once, whichever columns are asked for, so that a
    file is refused or accepted for the same reasons in every kind of read.

    Parameters
    ----------
    path : Path
        The file.
    limit : int or None
        Number of unpacked bytes after which reading stops with an error.
    encoding : str or None
        Alphabet of the file; what is read is UTF-8 all the same.
    """

    def __init__(self, path: Path, limit: int | None = None, encoding: str | None = None) -> None:
        self._name = path.name
        self._limit = limit
        self._recoder = None if encoding is None else _recoder(encoding)
        self._recoded = b""
        self._raw, self._file = open_unpacked(path)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._waiting = b""
        self._count = 0
        self.lines = 0
        self.quotes = 0
        self.closed = False
        try:
            start = self._unpack(len(_BOM))
            if start != _BOM:
                self._check(start)
                self._waiting = start
        except InputError:
            self.close()
            raise

    def read(self, size: int = -1) -> bytes:
        r"""Return up to ``size`` bytes; none at the end of the file.

        No part ends between ``\r`` and ``\n``: pyarrow would drop the ``\n``, even in quotes.
        """
        data = self._waiting if size < 0 else self._waiting[:size]
        self._waiting = self._waiting[len(data) :]
        if size < 0 or len(data) < size:
            more = self._unpack(size if size < 0 else size - len(data))
            self._check(more)
            data += more
        if len(data) > 1 and data.endswith(b"\r"):
            self._waiting = b"\r" + self._waiting
            data = data[:-1]
        return data

    def skip(self, size: int) -> None:
        """Skip bytes."""
        while size > 0:
            part = self.read(min(size, 1 << 20))
            if not part:
                return
            size -= len(part)

    def text_lines(self) -> Iterator[str]:
        """Yield the lines that are left, with their ends."""
        rest = b""
        while part := self.read(1 << 20):
            *lines, rest = (rest + part).splitlines(keepends=True)
            yield from (line.decode() for line in lines)
        if rest:
            yield rest.decode()

    def push_back(self, data: bytes) -> None:
        """Put back bytes that were read ahead."""
        self._waiting = data + self._waiting

    def _unpack(self, size: int) -> bytes:
        """Return the next bytes, as UTF-8."""
        if self._recoder is None:
            return self._raw_bytes(size)
        while size < 0 or len(self._recoded) < size:
            part = self._raw_bytes(size)
            try:
                self._recoded += self._recoder.decode(part, final=not part).encode()
            except UnicodeError:
                msg = (
                    f"{self._name} is not text in the encoding of --encoding; give another, "
                    'or save the table again as "CSV UTF-8".'
                )
                raise InputError(msg) from None
            if not part or size < 0:
                break
        data = self._recoded if size < 0 else self._recoded[:size]
        self._recoded = self._recoded[len(data) :]
        return data

    def _raw_bytes(self, size: int) -> bytes:
        try:
            data: bytes = self._file.read(size)
        except DAMAGED:
            raise damaged(self._name) from None
        except OSError as error:
            if self._file is not self._raw and error.errno is None:  # of bzip2
                raise damaged(self._name) from None
            msg = f"{self._name} cannot be read: {error.strerror or 'unknown error'}."
            raise InputError(msg) from None
        self._count += len(data)
        if self._limit is not None and self._count > self._limit:
            raise too_large(self._name, self._limit)
        return data

    def _check(self, data: bytes) -> None:
        if b"\0" in data:
            msg = (
                f"{self._name} is not a text table: it has NUL bytes in line "
                f"{self._line(data, data.index(0)):,}; give CSV, TSV, Parquet or .npz, or "
                "remove them if it is text."
            )
            raise InputError(msg)
        try:
            self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            index = max(0, error.start - (len(error.object) - len(data)))
            msg = (
                f"{self._name} is not UTF-8 text: line {self._line(data, index):,} holds other "
                'bytes; save the table again as "CSV UTF-8", or name its encoding, such as '
                "--encoding latin-1."
            )
            raise InputError(msg) from None
        self.lines += data.count(b"\n")
        self.quotes += data.count(b'"')

    def _line(self, data: bytes, index: int) -> int:
        return self.lines + data.count(b"\n", 0, index) + 1

    # What pyarrow asks of a Python file.

    def readable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return False."""
        return False

    def seekable(self) -> bool:
        """Return False: a packed file is read once, forwards."""
        return False

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._raw.close()

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


PROBED_BYTES = 1 << 26
"""Bytes of a file from which its encoding is recognised; what follows must be in the same one."""


_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def detect_encoding(path: Path) -> str | None:
    """Return the encoding of a text that is not UTF-8: UTF-16 by its mark, else one of Windows.

    cp1252 has a letter for nearly every byte, so that it can be told from latin-1 only by the five
    bytes that it lacks. None: the text is UTF-8 as far as it was read.
    """
    raw, unpacked = open_unpacked(path)
    decoder = codecs.getincrementaldecoder("utf-8")()
    seen, is_utf8 = 0, True
    has_no_letter = False
    with raw, unpacked:
        try:
            while seen < PROBED_BYTES and (part := unpacked.read(1 << 20)):
                if seen == 0 and part.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    return "utf-16"
                seen += len(part)
                if _CONTROL.search(part):  # no text: the reader names the line
                    return None
                has_no_letter |= any(byte in part for byte in b"\x81\x8d\x8f\x90\x9d")
                try:
                    decoder.decode(part)
                except UnicodeDecodeError:
                    is_utf8 = False
        except (*DAMAGED, OSError):  # the reader says so
            return None
    if is_utf8:
        return None
    return "latin-1" if has_no_letter else "cp1252"


def _recoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        "".encode(encoding)  # refuses codecs that are not of text
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError):
        msg = f"there is no encoding {shown(encoding)}; give for example --encoding latin-1."
        raise InputError(msg) from None


def too_large(name: str, limit: int) -> InputError:
    """Return the error of a table that holds more than the limit."""
    return InputError(
        f"{name} holds more than {size_text(limit)} once unpacked; "
        "raise the limit with --max-size if you trust the file."
    )


def size_text(size: int) -> str:
    """Format a number of bytes.

    Examples
    --------
    >>> size_text(4 << 30), size_text(1000)
    ('4 GiB', '1000 bytes')
    """
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"


DELIMITERS = (",", ";", "\t", "|")
"""Delimiters that are looked for; others must be given."""

MAX_HEADER_BYTES = 1 << 28
"""Longest header that is read: ten million names of 25 characters."""

_FIRST_BYTES = 1 << 17
_SAMPLE_CELLS = 200_000  # cells after the header that show which decimal mark is used
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


@dataclass(frozen=True, slots=True)
class TextForm:
    """Format of a CSV file as the user gives it; None where it is to be detected.

    Attributes
    ----------
    delimiter : str or None
        What stands between two cells.
    decimal : {".", ","} or None
        The decimal mark of all numbers.
    encoding : str or None
        The encoding; None: UTF-8.
    header_row : int or None
        The line of the header, counted from 1; None: the first that is no comment.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header_row: int | None = None


_PLAIN = TextForm()


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """The header of a CSV file, confirmed by its next lines.

    Attributes
    ----------
    names : tuple of str
        Names of the columns, without blanks around them.
    delimiter : str
        What stands between two cells.
    decimal : {".", ","}
        The decimal mark of columns that show none.
    marks : mapping of str to {".", ","}
        That of the columns that show one.
    size : int
        Bytes up to the end of the header, after a byte-order mark.
    n_comments : int
        Comment lines above the header.
    notes : tuple of str
        Which names were given to columns without one.
    """

    names: tuple[str, ...]
    delimiter: str
    decimal: str
    size: int
    marks: Mapping[str, str] = field(default_factory=dict)
    n_comments: int = 0
    notes: tuple[str, ...] = ()


def read_header(stream: ByteStream, name: str, form: TextForm = _PLAIN) -> CsvHeader:
    """Read the header from the start of a stream, and leave the stream behind it."""
    delimiter = form.delimiter
    if delimiter == "\\t":  # what a shell hands over
        delimiter = "\t"
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'
    ):
        msg = f"the delimiter {shown(delimiter)} is not one plain character; give for example ';'."
        raise InputError(msg)
    text, ended = _first_records(stream, name, form.header_row)
    above = _above_header(text, form.header_row)
    n_comments = 0 if form.header_row is not None else len(text[:above].splitlines())
    if form.header_row is not None and not text[above:].strip():
        msg = f"{name} has fewer than {form.header_row:,} lines; give another --header-row."
        raise InputError(msg)
    skipped, text = text[:above], text[above:]
    declared = _DECLARED.match(skipped)  # what spreadsheets write for each other
    separator = delimiter or (declared and declared[1]) or _find_delimiter(text, ended, name)
    try:
        cells, size = _first_record(text, separator)
    except csv.Error:
        msg = (
            f"the header of {name} cannot be read: a name is too long, or a quote is not closed; "
            "correct its first line."
        )
        raise InputError(msg) from None
    if not cells:
        msg = f"{name} is empty; give a table with a header and rows."
        raise InputError(msg)
    records = _sample(text[size:], separator, ended, 1 + _SAMPLE_CELLS // len(cells))
    names, notes = _named(cells, records, name)
    decimal = form.decimal or "."
    marks: dict[str, str] = {}
    if form.decimal is None:
        decimal, marks = _find_marks(names, records, separator)
    stream.push_back(text[size:].encode())
    end = len(skipped.encode()) + len(text[:size].encode())
    return CsvHeader(names, separator, decimal, end, marks, n_comments, notes)


_DECLARED = re.compile(r'"?sep=([^"\r\n])"?\r?\n', re.IGNORECASE)


def _above_header(text: str, header_row: int | None) -> int:
    """Return how many characters stand above the header.

    Comment lines begin with # or !. The last of them is the header itself, as in "#CHROM POS",
    where it has as many cells as the line below it.
    """
    lines = io.StringIO(text, newline="").readlines() if header_row is not None else None
    if lines is not None and header_row is not None:
        return sum(map(len, lines[: header_row - 1]))
    above, last = 0, ""
    for line in io.StringIO(text, newline=""):
        if line.startswith(("#", "!")) or (above == 0 and _DECLARED.fullmatch(line)):
            above, last = above + len(line), line
            continue
        alike = any(line.count(mark) == last.count(mark) > 0 for mark in DELIMITERS)
        return above - len(last) if alike else above
    return 0


MAX_HEADER_ROW = 1000
"""Largest line on which a header may stand."""


def _first_records(
    stream: ByteStream, name: str, header_row: int | None = None
) -> tuple[str, bool]:
    """Read until the header and some bytes after it are there; and whether this is all."""
    data = b""
    wanted = _FIRST_BYTES
    while True:
        while len(data) < wanted:
            part = stream.read(wanted - len(data))
            if not part:
                return data.decode(), True
            data += part
        # The stream has checked the text; only its last character may be cut in two.
        text = data.decode(errors="ignore")
        enough = header_row is None or text.count("\n") > header_row
        if enough and _has_line_end(text[_above_header(text, header_row) :]):
            stream.push_back(data[len(text.encode()) :])
            return text, False
        if wanted >= MAX_HEADER_BYTES:
            msg = f"the header of {name} is longer than {MAX_HEADER_BYTES >> 20} MiB; check it."
            raise InputError(msg)
        wanted *= 4


def _has_line_end(text: str) -> bool:
    """Whether a line ends outside of quotes in the first half: the rest serves as a sample."""
    quotes = index = 0
    for match in re.finditer(r"[\r\n]", text[: len(text) // 2]):
        quotes += text.count('"', index, match.start())
        index = match.start()
        if quotes % 2 == 0 and text[:index].strip():
            return True
    return False


def _first_record(text: str, delimiter: str) -> tuple[list[str], int]:
    """Return the cells of the first record that is not empty, and the characters up to its end."""
    used = 0

    def lines() -> Iterator[str]:
        nonlocal used
        for line in io.StringIO(text, newline=""):
            used += len(line)
            yield line

    for cells in csv.reader(lines(), delimiter=delimiter):
        if any(cell.strip() for cell in cells) or len(cells) > 1:
            return cells, used
    return [], used


def _find_delimiter(text: str, ended: bool, name: str) -> str:
    """Choose the delimiter that gives the header most cells, and the next records as many.

    A tab wins where the name of the file promises tabs: names of columns may hold commas.
    """
    promised = name.lower().endswith((".tsv", ".tsv.gz", ".tab", ".tab.gz"))
    best, best_score = DELIMITERS[0], (False, 1)
    for delimiter in DELIMITERS:
        try:
            cells, size = _first_record(text, delimiter)
        except csv.Error:
            continue
        if delimiter == "\t" and promised and len(cells) > 1:
            return delimiter
        records = _sample(text[size:], delimiter, ended, 5)
        score = (all(len(record) == len(cells) for record in records), len(cells))
        if len(cells) > 1 and (best_score[1] == 1 or score > best_score):
            best, best_score = delimiter, score
    return best


def _sample(text: str, delimiter: str, ended: bool, count: int) -> list[list[str]]:
    """Return the first records of a text; one that may be cut is left out."""
    records: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if record:
                records.append(record)
            if len(records) > count:
                return records[:-1]
    except csv.Error:
        return records
    return records if ended else records[:-1]


def _find_marks(
    names: tuple[str, ...], records: list[list[str]], delimiter: str
) -> tuple[str, dict[str, str]]:
    """Tell "1,5" from "1.5" by the first records, column by column.

    Where the comma separates cells, a cell with a comma was quoted; it is a decimal mark only in a
    file without decimal points. "1,234" may be a number of thousands; only in a semicolon file,
    which is what spreadsheets write where the comma is the decimal mark, does it count for the
    comma. So may "1.234", in a file where other columns have decimal commas.

    Returns
    -------
    decimal : {".", ","}
        The mark of most columns that show one.
    marks : dict of str to {".", ","}
        That of each column that shows one.
    """
    seen = {
        name: _mark_of(
            [record[index].strip() for record in records if index < len(record)], delimiter == ";"
        )
        for index, name in enumerate(names)
    }
    marks = {name: mark for name, (mark, _) in seen.items() if mark}
    if delimiter == "," and "." in marks.values():
        marks = {name: mark for name, mark in marks.items() if mark == "."}
    if "," in marks.values():
        marks |= {name: "," for name, (mark, thousands) in seen.items() if mark and thousands}
    commas = sum(mark == "," for mark in marks.values())
    return "," if 2 * commas > len(marks) else ".", marks


def _mark_of(cells: list[str], semicolons: bool) -> tuple[str, bool]:
    """Return the decimal mark that cells show, if any, and if it may be one of thousands."""
    points = [cell for cell in cells if _DECIMAL_POINT.fullmatch(cell)]
    if points:
        return ".", all(_THOUSANDS.fullmatch(cell) for cell in points)
    commas = [cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell)]
    if not semicolons:
        commas = [cell for cell in commas if not _THOUSANDS.fullmatch(cell)]
    return "," if commas else "", False


def _named(
    cells: list[str], records: list[list[str]], file: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of all columns, and notes on those that the header does not name.

    R writes names of rows without a name for their column. Spreadsheets write empty cells at the
    right of a table. pandas reads such columns as "Unnamed: 0".
    """
    names = [cell.strip() for cell in cells]
    notes = []
    if _have_row_names(len(names), records):
        names = ["Unnamed: 0", *names]
        notes.append(
            f"The header of {file} names one column less than there are: the first one, with the "
            "names of the rows, is called 'Unnamed: 0'."
        )
    if not names[0] and len(names) > 1:
        names[0] = "Unnamed: 0"
    end = len(names)
    while end > 2 and not names[end - 1]:
        end -= 1
    if records and not any(cell.strip() for record in records for cell in record[end:]):
        new = [f"Unnamed: {index}" for index in range(end, len(names))]
        if new:
            names[end:] = new
            notes.append(
                f"The last columns of {file} have no name and no cells in the first rows; they are "
                f"called {listed(new)}."
            )
    return checked_names(names, file), tuple(notes)


def _have_row_names(n_names: int, records: list[list[str]]) -> bool:
    """Whether rows have one cell more than the header, which comes first and names the row.

    The names are texts, all different, or count the rows; else a name is missing somewhere.
    """
    if not records or any(len(record) != n_names + 1 for record in records):
        return False
    rows = [record[0].strip() for record in records]
    counted = rows == [str(number) for number in range(1, len(rows) + 1)]
    are_texts = len(rows) > 1 and not any(re.match(r"[\d.,+-]*$", row) for row in rows)
    return counted or (are_texts and len(set(rows)) == len(rows))


def read_blank_separated(
    path: Path, form: TextForm, limit: int | None
) -> tuple[CsvHeader, list[list[str]]] | None:
    """Return the header and rows of a text whose cells are separated by blanks.

    R's ``write.table`` writes such tables, and so do programs that write columns of a fixed width.
    None where the first rows do not have as many words as the header, or names of rows and these.
    """
    with ByteStream(path, limit, form.encoding) as stream:
        text = "".join(stream.text_lines())
    above = _above_header(text, form.header_row)
    first = text.count("\n", 0, above) + 1
    lines = [
        (number, line.strip().replace("\t", " "))
        for number, line in enumerate(text[above:].splitlines(), first)
        if line.strip()
    ]
    try:
        cells, *records = [
            next(csv.reader([line], delimiter=" ", skipinitialspace=True)) for _, line in lines
        ]
    except (csv.Error, ValueError):
        return None
    width = len(cells) + _have_row_names(len(cells), records)
    if len(cells) < 2 or not records or any(len(record) != width for record in records[:5]):
        return None
    for (number, _), record in zip(lines[1:], records, strict=True):
        if len(record) != width:
            msg = (
                f"line {number:,} of {path.name} has {len(record):,} cells between blanks, but the "
                f"first lines have {width:,}; write NA in empty cells, or save the table as CSV."
            )
            raise InputError(msg)
    names, notes = _named(cells, records, path.name)
    decimal, marks = (form.decimal, {}) if form.decimal else _find_marks(names, records, " ")
    notes = (f"The cells of {path.name} were separated at blanks; --delimiter decides.", *notes)
    return CsvHeader(names, " ", decimal, 0, marks, 0, notes), records


def checked_names(names: list[str], file: str) -> tuple[str, ...]:
    """Refuse names that are empty or occur twice."""
    empty = [position for position, name in enumerate(names, 1) if not name.strip()]
    if empty:
        msg = (
            f"column {empty[0]:,} of {file} has no name; name it in the header, or give the line "
            "of the header with --header-row if titles stand above it."
        )
        raise InputError(msg)
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        msg = f"{file} has columns of the same name: {listed(dict.fromkeys(twice))}; rename them."
        raise InputError(msg)
    return tuple(names)


# --------------------------------------------------------------------------------------------------
# Line numbers of rows, for messages
# --------------------------------------------------------------------------------------------------


MAX_BYTES = 1 << 30
"""Bytes that are read again for the sake of a message."""

_FEWEST = 1 << 10  # rows whose lines are found at once


def line_of_row(
    path: Path, row: int, *, header_bytes: int, delimiter: str, encoding: str | None
) -> int | None:
    """Return the line of the file on which a row begins; the first line is 1.

    Empty lines are no rows, and a cell in quotes may span lines.

    Parameters
    ----------
    path : Path
        The file.
    row : int
        Which row below the header; the first is 1.
    header_bytes : int
        Where the header ends, in bytes of UTF-8 after a byte-order mark.
    delimiter : str
        What stands between two cells.
    encoding : str or None
        Alphabet of the file.

    Returns
    -------
    int or None
        None where it cannot be told: the file is too long, or has changed since.
    """
    n_rows = max(_FEWEST, 1 << (row - 1).bit_length())  # the next messages ask for rows near by
    try:
        state = path.stat()
        key = (path, header_bytes, delimiter, encoding, n_rows)
        lines = _lines(*key, (state.st_mtime_ns, state.st_size))
    except (OSError, InputError, csv.Error, UnicodeError):
        return None
    return lines[row - 1] if row <= len(lines) else None


@lru_cache(maxsize=8)
def _lines(
    path: Path,
    header_bytes: int,
    delimiter: str,
    encoding: str | None,
    n_rows: int,
    state: tuple[int, int],
) -> array[int]:
    """Return the lines of the first rows; again where the state of the file has changed."""
    del state
    for find in (_where_lines_are_rows, _where_cells_span_lines):
        with ByteStream(path, None, encoding) as stream:
            header = b""
            while len(header) < header_bytes and (part := stream.read(header_bytes - len(header))):
                header += part
            with closing(_text_lines(stream)) as below:
                lines = find(below, len(header.splitlines()), n_rows, delimiter)
        if lines is not None:
            return lines
    return array("q")


def _text_lines(stream: ByteStream) -> Generator[str, None, None]:
    """Yield the lines that are left of a stream, with their ends."""
    rest, count = b"", 0
    while count < MAX_BYTES and (part := stream.read(1 << 20)):
        count += len(part)
        *lines, rest = (rest + part).splitlines(keepends=True)
        yield from (line.decode() for line in lines)
    if count < MAX_BYTES and rest:
        yield rest.decode()


def _where_lines_are_rows(
    lines: Generator[str, None, None], above: int, n_rows: int, delimiter: str
) -> array[int] | None:
    """Return the lines that are not empty; None where a quote is opened and not closed in one."""
    del delimiter
    starts = array("q")
    for number, line in enumerate(lines, above + 1):
        if line.count('"') % 2:
            return None
        if line.rstrip("\r\n"):
            starts.append(number)
        if len(starts) == n_rows:
            break
    return starts


def _where_cells_span_lines(
    lines: Generator[str, None, None], above: int, n_rows: int, delimiter: str
) -> array[int]:
    """Return the first lines of records."""
    starts = array("q")
    records = csv.reader(lines, delimiter=delimiter)
    begin = above + 1
    for record in records:
        if record:
            starts.append(begin)
        begin = above + records.line_num + 1
        if len(starts) == n_rows:
            break
    return starts


# --------------------------------------------------------------------------------------------------
# The reader: rows as text, block by block
# --------------------------------------------------------------------------------------------------


BLOCK_BYTES = 1 << 19
"""Bytes that are parsed at a time while streaming; pyarrow reads up to 32 such blocks ahead."""

WHOLE_BLOCK_BYTES = 1 << 24
"""Bytes that are parsed at a time for a whole table: wide tables are faster in large blocks."""

MAX_RECORD_BYTES = 1 << 30
"""Longest record: pyarrow's text arrays hold less than 2 GiB."""


@dataclass(frozen=True, slots=True)
class CsvReader:
    """A CSV file whose header was read; every cell is text, or null where it is missing."""

    path: Path
    header: CsvHeader
    packed: bool
    block_bytes: int = BLOCK_BYTES
    encoding: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.header.names

    @property
    def decimal(self) -> str:
        """The decimal mark of columns that show none."""
        return self.header.decimal

    def line_of(self, row: int) -> int | None:
        """Return the line of the file on which a row begins; None where that is unknown."""
        return line_of_row(
            self.path,
            row,
            header_bytes=self.header.size,
            delimiter=self.header.delimiter,
            encoding=self.encoding,
        )

    def batches(
        self, columns: Sequence[str], *, limit: int | None, whole: bool
    ) -> Generator[pa.Table, None, None]:
        """Yield the rows in order; a record longer than a block starts over with larger ones.

        The limit holds for all bytes, or for one record where a file that is not packed is
        streamed: such a file holds no more than there is on the disk.
        """
        total = limit if whole or self.packed else None
        block = max(WHOLE_BLOCK_BYTES if whole else self.block_bytes, self.header.size)
        done = 0
        most = MAX_RECORD_BYTES if limit is None else min(limit, MAX_RECORD_BYTES)
        while True:
            try:
                skip = done
                for table in self._pass(columns, total, min(block, MAX_RECORD_BYTES)):
                    if table.num_rows <= skip:
                        skip -= table.num_rows
                        continue
                    rest = table.slice(skip)
                    skip = 0
                    done += rest.num_rows
                    yield rest
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error):
                    raise self._refused(str(error), done) from None
                if block >= most:
                    raise too_large(f"one record of {self.path.name}", most) from None
                block *= 4
            else:
                return

    def _pass(
        self, columns: Sequence[str], limit: int | None, block: int
    ) -> Generator[pa.Table, None, None]:
        names = list(self.columns)
        # A quote that is never closed swallows the rest of the file into the last column.
        wanted = list(dict.fromkeys([*columns, names[-1]]))
        bad: list[Any] = []

        def remember(row: Any) -> str:
            bad.append(row)
            return "error"

        with ByteStream(self.path, limit, self.encoding) as stream:
            stream.skip(self.header.size)
            first = stream.read(1)
            if not first:
                return
            stream.push_back(first)
            last = None
            try:
                opened = pa.csv.open_csv(
                    pa.PythonFile(stream, mode="r"),
                    read_options=pa.csv.ReadOptions(
                        # One thread: pyarrow numbers the rows in its errors, and is no slower.
                        use_threads=False,
                        block_size=block,
                        column_names=names,
                    ),
                    parse_options=pa.csv.ParseOptions(
                        delimiter=self.header.delimiter,
                        newlines_in_values=True,
                        invalid_row_handler=remember,
                    ),
                    convert_options=pa.csv.ConvertOptions(
                        check_utf8=False,  # ByteStream has done this for every column
                        column_types=dict.fromkeys(wanted, pa.string()),
                        include_columns=wanted,
                        null_values=MISSING,
                        strings_can_be_null=True,
                    ),
                )
                # Closed here, not at the interpreter's end, while pyarrow may still read ahead.
                with opened as reader:
                    for batch in reader:
                        last = batch if batch.num_rows else last
                        yield pa.Table.from_batches([batch]).select(list(columns))
            except pa.ArrowInvalid as error:
                if bad:
                    raise self._ragged(bad[0]) from None
                if "Empty CSV" in str(error):  # blank lines only
                    return
                raise
            if stream.quotes % 2 and last is not None:
                self._check_last(last)

    def _check_last(self, batch: Any) -> None:
        cell = batch.column(batch.num_columns - 1)[batch.num_rows - 1]
        if cell.is_valid and ("\n" in cell.as_py() or "\r" in cell.as_py()):
            msg = (
                f'a quote (") is opened and never closed in the last record of {self.path.name}; '
                "close it, or double it where it is part of the text."
            )
            raise InputError(msg)

    def _ragged(self, row: Any) -> InputError:
        hint = "add or remove cells so that every row has one cell per column"
        if row.actual_columns == row.expected_columns + 1 and row.number == 1:
            hint = "name the column of row names in the header, or leave them out"
        elif row.actual_columns == 1:
            hint = "delete the line if it is a footer or a title, or add the cells that are missing"
        elif row.expected_columns <= 2 < row.actual_columns:
            hint = "give the line of the header with --header-row if titles stand above it"
        line = None if row.number is None else self.line_of(row.number)
        where = "a row" if line is None else f"line {line:,}"
        cells = "cell" if row.actual_columns == 1 else "cells"
        return InputError(
            f"{where} of {self.path.name} has {row.actual_columns:,} {cells}, but the header "
            f"names {row.expected_columns:,} column{'s' * (row.expected_columns != 1)}; {hint}."
        )

    def _refused(self, text: str, rows: int) -> InputError:
        return InputError(
            f"{self.path.name} cannot be read as CSV after {rows:,} rows: {text[:200]}; correct it."
        )


def open_csv(path: Path, form: TextForm, limit: int | None, packed: bool) -> CsvReader:
    """Read the header of a CSV file."""
    with ByteStream(path, limit, form.encoding) as stream:
        header = read_header(stream, path.name, form)
    return CsvReader(path, header, packed, encoding=form.encoding)
