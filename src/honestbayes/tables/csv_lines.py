"""On which line of a CSV file a row begins, found when a message names it."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Generator
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from honestbayes.tables.byte_stream import ByteStream
from honestbayes.tables.errors import InputError

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
                found = find(below, len(header.splitlines()), n_rows, delimiter)
        if found is not None:
            return found
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
    found = array("q")
    for number, line in enumerate(lines, above + 1):
        if line.count('"') % 2:
            return None
        if line.rstrip("\r\n"):
            found.append(number)
        if len(found) == n_rows:
            break
    return found


def _where_cells_span_lines(
    lines: Generator[str, None, None], above: int, n_rows: int, delimiter: str
) -> array[int]:
    """Return the first lines of records."""
    found = array("q")
    records = csv.reader(lines, delimiter=delimiter)
    begin = above + 1
    for record in records:
        if record:
            found.append(begin)
        begin = above + records.line_num + 1
        if len(found) == n_rows:
            break
    return found
