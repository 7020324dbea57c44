"""The header of a CSV file: its names, its delimiter, and the decimal mark of its numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from honestbayes.tables.byte_stream import ByteStream
from honestbayes.tables.errors import InputError, listed, shown

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters that are looked for; others must be given."""

MAX_HEADER_BYTES = 1 << 28
"""Longest header that is read: ten million names of 25 characters."""

_FIRST_BYTES = 1 << 17
_SAMPLE_CELLS = 200_000  # cells after the header that speak for a decimal mark
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


@dataclass(frozen=True, slots=True)
class TextForm:
    """How a user says that a CSV file is written; None where it is to be found out.

    Attributes
    ----------
    delimiter : str or None
        What stands between two cells.
    decimal : {".", ","} or None
        The decimal mark of all numbers.
    encoding : str or None
        The alphabet; None: UTF-8.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None


_PLAIN = TextForm()


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line of a CSV file says, and its next lines confirm.

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
        Bytes of the header, after a byte-order mark.
    """

    names: tuple[str, ...]
    delimiter: str
    decimal: str
    size: int
    marks: Mapping[str, str] = field(default_factory=dict)


def read_header(stream: ByteStream, name: str, form: TextForm = _PLAIN) -> Header:
    """Read the header from the start of a stream, and leave the stream behind it."""
    delimiter = form.delimiter
    if delimiter == "\\t":  # what a shell hands over
        delimiter = "\t"
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'
    ):
        msg = f"the delimiter {shown(delimiter)} is not one plain character; give for example ';'."
        raise InputError(msg)
    text, ended = _first_records(stream, name)
    found = delimiter or _find_delimiter(text, ended, name)
    try:
        cells, size = _first_record(text, found)
    except csv.Error:
        msg = (
            f"the header of {name} cannot be read: a name is too long, or a quote is not closed; "
            "correct its first line."
        )
        raise InputError(msg) from None
    if not cells:
        msg = f"{name} is empty; give a table with a header and rows."
        raise InputError(msg)
    names = _checked_names(cells, name)
    decimal = form.decimal or "."
    marks: dict[str, str] = {}
    if form.decimal is None:
        count = 1 + _SAMPLE_CELLS // len(cells)
        decimal, marks = _find_marks(names, _sample(text[size:], found, ended, count), found)
    stream.push_back(text[size:].encode())
    return Header(names, found, decimal, len(text[:size].encode()), marks)


def _first_records(stream: ByteStream, name: str) -> tuple[str, bool]:
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
        if _has_line_end(text):
            stream.push_back(data[len(text.encode()) :])
            return text, False
        if wanted >= MAX_HEADER_BYTES:
            msg = f"the header of {name} is longer than {MAX_HEADER_BYTES >> 20} MiB; check it."
            raise InputError(msg)
        wanted *= 4


def _has_line_end(text: str) -> bool:
    """Whether a line ends outside of quotes in the first half: the rest serves as a sample."""
    quotes = place = 0
    for match in re.finditer(r"[\r\n]", text[: len(text) // 2]):
        quotes += text.count('"', place, match.start())
        place = match.start()
        if quotes % 2 == 0 and text[:place].strip():
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
    which is what spreadsheets write where the comma is the decimal mark, does it speak for the
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
            [record[place].strip() for record in records if place < len(record)], delimiter == ";"
        )
        for place, name in enumerate(names)
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


def _checked_names(cells: list[str], file: str) -> tuple[str, ...]:
    names = [cell.strip() for cell in cells]
    if not names[0] and len(names) > 1:
        # pandas and R write row names under an empty name; pandas reads them back as this.
        names[0] = "Unnamed: 0"
    return checked_names(names, file)


def checked_names(names: list[str], file: str) -> tuple[str, ...]:
    """Refuse names that are empty or occur twice."""
    empty = [position for position, name in enumerate(names, 1) if not name.strip()]
    if empty:
        msg = f"column {empty[0]:,} of {file} has no name; name it in the header."
        raise InputError(msg)
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
        msg = f"{file} has columns of the same name: {listed(dict.fromkeys(twice))}; rename them."
        raise InputError(msg)
    return tuple(names)
